//! Decides about the calls of a session, and asks a person about those that have to be asked about: one
//! question at a time, in the order of the calls.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use engine::approvals::{Decision, refusal, refusal_by_user, refusal_unanswered};
use engine::ports::{Ask, CancelToken, ToolOutcome, ToolOutput, WorkspaceView};
use engine::tools::{CallGate, Decided, Subject, ToolSet};
use protocol::{Question, QuestionChoice, QuestionId, ToolCall, quote_within};

use super::turns::{Turn, Turns};

/// The longest part of a call in a question, in characters.
const SHOWN: usize = 200;

const ONCE: &str = "once";
const SESSION: &str = "session";
const NO: &str = "no";

const ABORTED: &str = "the work was aborted before this call";

pub(super) struct Approver {
    gate: CallGate,
    /// Asks a person; `None` if there is no one to answer.
    ask: Option<Arc<dyn Ask>>,
    /// What was allowed for the session.
    allowed: Mutex<BTreeSet<Subject>>,
    turns: Turns,
    unbegun: Unbegun,
}

/// The ids of the calls that have not been allowed to run yet. One that is withdrawn never runs.
#[derive(Clone, Default)]
pub(crate) struct Unbegun(Arc<Mutex<BTreeSet<String>>>);

impl Unbegun {
    pub(super) fn add(&self, id: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned());
    }

    /// Returns whether the call was not withdrawn.
    fn remove(&self, id: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id)
    }

    /// Withdraws these calls, and returns their ids.
    pub(crate) fn withdraw(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Approver {
    pub(super) fn new(gate: CallGate, ask: Option<Arc<dyn Ask>>) -> Self {
        let (allowed, turns) = (Mutex::default(), Turns::default());
        Self { gate, ask, allowed, turns, unbegun: Unbegun::default() }
    }

    /// Returns the turn of the next call.
    pub(super) fn turn(&self) -> Turn {
        self.turns.next()
    }

    /// Returns the calls that have not been allowed yet.
    pub(super) fn unbegun(&self) -> Unbegun {
        self.unbegun.clone()
    }

    /// Returns the outcome of a call that must not run; `None` if it may.
    pub(super) async fn refused(
        &self,
        tools: &ToolSet,
        (call, turn): (&ToolCall, Turn),
        view: &dyn WorkspaceView,
        cancel: &CancelToken,
    ) -> Option<ToolOutcome> {
        let why = tokio::select! {
            biased;
            () = cancel.cancelled() => Some(ABORTED.to_owned()),
            why = self.why_not(tools, (call, &turn), view) => why,
        };
        let was_withdrawn = !self.unbegun.remove(&call.id);
        drop(turn);
        let why = why.or_else(|| was_withdrawn.then(|| ABORTED.to_owned()))?;
        Some(ToolOutcome::Refused(ToolOutput::text(why)))
    }

    /// Returns why a call must not run; `None` if it may.
    async fn why_not(
        &self,
        tools: &ToolSet,
        (call, turn): (&ToolCall, &Turn),
        view: &dyn WorkspaceView,
    ) -> Option<String> {
        let decided = self.gate.decide(tools, call, view).await;
        let (Decision::Ask(reason), Some(ask)) = (&decided.decision, &self.ask) else {
            return refusal(&call.name, &decided.what, &decided.decision);
        };
        turn.begins().await;
        // The question before may have been about an equal call.
        if self.allows(&decided.subjects) {
            return None;
        }
        match ask.ask(question(call, &decided, reason)).await.as_deref() {
            Some(ONCE) => None,
            Some(SESSION) => {
                let mut allowed = self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
                allowed.extend(decided.subjects);
                None
            }
            Some(_) => Some(refusal_by_user(&call.name, &decided.what)),
            None => Some(refusal_unanswered(&call.name, &decided.what)),
        }
    }

    /// Returns whether all of this was allowed for the session.
    fn allows(&self, subjects: &[Subject]) -> bool {
        let allowed = self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
        !subjects.is_empty() && subjects.iter().all(|subject| allowed.contains(subject))
    }
}

fn question(call: &ToolCall, decided: &Decided, reason: &str) -> Question {
    let choice = |id: &str, key, label: &str| QuestionChoice {
        id: id.to_owned(),
        key,
        label: label.to_owned(),
    };
    Question {
        id: QuestionId::generate(),
        text: question_text(&call.name, decided),
        reason: reason.to_owned(),
        choices: vec![
            choice(ONCE, 'y', "once"),
            choice(SESSION, 's', "session"),
            choice(NO, 'n', "no"),
        ],
        default: NO.to_owned(),
        tool_call_id: Some(call.id.clone()),
        deadline_ms: None,
    }
}

/// The folder stands before the command, whose end may be cut off.
fn question_text(tool: &str, Decided { what, folder, .. }: &Decided) -> String {
    let what = quote_within(what, SHOWN);
    let Some(folder) = folder.as_deref() else {
        return format!("{tool} {what}").trim_end().to_owned();
    };
    let folder = if folder == Path::new("") { Path::new(".") } else { folder };
    format!("{tool} in {}: {what}", quote_within(&folder.to_string_lossy(), SHOWN))
}
