//! The system prompt: who the model is, its tools, where it works, and what the user and the
//! repository tell every agent.

mod context_files;
mod environment;
mod system_prompt;

pub use context_files::{
    CONTEXT_FILE_LIMIT, ContextBytes, ContextFile, ContextFiles, context_file_paths,
};
pub use environment::{Environment, GitState};
pub use system_prompt::{Role, SystemPrompt};
