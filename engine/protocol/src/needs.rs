//! What workspaces need besides the files of the repository: those of a run, and those of single tasks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a workspace needs besides the files of the repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceNeeds {
    /// The shell scripts that set the workspace up before its worker starts, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<String>,
    /// The globs of the ignored files that are copied into the workspace, relative to the root of
    /// the repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carry: Vec<String>,
    /// Which ignored files are copied if `carry` names none.
    #[serde(default, skip_serializing_if = "CarryDefault::is_include_file")]
    pub carry_default: CarryDefault,
    /// The maximum total size in bytes of the files that are copied.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub carry_limit: u64,
}

/// Which ignored files are copied into a workspace if nobody names any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CarryDefault {
    /// Those that the file `.worktreeinclude` at the root of the repository selects.
    #[default]
    IncludeFile,
    /// None.
    Nothing,
}

impl CarryDefault {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_include_file(&self) -> bool {
        *self == Self::IncludeFile
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl WorkspaceNeeds {
    /// Returns whether a workspace needs nothing else.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.setup.is_empty() && self.carry.is_empty() && self.carry_default.is_include_file()
    }
}

/// What the workspace of one task needs in place of what those of its run need.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskNeeds {
    /// The shell scripts that set the workspace up, if not those of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Vec<String>>,
    /// The globs of the ignored files that are copied into the workspace, relative to the root of the
    /// repository, if not those of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carry: Option<Vec<String>>,
}

impl TaskNeeds {
    /// Returns the set-up commands that are named here, each once.
    pub fn all_setup<'a>(needs: impl IntoIterator<Item = &'a Self>) -> Vec<String> {
        let mut commands = Vec::new();
        for command in needs.into_iter().flat_map(|needs| needs.setup.iter().flatten()) {
            if !commands.contains(command) {
                commands.push(command.clone());
            }
        }
        commands
    }

    /// Returns whether the workspace needs what those of the run need.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.setup.is_none() && self.carry.is_none()
    }
}
