//! The state of the view: what the events of a session and the keys of the user make of it. It does
//! nothing itself: what is to be done is returned as effects.

mod choosing;
mod events;
mod held_keys;
mod isolating;
mod keys;
mod mentioning;
mod questions;
mod thoughts;
mod user_commands;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Duration;

use engine::ports::CancelLevel;
use protocol::{
    ApprovalMode, InputId, QuestionId, QueueKind, SessionEntry, ThinkingLevel, Todo, ToolCall,
    Usage, UserInput,
};

use regatta::session::ChosenLog;

use super::answer_stream::AnswerStream;
use super::command::{InputForm, UserCommand};
use super::completion::{Candidates, Completion};
use super::editor::Editor;
use super::entry::{Entry, NoteKind};
use super::highlight::Syntaxes;
use super::history::History;
use super::isolated::WorkRequest;
use super::picker::Picker;
use super::subagents::Subagents;
use crate::render::shell_word;

pub(super) use choosing::{Choice, SessionRequest, Summary};
use held_keys::HeldKeys;
pub(super) use isolating::{IsolationState, WorkAnswer};
use questions::OpenQuestions;

pub(super) use thoughts::Thoughts;
pub(super) use user_commands::RunningCommand;

/// The state of the view.
pub(super) struct ViewState {
    pub(super) editor: Editor,
    pub(super) status: Status,
    /// The answer that is arriving, and the whole text of its blocks so far.
    pub(super) answer: AnswerStream,
    blocks: BTreeMap<usize, String>,
    pub(super) thoughts: Thoughts,
    /// The calls under way, oldest first.
    pub(super) calls: Vec<RunningCall>,
    /// The command of the user under way.
    pub(super) command: Option<RunningCommand>,
    /// The inputs that the session has not taken yet, oldest first.
    pub(super) queue: Vec<QueuedInput>,
    /// The work under way.
    pub(super) work: Option<Work>,
    /// Whether the conversation is being compacted.
    is_compacting: bool,
    /// What was typed while a list, or another session, was not there yet.
    held: HeldKeys,
    /// Whether another session is being opened.
    is_switching: bool,
    /// Whether the session goes to another entry.
    is_moving: bool,
    /// The name of the session.
    pub(super) name: Option<String>,
    /// What `regatta logs` takes for the session.
    pub(super) log: String,
    /// Whether the session is isolated.
    pub(super) isolation: IsolationState,
    pub(super) history: History,
    /// What can be completed, and the candidates for what is typed.
    pub(super) candidates: Candidates,
    pub(super) completion: Option<Completion>,
    pub(super) subagents: Subagents,
    /// What the session asks the user.
    questions: OpenQuestions,
    /// What the model has to do.
    pub(super) todos: Vec<Todo>,
    /// The list from which the user chooses.
    pub(super) picker: Option<Picker<Choice>>,
    /// A line for the user, until the next key.
    pub(super) hint: Option<String>,
    /// The text of which the user was told that it names files that are not there.
    told: Option<String>,
    stopping: Option<Stopping>,
    /// Texts that are sent when the work has stopped.
    resend: Vec<String>,
    /// Texts that go back to the editor when the work has stopped.
    given_back: Vec<String>,
    /// The newest long pastes that were sent.
    pastes: Vec<String>,
    /// When Ctrl-C was pressed last without anything to clear or stop.
    interrupted: Option<Duration>,
    finished: Vec<Entry>,
    pub(super) syntaxes: Syntaxes,
    /// How the terminal gives what is typed.
    pub(super) input_form: InputForm,
}

/// What the status line displays.
#[derive(Clone, Debug)]
pub(super) struct Status {
    pub(super) model: String,
    pub(super) thinking: Option<ThinkingLevel>,
    /// How many tokens the model can read and write in one request.
    pub(super) context_window: Option<u64>,
    /// How many tokens the last request and its answer had.
    pub(super) context: u64,
    /// What the session has used.
    pub(super) usage: Usage,
    /// What the session waits for, if it does.
    pub(super) wait: Option<Wait>,
}

/// What a session waits for.
#[derive(Clone, Debug)]
pub(super) struct Wait {
    /// That it waits, and for what.
    pub(super) what: String,
    /// The end of the wait, if it is known.
    pub(super) until: Option<Duration>,
}

impl Wait {
    fn on(what: &str) -> Self {
        Self { what: format!("waits for {what}"), until: None }
    }
}

/// A tool call under way.
#[derive(Clone, Debug)]
pub(super) struct RunningCall {
    pub(super) call: ToolCall,
    /// Its latest output, in one line.
    pub(super) latest: Option<String>,
}

/// An input that waits.
#[derive(Clone, Debug)]
pub(super) struct QueuedInput {
    pub(super) id: InputId,
    pub(super) kind: QueueKind,
    pub(super) text: String,
    /// What is printed of the files that it names.
    files: Option<String>,
}

/// The work on a prompt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) since: Duration,
    calls: u64,
    usage: Usage,
}

/// What becomes of the inputs that wait when the work stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopping {
    /// They are sent.
    Send,
    /// They are given back to the editor.
    GiveBack,
}

/// Something that is to be done.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Effect {
    /// Send what was typed, with the files that it names, if nothing is missing.
    SendTyped(QueueKind, UserInput),
    /// Send an input to the session.
    Send(QueueKind, UserInput),
    /// Take back the newest input of a kind.
    TakeBack(QueueKind),
    /// Stop the work.
    Abort(CancelLevel),
    /// Use the model with this name from the next request on.
    SetModel(String),
    /// Change how much the model thinks from the next request on.
    SetThinking(ThinkingLevel),
    /// Change which calls of tools are asked about, or show that.
    Approvals(Option<ApprovalMode>),
    /// List the agents.
    Agents,
    /// Change how many subagents work at the same time, or show that.
    Jobs(Option<NonZeroUsize>),
    /// Compact the conversation, with these instructions.
    Compact(Option<String>),
    /// Ask something of the sessions.
    Session(SessionRequest),
    /// Ask something of the workspace of an isolated session, or have its work thrown away.
    Work(WorkRequest),
    /// Run a command in the folder of the session.
    Run(UserCommand),
    /// Stop the command of the user.
    StopCommand(CancelLevel),
    /// Append what a command of the user came to to the log.
    Append(Box<SessionEntry>),
    /// Add a prompt to the history.
    Remember(String),
    /// Answer a question with the choice of this id.
    Answer(QuestionId, String),
    /// Leave the view.
    Leave(Leave),
    /// Stop the program until the user continues it.
    Suspend,
    /// Write the live part again.
    Redraw,
}

/// Why the view is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// The user is done.
    Done,
    /// The user pressed Ctrl-C twice.
    Interrupted,
}

impl ViewState {
    pub(super) fn new(status: Status, syntaxes: Syntaxes) -> Self {
        Self {
            editor: Editor::new(),
            status,
            answer: AnswerStream::new(),
            blocks: BTreeMap::new(),
            thoughts: Thoughts::default(),
            calls: Vec::new(),
            command: None,
            queue: Vec::new(),
            work: None,
            is_compacting: false,
            held: HeldKeys::default(),
            is_switching: false,
            is_moving: false,
            name: None,
            log: String::new(),
            isolation: IsolationState::default(),
            history: History::default(),
            candidates: Candidates::default(),
            completion: None,
            subagents: Subagents::default(),
            questions: OpenQuestions::default(),
            todos: Vec::new(),
            picker: None,
            hint: None,
            told: None,
            stopping: None,
            resend: Vec::new(),
            given_back: Vec::new(),
            pastes: Vec::new(),
            interrupted: None,
            finished: Vec::new(),
            syntaxes,
            input_form: InputForm::default(),
        }
    }

    /// The session is kept in this log.
    pub(super) fn set_log(&mut self, log: &ChosenLog) {
        self.name.clone_from(&log.name);
        let path = log.path.to_string_lossy();
        self.log = log.id.map_or_else(|| shell_word(&path), |id| id.to_string());
    }

    /// Returns what has happened since the last call, to be printed once on a terminal of this width.
    pub(super) fn take_finished(&mut self, columns: usize) -> Vec<Entry> {
        let rows = self.answer.take_full_rows(columns, &self.syntaxes);
        self.finished.extend(rows.into_iter().map(|(part, gap)| Entry::Answer(part, gap)));
        std::mem::take(&mut self.finished)
    }

    /// Adds something to what is printed.
    pub(super) fn print(&mut self, entry: Entry) {
        self.finished.push(entry);
    }

    /// Adds a line for the user.
    pub(super) fn note(&mut self, kind: NoteKind, text: impl Into<String>) {
        self.finished.push(Entry::Note(kind, text.into()));
    }

    /// Sends a prompt, or queues it if the session works.
    pub(super) fn send(&mut self, text: String) -> Vec<Effect> {
        let input = UserInput::new(InputId::generate(), text);
        match (&self.work, &mut self.command) {
            (Some(_), _) => self.send_as(QueueKind::Steering, input),
            (None, None) => self.send_as(QueueKind::Prompt, input),
            (None, Some(command)) => {
                command.held.push(input);
                Vec::new()
            }
        }
    }

    /// Sends an input that was typed.
    pub(super) fn send_as(&mut self, kind: QueueKind, input: UserInput) -> Vec<Effect> {
        self.queued(kind, &input);
        vec![Effect::SendTyped(kind, input)]
    }

    /// An input waits until the session takes it.
    pub(super) fn queued(&mut self, kind: QueueKind, input: &UserInput) {
        let (id, text) = (input.id, input.text.clone());
        self.queue.push(QueuedInput { id, kind, text, files: None });
    }

    /// The model was changed, for the next request.
    pub(super) fn model_set(&mut self, model: String, context_window: Option<u64>) {
        self.note(NoteKind::Info, format!("the model is {model} from the next request on"));
        (self.status.model, self.status.context_window) = (model, context_window);
    }

    /// How much the model thinks was changed, for the next request.
    pub(super) fn thinking_set(&mut self, level: ThinkingLevel) {
        self.status.thinking = Some(level);
        self.hint = Some(format!("thinking {} from the next request on", level.as_str()));
    }

    /// Returns whether there is something to stop.
    pub(super) fn is_busy(&self) -> bool {
        let waits = self.is_compacting || self.is_moving || !self.queue.is_empty();
        waits || self.work.is_some() || self.command.is_some()
    }

    /// Returns whether something changes on the screen without an event: the time that work takes.
    pub(super) fn has_clock(&self) -> bool {
        self.work.is_some() || self.command.is_some()
    }
}

#[cfg(test)]
pub(super) use tests::test_view;

#[cfg(test)]
mod tests;
