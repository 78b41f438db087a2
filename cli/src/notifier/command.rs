//! Runs the command of the user for a notification.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// How long a command may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Runs the command with a JSON object, in one line, on its standard input.
///
/// # Errors
/// It cannot be started, fails, or takes too long: a warning that says so.
pub(super) async fn run(command: &str, notice: &Value) -> Result<(), String> {
    run_within(command, notice, TIMEOUT).await
}

/// Returns the warning about a command that has not ended in time.
pub(super) fn too_long(limit: Duration) -> String {
    failed(&format!("it took longer than {} seconds", limit.as_secs()))
}

fn failed(why: &str) -> String {
    format!("warning: the command of --notify, or of the setting `notify`, failed: {why}")
}

async fn run_within(command: &str, notice: &Value, limit: Duration) -> Result<(), String> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed(&error.to_string()))?;
    let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let stdin = child.stdin.take();
    let ended = tokio::time::timeout(limit, async {
        if let Some(mut stdin) = stdin {
            // A command that does not read it may have ended.
            let _unread = stdin.write_all(format!("{notice}\n").as_bytes()).await;
        }
        child.wait().await
    });
    match ended.await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(failed(&status.to_string())),
        Ok(Err(error)) => Err(failed(&error.to_string())),
        Err(_elapsed) => {
            if let Some(group) = group {
                let _gone = kill_process_group(group, Signal::KILL);
            }
            Err(too_long(limit))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    async fn a_command_gets_the_object_and_its_failure_is_a_warning() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("read");
        let notice = json!({ "type": "run_end", "run": "r1" });
        assert_eq!(run(&format!("cat > '{}'", file.display()), &notice).await, Ok(()));
        let read = std::fs::read_to_string(&file).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&read).unwrap(), notice);
        assert_eq!(run("true", &json!({ "text": "x".repeat(1 << 20) })).await, Ok(()));
        let warning = run("echo no >&2; exit 3", &notice).await.unwrap_err();
        assert!(warning.ends_with("failed: exit status: 3"), "{warning}");
        let hangs = run_within("sleep 600 & sleep 600", &notice, Duration::from_millis(50)).await;
        assert!(hangs.unwrap_err().contains("it took longer than"));
    }
}
