//! Sessions: their folder or workspace, their log, their system prompt, their prompts, and what they are
//! opened with.

mod ask;
mod home;
mod isolated;
mod log_choice;
mod prompt_files;
mod prompts;
mod spec;
mod system_prompt;
mod task_sessions;

pub use ask::{AskError, ask};
pub use home::{HomeWork, WorkingFolder, working_folder};
pub use isolated::{EndedWorkspace, ISOLATED_TASK, IsolatedPlace, IsolatedWorkspace, NotIsolated};
pub use log_choice::{ChosenLog, LogStorage, Sessions};
pub use prompt_files::{
    FileContent, IncludedFile, IncludedImage, ReadFile, find, foreign_note, include, read,
};
pub use prompts::{PromptInputs, Prompts, assemble};
pub use system_prompt::{PromptParts, context_files, session_prompt, user_instructions};
pub use task_sessions::TaskSession;
pub use tools::ImageSizes;
