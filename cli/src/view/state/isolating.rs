//! The work of an isolated session: what the user asks of it.

use super::{Effect, ViewState, Wait};
use crate::view::command::Command;
use crate::view::entry::{Entry, NoteKind};
use crate::view::isolated::{IsolatedWork, WorkEnd, WorkRequest};

/// Whether the session is isolated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::view) enum IsolationState {
    /// It works in place.
    #[default]
    InPlace,
    /// It works in a workspace.
    Isolated,
    /// It does, and `/discard` was typed: typed again, it throws the work away.
    Discarding,
}

impl IsolationState {
    pub(in crate::view) fn of(work: Option<&dyn IsolatedWork>) -> Self {
        if work.is_some() { Self::Isolated } else { Self::InPlace }
    }

    pub(in crate::view) fn is_isolated(self) -> bool {
        self != Self::InPlace
    }
}

/// What was found out about the work.
pub(in crate::view) enum WorkAnswer {
    Diff(Result<String, String>),
    Amount(Result<Option<String>, String>),
    CanLand(Result<bool, String>),
}

impl ViewState {
    /// Asks something of the work. What is typed meanwhile waits.
    pub(super) fn ask_of_work(&mut self, command: &Command) -> Vec<Effect> {
        let request = match (command, self.isolation) {
            (_, IsolationState::InPlace) => {
                self.hint = Some(in_place(command).to_owned());
                return Vec::new();
            }
            (Command::Diff, _) => WorkRequest::Diff,
            (Command::Land, _) => WorkRequest::Land,
            (_discard, IsolationState::Isolated) => WorkRequest::Amount,
            (_discard, IsolationState::Discarding) => WorkRequest::Discard,
        };
        self.is_switching = true;
        self.status.wait = Some(Wait::on("the workspace"));
        vec![Effect::Work(request)]
    }

    /// Something else was typed than a second `/discard`.
    pub(super) fn keep_work(&mut self) {
        if self.isolation == IsolationState::Discarding {
            self.isolation = IsolationState::Isolated;
        }
    }

    /// Says what was found out about the work, and returns what becomes of it.
    pub(in crate::view) fn work_answered(&mut self, answer: WorkAnswer) -> Option<WorkEnd> {
        (self.is_switching, self.status.wait) = (false, None);
        match answer {
            WorkAnswer::CanLand(Ok(true)) => return Some(WorkEnd::Land),
            WorkAnswer::Diff(Ok(patch)) if !patch.is_empty() => self.print(Entry::Patch(patch)),
            WorkAnswer::Amount(Ok(Some(amount))) => {
                self.isolation = IsolationState::Discarding;
                let text = format!("/discard deletes {amount} for good; enter it again to confirm");
                self.note(NoteKind::Warning, text);
            }
            WorkAnswer::Diff(Ok(_)) | WorkAnswer::Amount(Ok(None)) | WorkAnswer::CanLand(Ok(_)) => {
                self.note(NoteKind::Info, "nothing has changed in the workspace");
            }
            WorkAnswer::Diff(Err(why))
            | WorkAnswer::Amount(Err(why))
            | WorkAnswer::CanLand(Err(why)) => self.note(NoteKind::Error, why),
        }
        None
    }
}

/// Returns what to do instead in a session that works in place.
fn in_place(command: &Command) -> &'static str {
    match command {
        Command::Diff => "this session works in place: `!git diff` shows what changed",
        _other => "this session works in place: `regatta --isolated` begins one in a copy",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::command::{InputForm, help};
    use crate::view::live_part::live_text;
    use crate::view::state::tests::{enter, test_view};

    #[test]
    fn an_isolated_session_says_so_and_one_in_place_says_what_to_type_instead() {
        let mut view = test_view();
        for (command, instead) in [("/diff", "`!git diff`"), ("/land", "regatta --isolated")] {
            assert_eq!(enter(&mut view, command).len(), 1, "it is only remembered");
            assert!(view.hint.as_ref().is_some_and(|hint| hint.contains(instead)), "{command}");
        }
        assert!(!live_text(&view).contains("isolated ·"), "{}", live_text(&view));
        view.isolation = IsolationState::Isolated;
        assert!(live_text(&view).contains("isolated ·"), "{}", live_text(&view));
        for (state, is_there) in [(IsolationState::InPlace, false), (view.isolation, true)] {
            let help = help(InputForm::Keys, state);
            for command in ["\n/diff ", "\n/land ", "\n/discard "] {
                assert_eq!(help.contains(command), is_there, "{command}");
            }
        }
    }

    #[test]
    fn work_is_thrown_away_by_a_second_discard_only_and_lands_only_if_it_can() {
        let mut view = test_view();
        view.isolation = IsolationState::Isolated;
        let asked = |effects: Vec<Effect>| effects.into_iter().nth(1);
        let amount = || WorkAnswer::Amount(Ok(Some("3 files".to_owned())));
        assert_eq!(asked(enter(&mut view, "/discard")), Some(Effect::Work(WorkRequest::Amount)));
        assert_eq!(view.work_answered(amount()), None);
        enter(&mut view, "/cost");
        assert_eq!(asked(enter(&mut view, "/discard")), Some(Effect::Work(WorkRequest::Amount)));
        view.work_answered(amount());
        assert_eq!(asked(enter(&mut view, "/discard")), Some(Effect::Work(WorkRequest::Discard)));
        view.begin_session(view.status.clone(), None);
        assert_eq!(view.isolation, IsolationState::Isolated);
        assert_eq!(asked(enter(&mut view, "/land")), Some(Effect::Work(WorkRequest::Land)));
        let refused = WorkAnswer::CanLand(Err("a rebase is in progress".to_owned()));
        assert_eq!(view.work_answered(refused), None);
        let told = Entry::Note(NoteKind::Error, "a rebase is in progress".to_owned());
        assert_eq!(view.take_finished(80).pop(), Some(told));
        assert_eq!(view.work_answered(WorkAnswer::CanLand(Ok(false))), None);
        assert_eq!(view.work_answered(WorkAnswer::CanLand(Ok(true))), Some(WorkEnd::Land));
    }
}
