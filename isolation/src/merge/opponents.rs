//! With whose work a conflict is: that of the task since which the versions do not merge. Later tasks may
//! have changed other lines of the file.

use git2::{ObjectType, Oid};
use protocol::{ConflictParties, ConflictReason, RenamedFile, RepoPath, TaskName};

use crate::error::Result;
use crate::file_entry::{Change, Entry};
use crate::merge::path_texts::PathTexts;
use crate::merge::side_renames::Remover;
use crate::merge::tree_merge::Versions;
use crate::merge::{BlobForm, Blobs, MergeRule, MergeRules, Merger, TaskChange, three_way};

/// Returns how three versions of a path conflict, the base first; `None` if they merge or cannot be read.
/// Nothing is written.
pub(crate) fn clash(
    blobs: &dyn Blobs,
    rules: Option<&MergeRules>,
    path: &RepoPath,
    versions: [Option<Entry>; 3],
) -> Option<ConflictReason> {
    let blobs = Unwritten(blobs);
    let rule = || rules.map_or(Ok(MergeRule::Text), |rules| rules.of_path(path));
    let texts = PathTexts::of(&blobs, rules, path, versions);
    let [base, ours, theirs] = versions;
    three_way(&texts, &rule, base, ours, theirs).ok()?.err()
}

/// Blobs to which nothing is written.
struct Unwritten<'a>(&'a dyn Blobs);

impl Blobs for Unwritten<'_> {
    fn read(&self, oid: Oid) -> Result<Vec<u8>> {
        self.0.read(oid)
    }

    fn write(&self, bytes: &[u8]) -> Result<Oid> {
        Ok(Oid::hash_object(ObjectType::Blob, bytes).unwrap_or(Oid::ZERO_SHA1))
    }

    fn form(&self) -> BlobForm {
        self.0.form()
    }
}

impl Merger<'_> {
    /// Returns the task with whose work a conflict is, if that is known better than from who changed the
    /// path last.
    pub(super) fn opponent(
        &self,
        (path, reason): (&RepoPath, ConflictReason),
        versions: &Versions,
        renamed: Option<&RenamedFile>,
    ) -> Option<TaskName> {
        if matches!(reason, ConflictReason::RenamedTwice | ConflictReason::RenamedAndRemoved) {
            return match self.remover(&renamed?.from) {
                Remover::Task(task) => Some(task),
                Remover::User | Remover::Nobody => None,
            };
        }
        let ours = renamed.and_then(|names| names.ours.as_ref()).unwrap_or(path);
        let is_of_several = self.changed.get(ours).is_some_and(|changed| changed.by.len() > 1);
        if !is_of_several || reason.parties() != ConflictParties::Versions {
            return None;
        }
        let clashes = |own: &&TaskChange| {
            let versions = [versions.base, own.change.task, versions.sides[1]];
            clash(self.blobs, self.rules, path, versions) == Some(reason)
        };
        let from = renamed.map(|names| &names.from);
        let is_of_file = |own: &&TaskChange| {
            let Change { path, task, .. } = &own.change;
            path == ours || Some(path) == from && task.is_some()
        };
        let changes = self.task_changes.iter().rev().filter(is_of_file);
        changes.take_while(clashes).last().map(|own| own.task.clone())
    }
}
