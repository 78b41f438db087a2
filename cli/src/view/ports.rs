//! What a conversation needs of the rest of the program, but for its sessions.

use engine::ports::{CancelToken, LineSink};
use futures_util::future::BoxFuture;
use protocol::{ApprovalMode, BashExecution, ModelRoute};

use super::command::UserCommand;
use crate::session::Mentions;

/// What a conversation needs of the rest of the program.
pub(crate) trait ConversationPorts {
    /// Returns the names of the models that can be used.
    fn models(&self) -> Vec<String>;

    /// Returns the names of those that a key changes between, in their order.
    fn cycled_models(&self) -> Vec<String>;

    /// Returns the model with a name.
    ///
    /// # Errors
    /// There is none, or it cannot be used.
    fn find_model(&self, name: &str) -> Result<ModelRoute, String>;

    /// Returns how many tokens a model can read and write in one request.
    fn context_window(&self, model: &ModelRoute) -> Option<u64>;

    /// Changes which calls of tools are asked about, and returns a line that says so.
    fn change_approvals(&self, mode: ApprovalMode) -> String;

    /// Returns lines that say which calls are asked about, refused or allowed, and why.
    fn approvals(&self) -> BoxFuture<'static, Vec<String>>;

    /// Lists the agents to which the model can give tasks, on a thread of its own.
    fn agents(&self) -> BoxFuture<'static, String>;

    /// Lists the files of the folder of the session, on a thread of its own.
    fn files(&self) -> BoxFuture<'static, Vec<String>>;

    /// Reads the files that a prompt names.
    fn mentions(&self, text: &str) -> Mentions;

    /// Returns the prompts that were typed before, the newest first.
    fn prompts(&self) -> Vec<String>;

    /// Keeps a prompt for later conversations.
    fn remember(&self, prompt: &str);

    /// Runs a command of the user until it ends or is stopped. `line` receives its output.
    fn run(
        &self,
        command: UserCommand,
        line: LineSink,
        stop: CancelToken,
    ) -> BoxFuture<'static, Result<BashExecution, String>>;
}
