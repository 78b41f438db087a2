//! `--each` and several TASK words: one task per item, whatever the items are called.

mod items;
mod prompt_template;
mod script_template;
mod shell_quoting;
mod task_drafts;
mod task_names;
mod yield_placeholder;

pub use items::{ItemInput, ItemSource, TrackedFiles};
pub use items::{ItemKind, first_line_title, title_of};
pub use prompt_template::without_items;
pub use script_template::refuse_placeholders;
pub use task_drafts::{DraftWork, FanOut, TaskDraft, WorkTemplate, drafts, with_script};
pub use task_names::{NameAllocator, NamedPrompt, chosen_name, numbered};
pub use yield_placeholder::{PlanPrompt, file_prompt, plan_prompt, refuse_yields};
