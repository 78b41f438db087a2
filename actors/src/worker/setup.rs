//! The set-up of a workspace: commands that run before the worker starts.

use std::path::PathBuf;
use std::sync::Arc;

use engine::ports::{
    CommandRequest, CommandTerminal, ReportSink, ShortOutput, WorkerReport, WorkerStart,
};
use protocol::{AgentEnd, Failure, FailureClass, Work};
use ractor::ActorRef;

use super::command::{command_environment, read, unable};
use crate::executors::ToolExecutorMessage;
use crate::messaging::answer;

/// The longest part of a script that a message quotes, in characters.
const QUOTED: usize = 40;

/// The set-up commands of one workspace. The task's executor runs them, each in its own process
/// group, with the environment of the task.
pub(crate) struct SetupRun {
    scripts: Vec<String>,
    start: WorkerStart,
    executor: ActorRef<ToolExecutorMessage>,
}

impl SetupRun {
    /// Returns a set-up that has not begun, for a task that does `work`.
    pub(crate) fn new(
        scripts: &[String],
        work: &Work,
        mut start: WorkerStart,
        executor: ActorRef<ToolExecutorMessage>,
    ) -> Self {
        if let Work::Command(command) = work {
            start.environment.extend(command_environment(command));
        }
        Self { scripts: scripts.to_vec(), start, executor }
    }

    /// Runs the commands one after the other, until one fails.
    pub(crate) async fn run(self) -> Result<(), Failure> {
        for (number, script) in (1..).zip(&self.scripts) {
            let request = CommandRequest {
                script: script.clone(),
                arguments: Vec::new(),
                folder: self.start.folder.clone(),
                environment: self.start.environment.clone(),
                output: output(&self.start, number),
                keep: self.start.limits.output,
                // The file shows that the command was started.
                short: ShortOutput::File,
                terminal: CommandTerminal::None,
            };
            let reports: ReportSink = Arc::clone(&self.start.reports);
            reports(WorkerReport::Line(quoted(script)));
            let sink = Arc::new(move |line| reports(WorkerReport::Line(line)));
            let question = |reply| ToolExecutorMessage::Run(request, sink, reply);
            let failure = match answer(&self.executor, question).await {
                Some(Ok(end)) => match read(end) {
                    AgentEnd::Failed(failure) => failure,
                    _yield => continue,
                },
                Some(Err(error)) => unable(&error),
                None => Failure::new(FailureClass::Crashed, "its executor crashed"),
            };
            let message = format!("set-up `{}`: {}", quoted(script), failure.message);
            return Err(Failure { message, ..failure });
        }
        Ok(())
    }
}

/// Returns the file for the output of the set-up command with this number, from 1.
fn output(start: &WorkerStart, number: usize) -> PathBuf {
    start.artifacts.join(format!("setup-{number}.log"))
}

/// Returns the beginning of a script in one line.
pub(crate) fn quoted(script: &str) -> String {
    let line = script.trim().lines().next().unwrap_or_default();
    let mut quoted: String = line.chars().take(QUOTED).collect();
    if quoted.len() < script.trim().len() {
        quoted.push('…');
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_quotes_the_beginning_of_a_script() {
        assert_eq!(quoted(" npm ci\n"), "npm ci");
        assert_eq!(quoted("npm ci\nmake"), "npm ci…");
        assert_eq!(quoted(&"é".repeat(100)), format!("{}…", "é".repeat(40)));
    }
}
