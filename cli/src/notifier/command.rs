//! Runs the commands of a person for a notification.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use config::{DataPaths, Setting};
use regatta::trust::counts_still;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};
use tokio::task::spawn_blocking;

/// How long a command may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The process groups of the commands that run; `None` once the program ends.
static GROUPS: Mutex<Option<Vec<Pid>>> = Mutex::new(Some(Vec::new()));

/// The commands of the setting `notify`, or of `--notify`.
#[derive(Clone, Debug)]
pub(super) struct Commands {
    setting: Setting<Vec<String>>,
    /// Where it says what the user trusts.
    places: DataPaths,
}

/// What the user should know, once each.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Warnings {
    failed: Option<String>,
    changed: Option<String>,
}

impl Warnings {
    pub(super) fn lines(self) -> Vec<String> {
        self.changed.into_iter().chain(self.failed).collect()
    }
}

impl Commands {
    pub(super) fn new(setting: Setting<Vec<String>>, places: DataPaths) -> Self {
        Self { setting, places }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.setting.value.is_empty()
    }

    /// Runs the commands one after another, each with a JSON object, in one line, on its standard input. Those
    /// of a project run at its root, and only while the user trusts them as they are.
    pub(super) async fn run(&self, notice: &Value, warnings: &mut Warnings) {
        self.run_within(notice, TIMEOUT, warnings).await;
    }

    async fn run_within(&self, notice: &Value, limit: Duration, warnings: &mut Warnings) {
        let root = self.setting.origin.project_root();
        for command in &self.setting.value {
            if let Some(root) = root
                && !self.are_trusted(root.to_owned()).await
            {
                let origin = &self.setting.origin;
                warnings.changed.get_or_insert_with(|| changed(&origin.to_string()));
                return;
            }
            if let Err(why) = run_one(command, root, notice, limit).await {
                warnings.failed.get_or_insert_with(|| failed(&why));
            }
        }
    }

    /// Returns whether the settings of the project at `root` would give the same commands now. A task or a model
    /// may have changed what they run.
    async fn are_trusted(&self, root: PathBuf) -> bool {
        let Self { setting, places } = self.clone();
        let checked = spawn_blocking(move || {
            counts_still(&places, &root, &setting, |settings| &settings.notify)
        });
        checked.await.unwrap_or(false)
    }
}

/// Returns the warning about a command that has not ended in time.
pub(super) fn too_long(limit: Duration) -> String {
    failed(&late(limit))
}

fn late(limit: Duration) -> String {
    format!("it took longer than {} seconds", limit.as_secs())
}

fn failed(why: &str) -> String {
    format!("warning: the command of --notify, or of the setting `notify`, failed: {why}")
}

fn changed(origin: &str) -> String {
    format!(
        "warning: {origin}: `notify` or what it runs has changed since the start, and was not run: regatta trust"
    )
}

/// Runs a command, and kills what it has left behind.
///
/// # Errors
/// Returns why it could not be started, how it failed, or that it took too long.
async fn run_one(
    command: &str,
    folder: Option<&Path>,
    notice: &Value,
    limit: Duration,
) -> Result<(), String> {
    let (mut child, _group) = start(command, folder).map_err(|error| error.to_string())?;
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
        Ok(Ok(status)) => Err(status.to_string()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_elapsed) => Err(late(limit)),
    }
}

/// Starts a command in a process group of its own.
fn start(command: &str, folder: Option<&Path>) -> io::Result<(Child, ProcessGroup)> {
    let mut sh = Command::new("/bin/sh");
    sh.args(["-c", command]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    sh.process_group(0);
    if let Some(folder) = folder {
        sh.current_dir(folder);
    }
    // While it is held, the program does not end between the start and the record of it.
    let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    let groups = groups.as_mut().ok_or_else(|| io::Error::other("the program ends"))?;
    let child = sh.spawn()?;
    let id = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let id = id.ok_or_else(|| io::Error::other("its process has no number"))?;
    groups.push(id);
    Ok((child, ProcessGroup(id)))
}

/// The processes of a command, which are killed when this is dropped.
#[derive(Debug)]
struct ProcessGroup(Pid);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(groups) = groups.as_mut() {
            groups.retain(|group| *group != self.0);
        }
        let _gone = kill_process_group(self.0, Signal::KILL);
    }
}

/// Kills the commands that run, and lets none start any more. The program must end then.
pub(crate) fn end_all() {
    let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    for group in groups.take().into_iter().flatten() {
        let _gone = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(test)]
mod tests;
