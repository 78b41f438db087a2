//! What is known about a server, for messages about it.

use std::time::Duration;

use engine::ports::{McpError, McpErrorKind};
use tokio::time::timeout;

use crate::ending::Why;
use crate::guarded::Link;
use crate::program::Program;

/// How long the end of a process is waited for, so that a message can say how it ended.
const END: Duration = Duration::from_millis(500);

/// A server that messages are about.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) link: Link,
    pub(crate) program: Option<Program>,
}

impl Subject {
    /// Returns an error. `what` is the rest of a sentence that begins with the server.
    pub(crate) fn error(&self, kind: McpErrorKind, what: impl std::fmt::Display) -> McpError {
        McpError { kind, message: format!("MCP server `{}` {what}", self.name) }
    }

    /// Returns an error with the last lines of standard error.
    pub(crate) fn error_with_stderr(
        &self,
        kind: McpErrorKind,
        what: impl std::fmt::Display,
    ) -> McpError {
        let mut error = self.error(kind, what);
        let tail = self.program.as_ref().map(Program::stderr_tail).unwrap_or_default();
        if !tail.is_empty() {
            error.message.push_str("; its standard error ends with:\n");
            error.message.push_str(&tail.join("\n"));
        }
        error
    }

    /// Returns the error that the connection has ended, with the reason.
    pub(crate) async fn gone(&self, kind: McpErrorKind) -> McpError {
        let why = self.link.ending.why();
        let what = match (why, &self.program) {
            (Some(Why::Fault(what)), _) => what.to_owned(),
            (Some(Why::Closed), _) => "was closed".to_owned(),
            (Some(Why::Left) | None, Some(program)) => {
                let end = async {
                    let how = program.ended().await;
                    program.stderr_read().await;
                    how
                };
                match timeout(END, end).await {
                    Ok(how) => how,
                    Err(_elapsed) => {
                        program.end().unwrap_or_else(|| "closed its standard output".to_owned())
                    }
                }
            }
            (Some(Why::Left) | None, None) => "ended the connection".to_owned(),
        };
        self.error_with_stderr(kind, what)
    }
}
