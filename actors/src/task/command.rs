//! What a task's command is run with.

use std::collections::BTreeMap;
use std::ffi::OsString;

use engine::ports::{CommandRequest, Workspace as Place};
use protocol::Command;

use super::TaskArguments;

/// Returns the command of `task` as it is to be run in `place`.
pub(super) fn request(
    command: &Command,
    task: &TaskArguments,
    place: &Place,
    attempt: u32,
) -> CommandRequest {
    let run = &task.run;
    let mut environment: BTreeMap<String, OsString> = BTreeMap::new();
    let mut set = |name: &str, value: OsString| environment.insert(name.to_owned(), value);
    set("REGATTA_RUN", run.name.as_str().into());
    set("REGATTA_TASK", task.spec.name.as_str().into());
    set("REGATTA_ATTEMPT", attempt.to_string().into());
    set("REGATTA_REPO", run.repo.clone().into());
    set("REGATTA_WORKSPACE", place.root.clone().into());
    if let Some(item) = &command.item {
        set("REGATTA_ITEM", item.item.clone().into());
        set("REGATTA_ITEM_STEM", item.stem.clone().into());
        set("REGATTA_ITEM_DIR", item.dir.clone().into());
    }
    let artifacts = &task.means.policy.artifacts;
    let output = artifacts.join(run.name.as_str()).join(task.spec.name.as_str()).join("output.log");
    CommandRequest {
        script: command.script.clone(),
        arguments: command.arguments.clone(),
        folder: place.root.join(&run.subfolder),
        environment,
        output,
        keep: task.spec.limits.output,
    }
}
