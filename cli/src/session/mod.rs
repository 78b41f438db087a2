//! A session on the command line: its prompts, its model and folder, and how its answer is printed.

#[cfg(feature = "tui")]
mod conversation_ports;
#[cfg(feature = "tui")]
mod earlier;
mod home;
mod log_choice;
mod log_question;
#[cfg(feature = "tui")]
mod mentions;
mod prompt_files;
mod prompt_image;
mod prompts;
#[cfg(feature = "tui")]
mod session_tree;
mod setup;
mod standard_input;
#[cfg(feature = "tui")]
mod switch;
mod system_prompt;
mod task_sessions;
#[cfg(test)]
mod tests;

#[cfg(feature = "tui")]
pub(crate) use conversation_ports::SessionPorts;
#[cfg(feature = "tui")]
pub(crate) use earlier::earlier;
pub(crate) use home::{HomeWork, WorkingFolder, working_folder};
pub(crate) use log_choice::{ChosenLog, LogStorage, Sessions};
#[cfg(feature = "tui")]
pub(crate) use mentions::Mentions;
pub(crate) use prompt_image::ImageSizes;
pub(crate) use prompts::{PromptInputs, Prompts, assemble};
pub(crate) use setup::plan;
pub(crate) use standard_input::{PipedRole, may_be_piped, read_piped};
#[cfg(feature = "tui")]
pub(crate) use switch::SessionSwitch;
pub(crate) use system_prompt::{context_files, user_instructions};
pub(crate) use task_sessions::TaskSession;
