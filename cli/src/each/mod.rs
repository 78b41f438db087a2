//! `--each` and several TASK words: one task per item, whatever the items are called.

mod items;
mod prompt_template;
mod script_template;
mod shell_quoting;
mod task_drafts;
mod task_names;
mod yield_placeholder;

pub(crate) use items::{ItemInput, ItemSource, TrackedFiles};
pub(crate) use items::{ItemKind, first_line_title, title_of};
pub(crate) use prompt_template::without_items;
pub(crate) use script_template::refuse_placeholders;
pub(crate) use task_drafts::{DraftWork, FanOut, TaskDraft, WorkTemplate, drafts, with_script};
pub(crate) use task_names::{NameAllocator, NamedPrompt, chosen_name, is_named_by, numbered};
pub(crate) use yield_placeholder::{PlanPrompt, file_prompt, plan_prompt, refuse_yields};
