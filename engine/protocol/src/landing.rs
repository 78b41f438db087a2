//! The result of a landing, which merges the captured work of tasks into the user's repository.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CaptureRef, RepoPath, RunName, TaskName, Unverified};

/// The result of one landing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingReport {
    /// The result for each task, in the order in which they were merged.
    pub tasks: Vec<TaskLanding>,
}

/// The result of a landing for one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskLanding {
    /// The task.
    pub task: TaskName,
    /// The result.
    #[serde(flatten)]
    pub landed: Landed,
    /// What was settled of its conflicts, and what landed beside conflicts that were not.
    #[serde(default, skip_serializing_if = "Settled::is_empty")]
    pub settled: Settled,
}

impl TaskLanding {
    /// Returns a result without settled conflicts.
    #[must_use]
    pub fn of(task: TaskName, landed: Landed) -> Self {
        Self { task, landed, settled: Settled::default() }
    }
}

/// What was settled of the conflicts of one task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Settled {
    /// The settled conflicts, sorted by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<SettledConflict>,
    /// The paths of the task that landed, or were settled, while others conflict; sorted. A later
    /// landing leaves them as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub landed: Vec<RepoPath>,
}

impl Settled {
    /// Returns whether nothing was settled.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.conflicts.is_empty() && self.landed.is_empty()
    }
}

/// A conflict that was settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettledConflict {
    /// The path of the conflict.
    pub path: RepoPath,
    /// How it was settled.
    pub by: SettledBy,
    /// The resolver that wrote the file, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolver: Option<ResolverRecord>,
}

/// What is recorded of a resolver that wrote the file of a conflict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResolverRecord {
    /// The command, of which only the beginning is kept; or `agent` and its model.
    pub program: String,
    /// The exit code of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The run of the agent, which has its usage and its log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunName>,
    /// The capture of what was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<CaptureRef>,
}

/// What is recorded of a resolver that did not settle a conflict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResolverFailure {
    /// The path of the conflict.
    pub path: RepoPath,
    /// The reason, in one line.
    pub why: String,
    /// The resolver.
    pub resolver: ResolverRecord,
}

/// How a conflict was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettledBy {
    /// What stands in the tree was kept.
    Ours,
    /// The version of the task was taken.
    Theirs,
    /// Where both sides changed the same lines, the lines of both were kept, ours first.
    Union,
    /// The file has git's markers around the lines that both sides changed.
    Markers,
    /// The user's merge tool wrote the file.
    Tool,
    /// The command or the agent of `--resolve` wrote the file.
    Resolver,
}

/// The result of landing one task's work. Work that did not land stays in the task store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "landing", rename_all = "snake_case")]
pub enum Landed {
    /// The work is in the working tree or on a branch.
    Landed {
        /// The branch, if work lands on branches.
        branch: Option<String>,
        /// The files in which lines that another task or the user changed too were kept beside
        /// the task's, as `merge=union` or `--union` asks for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        joined: Vec<RepoPath>,
    },
    /// The task changed nothing.
    Unchanged,
    /// The work conflicts with the tree or with other tasks.
    Conflicted {
        /// The conflicting paths.
        conflicts: Vec<Conflict>,
    },
    /// The work could not be written.
    Unwritten {
        /// The reason.
        message: String,
    },
    /// The work depends on work that did not land.
    Waiting {
        /// The tasks whose work did not land.
        on: Vec<TaskName>,
    },
    /// The work was kept, because it was not verified or has failed its verification.
    Unverified(Box<Unverified>),
    /// The work had landed, and was taken back.
    TakenBack {
        /// What was left as it is, because it cannot be taken back: in each conflict the base is the
        /// version that had landed, ours what is there, and theirs what was there before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left: Vec<Conflict>,
    },
}

/// A conflict at one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    /// The path.
    pub path: RepoPath,
    /// The kind of conflict.
    pub reason: ConflictReason,
    /// The version with which the task started; none if the path did not exist.
    pub base: Option<Side>,
    /// The current version in the tree.
    pub ours: Option<Side>,
    /// The version of the task.
    pub theirs: Option<Side>,
    /// The task of the same run with whose work it conflicts, if there is one.
    pub with: Option<TaskName>,
    /// The names of the file, if a side renamed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed: Option<RenamedFile>,
}

/// The names of a file that one side of a conflict renamed, or both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RenamedFile {
    /// Its path when the task started.
    pub from: RepoPath,
    /// Its path in the tree; `None` if it was removed.
    pub ours: Option<RepoPath>,
    /// The path that the task gave it; `None` if the task removed it.
    pub theirs: Option<RepoPath>,
}

/// One version of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// The git file mode: 100644, 100755 or 120000; 160000 for a submodule.
    pub mode: u32,
    /// The id of the blob in the task store; of a submodule, the id of its commit.
    pub oid: String,
}

/// One conflict of two texts with a common base. Lines have their line endings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConflictHunk {
    /// The number of the first line of our version, from 1.
    pub line: usize,
    /// The lines before it, in our version.
    pub before: Vec<Vec<u8>>,
    /// The lines of the base.
    pub base: Vec<Vec<u8>>,
    /// Our lines.
    pub ours: Vec<Vec<u8>>,
    /// Their lines.
    pub theirs: Vec<Vec<u8>>,
    /// The lines after it, in our version.
    pub after: Vec<Vec<u8>>,
}

impl ConflictReason {
    /// Returns whether only what stands can stay, because nothing else can be written or committed.
    #[must_use]
    pub fn keeps_ours_only(self) -> bool {
        match self {
            Self::Contested
            | Self::Unwritable
            | Self::Uncommitted
            | Self::MissingCommit
            | Self::GitmodulesLink
            | Self::Filter
            | Self::Encoding => true,
            Self::Content
            | Self::Binary
            | Self::BothAdded
            | Self::ChangedAndRemoved
            | Self::Kind
            | Self::Mode
            | Self::InTheWay
            | Self::Submodule
            | Self::Untracked
            | Self::NotCheckedOut
            | Self::Setup
            | Self::TooLarge
            | Self::RenamedTwice
            | Self::RenamedAndRemoved
            | Self::SameName
            | Self::FolderSplit
            | Self::Case => false,
        }
    }

    /// Returns what conflicts for this reason.
    #[must_use]
    pub fn parties(self) -> ConflictParties {
        match self {
            Self::Content
            | Self::Binary
            | Self::BothAdded
            | Self::ChangedAndRemoved
            | Self::Kind
            | Self::Mode
            | Self::TooLarge => ConflictParties::Versions,
            Self::RenamedTwice
            | Self::RenamedAndRemoved
            | Self::SameName
            | Self::FolderSplit
            | Self::InTheWay => ConflictParties::Names,
            Self::Case => ConflictParties::NamesInCase,
            Self::Submodule
            | Self::MissingCommit
            | Self::Untracked
            | Self::NotCheckedOut
            | Self::Uncommitted
            | Self::Filter
            | Self::Encoding
            | Self::Contested
            | Self::GitmodulesLink
            | Self::Unwritable
            | Self::Setup => ConflictParties::Place,
        }
    }
}

/// What conflicts with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictParties {
    /// Two changes of one path.
    Versions,
    /// Two changes of the names of files.
    Names,
    /// A name and one that differs from it only in case, and that need not have changed.
    NamesInCase,
    /// The work and the place where it would land, which cannot take it.
    Place,
}

/// The kind of a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictReason {
    /// Both sides changed the same lines.
    Content,
    /// Both sides changed a binary file.
    Binary,
    /// Both sides added the path with different content.
    BothAdded,
    /// One side changed the path, and the other removed it.
    ChangedAndRemoved,
    /// One side changed the type of the path, for instance from a file to a symlink, and the other
    /// changed its content.
    Kind,
    /// Both sides added the same content with different modes.
    Mode,
    /// One side has a file where the other needs a folder.
    InTheWay,
    /// A submodule is at the path, or above it.
    Submodule,
    /// The task has checked out a commit in the submodule at the path that no repository of the user's
    /// has.
    MissingCommit,
    /// A file of the user's that git does not track is at the path.
    Untracked,
    /// git tracks a file at the path that is not checked out: it is outside of a sparse checkout, or a
    /// partial clone has no copy of it.
    NotCheckedOut,
    /// The change depends on an uncommitted change of the user, which a branch cannot contain.
    Uncommitted,
    /// To commit the file, git would have to run a filter program.
    Filter,
    /// To commit the file, it would have to be converted from an encoding that is not known here, or in
    /// which it is not.
    Encoding,
    /// Another program kept writing the file during the landing.
    Contested,
    /// The file could not be written.
    Unwritable,
    /// The task changed the same lines as the set-up of its workspace.
    Setup,
    /// Both sides changed a file that is too large to be merged line by line.
    TooLarge,
    /// Both sides renamed the file, to different names.
    RenamedTwice,
    /// One side renamed the file, and the other removed it.
    RenamedAndRemoved,
    /// Different files would get this path, because one side renamed files or a folder.
    SameName,
    /// One side renamed a folder, and where to is not clear for a file that the other side added.
    FolderSplit,
    /// A path that differs from this one in case only is there, and the file system takes both for
    /// one.
    Case,
    /// git refuses a symlink with the name `.gitmodules`.
    GitmodulesLink,
}

/// A kept version of a file: another program wrote the version just before a landing replaced it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rescue {
    /// The file.
    pub path: RepoPath,
    /// The run whose landing replaced the version.
    pub run: RunName,
    /// Where the version is kept.
    pub kept: RescueLocation,
}

/// Where a replaced version of a file is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "in", rename_all = "snake_case")]
pub enum RescueLocation {
    /// In the task store.
    Store {
        /// The path of the store, which is a bare repository.
        git_dir: String,
        /// The git revision of the blob.
        object: String,
    },
    /// In the working tree, because a program still has the file open for writing.
    Tree {
        /// The path of the kept file.
        file: RepoPath,
    },
}
