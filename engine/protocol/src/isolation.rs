//! The ways to isolate tasks, and what each of them can do.

use serde::{Deserialize, Serialize};

/// How tasks are kept apart from each other and from the user's tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IsolationMode {
    /// A copy of the working tree per task.
    Worktree,
    /// In place: no copy, no capture, no landing.
    None,
}

/// What a way to isolate can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Which working tree a task works in.
    pub workspace: WorkspaceKind,
    /// Which state of the user's tree a task works from.
    pub base: BaseState,
    /// Whether what a task changed can be captured, and so land.
    pub can_capture: bool,
    /// Whether a workspace can be recorded while its task goes on.
    pub can_checkpoint: bool,
}

/// Which working tree a task works in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceKind {
    /// One of its own.
    Private,
    /// The user's, with every other task.
    Shared,
}

/// Which state of the user's tree a task works from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseState {
    /// The one in which the run began, whatever happens to the tree since.
    Frozen,
    /// The present one.
    Live,
}

/// What there is to know about a mode.
struct Row {
    mode: IsolationMode,
    /// What it is called in settings and on the command line.
    name: &'static str,
    /// What else it is called there.
    aliases: &'static [&'static str],
    /// What it is called where people read what a run is.
    label: &'static str,
    capabilities: Capabilities,
}

const WORKTREE: Row = Row {
    mode: IsolationMode::Worktree,
    name: "worktree",
    aliases: &["rcopy"],
    label: "worktree",
    capabilities: Capabilities {
        workspace: WorkspaceKind::Private,
        base: BaseState::Frozen,
        can_capture: true,
        can_checkpoint: true,
    },
};

const NONE: Row = Row {
    mode: IsolationMode::None,
    name: "none",
    aliases: &[],
    label: "in place",
    capabilities: Capabilities {
        workspace: WorkspaceKind::Shared,
        base: BaseState::Live,
        can_capture: false,
        can_checkpoint: false,
    },
};

/// Every mode.
const TABLE: [&Row; 2] = [&WORKTREE, &NONE];

/// The names of modes that come later.
const LATER: [&str; 12] = [
    "fuse-overlay",
    "overlayfs",
    "snapshot",
    "apfs",
    "btrfs",
    "zfs",
    "reflink",
    "block-clone",
    "fuse-projfs",
    "projfs",
    "fuse",
    "overlay",
];

impl IsolationMode {
    /// The best mode that every machine can do.
    pub const AUTO: Self = Self::Worktree;

    /// Returns the mode of this name, if there is one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let is_named = |row: &&&Row| row.name == name || row.aliases.contains(&name);
        TABLE.iter().find(is_named).map(|row| row.mode)
    }

    /// Returns whether `name` is that of a mode which comes later.
    #[must_use]
    pub fn is_planned(name: &str) -> bool {
        LATER.contains(&name)
    }

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns what it can do.
    #[must_use]
    pub fn capabilities(self) -> Capabilities {
        self.row().capabilities
    }

    /// Returns what it is called where people read what a run is.
    #[must_use]
    pub fn label(self) -> &'static str {
        self.row().label
    }

    fn row(self) -> &'static Row {
        match self {
            Self::Worktree => &WORKTREE,
            Self::None => &NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_the_one_of_its_mode_and_its_names_are_its_own() {
        for row in TABLE {
            assert_eq!(row.mode.row().label, row.label);
            for name in row.aliases.iter().copied().chain([row.mode.name()]) {
                assert_eq!(IsolationMode::named(name), Some(row.mode));
                assert!(!IsolationMode::is_planned(name), "{name}");
            }
            assert_eq!(serde_json::to_value(row.mode).unwrap(), row.name);
        }
        assert_eq!(IsolationMode::named("overlay"), None);
        assert!(IsolationMode::is_planned("overlay"));
    }
}
