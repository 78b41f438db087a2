//! What a task's command is run with, and every other process of a task.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use engine::ports::{CommandRequest, Workspace as Place};
use protocol::Command;

use super::message::TaskArguments;

/// Returns the command of `task` as it is to be run in `place`.
pub(super) fn request(
    command: &Command,
    task: &TaskArguments,
    place: &Place,
    attempt: u32,
) -> CommandRequest {
    let mut environment = environment(task, place, attempt);
    let mut set = |name: &str, value: OsString| environment.insert(name.to_owned(), value);
    if let Some(item) = &command.item {
        set("REGATTA_ITEM", item.item.clone().into());
        set("REGATTA_ITEM_STEM", item.stem.clone().into());
        set("REGATTA_ITEM_DIR", item.dir.clone().into());
    }
    CommandRequest {
        script: command.script.clone(),
        arguments: command.arguments.clone(),
        folder: folder(task, place),
        environment,
        output: artifacts(task).join("output.log"),
        keep: task.spec.limits.output,
    }
}

/// Returns what every process of a task finds in its environment.
pub(super) fn environment(
    task: &TaskArguments,
    place: &Place,
    attempt: u32,
) -> BTreeMap<String, OsString> {
    let mut environment: BTreeMap<String, OsString> = BTreeMap::new();
    let mut set = |name: &str, value: OsString| environment.insert(name.to_owned(), value);
    set("REGATTA_RUN", task.run.name.as_str().into());
    set("REGATTA_TASK", task.spec.name.as_str().into());
    set("REGATTA_ATTEMPT", attempt.to_string().into());
    set("REGATTA_REPO", task.run.repo.clone().into());
    set("REGATTA_WORKSPACE", place.root.clone().into());
    environment
}

/// Returns the folder in which a task works.
pub(super) fn folder(task: &TaskArguments, place: &Place) -> PathBuf {
    let subfolder = &task.run.subfolder;
    // Joining nothing would leave a slash at its end.
    if subfolder.as_os_str().is_empty() { place.root.clone() } else { place.root.join(subfolder) }
}

/// Returns the folder of what a task says and prints.
pub(super) fn artifacts(task: &TaskArguments) -> PathBuf {
    let artifacts = &task.deps.policy.artifacts;
    artifacts.join(task.run.name.as_str()).join(task.spec.name.as_str())
}
