//! What the keys of the user change.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use engine::ports::CancelLevel;
use protocol::{InputId, QueueKind, ThinkingLevel, UserInput};

use super::{Effect, Leave, SessionRequest, Status, Stopping, ViewState};
use crate::render::{tokens, usage_details};
use crate::view::command::{self, Command};
use crate::view::completion::{Completed, Completion, file_name};
use crate::view::editor::edit_of;
use crate::view::entry::Entry;
use crate::view::sessions::SwitchTo;

/// How soon a second Ctrl-C leaves.
const TWICE: Duration = Duration::from_secs(1);

/// Whether a key was handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handled {
    Yes,
    No,
}

/// Which of the models is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cycle {
    On,
    Back,
}

const AGAIN: &str = "press Ctrl-C again to leave";

impl ViewState {
    /// Applies a key.
    pub(in crate::view) fn key(&mut self, key: KeyEvent, now: Duration) -> Vec<Effect> {
        if key.kind == KeyEventKind::Release || self.holds(&key) {
            return Vec::new();
        }
        self.hint = None;
        if let Some(effects) = self.picker_key(key) {
            return effects;
        }
        if let Some(effects) = self.question_key(key, now) {
            return effects;
        }
        if self.history.query().is_some() && self.search_key(key) == Handled::Yes {
            return Vec::new();
        }
        if self.completion.is_some() && self.completion_key(key) == Handled::Yes {
            return Vec::new();
        }
        let modifiers = key.modifiers;
        let control = modifiers.contains(KeyModifiers::CONTROL);
        let alt = modifiers.contains(KeyModifiers::ALT);
        let interrupted = self.interrupted.take();
        match (key.code, control, alt) {
            (KeyCode::Char('c'), true, _) => return self.interrupt(interrupted, now),
            (KeyCode::Char('d'), true, _) if self.editor.is_empty() => {
                return vec![Effect::Leave(Leave::Done)];
            }
            (KeyCode::Char('z'), true, _) => return vec![Effect::Suspend],
            (KeyCode::Char('l'), true, _) => return vec![Effect::Redraw],
            (KeyCode::Char('P'), true, _) => return self.cycle_model(Cycle::Back),
            (KeyCode::Char('p'), true, _) if modifiers.contains(KeyModifiers::SHIFT) => {
                return self.cycle_model(Cycle::Back);
            }
            (KeyCode::Char('p'), true, _) => return self.cycle_model(Cycle::On),
            (KeyCode::Char('t'), true, _) => self.toggle_thoughts(),
            (KeyCode::BackTab, ..) => return vec![Effect::SetThinking(self.next_level())],
            (KeyCode::Enter, _, true) => return self.submit(QueueKind::FollowUp, now),
            (KeyCode::Enter, ..) if modifiers.contains(KeyModifiers::SHIFT) => {
                self.editor.insert_line_break();
            }
            (KeyCode::Enter, ..) => return self.submit(QueueKind::Steering, now),
            (KeyCode::Char('j'), true, _) => self.editor.insert_line_break(),
            (KeyCode::Esc, ..) => return self.stop(Stopping::Send),
            (KeyCode::Up, _, true) => return self.take_back(),
            (KeyCode::Char('r'), true, _) => {
                let typed = self.editor.text();
                let _begun = self.history.search(&typed);
            }
            (KeyCode::Up, false, false) if self.editor.row() == 0 => {
                let typed = self.editor.text();
                let older = self.history.older(&typed).map(str::to_owned);
                older.iter().for_each(|older| self.editor.set(older));
            }
            (KeyCode::Down, false, false) if self.editor.is_in_last_row() => {
                let newer = self.history.newer().map(str::to_owned);
                newer.iter().for_each(|newer| self.editor.set(newer));
            }
            (code, ..) => {
                match edit_of(code, modifiers) {
                    Some(edit) => self.editor.edit(edit),
                    None => self.insert(key),
                }
                self.edited();
            }
        }
        Vec::new()
    }

    /// Applies a whole line that was typed.
    pub(in crate::view) fn line(&mut self, line: &str, now: Duration) -> Vec<Effect> {
        self.hint = None;
        if let Some(effects) = self.question_line(line) {
            return effects;
        }
        self.editor.set(line);
        self.submit(QueueKind::Steering, now)
    }

    /// Applies a key while the history is searched. Another key ends the search.
    fn search_key(&mut self, key: KeyEvent) -> Handled {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let found = match (key.code, control) {
            (KeyCode::Char('r'), true) => self.history.search(""),
            (KeyCode::Char('c'), true) | (KeyCode::Esc, _) => Some(self.history.cancel_search()),
            (KeyCode::Char(letter), false) => self.history.change_query(Some(letter)),
            (KeyCode::Backspace, _) => self.history.change_query(None),
            (KeyCode::Enter, _) => {
                self.history.leave();
                None
            }
            _ => {
                self.history.leave();
                return Handled::No;
            }
        };
        let found = found.map(str::to_owned);
        found.iter().for_each(|found| self.editor.set(found));
        Handled::Yes
    }

    /// Applies a key while candidates are displayed.
    fn completion_key(&mut self, key: KeyEvent) -> Handled {
        let Some(completion) = &mut self.completion else { return Handled::No };
        match key.code {
            KeyCode::Up if key.modifiers.is_empty() => completion.choose_previous(),
            KeyCode::Down => completion.choose_next(),
            KeyCode::Esc => self.completion = None,
            KeyCode::Tab => self.accept_completion(),
            KeyCode::Enter if key.modifiers.is_empty() => return self.complete_command(),
            _ => return Handled::No,
        }
        Handled::Yes
    }

    /// Completes a command that Enter is to send. [`Handled::Yes`] if it waits for its value. If it is not clear
    /// which one is meant, what was typed is sent, and refused.
    fn complete_command(&mut self) -> Handled {
        let Some(completion) = &mut self.completion else { return Handled::No };
        let (is_meant, is_moved) = (completion.choose_meant(), completion.is_moved());
        let is_sent_as_typed = match completion.of {
            Completed::File => true,
            Completed::Value => !is_meant,
            Completed::Command => !is_meant || !is_moved && self.is_known_command(),
        };
        if is_sent_as_typed {
            return Handled::No;
        }
        self.accept_completion();
        if !command::lacks_value(&self.editor.text()) {
            return Handled::No;
        }
        self.editor.insert(' ');
        self.edited();
        Handled::Yes
    }

    /// Returns whether what is typed is a command already.
    fn is_known_command(&self) -> bool {
        matches!(command::parse(&self.editor.text()), Some(Ok(_)))
    }

    fn accept_completion(&mut self) {
        let Some(completion) = &self.completion else { return };
        let (letters, text) = completion.accept();
        self.editor.complete(letters, text);
        self.edited();
    }

    /// Returns whether the files of the folder are wanted for a completion.
    pub(in crate::view) fn wants_files(&self) -> bool {
        self.candidates.files.is_none() && file_name(&self.editor.before_cursor()).is_some()
    }

    /// Sets the files of the folder.
    pub(in crate::view) fn set_files(&mut self, files: Vec<String>) {
        self.candidates.files = Some(files);
        self.complete();
    }

    /// The text was changed.
    pub(super) fn edited(&mut self) {
        self.history.leave();
        self.complete();
    }

    /// Finds the candidates for what stands before the cursor.
    fn complete(&mut self) {
        let (row, before) = (self.editor.row(), self.editor.before_cursor());
        self.completion = Completion::of(row, &before, &self.candidates);
    }

    fn cycle_model(&mut self, cycle: Cycle) -> Vec<Effect> {
        let models = &self.candidates.cycle;
        let at = models.iter().position(|model| *model == self.status.model);
        let count = models.len().max(1);
        let next = models.get(match (at, cycle) {
            (None, _) => 0,
            (Some(at), Cycle::On) => (at + 1) % count,
            (Some(at), Cycle::Back) => (at + count - 1) % count,
        });
        match next.filter(|next| **next != self.status.model) {
            Some(next) => vec![Effect::SetModel(next.clone())],
            None => {
                self.hint = Some("there is no other model that can be used".to_owned());
                Vec::new()
            }
        }
    }

    fn next_level(&self) -> ThinkingLevel {
        let all = ThinkingLevel::ALL;
        let at = self.status.thinking.and_then(|now| all.iter().position(|level| *level == now));
        all[at.map_or(0, |at| (at + 1) % all.len())]
    }

    /// Inserts pasted text.
    pub(in crate::view) fn paste(&mut self, text: &str) {
        if self.holds_paste(text) {
            return;
        }
        self.hint = None;
        if let Some(picker) = &mut self.picker {
            picker.paste(text);
            return;
        }
        self.type_pressed();
        self.editor.paste(text);
        self.edited();
    }

    fn insert(&mut self, key: KeyEvent) {
        let is_text = (key.modifiers - KeyModifiers::SHIFT).is_empty();
        if let (KeyCode::Char(letter), true) = (key.code, is_text) {
            self.editor.insert(letter);
        }
    }

    /// Sends what was typed. `kind` is when the model gets it if it works.
    fn submit(&mut self, kind: QueueKind, now: Duration) -> Vec<Effect> {
        self.completion = None;
        let is_pasted = self.editor.begins_with_long_paste();
        self.keep_pastes();
        let text = self.editor.take();
        if text.trim().is_empty() {
            return Vec::new();
        }
        let remember = self.remember(&text);
        // A mark does not look like a command, so what stands behind it is none.
        let command = if is_pasted { None } else { command::parse(&text) };
        if command != Some(Ok(Command::Discard)) {
            self.keep_work();
        }
        let effects = match command {
            // What is refused leaves the input, so that nothing is typed behind it.
            Some(Ok(command)) if self.refuses(&command) => return remember,
            Some(Ok(Command::Run(next))) if self.run_next(&next, now) => Vec::new(),
            Some(Ok(Command::Run(_))) if self.command.is_some() => {
                self.hint = Some("a command runs already; Esc stops it".to_owned());
                return remember;
            }
            Some(Ok(command)) => self.command(command, now),
            Some(Err(why)) => {
                let log = if self.log.is_empty() { "SESSION" } else { &self.log };
                self.hint =
                    Some(why.replace("regatta logs SESSION", &format!("regatta logs {log}")));
                return remember;
            }
            None if self.work.is_some() => {
                self.send_as(kind, UserInput::new(InputId::generate(), text))
            }
            None => self.send(text),
        };
        remember.into_iter().chain(effects).collect()
    }

    fn remember(&mut self, text: &str) -> Vec<Effect> {
        self.history.add(text);
        vec![Effect::Remember(text.to_owned())]
    }

    fn command(&mut self, command: Command, now: Duration) -> Vec<Effect> {
        match command {
            Command::Help => {
                let help = command::help(self.input_form, self.isolation);
                self.finished.push(Entry::Text(help));
            }
            Command::Cost => {
                let Status { usage, context, context_window, .. } = &self.status;
                let of_window = context_used(*context, *context_window);
                let text = format!("{}\n{of_window}", usage_details(*usage));
                self.finished.push(Entry::Text(text));
            }
            Command::Model(None) => self.list_models(),
            Command::Model(Some(name)) => return vec![Effect::SetModel(name)],
            Command::Thinking(None) => self.list_levels(),
            Command::Thinking(Some(level)) => return vec![Effect::SetThinking(level)],
            Command::Approvals(mode) => return vec![Effect::Approvals(mode)],
            Command::Agents => return vec![Effect::Agents],
            Command::Jobs(jobs) => return vec![Effect::Jobs(jobs)],
            Command::Tasks(mode) => self.show_tasks(mode),
            Command::New => return self.open(SwitchTo::New),
            Command::Resume(None) => return self.ask_for_list(SessionRequest::List),
            Command::Resume(Some(name)) => return self.open(SwitchTo::Named(name)),
            Command::Tree => return self.ask_for_list(SessionRequest::Tree),
            Command::Fork(None) => return self.ask_for_list(SessionRequest::Prompts),
            Command::Fork(Some(entry)) => return self.open(SwitchTo::Before(entry)),
            Command::Name(name) => {
                return vec![Effect::Session(SessionRequest::Name(name))];
            }
            of_work @ (Command::Diff | Command::Land | Command::Discard) => {
                return self.ask_of_work(&of_work);
            }
            Command::Compact(instructions) => return vec![Effect::Compact(instructions)],
            Command::Run(command) => return self.run(command, now),
            Command::Quit => return vec![Effect::Leave(Leave::Done)],
        }
        Vec::new()
    }

    /// Ctrl-C: clears the input, else stops the work, else leaves if it is pressed twice.
    fn interrupt(&mut self, before: Option<Duration>, now: Duration) -> Vec<Effect> {
        if !self.editor.is_empty() {
            self.completion = None;
            let text = self.editor.take();
            return self.remember(&text);
        }
        if self.is_busy() {
            return self.stop(Stopping::GiveBack);
        }
        if before.is_some_and(|before| now.saturating_sub(before) <= TWICE) {
            return vec![Effect::Leave(Leave::Interrupted)];
        }
        self.interrupted = Some(now);
        self.hint = Some(AGAIN.to_owned());
        Vec::new()
    }

    fn stop(&mut self, queued: Stopping) -> Vec<Effect> {
        if self.command.is_some() {
            return self.stop_command(queued);
        }
        if !self.is_busy() {
            return Vec::new();
        }
        let level = match self.stopping.replace(queued) {
            None => CancelLevel::Gently,
            Some(_) => CancelLevel::AtOnce,
        };
        vec![Effect::Abort(level)]
    }

    fn take_back(&mut self) -> Vec<Effect> {
        if let Some(held) = self.command.as_mut().and_then(|command| command.held.pop()) {
            self.given_back.push(held.text);
            self.give_back();
            return Vec::new();
        }
        let newest = self.queue.iter().rev().find(|queued| queued.kind != QueueKind::Prompt);
        newest.map(|queued| Effect::TakeBack(queued.kind)).into_iter().collect()
    }
}

/// Returns how much of the window of the model the last request and its answer took.
fn context_used(context: u64, window: Option<u64>) -> String {
    match window.filter(|window| *window > 0) {
        Some(window) => {
            let percent = context.saturating_mul(100) / window;
            format!("context: {} of {} tokens ({percent}%)", tokens(context), tokens(window))
        }
        None => format!("context: {} tokens; the window of the model is unknown", tokens(context)),
    }
}
