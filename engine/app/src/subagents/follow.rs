//! Follows the run of subagents: passes on their questions and progress, and notes what becomes of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use actors::{RunControls, RunHandle};
use engine::exit_code::Interruption;
use engine::ports::{Ask, CancelLevel, CancelToken, LineSink};
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use protocol::{
    Conflict, EventKind, Outcome, Phase, Question, QuestionId, SessionEvent, TaskLanding, TaskName,
    TaskReport,
};

/// What has become of the tasks of a run.
#[derive(Default)]
pub(super) struct RunEnd {
    pub(super) reports: BTreeMap<TaskName, Box<TaskReport>>,
    pub(super) landings: BTreeMap<TaskName, ChildLanding>,
}

/// What became of the work of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ChildLanding {
    Landed,
    Conflicted(Vec<String>),
    Kept(String),
}

impl ChildLanding {
    pub(super) fn conflicted(conflicts: &[Conflict]) -> Self {
        Self::Conflicted(conflicts.iter().map(|conflict| conflict.path.to_string()).collect())
    }
}

/// Reads the events of a run to its end. When `cancel` is cancelled, the run is.
pub(super) async fn follow(
    mut run: RunHandle,
    ask: Option<Arc<dyn Ask>>,
    progress: &LineSink,
    cancel: &CancelToken,
) -> RunEnd {
    let controls = run.controls();
    let mut abandoned = CancelOnDrop(Some(controls.clone()));
    let mut end = RunEnd::default();
    let mut questions: FuturesUnordered<BoxFuture<'_, ()>> = FuturesUnordered::new();
    let mut open: BTreeMap<QuestionId, CancelToken> = BTreeMap::new();
    let mut is_cancelled = false;
    loop {
        let event = tokio::select! {
            biased;
            () = cancel.cancelled(), if !is_cancelled => {
                is_cancelled = true;
                let level = cancel.level().unwrap_or(CancelLevel::Gently);
                controls.cancel(level, Interruption::Interrupt);
                continue;
            }
            event = run.recv() => event,
            Some(()) = questions.next() => continue,
        };
        let Some(event) = event else {
            abandoned.0 = None;
            return end;
        };
        match &event.kind {
            EventKind::SessionEvent {
                task: Some(task),
                event: SessionEvent::QuestionAsked { question },
            } => {
                if let Some(ask) = &ask {
                    let withdrawn = CancelToken::default();
                    open.insert(question.id, withdrawn.clone());
                    let question = of_subagent(task, question.clone());
                    let asked = answered(Arc::clone(ask), controls.clone(), (question, withdrawn));
                    questions.push(Box::pin(asked));
                }
            }
            EventKind::SessionEvent {
                event: SessionEvent::QuestionClosed { question_id, .. },
                ..
            } => {
                if let Some(withdrawn) = open.remove(question_id) {
                    withdrawn.cancel(CancelLevel::Gently);
                }
            }
            kind => note(&mut end, kind, progress),
        }
    }
}

/// Returns a question of a subagent as it is asked in the session of its caller.
fn of_subagent(task: &TaskName, question: Question) -> Question {
    // The call that it is about is none of the caller's session.
    Question { text: format!("{task}: {}", question.text), tool_call_id: None, ..question }
}

/// Asks a question of a run in another session, and answers it in the run, unless it is withdrawn.
async fn answered(
    ask: Arc<dyn Ask>,
    controls: RunControls,
    (question, withdrawn): (Question, CancelToken),
) {
    let id = question.id;
    let of_session = Question { id: QuestionId::generate(), ..question };
    let default = of_session.default.clone();
    let choice = tokio::select! {
        () = withdrawn.cancelled() => return,
        choice = ask.ask(of_session) => choice.unwrap_or(default),
    };
    let _closed = controls.answer(id, choice).await; // the subagent may have ended meanwhile
}

/// Cancels a run that nobody follows to its end, because the session of its caller has crashed.
struct CancelOnDrop(Option<RunControls>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(controls) = &self.0 {
            controls.cancel(CancelLevel::Gently, Interruption::Interrupt);
        }
    }
}

fn note(end: &mut RunEnd, kind: &EventKind, progress: &LineSink) {
    match kind {
        EventKind::TaskProgress { task, phase: Phase::Working, tool: Some(tool), .. } => {
            progress(format!("{task} · {tool}"));
        }
        EventKind::TaskStarted { task, .. } => progress(format!("{task} started")),
        EventKind::Degraded { from, to, why } if !why.is_empty() => {
            progress(format!("note: {from}: {to} ({why})"));
        }
        EventKind::TaskFinished { task, report } => {
            progress(format!("{task} {}", word(&report.outcome)));
            end.reports.insert(task.clone(), report.clone());
        }
        EventKind::TaskLanded { task, .. } => {
            end.landings.insert(task.clone(), ChildLanding::Landed);
        }
        EventKind::TaskConflicted { task, conflicts } => {
            end.landings.insert(task.clone(), ChildLanding::conflicted(conflicts));
        }
        EventKind::TaskKept { task, why } => {
            end.landings.insert(task.clone(), ChildLanding::Kept(why.clone()));
        }
        EventKind::ConflictsResolved { landing: TaskLanding { task, .. } } => {
            end.landings.insert(task.clone(), ChildLanding::Landed);
        }
        _ => {}
    }
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done { .. } => "done",
        Outcome::Failed { .. } => "failed",
        Outcome::Cancelled => "cancelled",
    }
}
