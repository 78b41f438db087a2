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
    RootWatch = "root.watch", "The pause between two checks whether a shutdown makes progress.";
    RunsOpen = "runs.open", "Opening a run.";
    RunsWithdraw = "runs.withdraw", "Withdrawing a run that was cancelled before it began.";
    RunLand = "run.land", "Landing the work of a run.";
    RunSettle = "run.settle", "Waiting until no workspace of a run is in use.";
    RunClose = "run.close", "Waiting until the lock on the workspaces of a run is released.";
    TaskPrepare = "task.prepare", "Waiting for a workspace.";
    TaskEquip = "task.equip", "Waiting for an executor.";
    TaskSetUp = "task.set-up", "The set-up of a task's workspace.";
    TaskWork = "task.work", "The work of a task's worker.";
    TaskClear = "task.clear", "Stopping the processes of a crashed worker.";
    TaskSeal = "task.seal", "Waiting until nothing writes into the workspace of a task.";
    TaskCapture = "task.capture", "Waiting for a capture.";
    TaskDiscard = "task.discard", "Waiting until a workspace is gone.";
    TaskTimer = "task.timer", "A deadline of a task.";
    TaskProgress = "task.progress", "The pause before a task reports its progress again.";
    RepositoryFreeze = "repository.freeze", "Taking a snapshot of a working tree.";
    RepositoryLand = "repository.land", "Landing in a repository.";
    RepositoryTakeBack = "repository.take-back", "Capturing the workspace of a crashed actor.";
    RepositoryClose = "repository.close", "Releasing the lock on the workspaces of a run.";
    WorkspacePrepare = "workspace.prepare", "Making a workspace.";
    WorkspaceAccept = "workspace.accept", "Recording what the set-up of a workspace has left.";
    WorkspaceCapture = "workspace.capture", "Capturing a workspace.";
    WorkspaceDiscard = "workspace.discard", "Removing a workspace.";
    WorkspaceTakeBack = "workspace.take-back", "Capturing the workspace of a task that died.";
    LedgerOpenRun = "ledger.open-run", "Recording a run.";
    LedgerAppend = "ledger.append", "Recording entries.";
    GateStep = "gate.step", "A step of a gate together with those of other engines.";
    GateWake = "gate.wake", "The pause before a gate looks at its queue again.";
    ExecutorBuild = "executor.build", "Building the tools of a session.";
    ExecutorRun = "executor.run", "Running a command.";
    ExecutorClassify = "executor.classify", "Determining how tool calls access their surroundings.";
    ExecutorCall = "executor.call", "Executing a tool call.";
    ExecutorBackground = "executor.background", "What goes on when the call that has begun it has ended.";
    ExecutorEnd = "executor.end", "Ending the processes of a task or session.";
    ServerCache = "server.cache", "Reading what an MCP server offered when it was last used.";
    ServerConnect = "server.connect", "Starting or reaching an MCP server.";
    ServerWatch = "server.watch", "Waiting for the end of a connection to an MCP server.";
    ServerList = "server.list", "Listing the tools of an MCP server again.";
    ServerPause = "server.pause", "The pause before an MCP server is started again.";
    ServerClose = "server.close", "Closing a connection to an MCP server.";
    ServicesClose = "services.close", "Waiting until all MCP servers have ended.";
    SessionOpen = "session.open", "Opening a session before its first input.";
    SessionWork = "session.work", "The turns of a session.";
    SessionRevision = "session.revision", "Compacting the conversation of a session, or moving it to another entry.";
    SessionModel = "session.model", "Resolving the route of another model.";
    SessionsLease = "sessions.lease", "Waiting for the executor of a session.";
    SessionsOpen = "sessions.open", "Waiting until a session is open.";
    SessionsModel = "sessions.model", "Waiting until a session has another model.";
    SessionsClear = "sessions.clear", "Stopping the processes of a crashed session.";
    SessionsClose = "sessions.close", "Waiting until a session has ended its work.";
    SessionsSeal = "sessions.seal", "Stopping the processes of a closed session.";
}
