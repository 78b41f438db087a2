//! The commands that the user runs with `!`. What is typed meanwhile is sent when the session has what
//! the command came to, so that it is part of the request.

use std::collections::VecDeque;
use std::time::Duration;

use engine::ports::CancelLevel;
use protocol::{BashExecution, QueueKind, SessionEntry, SessionMessage, UserInput};

use super::{Effect, Stopping, ViewState};
use crate::view::command::UserCommand;
use crate::view::entry::{Entry, NoteKind};

/// How many of its last lines are displayed while a command runs.
const LATEST: usize = 5;

/// A command of the user under way.
#[derive(Clone, Debug)]
pub(in crate::view) struct RunningCommand {
    pub(in crate::view) command: UserCommand,
    /// Its last lines of output.
    pub(in crate::view) latest: VecDeque<String>,
    pub(in crate::view) since: Duration,
    /// The prompts that wait for its end.
    pub(in crate::view) held: Vec<UserInput>,
    /// The command that runs next: it was typed while what this one came to was written to the log.
    next: Option<(UserCommand, Duration)>,
    progress: Progress,
}

/// How far a command has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Runs,
    Stopping,
    /// It has ended, and is written to the log.
    Ended,
}

impl RunningCommand {
    /// Returns whether it has not ended.
    pub(in crate::view) fn runs(&self) -> bool {
        self.progress != Progress::Ended
    }
}

impl ViewState {
    /// Runs a command.
    pub(super) fn run(&mut self, command: UserCommand, now: Duration) -> Vec<Effect> {
        self.command = Some(RunningCommand {
            command: command.clone(),
            latest: VecDeque::new(),
            since: now,
            held: Vec::new(),
            next: None,
            progress: Progress::Runs,
        });
        vec![Effect::Run(command)]
    }

    /// Runs a command, after one that has ended already and is being written to the log. Returns
    /// whether none is under way.
    pub(super) fn run_next(&mut self, next: &UserCommand, now: Duration) -> bool {
        match &mut self.command {
            Some(RunningCommand { progress: Progress::Ended, next: after @ None, .. }) => {
                *after = Some((next.clone(), now));
                true
            }
            _ => false,
        }
    }

    /// Adds a line to the output of the command.
    pub(in crate::view) fn command_said(&mut self, line: String) {
        let Some(command) = &mut self.command else { return };
        command.latest.push_back(line);
        if command.latest.len() > LATEST {
            command.latest.pop_front();
        }
    }

    /// Stops the command. What waits for its end is sent then, or given back.
    pub(super) fn stop_command(&mut self, waiting: Stopping) -> Vec<Effect> {
        let Some(command) = &mut self.command else { return Vec::new() };
        if waiting == Stopping::GiveBack {
            self.given_back.extend(command.held.drain(..).map(|input| input.text));
            let next = command.next.take();
            self.given_back.extend(next.map(|(it, _)| format!("{}{}", it.mark(), it.script)));
        }
        let level = match command.progress {
            Progress::Runs => Some(CancelLevel::Gently),
            Progress::Stopping => Some(CancelLevel::AtOnce),
            Progress::Ended => None,
        };
        if level.is_some() {
            command.progress = Progress::Stopping;
        }
        self.give_back();
        level.map(Effect::StopCommand).into_iter().collect()
    }

    /// The command has ended, or could not be run.
    pub(in crate::view) fn command_ended(
        &mut self,
        ended: Result<BashExecution, String>,
    ) -> Vec<Effect> {
        match ended {
            Ok(ran) => {
                self.command.iter_mut().for_each(|command| command.progress = Progress::Ended);
                self.print(Entry::Ran(Box::new(ran.clone())));
                let entry = SessionEntry::message(SessionMessage::BashExecution(ran));
                vec![Effect::Append(Box::new(entry))]
            }
            Err(why) => {
                self.note(NoteKind::Error, format!("cannot run the command: {why}"));
                self.send_held()
            }
        }
    }

    /// What the command came to is in the log, or could not be written to it.
    pub(in crate::view) fn command_kept(&mut self, kept: Result<(), String>) -> Vec<Effect> {
        if let Err(why) = kept {
            self.note(NoteKind::Error, format!("the command is not in the session: {why}"));
        }
        self.send_held()
    }

    /// Sends what has waited for the end of the command, and runs the one that comes next.
    fn send_held(&mut self) -> Vec<Effect> {
        let Some(RunningCommand { held, next, .. }) = self.command.take() else {
            return Vec::new();
        };
        let mut effects = Vec::new();
        for input in held {
            let is_first = effects.is_empty() && self.work.is_none();
            let kind = if is_first { QueueKind::Prompt } else { QueueKind::Steering };
            effects.extend(self.send_as(kind, input));
        }
        if let Some((command, now)) = next {
            effects.extend(self.run(command, now));
        }
        effects
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyModifiers};
    use protocol::Timestamp;

    use super::*;
    use crate::view::state::tests::{enter, press, test_view};

    fn ran(output: &str) -> BashExecution {
        BashExecution {
            command: "ls".to_owned(),
            output: output.to_owned(),
            exit_code: Some(0),
            cancelled: false,
            truncated: false,
            full_output_path: None,
            meta: None,
            exclude_from_context: false,
            timestamp: Timestamp::from_millisecond(0),
        }
    }

    #[test]
    fn what_is_typed_while_a_command_runs_is_sent_when_the_log_has_what_it_came_to() {
        let mut view = test_view();
        let effects = enter(&mut view, "!ls");
        assert!(matches!(&effects[..], [Effect::Remember(_), Effect::Run(_)]), "{effects:?}");
        assert_eq!(enter(&mut view, "what?"), [Effect::Remember("what?".to_owned())]);
        let remembers = |text: &str| [Effect::Remember(text.to_owned())];
        assert_eq!(enter(&mut view, "!again"), remembers("!again"), "a command runs already");
        assert_eq!(view.editor.take(), "");
        let effects = view.command_ended(Ok(ran("a")));
        assert!(matches!(&effects[..], [Effect::Append(_)]), "{effects:?}");
        assert_eq!(view.take_finished(80), [Entry::Ran(Box::new(ran("a")))]);
        assert_eq!(enter(&mut view, "!next"), [Effect::Remember("!next".to_owned())]);
        assert_eq!(enter(&mut view, "!third"), remembers("!third"), "a command waits already");
        assert_eq!(view.editor.take(), "");
        let effects = view.command_kept(Ok(()));
        let [Effect::SendTyped(QueueKind::Prompt, input), Effect::Run(next)] = &effects[..] else {
            panic!("{effects:?}")
        };
        assert_eq!((input.text.as_str(), next.script.as_str()), ("what?", "next"));
    }

    #[test]
    fn ctrl_c_stops_a_command_and_gives_back_what_waits_and_the_second_kills_it() {
        let mut view = test_view();
        enter(&mut view, "!make");
        enter(&mut view, "then this");
        let stop = |view: &mut ViewState| press(view, KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(stop(&mut view), [Effect::StopCommand(CancelLevel::Gently)]);
        assert_eq!(view.editor.take(), "then this");
        assert_eq!(stop(&mut view), [Effect::StopCommand(CancelLevel::AtOnce)]);
        view.command_ended(Ok(ran("")));
        enter(&mut view, "!!next");
        assert_eq!(stop(&mut view), []);
        assert_eq!(view.editor.take(), "!!next");
        assert_eq!(view.command_kept(Ok(())), []);
        assert!(view.command.is_none());
    }
}
