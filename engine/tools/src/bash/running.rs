//! Runs one command until it ends, its time is over, or it is stopped.

use std::pin::pin;
use std::time::Duration;

use engine::ports::{
    CancelLevel, CancelToken, CommandEnd, CommandError, CommandOwner, CommandRequest, EndCause,
    LineSink,
};
use tokio::time::sleep;

/// A command that has ended, and who stopped it.
pub(crate) struct FinishedCommand {
    pub(crate) end: CommandEnd,
    pub(crate) stopped_by: StoppedBy,
}

/// Who has stopped a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoppedBy {
    Nobody,
    /// Its time was over.
    Time,
    /// The session or a call.
    Request,
}

impl FinishedCommand {
    /// Returns how the command ended, if that is not success: what comes after "the command".
    pub(crate) fn problem(&self, time: Option<Duration>) -> Option<String> {
        match (self.stopped_by, self.end.cause) {
            (StoppedBy::Time, _) => {
                let seconds = time.unwrap_or_default().as_secs();
                Some(format!("timed out after {seconds} seconds"))
            }
            (StoppedBy::Request, _) | (StoppedBy::Nobody, EndCause::Stopped) => {
                Some("was stopped".to_owned())
            }
            (StoppedBy::Nobody, EndCause::Exited(0)) => None,
            (StoppedBy::Nobody, EndCause::Exited(code)) => Some(format!("exited with code {code}")),
            (StoppedBy::Nobody, EndCause::Signalled(signal)) => {
                Some(format!("was ended by signal {signal}"))
            }
        }
    }

    /// Returns the code with which the command exited.
    pub(crate) fn code(&self) -> Option<i32> {
        match self.end.cause {
            EndCause::Exited(code) => Some(code),
            EndCause::Signalled(_) | EndCause::Stopped => None,
        }
    }
}

/// Runs a command, for at most `time` if that is given.
pub(crate) async fn run(
    commands: &dyn CommandOwner,
    request: CommandRequest,
    (progress, stop): (LineSink, &CancelToken),
    time: Option<Duration>,
) -> Result<FinishedCommand, CommandError> {
    let cancel = stop.child();
    let mut running = pin!(commands.run(request, progress, cancel.clone()));
    let late = async {
        match time {
            Some(time) => sleep(time).await,
            None => std::future::pending().await,
        }
    };
    let (end, is_late) = tokio::select! {
        biased;
        end = &mut running => (end?, false),
        () = late => {
            cancel.cancel(CancelLevel::Gently);
            (running.await?, true)
        }
    };
    let stopped_by = match end.cause {
        EndCause::Stopped if stop.is_cancelled() => StoppedBy::Request,
        EndCause::Stopped if is_late => StoppedBy::Time,
        EndCause::Stopped | EndCause::Exited(_) | EndCause::Signalled(_) => StoppedBy::Nobody,
    };
    Ok(FinishedCommand { end, stopped_by })
}
