//! The errors of the isolation port.

use std::path::PathBuf;

use protocol::{Failure, FailureClass, FailureDetail, TaskName, error_chain};

/// An error of isolation.
#[derive(Debug, thiserror::Error)]
pub enum IsolationError {
    /// The repository cannot be used in its current state. The user can change that.
    #[error("{what}")]
    Refused {
        /// What is refused, and where.
        what: String,
        /// The reason.
        because: String,
        /// What the user can do; a command line if there is one.
        hint: String,
    },
    /// The system is out of a resource: disk space, quota, file descriptors or memory.
    #[error("cannot {what}")]
    Resources {
        /// What was attempted, including the path.
        what: String,
        /// The error of the system.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The captures on which a workspace is based conflict.
    #[error("the work of {} conflicts", names(.tasks))]
    Predecessors {
        /// The tasks with the conflicting captures.
        tasks: Vec<TaskName>,
        /// The conflicting paths, formatted for the user.
        paths: Vec<String>,
    },
    /// A workspace does not exist any more.
    #[error("its workspace {} is gone: the task removed it or moved it away", .root.display())]
    Vanished {
        /// The root of the copy of the working tree.
        root: PathBuf,
    },
    /// The request was cancelled before anything was done.
    #[error("the run was cancelled before it began")]
    Withdrawn,
    /// Another error.
    #[error("cannot {what}")]
    Failed {
        /// What was attempted, including the path.
        what: String,
        /// The error of the system or of the repository.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl IsolationError {
    /// Returns the failure of a task that has this error.
    #[must_use]
    pub fn to_failure(&self) -> Failure {
        let message = self.to_string();
        match self {
            Self::Refused { because, hint, .. } => {
                let message = format!("{message}: {because}");
                Failure::new(FailureClass::Workspace, message).advise(format!("try: {hint}"))
            }
            Self::Resources { .. } => Failure::new(FailureClass::Resources, error_chain(self)),
            Self::Predecessors { tasks, paths } => {
                let message = format!("{message} on {}", paths.join(", "));
                Failure::new(FailureClass::Dependency, message)
                    .with(FailureDetail::Tasks { tasks: tasks.clone() })
            }
            Self::Vanished { .. } | Self::Withdrawn => {
                Failure::new(FailureClass::Workspace, message)
            }
            Self::Failed { .. } => Failure::new(FailureClass::Workspace, error_chain(self)),
        }
    }
}

fn names(tasks: &[TaskName]) -> String {
    let names: Vec<_> = tasks.iter().map(TaskName::as_str).collect();
    names.join(" and ")
}
