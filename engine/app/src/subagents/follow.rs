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
    Conflict, EventKind, Outcome, Phase, Question, QuestionId, SessionEvent, SessionId,
    TaskLanding, TaskName, TaskReport,
};

use super::allowed::AllowedForSession;

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
    person: Option<Person>,
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
                if let Some(person) = &person {
                    let withdrawn = CancelToken::default();
                    open.insert(question.id, withdrawn.clone());
                    let question = (task.clone(), question.clone(), withdrawn);
                    questions.push(Box::pin(answered(person.clone(), controls.clone(), question)));
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

/// The person who answers the questions of subagents, in the session of their caller.
#[derive(Clone)]
pub(super) struct Person {
    pub(super) ask: Arc<dyn Ask>,
    pub(super) session: SessionId,
    pub(super) allowed: AllowedForSession,
}

/// Returns a question of a subagent as it is asked in the session of its caller.
fn of_subagent(task: &TaskName, question: &Question) -> Question {
    // The name of a subagent of a subagent begins with that of its caller.
    let is_named = question.text.starts_with(&format!("{task}."));
    let label = if is_named { String::new() } else { format!("{task}: ") };
    let text = format!("{label}{}", question.text);
    // The call that it is about is none of the caller's session.
    Question { id: QuestionId::generate(), text, tool_call_id: None, ..question.clone() }
}

/// Asks a question of a run in another session, and answers it in the run, unless it is withdrawn.
async fn answered(
    Person { ask, session, allowed }: Person,
    controls: RunControls,
    (task, question, withdrawn): (TaskName, Question, CancelToken),
) {
    let choice = match allowed.answer(session, &question) {
        Some(choice) => choice,
        None => tokio::select! {
            () = withdrawn.cancelled() => return,
            choice = ask.ask(of_subagent(&task, &question)) => {
                choice.unwrap_or_else(|| question.default.clone())
            }
        },
    };
    allowed.note(session, &question, &choice);
    let _closed = controls.answer(question.id, choice).await; // the subagent may have ended meanwhile
}

/// Cancels a run whose events are not read to their end, because the session of its caller has crashed.
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

#[cfg(test)]
mod tests {
    use protocol::QuestionForm;

    use super::*;

    #[test]
    fn a_question_names_the_subagent_that_asks_once_at_any_depth() {
        let asked = |task: &str, text: &str| {
            let question = Question {
                id: QuestionId::generate(),
                text: text.to_owned(),
                form: QuestionForm::Call,
                reason: String::new(),
                choices: Vec::new(),
                default: "no".to_owned(),
                tool_call_id: Some("1".to_owned()),
                deadline_ms: None,
                diff: None,
            };
            let of = of_subagent(&task.parse().unwrap(), &question);
            assert_eq!((of.id == question.id, of.tool_call_id), (false, None));
            of.text
        };
        assert_eq!(asked("1-A", "bash make"), "1-A: bash make");
        assert_eq!(asked("1-A.1-B", "bash make"), "1-A.1-B: bash make");
        assert_eq!(asked("1-A", "1-A.1-B: bash make"), "1-A.1-B: bash make");
        assert_eq!(asked("1-A", "1-Ab.1-B: bash"), "1-A: 1-Ab.1-B: bash");
    }
}
