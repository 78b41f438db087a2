//! What happened, as it is shown, logged and sent.

use serde::{Deserialize, Serialize};

use crate::{
    Captured, Conflict, ExitCode, FailureClass, IsolationMode, MergeMode, Rescue, RunName,
    SessionEvent, SessionId, TaskName, TaskReport, Timestamp, Usage,
};

/// Something that happened. One line of `--json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Counts the events of a scope from 1, without gaps, as they are read: what is left out for a
    /// reader that does not keep up is not counted.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// In which run or session, where it happened in one.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<EventScope>,
    /// What.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What an event belongs to. Which task of a run it concerns is said by its [`EventKind`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventScope {
    /// A run.
    Run(RunName),
    /// A session that no task uses.
    Session(SessionId),
}

impl Event {
    /// Returns the run that the event belongs to, if it belongs to one.
    #[must_use]
    pub fn run(&self) -> Option<&RunName> {
        match &self.scope {
            Some(EventScope::Run(run)) => Some(run),
            Some(EventScope::Session(_)) | None => None,
        }
    }
}

/// The kinds of [`Event`]. Readers skip types they do not know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventKind {
    /// The run is in the ledger. Always the first event.
    RunStarted {
        /// How many tasks it has.
        tasks: usize,
        /// How many run at the same time.
        jobs: usize,
        /// How they are kept apart.
        isolation: IsolationMode,
        /// Where their work goes.
        merge: MergeMode,
        /// The names of variables that are passed on to what tasks run although they would be
        /// removed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pass_env: Vec<String>,
    },
    /// Something is not as asked or as expected; the run goes on.
    Degraded {
        /// What was wanted.
        from: String,
        /// What is done instead.
        to: String,
        /// Why.
        why: String,
    },
    /// A task waits for a permit.
    TaskQueued {
        /// Which.
        task: TaskName,
        /// What it is about, in one line.
        title: String,
        /// The model that is to do it, where one is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// A task holds a permit; its workspace is being prepared.
    TaskStarted {
        /// Which.
        task: TaskName,
        /// Counts the attempts at this task from 1.
        attempt: u32,
    },
    /// A task's workspace is there and its session begins.
    WorkspaceReady {
        /// Whose.
        task: TaskName,
        /// Where.
        path: String,
        /// How long it took to make.
        ms: u64,
    },
    /// A task is alive. At most seven per second and task.
    TaskProgress {
        /// Which.
        task: TaskName,
        /// What it is doing.
        phase: Phase,
        /// The last line it wrote.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<String>,
        /// The tool that a model has just called.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        /// How many tokens its model has used so far.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<u64>,
    },
    /// Something happened in a session.
    SessionEvent {
        /// The task that uses it, if one does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskName>,
        /// What.
        event: SessionEvent,
    },
    /// A task's contract accepted its yield.
    TaskYielded {
        /// Whose.
        task: TaskName,
    },
    /// A task's contract complained and asked again.
    ContractReminded {
        /// Whose.
        task: TaskName,
        /// What it complained about.
        complaint: String,
    },
    /// A task's work is safe in the task store.
    TaskCaptured {
        /// Whose.
        task: TaskName,
        /// Where and how much.
        #[serde(flatten)]
        captured: Captured,
    },
    /// The end of a task: the last event before the landing, sent exactly once per task.
    TaskFinished {
        /// Which.
        task: TaskName,
        /// How it ended and what it leaves behind.
        #[serde(flatten)]
        report: TaskReport,
    },
    /// Another engine is landing in the repository; this one waits for it.
    LandingWaited,
    /// The run's work is about to land.
    LandingStarted {
        /// How many tasks have work to land.
        tasks: usize,
    },
    /// A task's work is where it was meant to go.
    TaskLanded {
        /// Whose.
        task: TaskName,
        /// The branch, in branch mode.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
    },
    /// A task's work is kept instead of landed, because it disagrees with what is there.
    TaskConflicted {
        /// Whose.
        task: TaskName,
        /// Path by path.
        conflicts: Vec<Conflict>,
    },
    /// A task's work is kept instead of landed, for another reason.
    TaskKept {
        /// Whose.
        task: TaskName,
        /// Why.
        why: String,
    },
    /// A version of a file that a landing replaced turned out to be somebody's work, and is kept.
    FileRescued {
        /// Which file, and where.
        rescue: Rescue,
    },
    /// The end of a run. Always the last event.
    RunFinished {
        /// What it came to.
        #[serde(flatten)]
        totals: Totals,
        /// How the program ends.
        exit_code: ExitCode,
    },
}

/// What a running task is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Its workspace is being made.
    Preparing,
    /// Its session is at work.
    Working,
    /// Its session was told to stop.
    Stopping,
    /// What it changed is being captured.
    Capturing,
}

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Tasks that kept their contract.
    pub done: usize,
    /// Tasks that failed.
    pub failed: usize,
    /// Tasks that were cancelled.
    pub cancelled: usize,
    /// Tasks whose work landed, or that had nothing to land.
    pub landed: usize,
    /// Tasks that kept their contract but whose work did not land, or not all of it.
    pub unlanded: usize,
    /// Tasks whose work conflicts.
    pub conflicted: usize,
    /// Tasks of whose work something is only in the task store, or in a workspace that is kept.
    pub kept: usize,
    /// The classes of the failures, each once, in their own order.
    pub failures: Vec<FailureClass>,
    /// How long the run took, in milliseconds.
    pub ms: u64,
    /// What its models used; nothing where none was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
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
