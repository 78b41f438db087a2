//! What workspaces need besides the files of the repository: those of a run, and those of single tasks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a workspace needs besides the files of the repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceNeeds {
    /// The shell scripts that set the workspace up before its worker starts, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<String>,
    /// The folder in which these scripts run.
    #[serde(default, skip_serializing_if = "SetupFolder::is_working_folder")]
    pub setup_folder: SetupFolder,
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

/// The folder of a workspace in which the scripts run that set it up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SetupFolder {
    /// That in which the task works.
    #[default]
    WorkingFolder,
    /// Its root: the scripts of a project's settings.
    Root,
}

impl SetupFolder {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_working_folder(&self) -> bool {
        *self == Self::WorkingFolder
    }
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

    /// Returns what the workspace of a task needs: what the task names, and else what the run does.
    #[must_use]
    pub fn of_task(&self, own: &TaskNeeds) -> Self {
        let TaskNeeds { setup, carry } = own;
        let mut needs = self.clone();
        if let Some(setup) = setup {
            needs.setup.clone_from(setup);
            needs.setup_folder = SetupFolder::WorkingFolder;
        }
        if let Some(carry) = carry {
            needs.carry.clone_from(carry);
            needs.carry_default = CarryDefault::Nothing;
        }
        needs
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
    /// Returns whether the workspace needs what those of the run need.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.setup.is_none() && self.carry.is_none()
    }
}

/// What tasks of a run need in place of what its workspaces need.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OwnNeeds {
    /// The set-up commands of tasks that have their own, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<String>,
    /// The number of tasks that have their own set-up, which may be none.
    pub setup_tasks: usize,
    /// The globs of ignored files of tasks that have their own, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub carry: Vec<String>,
    /// The number of tasks that have their own globs, which may be none.
    pub carry_tasks: usize,
}

impl OwnNeeds {
    /// Returns what tasks with these needs have of their own.
    pub fn of<'a>(tasks: impl IntoIterator<Item = &'a TaskNeeds>) -> Self {
        let mut own = Self::default();
        for TaskNeeds { setup, carry } in tasks {
            own.setup_tasks += usize::from(setup.is_some());
            own.carry_tasks += usize::from(carry.is_some());
            add_new(&mut own.setup, setup.iter().flatten());
            add_new(&mut own.carry, carry.iter().flatten());
        }
        own
    }

    /// Returns whether no task has anything of its own.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.setup_tasks == 0 && self.carry_tasks == 0
    }
}

fn add_new<'a>(known: &mut Vec<String>, words: impl Iterator<Item = &'a String>) {
    for word in words {
        if !known.contains(word) {
            known.push(word.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_task_names_replaces_what_its_run_names_also_by_nothing() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let run = WorkspaceNeeds {
            setup: words(&["all"]),
            setup_folder: SetupFolder::Root,
            carry: words(&["a"]),
            carry_default: CarryDefault::IncludeFile,
            carry_limit: 7,
        };
        assert_eq!(run.of_task(&TaskNeeds::default()), run);
        let own = TaskNeeds { setup: Some(words(&["own"])), carry: None };
        let expected = WorkspaceNeeds {
            setup: words(&["own"]),
            setup_folder: SetupFolder::WorkingFolder,
            ..run.clone()
        };
        assert_eq!(run.of_task(&own), expected);
        let nothing = TaskNeeds { setup: Some(Vec::new()), carry: Some(Vec::new()) };
        let expected = WorkspaceNeeds {
            carry_default: CarryDefault::Nothing,
            carry_limit: 7,
            ..WorkspaceNeeds::default()
        };
        assert_eq!(run.of_task(&nothing), expected, "the include file selects nothing, either");
        let all = OwnNeeds::of([&own, &nothing, &own, &TaskNeeds::default()]);
        assert_eq!((all.setup, all.setup_tasks), (words(&["own"]), 3));
        assert_eq!((all.carry, all.carry_tasks), (Vec::new(), 1));
    }
}
