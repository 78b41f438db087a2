//! Decides about the calls of a session, and asks a person about those that have to be asked about: one
//! question at a time, in the order of the calls.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use engine::approvals::{ChosenMode, Decision, refusal, refusal_by_user, refusal_unanswered};
use engine::ports::{
    Ask, CancelToken, ChangeShown, CommandShell, ToolOutcome, ToolOutput, TrustedRules,
    WorkspaceView,
};
use engine::tools::{CallGate, Decided, Subject, ToolSet};
use protocol::{
    ApprovalMode, ApprovalRule, Approvals, Question, QuestionChoice, QuestionForm, QuestionId,
    ToolCall, quote_within,
};

use super::turns::{Turn, Turns};

/// How many characters of the beginning and of the end of a call a question has.
const FIRST_SHOWN: usize = 3_000;
const LAST_SHOWN: usize = 900;

/// The longest folder in a question, in characters.
const FOLDER_SHOWN: usize = 200;

const ONCE: &str = "once";
const SESSION: &str = "session";
const ALWAYS: &str = "always";
const NO: &str = "no";

const ABORTED: &str = "the work was aborted before this call";

pub(super) struct Approver {
    gate: CallGate,
    mode: ChosenMode,
    /// Asks a person; `None` where the session has no one who could answer.
    ask: Option<Arc<dyn Ask>>,
    trust: Trust,
    /// What was allowed for the session.
    allowed: Mutex<BTreeSet<Subject>>,
    turns: Turns,
    unbegun: Unbegun,
}

/// The rules by which the user always allows calls.
pub(super) struct Trust {
    pub(super) rules: Arc<dyn TrustedRules>,
    /// A folder of the repository of the rules.
    pub(super) folder: PathBuf,
}

/// What follows for a call from how it was judged.
#[derive(Clone, Copy)]
pub(super) struct Cleared {
    /// The shell as which its command was judged.
    pub(super) shell: CommandShell,
    /// Whether the change that it makes may be shown.
    pub(super) change_shown: ChangeShown,
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
    pub(super) fn new(
        (gate, mode): (CallGate, ChosenMode),
        ask: Option<Arc<dyn Ask>>,
        trust: Trust,
    ) -> Self {
        let (allowed, turns) = (Mutex::default(), Turns::default());
        Self { gate, mode, ask, trust, allowed, turns, unbegun: Unbegun::default() }
    }

    /// Returns what decides in the mode of this moment.
    fn gate(&self) -> Cow<'_, CallGate> {
        match self.mode.get() {
            Some(mode) => Cow::Owned(self.gate.in_mode(mode)),
            None => Cow::Borrowed(&self.gate),
        }
    }

    /// Returns the rules and the mode that were set, and the mode of this moment.
    pub(super) fn approvals(&self) -> (Approvals, ApprovalMode) {
        self.gate().policy().own()
    }

    /// Returns the shell of commands at this moment.
    pub(super) fn shell(&self) -> CommandShell {
        self.gate().shell()
    }

    /// Returns the turn of the next call.
    pub(super) fn turn(&self) -> Turn {
        self.turns.next()
    }

    /// Returns the calls that have not been allowed yet.
    pub(super) fn unbegun(&self) -> Unbegun {
        self.unbegun.clone()
    }

    /// Waits until a call may run.
    ///
    /// # Errors
    /// The outcome of a call that must not run.
    pub(super) async fn cleared(
        &self,
        tools: &ToolSet,
        (call, turn): (&ToolCall, Turn),
        view: &dyn WorkspaceView,
        cancel: &CancelToken,
    ) -> Result<Cleared, ToolOutcome> {
        let mut cleared = Cleared { shell: CommandShell::Plain, change_shown: ChangeShown::No };
        let judged = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(refused(ABORTED)),
            judged = async {
                // The mode may change meanwhile: the call runs as it was judged.
                let gate = self.gate();
                let decided = gate.decide(tools, call, view).await;
                let change_shown = gate.shows_change(&decided);
                cleared = Cleared { shell: gate.shell(), change_shown };
                self.judged(tools, (call, &turn), view, (decided, change_shown)).await
            } => judged,
        };
        let was_withdrawn = !self.unbegun.remove(&call.id);
        drop(turn);
        judged?;
        if was_withdrawn { Err(refused(ABORTED)) } else { Ok(cleared) }
    }

    /// Returns whether a call may run. One that cannot succeed ends before anyone is asked.
    async fn judged(
        &self,
        tools: &ToolSet,
        (call, turn): (&ToolCall, &Turn),
        view: &dyn WorkspaceView,
        (decided, shown): (Decided, ChangeShown),
    ) -> Result<(), ToolOutcome> {
        let forbidden = || match refusal(&call.name, &decided.what, &decided.decision) {
            Some(why) => Err(refused(&why)),
            None => Ok(()),
        };
        let Decision::Ask(reason) = &decided.decision else { return forbidden() };
        if self.ask.is_some() {
            turn.begins().await;
        }
        // The question before may have been about an equal call.
        if self.allows(&decided.subjects) {
            return Ok(());
        }
        let trusted = self.trust.rules.rules(&self.trust.folder).await;
        if trusted.as_ref().is_ok_and(|rules| self.gate().is_allowed_by(rules, &decided)) {
            return Ok(());
        }
        // The error may quote the file.
        if shown == ChangeShown::Yes {
            tools.check(call, view).await?;
        }
        let Some(ask) = &self.ask else { return forbidden() };
        let mut always = trusted.map(|_| self.gate().always(&decided));
        // The tool remembers what the file is now, also where the change is not shown.
        let diff = tools.preview(call, view).await.filter(|_| shown == ChangeShown::Yes);
        loop {
            let question = question(call, &decided, reason, &always);
            let question = Question { diff: diff.clone(), ..question };
            match ask.ask(question).await.as_deref() {
                Some(ONCE) => return Ok(()),
                Some(SESSION) => {}
                Some(ALWAYS) => {
                    let rules = always.unwrap_or_default();
                    if let Err(why) = self.trust.rules.add(&self.trust.folder, rules).await {
                        always = Err(why); // it is asked again, without this choice
                        continue;
                    }
                }
                Some(_) => return Err(refused(&refusal_by_user(&call.name, &decided.what))),
                None => return Err(refused(&refusal_unanswered(&call.name, &decided.what))),
            }
            let mut allowed = self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
            allowed.extend(decided.subjects);
            return Ok(());
        }
    }

    /// Returns whether all of this was allowed for the session.
    fn allows(&self, subjects: &[Subject]) -> bool {
        let allowed = self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
        !subjects.is_empty() && subjects.iter().all(|subject| allowed.contains(subject))
    }
}

fn refused(why: &str) -> ToolOutcome {
    ToolOutcome::Refused(ToolOutput::text(why))
}

/// Returns the question about a call. `always` are the rules that would always allow it.
fn question(
    call: &ToolCall,
    decided: &Decided,
    reason: &str,
    always: &Result<Vec<ApprovalRule>, String>,
) -> Question {
    let choice = |id: &str, key, label: &str| QuestionChoice {
        id: id.to_owned(),
        key,
        label: label.to_owned(),
    };
    let rules = always.as_deref().unwrap_or_default();
    let can_be_kept = (!rules.is_empty()).then(|| choice(ALWAYS, 'a', "always"));
    let once = [choice(ONCE, 'y', "once"), choice(SESSION, 's', "session")];
    let reason = match always {
        Ok(rules) if rules.is_empty() => reason.to_owned(),
        Ok(rules) => {
            let rules: Vec<_> = rules.iter().map(|rule| format!("`{rule}`")).collect();
            format!("{reason}; always: {}", rules.join(", "))
        }
        Err(why) => format!("{reason}; no answer can be kept: {why}"),
    };
    Question {
        id: QuestionId::generate(),
        text: question_text(&call.name, decided),
        reason,
        choices: once.into_iter().chain(can_be_kept).chain([choice(NO, 'n', "no")]).collect(),
        default: NO.to_owned(),
        tool_call_id: Some(call.id.clone()),
        form: QuestionForm::Call,
        deadline_ms: None,
        diff: None,
    }
}

/// The folder stands before the command, whose end may be cut off.
fn question_text(tool: &str, Decided { what, folder, .. }: &Decided) -> String {
    let what = call_text(what);
    let Some(folder) = folder.as_deref() else {
        return format!("{tool} {what}").trim_end().to_owned();
    };
    let folder = if folder == Path::new("") { Path::new(".") } else { folder };
    format!("{tool} in {}: {what}", quote_within(&folder.to_string_lossy(), FOLDER_SHOWN))
}

/// Returns what a call is about as printable lines: whole, or its beginning and its end.
fn call_text(what: &str) -> String {
    let count = what.chars().count();
    let left_out = count.saturating_sub(FIRST_SHOWN + LAST_SHOWN);
    if left_out == 0 {
        return printable(what);
    }
    let first: String = what.chars().take(FIRST_SHOWN).collect();
    let last: String = what.chars().skip(FIRST_SHOWN + left_out).collect();
    format!("{} … {left_out} more characters … {}", printable(&first), printable(&last))
}

/// The lines of a text stay lines.
fn printable(text: &str) -> String {
    let lines = text.trim_end_matches('\n').split('\n');
    lines.map(|line| quote_within(line, usize::MAX)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_has_the_whole_command_or_its_beginning_and_its_end_with_what_is_left_out_counted()
    {
        assert_eq!(call_text("make\n\u{1b}[2J\r\n"), "make\n\\u{1b}[2J\\r");
        let command = format!("echo {}; touch evil", "a".repeat(10_000));
        let text = call_text(&command);
        assert!(text.starts_with("echo aaa") && text.ends_with("aaa; touch evil"), "{text}");
        assert!(text.contains("aaa … 6117 more characters … aaa"), "{text}");
        let command = "x".repeat(FIRST_SHOWN + LAST_SHOWN);
        assert_eq!(call_text(&command), command);
    }
}
