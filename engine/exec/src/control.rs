//! Brings a command to its end: its own, or the one it is asked for.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use engine::ports::{CancelToken, EndCause};
use rustix::process::Signal;
use tokio::time::{Instant, sleep_until};

use crate::exit::Exit;
use crate::running::Running;

/// How long a killed group is waited for.
const GONE_LIMIT: Duration = Duration::from_secs(2);

/// How far the stopping of a command has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// Nobody has asked.
    Not,
    /// It was asked, and has until then.
    Gently(Instant),
    /// It was killed.
    AtOnce,
}

/// Waits for the end of the command, or brings it about, and then for that of its whole group.
pub(crate) async fn control(
    running: &mut Running,
    exit: &Exit,
    stop: &CancelToken,
    grace: Duration,
) -> io::Result<EndCause> {
    let asked = until_exit(running, exit, stop, grace).await;
    let status = if let Asked::Gently(until) = asked {
        // A shell dies of TERM at once, while what it ran still tidies up: the grace is for all.
        let status = running.collect()?;
        let left = until.saturating_duration_since(Instant::now());
        tokio::select! {
            biased;
            () = stop.cancelled_at_once() => {}
            _gone = running.group().gone(left) => {}
        }
        running.kill();
        status
    } else {
        running.kill();
        running.collect()?
    };
    if !running.group().gone(GONE_LIMIT).await {
        let group = running.group().leader().as_raw_nonzero().get();
        tracing::warn!(group, "a killed process group is still there");
    }
    Ok(cause(asked, status))
}

async fn until_exit(running: &Running, exit: &Exit, stop: &CancelToken, grace: Duration) -> Asked {
    let mut asked = Asked::Not;
    loop {
        let grace_end = match asked {
            Asked::Gently(until) => Some(until),
            Asked::Not | Asked::AtOnce => None,
        };
        tokio::select! {
            biased;
            () = exit.wait() => return asked,
            () = stop.cancelled_at_once(), if asked != Asked::AtOnce => {
                running.kill();
                asked = Asked::AtOnce;
            }
            () = stop.cancelled(), if asked == Asked::Not => {
                running.group().signal(Signal::TERM);
                // What was stopped hears nothing until it goes on.
                running.group().signal(Signal::CONT);
                asked = Asked::Gently(Instant::now() + grace);
            }
            () = sleep_until(grace_end.unwrap_or_else(Instant::now)), if grace_end.is_some() => {
                running.kill();
                asked = Asked::AtOnce;
            }
        }
    }
}

fn cause(asked: Asked, status: ExitStatus) -> EndCause {
    match (asked, status.code(), status.signal()) {
        (Asked::Gently(_) | Asked::AtOnce, _, _) => EndCause::Stopped,
        (Asked::Not, Some(code), _) => EndCause::Exited(code),
        (Asked::Not, None, signal) => EndCause::Signalled(signal.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_was_asked_to_stop_was_stopped_however_it_ended() {
        let (ended, killed) = (ExitStatus::from_raw(0), ExitStatus::from_raw(9));
        let gently = Asked::Gently(Instant::now());
        for status in [ended, killed] {
            assert_eq!(cause(gently, status), EndCause::Stopped);
            assert_eq!(cause(Asked::AtOnce, status), EndCause::Stopped);
        }
        assert_eq!(cause(Asked::Not, ended), EndCause::Exited(0));
        assert_eq!(cause(Asked::Not, killed), EndCause::Signalled(9));
    }
}
