//! Decides about the calls of a session, and asks a person about those that have to be asked about.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use engine::approvals::{Decision, refusal, refusal_by_user};
use engine::ports::{Ask, CancelToken, ToolOutcome, ToolOutput, WorkspaceView};
use engine::tools::{CallGate, ToolSet};
use protocol::{Question, QuestionChoice, QuestionId, ToolCall, quote_within};

/// The longest part of a call in a question, in characters.
const SHOWN: usize = 200;

const ONCE: &str = "once";
const SESSION: &str = "session";
const NO: &str = "no";

pub(super) struct Approver {
    gate: CallGate,
    /// Asks a person; `None` if there is no one to answer.
    ask: Option<Arc<dyn Ask>>,
    /// The calls that were allowed for the session: the tool, and what the call is about.
    allowed: Mutex<BTreeSet<(String, String)>>,
}

impl Approver {
    pub(super) fn new(gate: CallGate, ask: Option<Arc<dyn Ask>>) -> Self {
        Self { gate, ask, allowed: Mutex::default() }
    }

    /// Returns the outcome of a call that must not run; `None` if it may.
    pub(super) async fn refused(
        &self,
        tools: &ToolSet,
        call: &ToolCall,
        view: &dyn WorkspaceView,
        cancel: &CancelToken,
    ) -> Option<ToolOutcome> {
        let decided = self.gate.decide(tools, call, view).await;
        let refused = |text| Some(ToolOutcome::Refused(ToolOutput::text(text)));
        let (Decision::Ask(reason), Some(ask)) = (&decided.decision, &self.ask) else {
            return refused(refusal(&call.name, &decided.what, &decided.decision)?);
        };
        let key = (call.name.clone(), decided.what.clone());
        if self.allowed.lock().unwrap_or_else(PoisonError::into_inner).contains(&key) {
            return None;
        }
        let answer = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                let aborted = ToolOutput::text("Operation aborted");
                return Some(ToolOutcome::Failed(aborted));
            }
            answer = ask.ask(question(call, &decided.what, reason)) => answer,
        };
        match answer.as_str() {
            ONCE => None,
            SESSION => {
                self.allowed.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
                None
            }
            _ => refused(refusal_by_user(&call.name, &decided.what)),
        }
    }
}

fn question(call: &ToolCall, what: &str, reason: &str) -> Question {
    let choice = |id: &str, key, label: &str| QuestionChoice {
        id: id.to_owned(),
        key,
        label: label.to_owned(),
    };
    Question {
        id: QuestionId::generate(),
        text: format!("{} {}", call.name, quote_within(what, SHOWN)).trim_end().to_owned(),
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
