//! The isolation modes, and the capabilities of each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How tasks are isolated from each other and from the user's working tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IsolationMode {
    /// Each task works in its own copy of the working tree.
    Worktree,
    /// All tasks work in the user's working tree. Nothing is captured and nothing lands.
    None,
}

/// The capabilities of an isolation mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The kind of working tree in which a task works.
    pub workspace: WorkspaceKind,
    /// The state of the user's tree from which a task starts.
    pub base: BaseState,
    /// Whether the changes of a task can be captured, and so can land.
    pub can_capture: bool,
    /// Whether a workspace can be captured while its task is running.
    pub can_checkpoint: bool,
}

/// The kind of working tree in which a task works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceKind {
    /// A copy of its own.
    Private,
    /// The user's working tree, shared with all other tasks.
    Shared,
}

/// The state of the user's tree from which a task starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseState {
    /// The state at the start of the run, even if the tree has changed since.
    Snapshot,
    /// The current state.
    Current,
}

/// The properties of one mode.
struct ModeProperties {
    mode: IsolationMode,
    /// The name in settings and on the command line.
    name: &'static str,
    /// Other names that settings and the command line accept.
    aliases: &'static [&'static str],
    /// The name in output for people.
    label: &'static str,
    capabilities: Capabilities,
}

const WORKTREE: ModeProperties = ModeProperties {
    mode: IsolationMode::Worktree,
    name: "worktree",
    aliases: &["rcopy"],
    label: "worktree",
    capabilities: Capabilities {
        workspace: WorkspaceKind::Private,
        base: BaseState::Snapshot,
        can_capture: true,
        can_checkpoint: true,
    },
};

const NONE: ModeProperties = ModeProperties {
    mode: IsolationMode::None,
    name: "none",
    aliases: &[],
    label: "in place",
    capabilities: Capabilities {
        workspace: WorkspaceKind::Shared,
        base: BaseState::Current,
        can_capture: false,
        can_checkpoint: false,
    },
};

/// All modes.
const TABLE: [&ModeProperties; 2] = [&WORKTREE, &NONE];

/// The names of modes that are planned and not implemented yet.
const PLANNED: [&str; 12] = [
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
    /// The mode that `auto` stands for: the best mode that works on every machine.
    pub const AUTO: Self = Self::Worktree;

    /// Returns the mode with this name or alias, if there is one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let is_named = |it: &&&ModeProperties| it.name == name || it.aliases.contains(&name);
        TABLE.iter().find(is_named).map(|it| it.mode)
    }

    /// Returns whether `name` is the name of a planned mode.
    #[must_use]
    pub fn is_planned(name: &str) -> bool {
        PLANNED.contains(&name)
    }

    /// Returns the name of the mode in settings and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.properties().name
    }

    /// Returns the capabilities of the mode.
    #[must_use]
    pub fn capabilities(self) -> Capabilities {
        self.properties().capabilities
    }

    /// Returns the name of the mode in output for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        self.properties().label
    }

    fn properties(self) -> &'static ModeProperties {
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
        for it in TABLE {
            assert_eq!(it.mode.properties().label, it.label);
            for name in it.aliases.iter().copied().chain([it.mode.name()]) {
                assert_eq!(IsolationMode::named(name), Some(it.mode));
                assert!(!IsolationMode::is_planned(name), "{name}");
            }
            assert_eq!(serde_json::to_value(it.mode).unwrap(), it.name);
        }
        assert_eq!(IsolationMode::named("overlay"), None);
        assert!(IsolationMode::is_planned("overlay"));
    }
}
