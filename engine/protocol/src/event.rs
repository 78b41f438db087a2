//! The events of runs and sessions, as they are displayed, logged and sent to other programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Captured, Conflict, ExitCode, FailureClass, GroupName, IsolationMode, LandTime, MergeMode,
    OwnNeeds, RepoPath, Rescue, ResolverFailure, RunCaller, RunName, SessionEvent, SessionId,
    TaskId, TaskLanding, TaskName, TaskReport, Timestamp, Unverified, Usage, WorkspaceNeeds,
};

/// An event. With `--json` each event is one line of output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// The number of the event in its scope, from 1 and without gaps. Events that were dropped for
    /// a slow reader are not counted.
    pub seq: u64,
    /// The time of the event.
    pub at: Timestamp,
    /// The run or session to which the event belongs, if any.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<EventScope>,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// The run or session to which an event belongs. The task is named in the [`EventKind`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventScope {
    /// A run.
    Run(RunName),
    /// A session that belongs to no task.
    Session(SessionId),
}

impl Event {
    /// Returns the run to which the event belongs, if any.
    #[must_use]
    pub fn run(&self) -> Option<&RunName> {
        match &self.scope {
            Some(EventScope::Run(run)) => Some(run),
            Some(EventScope::Session(_)) | None => None,
        }
    }
}

/// What happened. Readers must skip types they do not know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventKind {
    /// The run was recorded in the ledger. This is its first event.
    RunStarted {
        /// What the run is called in lists, if it has such a name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// The root of the repository's working tree.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        repo: String,
        /// The group that the run belongs to, if it was started for several repositories.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<GroupName>,
        /// The number of tasks.
        tasks: usize,
        /// The maximum number of tasks that run at the same time.
        jobs: usize,
        /// How tasks are isolated from each other.
        isolation: IsolationMode,
        /// Where the work of the tasks will land.
        merge: MergeMode,
        /// The branch of the user that the work is committed to, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        onto: Option<String>,
        /// When the work of a task lands.
        #[serde(default, skip_serializing_if = "LandTime::is_end")]
        land: LandTime,
        /// The names of environment variables that are passed on to commands although they hold
        /// keys of providers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pass_env: Vec<String>,
        /// What each workspace needs besides the files of the repository.
        #[serde(default, skip_serializing_if = "WorkspaceNeeds::is_empty")]
        needs: WorkspaceNeeds,
        /// What some tasks need in place of that.
        #[serde(default, skip_serializing_if = "OwnNeeds::is_empty")]
        own_needs: OwnNeeds,
        /// The commands that must succeed in the merged work before it lands.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        verify: Vec<String>,
        /// The run that this one retries, if it does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_of: Option<RunName>,
        /// The call whose subagents the tasks are, if one has started the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        caller: Option<RunCaller>,
    },
    /// The engine could not do as asked or expected, and does something else instead. The run
    /// continues.
    Degraded {
        /// What was asked or expected.
        from: String,
        /// What is done instead.
        to: String,
        /// The reason.
        why: String,
    },
    /// A task was queued; it waits for a permit of the schedule.
    TaskQueued {
        /// The task.
        task: TaskName,
        /// The title of the task, in one line.
        title: String,
        /// The item of `--each` or the word of the command line that the task is for, if it is for
        /// exactly one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<String>,
        /// The items of the task, if `--chunk` gave it several.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        items: Vec<String>,
        /// The model of the task, if its worker is a model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// A task got its permit, and its workspace is being prepared.
    TaskStarted {
        /// The task.
        task: TaskName,
        /// Its id, by which the runs of its subagents name it.
        id: TaskId,
        /// The number of the attempt, from 1.
        attempt: u32,
    },
    /// The workspace of a task is prepared, and its worker is about to start.
    WorkspaceReady {
        /// The task.
        task: TaskName,
        /// The path of the workspace.
        path: String,
        /// How long the preparation took, in milliseconds.
        ms: u64,
    },
    /// The set-up commands of a task's workspace have succeeded, and its worker is about to start.
    WorkspaceSetUp {
        /// The task.
        task: TaskName,
        /// How long they took, in milliseconds.
        ms: u64,
    },
    /// The progress of a running task, sent at most seven times per second for each task.
    TaskProgress {
        /// The task.
        task: TaskName,
        /// What the task is doing.
        phase: Phase,
        /// The last line of its output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<String>,
        /// The tool that its model called last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        /// The number of tokens that its model has used so far.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<u64>,
        /// The provider account that its request waits for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waits_for: Option<AccountWait>,
    },
    /// An event of a session.
    SessionEvent {
        /// The task to which the session belongs, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskName>,
        /// The event.
        event: SessionEvent,
    },
    /// The value that a task yielded was accepted.
    TaskYielded {
        /// The task.
        task: TaskName,
    },
    /// A worker ended without an acceptable result, and the engine sent it a reminder.
    ContractReminded {
        /// The task.
        task: TaskName,
        /// Why the result was not accepted.
        complaint: String,
    },
    /// The work of a task was stored in the task store.
    TaskCaptured {
        /// The task.
        task: TaskName,
        /// The capture.
        #[serde(flatten)]
        captured: Captured,
    },
    /// A task has finished. This is its last event before the landing; each task has exactly one.
    TaskFinished {
        /// The task.
        task: TaskName,
        /// How the task ended, and what it changed.
        #[serde(flatten)]
        report: Box<TaskReport>,
    },
    /// The merged work of tasks is being verified before it lands.
    VerificationStarted {
        /// The number of the verification in its run, from 1.
        number: usize,
        /// The tasks whose work is in it; none if it is the state in which the run began.
        tasks: Vec<TaskName>,
    },
    /// A verification has ended.
    VerificationFinished {
        /// The number of the verification in its run, from 1.
        number: usize,
        /// Whether every command has succeeded.
        passed: bool,
        /// How long it took, in milliseconds.
        ms: u64,
        /// Why it failed, if it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// The path of the file with the output of the command that failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
    },
    /// The landing waits, because another engine is landing in the same repository.
    LandingWaited,
    /// The landing of the run's work has begun.
    LandingStarted {
        /// The number of tasks whose work is to land.
        tasks: usize,
    },
    /// The work of a task has landed.
    TaskLanded {
        /// The task.
        task: TaskName,
        /// The branch, if work lands on branches.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
        /// The files in which lines of another task or of the user were kept beside the task's.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        joined: Vec<RepoPath>,
    },
    /// The work of a task was not landed because of conflicts. It stays in the task store.
    TaskConflicted {
        /// The task.
        task: TaskName,
        /// The conflicting paths.
        conflicts: Vec<Conflict>,
    },
    /// The work of a task was not landed for another reason. It stays in the task store.
    TaskKept {
        /// The task.
        task: TaskName,
        /// The reason.
        why: String,
    },
    /// The work of a task was not landed, because it was not verified or has failed its
    /// verification. It stays in the task store.
    TaskUnverified {
        /// The task.
        task: TaskName,
        /// The reason.
        #[serde(flatten)]
        unverified: Box<Unverified>,
    },
    /// A landing replaced a version of a file that another program had just written; that version
    /// is kept.
    FileRescued {
        /// The file, and where its old version is.
        rescue: Rescue,
    },
    /// A resolver has settled conflicts of a task after the run had finished, and the work has landed
    /// or is still kept.
    ConflictsResolved {
        /// What became of the work of the task, and how each conflict was settled.
        #[serde(flatten)]
        landing: TaskLanding,
    },
    /// A resolver has not settled a conflict of a task, whose work is still kept. Such events follow
    /// [`Self::RunFinished`] too.
    ResolverFailed {
        /// The task.
        task: TaskName,
        /// The conflict, the resolver, and the reason.
        #[serde(flatten)]
        failure: ResolverFailure,
    },
    /// The run has finished. Only what resolvers make of its conflicts follows.
    RunFinished {
        /// The totals of the run.
        #[serde(flatten)]
        totals: Totals,
        /// The exit code of the program.
        exit_code: ExitCode,
    },
}

/// The phase of a running task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The workspace is being prepared.
    Preparing,
    /// The set-up commands are running.
    SettingUp,
    /// The worker is running.
    Working,
    /// The worker was asked to stop.
    Stopping,
    /// The changes are being captured.
    Capturing,
}

/// The totals of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// The number of tasks that yielded an accepted value.
    pub done: usize,
    /// The number of tasks that failed.
    pub failed: usize,
    /// The number of tasks that were cancelled.
    pub cancelled: usize,
    /// The number of tasks whose work landed.
    pub landed: usize,
    /// The number of tasks that are done and had nothing to land.
    #[serde(default)]
    pub unchanged: usize,
    /// The number of tasks that are done but whose work did not land completely.
    pub unlanded: usize,
    /// The number of tasks whose work conflicts.
    pub conflicted: usize,
    /// The number of tasks with work that exists only in the task store or in a kept workspace.
    pub kept: usize,
    /// The classes of the failures, sorted and without duplicates.
    pub failures: Vec<FailureClass>,
    /// How long the run took, in milliseconds.
    pub ms: u64,
    /// The tokens and money that its models used; absent if no model was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// The provider account that a request waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountWait {
    /// The account, for people.
    pub account: String,
    /// Until when it waits at least, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scope_of_an_event_is_one_field_or_none() {
        let session = SessionId::generate();
        let scopes = [
            (None, serde_json::json!({})),
            (Some(EventScope::Run("r7k3f".parse().unwrap())), serde_json::json!({"run": "r7k3f"})),
            (Some(EventScope::Session(session)), serde_json::json!({ "session": session })),
        ];
        for (scope, fields) in scopes {
            let at = Timestamp::from_millisecond(0);
            let event = Event { seq: 1, at, scope, kind: EventKind::LandingWaited };
            let mut expected = serde_json::json!({"seq": 1, "at": at, "type": "landing_waited"});
            expected.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            let written = serde_json::to_value(&event).unwrap();
            assert_eq!(written, expected);
            assert_eq!(serde_json::from_value::<Event>(written).unwrap(), event);
        }
    }
}
