//! The form in a journal of what each task has changed.

use protocol::{RepoPath, Side, TaskName};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::file_entry::{Change, Entry};
use crate::landing::plan::entry_of_side;
use crate::merge::TaskChange;

#[derive(Serialize, Deserialize)]
struct Stored {
    task: TaskName,
    path: RepoPath,
    before: Option<Side>,
    after: Option<Side>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<RepoPath>,
}

pub(super) fn serialize<S: Serializer>(
    changes: &[TaskChange],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(changes.iter().cloned().map(|TaskChange { task, change }| {
        let Change { path, base, task: after, from } = change;
        let [before, after] = [base, after].map(|entry| entry.map(Entry::to_side));
        Stored { task, path, before, after, from }
    }))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<TaskChange>, D::Error> {
    let stored: Vec<Stored> = Vec::deserialize(deserializer)?;
    let entry = |side: Option<Side>| side.map(entry_of_side).transpose();
    let read = stored.into_iter().map(|Stored { task, path, before, after, from }| {
        let change = Change { path, base: entry(before)?, task: entry(after)?, from };
        Ok(TaskChange { task, change })
    });
    read.collect::<Result<_, String>>().map_err(serde::de::Error::custom)
}
