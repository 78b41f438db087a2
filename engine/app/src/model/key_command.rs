//! Runs a command of the user that prints a secret, such as `pass show openai`. Its output is read
//! through a pipe and never written to a disk.
//!
//! It has no owner that would end what it detaches: `gpg`, for instance, starts an agent that holds
//! the unlocked key, for the next command as well.

use std::process::Stdio;
use std::time::Duration;

use config::Secret;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

/// How long a command may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum length of its output, in bytes.
const LONGEST: u64 = 64 << 10;

/// Returns the first line that the command prints. The error says why there is none, and contains
/// nothing that the command has printed.
pub(super) async fn output(command: &str) -> Result<Secret, String> {
    output_within(command, TIMEOUT).await
}

async fn output_within(command: &str, limit: Duration) -> Result<Secret, String> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("its command cannot be started: {error}"))?;
    let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let pipe = child.stdout.take().ok_or("its command has no output")?;
    let mut bytes = Vec::new();
    let read = async {
        pipe.take(LONGEST).read_to_end(&mut bytes).await?;
        child.wait().await
    };
    let ended = tokio::time::timeout(limit, read).await;
    // What the command has left running is ended as well.
    if let Some(group) = group {
        let _gone = kill_process_group(group, Signal::KILL);
    }
    match ended {
        Err(_elapsed) => Err(format!("its command took longer than {} seconds", limit.as_secs())),
        Ok(Err(error)) => Err(format!("its command failed: {error}")),
        Ok(Ok(status)) if !status.success() => Err(format!("its command failed: {status}")),
        Ok(Ok(_success)) => {
            let text = String::from_utf8(bytes).map_err(|_| "its command printed no text")?;
            let line = text.lines().next().unwrap_or_default().trim();
            match line {
                "" => Err("its command printed nothing".to_owned()),
                line => Ok(Secret::new(line)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    async fn the_first_line_of_a_command_is_its_value() {
        assert_eq!(output("printf ' sk-1 \\nmore\\n'").await, Ok(Secret::new("sk-1")));
    }

    #[test]
    async fn a_command_that_fails_hangs_or_says_nothing_is_an_error_without_what_it_printed() {
        for (command, why) in [
            ("echo canary; exit 3", "its command failed: exit status: 3"),
            ("true", "its command printed nothing"),
            ("no-such-program-at-all 2>/dev/null", "its command failed: exit status: 127"),
            ("printf '\\377'", "its command printed no text"),
        ] {
            assert_eq!(output(command).await, Err(why.to_owned()), "{command}");
        }
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join("left");
        let hangs = format!("(sleep 600; touch '{}') & echo canary; sleep 600", left.display());
        let error = output_within(&hangs, Duration::from_secs(1)).await.unwrap_err();
        assert_eq!(error, "its command took longer than 1 seconds");
    }
}
