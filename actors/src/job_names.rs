//! The names of all jobs of all actors, with their failpoints.

/// Declares the jobs, each with the names of its failpoints.
macro_rules! jobs {
    ($($job:ident = $name:literal, $doc:literal;)*) => {
        /// A job of an actor. It has a failpoint at its begin, `job.NAME`, and at its end,
        /// `job.NAME.end`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Job {
            $(#[doc = $doc] $job,)*
        }

        impl Job {
            /// All jobs.
            pub const ALL: &[Self] = &[$(Self::$job,)*];

            /// Returns the failpoint at its begin.
            #[must_use]
            pub const fn begin(self) -> &'static str {
                match self {
                    $(Self::$job => concat!("job.", $name),)*
                }
            }

            /// Returns the failpoint at its end, before the owner gets the result.
            #[must_use]
            pub const fn end(self) -> &'static str {
                match self {
                    $(Self::$job => concat!("job.", $name, ".end"),)*
                }
            }
        }
    };
}

jobs! {
    RootWatch = "root.watch", "The pause after which the root looks whether its closing goes on.";
    RunsOpen = "runs.open", "Opening a run.";
    RunsWithdraw = "runs.withdraw", "Withdrawing a run that is not wanted any more.";
    RunCheck = "run.check", "Checking the schemas of tasks that are to be added.";
    RunLand = "run.land", "Landing the work of a run.";
    RunSettle = "run.settle", "Waiting until no workspace of a run is in use.";
    RunClose = "run.close", "Waiting until the claim on the workspaces of a run is given up.";
    TaskPrepare = "task.prepare", "Waiting for a workspace.";
    TaskEquip = "task.equip", "Waiting for an executor.";
    TaskSetUp = "task.set-up", "The set-up of a task's workspace.";
    TaskWork = "task.work", "The work of a task's worker.";
    TaskClear = "task.clear", "Waiting until what a crashed worker started is gone.";
    TaskSeal = "task.seal", "Waiting until nothing writes into the workspace of a task.";
    TaskCapture = "task.capture", "Waiting for a capture.";
    TaskDiscard = "task.discard", "Waiting until a workspace is gone.";
    TaskTimer = "task.timer", "A deadline of a task.";
    TaskProgress = "task.progress", "The pause before a task tells its progress again.";
    RepositoryFreeze = "repository.freeze", "Freezing a working tree.";
    RepositoryLand = "repository.land", "Landing in a repository.";
    RepositoryTakeBack = "repository.take-back", "Taking back the workspace of a crashed owner.";
    RepositoryClose = "repository.close", "Giving up the claim on the workspaces of a run.";
    WorkspacePrepare = "workspace.prepare", "Making a workspace.";
    WorkspaceAccept = "workspace.accept", "Recording what the set-up of a workspace has left.";
    WorkspaceCapture = "workspace.capture", "Capturing a workspace.";
    WorkspaceDiscard = "workspace.discard", "Removing a workspace.";
    WorkspaceTakeBack = "workspace.take-back", "Taking back a workspace whose task died.";
    LedgerOpenRun = "ledger.open-run", "Recording a run.";
    LedgerAppend = "ledger.append", "Recording entries.";
    GateWake = "gate.wake", "The pause before a gate looks at its queue again.";
    ExecutorBuild = "executor.build", "Building the tools of a session.";
    ExecutorRun = "executor.run", "Running a command.";
    ExecutorClassify = "executor.classify", "Asking tools what calls do.";
    ExecutorCall = "executor.call", "Carrying out a call.";
    SessionOpen = "session.open", "Opening a session before it is asked for anything.";
    SessionWork = "session.work", "The turns of a session.";
    SessionModel = "session.model", "Finding what answers for another model.";
    SessionsLease = "sessions.lease", "Waiting for the executor of a session.";
    SessionsOpen = "sessions.open", "Waiting until a session is open.";
    SessionsModel = "sessions.model", "Waiting until a session has another model.";
    SessionsClear = "sessions.clear", "Waiting until what a crashed session started is gone.";
    SessionsClose = "sessions.close", "Waiting until a session has ended its work.";
    SessionsSeal = "sessions.seal", "Waiting until nothing of a closed session runs.";
}
