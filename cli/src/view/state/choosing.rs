//! What the user chooses from a list: another session, an entry of this one, a model, a thinking level.

use std::path::PathBuf;

use crossterm::event::KeyEvent;
use protocol::{EntryId, ThinkingLevel};

use super::{Effect, Status, ViewState, Wait};
use crate::view::command::Command;
use crate::view::entry::{Entry, NoteKind};
use crate::view::picker::{Picker, PickerRow, Pressed};
use crate::view::sessions::{ListedSession, NotOpened, SwitchTo, TreeRow};

/// What another session, or another place in this one, is refused with while something is under way.
const BUSY: &str = "the model works: Esc stops it";
const RUNS: &str = "a command runs: Esc stops it";

/// The most rows of a list that are printed.
const PRINTED: usize = 20;

/// Something that is asked of the sessions.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::view) enum SessionRequest {
    /// List the sessions of the folder.
    List,
    /// List the entries of this session.
    Tree,
    /// List the prompts of this session.
    Prompts,
    /// Go on with another session.
    Open(SwitchTo),
    /// Go on from another entry of this session.
    GoOn(EntryId, Summary),
    /// Name this session.
    Name(String),
}

/// What the model reads about a branch that is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::view) enum Summary {
    Nothing,
    /// A summary, which heeds the text, if there is one.
    Written(Option<String>),
}

/// What a row of a list stands for.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::view) enum Choice {
    /// Leave the list.
    Nothing,
    Model(String),
    Level(ThinkingLevel),
    /// Go on with another session.
    Open(SwitchTo),
    /// Go on from an entry, which leaves messages or not.
    Entry(EntryId, bool),
    GoOn(EntryId, Summary),
    /// Ask what the summary of the left branch has to heed.
    Instructions(EntryId),
}

impl ViewState {
    /// Returns whether a command is refused, because the model works.
    pub(super) fn refuses(&mut self, command: &Command) -> bool {
        let needs_rest = match command {
            Command::New | Command::Resume(_) | Command::Tree | Command::Fork(_) => true,
            Command::Diff | Command::Land | Command::Discard => self.isolation.is_isolated(),
            _other => false,
        };
        needs_rest && self.refuse_while_busy()
    }

    fn refuse_while_busy(&mut self) -> bool {
        let is_busy = self.is_busy() || self.is_switching;
        if is_busy {
            let why = if self.command.is_some() { RUNS } else { BUSY };
            self.hint = Some(why.to_owned());
        }
        is_busy
    }

    /// Goes on with another session.
    pub(super) fn open(&mut self, to: SwitchTo) -> Vec<Effect> {
        self.is_switching = true;
        self.status.wait = Some(Wait::on("the session"));
        vec![Effect::Session(SessionRequest::Open(to))]
    }

    /// Displays a list.
    fn pick(&mut self, picker: Picker<Choice>) {
        self.completion = None;
        self.history.leave();
        self.picker = Some(picker);
    }

    /// Prints the list on a terminal that cannot display it below what was said.
    pub(in crate::view) fn list_as_text(&mut self) {
        let Some(picker) = self.picker.take() else { return };
        self.print(Entry::Text(picker.text_of_rows(PRINTED)));
        let how = "name it: /model NAME, /thinking LEVEL, /resume ID or NAME, /fork ENTRY";
        self.note(NoteKind::Info, how);
    }

    /// Lists the models that can be used.
    pub(super) fn list_models(&mut self) {
        let models = &self.candidates.models;
        if models.is_empty() {
            self.hint = Some("there is no other model that can be used".to_owned());
            return;
        }
        let now = models.iter().position(|model| *model == self.status.model);
        let rows = models.iter().enumerate().map(|(at, model)| PickerRow {
            text: model.clone(),
            about: if Some(at) == now { "in use".to_owned() } else { String::new() },
            choice: Choice::Model(model.clone()),
        });
        self.pick(Picker::new("Use which model?", rows.collect(), now.unwrap_or(0)));
    }

    /// Lists the thinking levels.
    pub(super) fn list_levels(&mut self) {
        let all = ThinkingLevel::ALL;
        let now = self.status.thinking.and_then(|now| all.iter().position(|level| *level == now));
        let rows = all.iter().enumerate().map(|(at, level)| PickerRow {
            text: level.as_str().to_owned(),
            about: if Some(at) == now { "in use".to_owned() } else { String::new() },
            choice: Choice::Level(*level),
        });
        self.pick(Picker::new("How much thinking?", rows.collect(), now.unwrap_or(0)));
    }

    /// Lists the sessions of the folder.
    pub(in crate::view) fn list_sessions(&mut self, sessions: Vec<ListedSession>) {
        if sessions.is_empty() {
            self.hint = Some("there is no other session in this folder".to_owned());
            return;
        }
        let rows = sessions.into_iter().map(|ListedSession { path, text, about }| {
            let choice = Choice::Open(SwitchTo::Session(path));
            PickerRow { text, about, choice }
        });
        self.pick(Picker::new("Continue which session?", rows.collect(), 0));
    }

    /// Lists the entries of the session.
    pub(in crate::view) fn list_tree(&mut self, tree: Vec<TreeRow>) {
        if tree.is_empty() {
            self.hint = Some("the conversation is empty".to_owned());
            return;
        }
        let leaf = tree.iter().position(|row| row.is_leaf);
        let rows = tree.into_iter().map(|row| PickerRow {
            text: format!("{}{}", row.graph, row.text),
            about: if row.is_leaf { "here".to_owned() } else { String::new() },
            choice: match row.is_leaf {
                true => Choice::Nothing,
                false => Choice::Entry(row.entry, row.leaves_messages),
            },
        });
        self.pick(Picker::new("Go on from where?", rows.collect(), leaf.unwrap_or(0)));
    }

    /// Lists the prompts of the session, the latest first.
    pub(in crate::view) fn list_prompts(&mut self, tree: Vec<TreeRow>) {
        let prompts = tree.into_iter().rev().filter(|row| row.is_own_prompt);
        let rows: Vec<_> = prompts
            .map(|row| PickerRow {
                text: row.text,
                about: String::new(),
                choice: Choice::Open(SwitchTo::Before(row.entry.as_str().to_owned())),
            })
            .collect();
        if rows.is_empty() {
            self.hint = Some("the conversation is empty".to_owned());
            return;
        }
        self.pick(Picker::new("A new session from before which prompt?", rows, 0));
    }

    /// The session was not opened. A copy of it may be.
    pub(in crate::view) fn not_opened(&mut self, why: NotOpened) {
        (self.is_switching, self.status.wait) = (false, None);
        let (what, path): (String, PathBuf) = match why {
            NotOpened::InUse(path) => ("Another process has it open".to_owned(), path),
            NotOpened::Elsewhere(path, folder) => {
                (format!("It is of another folder, {}", folder.display()), path)
            }
            NotOpened::OfTask(path, task) => (format!("It is the session of task {task}"), path),
            NotOpened::Failed(why) => return self.note(NoteKind::Error, why),
        };
        let rows = vec![
            answer("continue a copy of it here", Choice::Open(SwitchTo::Copy(path))),
            answer("stay in this session", Choice::Nothing),
        ];
        self.pick(Picker::new(format!("{what}."), rows, 0));
    }

    /// Applies a key to the list. `None` if it is one that the list does not handle.
    pub(super) fn picker_key(&mut self, key: KeyEvent) -> Option<Vec<Effect>> {
        match self.picker.as_mut()?.key(key) {
            Pressed::Handled => Some(Vec::new()),
            Pressed::Taken => Some(self.take_chosen()),
            Pressed::Left => {
                self.picker = None;
                Some(Vec::new())
            }
            Pressed::Other => None,
        }
    }

    fn take_chosen(&mut self) -> Vec<Effect> {
        let Some(picker) = self.picker.take() else { return Vec::new() };
        if let Some(entry) = &picker.asked_for {
            let typed = picker.typed();
            let heeded = Some(typed).filter(|typed| !typed.trim().is_empty());
            return self.take(Choice::GoOn(entry.clone(), Summary::Written(heeded)));
        }
        match picker.chosen().cloned() {
            Some(choice) => self.take(choice),
            // Nothing matches: the list stays.
            None => {
                self.picker = Some(picker);
                Vec::new()
            }
        }
    }

    fn take(&mut self, choice: Choice) -> Vec<Effect> {
        let is_of_sessions =
            !matches!(choice, Choice::Nothing | Choice::Model(_) | Choice::Level(_));
        if is_of_sessions && self.refuse_while_busy() {
            return Vec::new();
        }
        match choice {
            Choice::Nothing => {}
            Choice::Model(name) => return vec![Effect::SetModel(name)],
            Choice::Level(level) => return vec![Effect::SetThinking(level)],
            Choice::Open(to) => return self.open(to),
            Choice::Entry(entry, true) => self.ask_for_summary(&entry),
            Choice::Entry(entry, false) => return self.go_on(entry, Summary::Nothing),
            Choice::GoOn(entry, summary) => return self.go_on(entry, summary),
            Choice::Instructions(entry) => {
                self.pick(Picker::text("What shall the summary heed?", entry));
            }
        }
        Vec::new()
    }

    /// Asks whether the branch that is left shall be summed up.
    fn ask_for_summary(&mut self, entry: &EntryId) {
        let rows = vec![
            answer("no", Choice::GoOn(entry.clone(), Summary::Nothing)),
            answer("yes", Choice::GoOn(entry.clone(), Summary::Written(None))),
            answer("yes, with instructions", Choice::Instructions(entry.clone())),
        ];
        self.pick(Picker::new("Summarize the messages left behind for the model?", rows, 0));
    }

    fn go_on(&mut self, entry: EntryId, summary: Summary) -> Vec<Effect> {
        self.is_moving = true;
        if matches!(summary, Summary::Written(_)) {
            self.status.wait = Some(Wait::on("the summary of the messages left behind"));
        }
        vec![Effect::Session(SessionRequest::GoOn(entry, summary))]
    }

    /// The session has moved to another entry, or has not. The text of the prompt in whose place it
    /// goes on is before what is typed.
    pub(in crate::view) fn moved(&mut self, text: Option<String>) {
        (self.is_moving, self.status.wait) = (false, None);
        if self.work.is_none() {
            self.stopping = None;
        }
        self.given_back.extend(text);
        self.give_back();
    }

    /// Begins with another session. What is typed stays.
    pub(in crate::view) fn begin_session(&mut self, status: Status, text: Option<String>) {
        self.finish_answer();
        self.keep_work();
        self.status = status;
        (self.is_switching, self.is_moving, self.is_compacting) = (false, false, false);
        (self.work, self.stopping, self.picker) = (None, None, None);
        self.calls.clear();
        self.questions = Default::default();
        self.resend.clear();
        let waiting = std::mem::take(&mut self.queue).into_iter().map(|queued| queued.text);
        self.given_back.extend(waiting);
        self.given_back.extend(text);
        self.give_back();
    }
}

/// Returns a row with an answer to a question.
fn answer(text: &str, choice: Choice) -> PickerRow<Choice> {
    PickerRow { text: text.to_owned(), about: String::new(), choice }
}

#[cfg(test)]
mod tests;
