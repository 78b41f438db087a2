//! The tool `job`: lists, reads, awaits and ends the commands that `bash` has started in the background.

use std::sync::Arc;
use std::time::Duration;

use engine::ports::{Access, CancelLevel, ToolContext, ToolOutcome, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use crate::background::{BackgroundCommand, NewOutput, State};
use crate::builtin::{Builtin, Session, ShownPart, rename, text};
use crate::error::ToolError;

/// The tool `job`.
pub(crate) struct Job(Arc<Session>);

/// How many seconds a call waits that does not say it, and at most.
const WAIT: u64 = 60;
const LONGEST_WAIT: u64 = 3600;

/// What to do.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobArguments {
    /// list: all background commands; read: the new output of one; wait: until it ends, then its
    /// new output; end: stops it, then its new output.
    action: Action,
    /// The number of the background command; not for list.
    id: Option<u64>,
    /// How many seconds wait waits at most; 60 if left out.
    #[schemars(range(min = 1, max = 3600))]
    timeout: Option<u64>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Action {
    List,
    Read,
    Wait,
    End,
}

impl Builtin for Job {
    const NAME: &'static str = "job";
    const DESCRIPTION: &'static str = "Looks after the commands that bash has started with \
        background: lists them, reads their new output, waits for their end, or ends them. What \
        still runs at the end of the task or session is ended then.";
    const EXAMPLE: &'static str = r#"{"action":"list"}"#;

    const SHOWN_PART: ShownPart = ShownPart::End;

    type Arguments = JobArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        rename(arguments, "id", &["job", "job_id", "jobId", "bash_id", "number"]);
        if !arguments.contains_key("action") {
            let action = if arguments.contains_key("id") { "read" } else { "list" };
            arguments.insert("action".to_owned(), action.into());
        }
        let meant = match text(arguments, "action").as_str() {
            "kill" | "stop" | "cancel" => "end",
            "output" | "poll" | "status" => "read",
            "await" => "wait",
            _ => return,
        };
        arguments.insert("action".to_owned(), meant.into());
    }

    fn title(arguments: &Map<String, Value>) -> Option<String> {
        let action = text(arguments, "action");
        let id = arguments.get("id").map(Value::to_string);
        Some(id.map_or_else(|| action.clone(), |id| format!("{action} {id}")))
    }

    fn new(session: &Arc<Session>) -> Self {
        Self(Arc::clone(session))
    }

    fn classify(_arguments: &Map<String, Value>) -> Access {
        Access::none()
    }

    async fn run(
        &self,
        arguments: JobArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let commands = &self.0.background;
        let command = match (arguments.action, arguments.id) {
            (Action::List, _) => return Ok(ToolOutcome::Output(list(&commands.all()))),
            (_, None) => {
                let why = "/id: is missing; job with the action list says the numbers";
                return Err(ToolError::Arguments(why.to_owned()));
            }
            (_, Some(id)) => commands.get(id)?,
        };
        let look = command.look();
        match arguments.action {
            Action::List | Action::Read => {}
            Action::Wait => {
                let seconds = arguments.timeout.unwrap_or(WAIT).clamp(1, LONGEST_WAIT);
                tokio::select! {
                    biased;
                    () = context.cancel.cancelled() => return Err(ToolError::Aborted),
                    () = command.ended() => {}
                    () = sleep(Duration::from_secs(seconds)) => {}
                }
            }
            Action::End => {
                command.stop.cancel(CancelLevel::Gently);
                tokio::select! {
                    biased;
                    () = context.cancel.cancelled() => return Err(ToolError::Aborted),
                    () = command.ended() => {}
                }
            }
        }
        // What it does is looked at first: what it writes before its end is in the output then.
        let state = command.state();
        let output = report(&command, &state, context).await;
        if state != State::Running {
            look.tells_end();
        }
        Ok(ToolOutcome::Output(output))
    }
}

fn list(commands: &[Arc<BackgroundCommand>]) -> ToolOutput {
    let rows: Vec<_> = commands
        .iter()
        .map(|command| {
            format!("{} [{}]", command.sentence(&command.state()), command.artifact.uri())
        })
        .collect();
    let text = match rows.is_empty() {
        true => "(no background commands)".to_owned(),
        false => rows.join("\n"),
    };
    let details: Vec<_> =
        commands.iter().map(|command| details(command, &command.state())).collect();
    ToolOutput::text(text).with_details(json!({ "commands": details }))
}

async fn report(command: &BackgroundCommand, state: &State, context: &ToolContext) -> ToolOutput {
    let (sentence, details) = (command.sentence(state), details(command, state));
    let NewOutput { text, skipped } = command.new_output(context.artifacts.as_ref()).await;
    let text = if text.is_empty() { "(no new output)" } else { &text };
    let uri = command.artifact.uri();
    let notice = match skipped {
        0 => format!("All output: {uri}"),
        skipped => format!("{skipped} bytes before it are not shown. All output: {uri}"),
    };
    ToolOutput::text(format!("{sentence}\n\n{text}\n\n[{notice}]")).with_details(details)
}

fn details(command: &BackgroundCommand, state: &State) -> Value {
    let (is_running, code) = match state {
        State::Running => (true, None),
        State::Ended { code, .. } => (false, *code),
    };
    json!({
        "id": command.number, "running": is_running, "exitCode": code,
        "artifact": command.artifact.name,
    })
}
