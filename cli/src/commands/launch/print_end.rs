//! The end of a session that answers and ends: its answer, and its exit code.

use std::io;

use protocol::{AssistantMessage, ExitCode, Failure, StopReason};

use super::super::note::note;
use super::print::{Printed, write_answer};
use crate::args::{Globals, LaunchArgs, OutputMode};
use crate::render;
use crate::signals;
use regatta::error::{Error, ErrorKind};

/// Returns the end of a session whose engine is closed.
///
/// # Errors
/// There is no answer, or it cannot be printed.
pub(super) fn ended(
    args: &LaunchArgs,
    globals: &Globals,
    mode: OutputMode,
    end: (Option<Failure>, Printed),
) -> Result<ExitCode, Error> {
    match end {
        (Some(failure), _) | (None, Printed::EngineFailed(failure)) => {
            Err(Error::engine_failed(&failure))
        }
        (None, Printed::Interrupted(why)) => {
            let kept = "stopped: what was answered so far is in the session";
            let isolated = if args.isolated { "--isolated " } else { "" };
            let goes_on = || format!("{kept}; regatta {isolated}--continue goes on");
            let goes_on = (!args.no_session).then(goes_on);
            note(globals, goes_on.as_deref().unwrap_or("stopped"));
            Ok(signals::exit_code(why))
        }
        (None, Printed::OutputFailed(error)) => Err(Error::output(&error)),
        (None, Printed::Failed(failure)) => Err(not_answered(&failure)),
        (None, Printed::Answered(answer)) => finish(mode, globals, answer),
    }
}

/// Prints the last answer.
///
/// # Errors
/// It says nothing, or cannot be printed.
fn finish(
    mode: OutputMode,
    globals: &Globals,
    answer: Option<AssistantMessage>,
) -> Result<ExitCode, Error> {
    let said_nothing = |why| Err(Error::new(ErrorKind::Model, "the answer is empty").because(why));
    let Some(answer) = answer else { return said_nothing("the model was not asked") };
    if let Some(why) = render::empty_answer(&answer) {
        return said_nothing(why);
    }
    if answer.stop_reason == StopReason::Length {
        note(globals, "warning: the answer was cut off, because it was too long");
    } else if answer.is_paused() {
        note(globals, "warning: the model paused and did not continue its answer");
    }
    match mode {
        OutputMode::Json => {}
        OutputMode::Text => write_answer(&mut io::stdout().lock(), &answer)
            .map_err(|error| Error::output(&error))?,
    }
    Ok(ExitCode::Success)
}

fn not_answered(failure: &Failure) -> Error {
    Error::new(ErrorKind::Model, "the model did not answer").because_of(failure)
}
