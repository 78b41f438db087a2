//! The answers to what the driver asks of the session, of other sessions and of commands.

use std::num::NonZeroUsize;

use actors::AnswerError;
use futures_util::FutureExt as _;
use protocol::{ApprovalMode, BashExecution, Failure, ModelRoute, ThinkingLevel};

use super::Shown;
use super::sessions::SessionAnswer;
use crate::render::count;
use crate::view::entry::{Entry, NoteKind};
use crate::view::state::{Effect, WorkAnswer};

/// The answer of the session to a request.
pub(super) enum Answered {
    Session(SessionAnswer),
    Model(ModelRoute, Result<(), Failure>),
    Thinking(Option<ThinkingLevel>),
    Compacted(Result<(), Failure>),
    Ran(Result<BashExecution, String>),
    Kept(Result<(), Failure>),
    Files(Vec<String>),
    Approvals(Vec<String>),
    Agents(String),
    Jobs(Option<String>),
    Question(Result<(), AnswerError>),
    Work(WorkAnswer),
}

impl Shown<'_> {
    /// Changes which calls of tools are asked about, or has it and the rules listed.
    pub(super) fn approvals(&mut self, mode: Option<ApprovalMode>) {
        match mode {
            Some(mode) => {
                let changed = self.ports.change_approvals(mode);
                self.view.note(NoteKind::Info, changed);
            }
            None => {
                let lines = self.ports.approvals();
                self.requests.push(Box::pin(lines.map(Answered::Approvals)));
            }
        }
    }

    /// Has the agents listed.
    pub(super) fn list_agents(&mut self) {
        let listed = self.ports.agents();
        self.requests.push(Box::pin(listed.map(Answered::Agents)));
    }

    /// Changes how many subagents work at the same time, or has it shown.
    pub(super) fn jobs(&mut self, jobs: Option<NonZeroUsize>) {
        if let Some(jobs) = jobs {
            self.engine.set_capacity(jobs);
        }
        let engine = self.engine;
        self.requests.push(Box::pin(async move {
            let places = engine.places().await;
            Answered::Jobs(places.map(|places| {
                let most = count(places.capacity.get(), "subagent");
                format!("at most {most} at once; {} at work", places.taken)
            }))
        }));
    }

    /// Applies the answer to a request, of the session or of the rest of the program.
    pub(super) async fn answered(&mut self, answer: Answered) -> Vec<Effect> {
        match answer {
            Answered::Session(answer) => self.session_answered(answer).await,
            Answered::Ran(ended) => return self.view.command_ended(ended),
            Answered::Kept(kept) => {
                return self.view.command_kept(kept.map_err(|why| why.message));
            }
            Answered::Model(model, Ok(())) => {
                self.view.model_set(model.name(), self.ports.context_window(&model));
            }
            Answered::Model(model, Err(why)) => {
                let text = format!("cannot use {}: {}", model.name(), why.message);
                self.view.note(NoteKind::Error, text);
            }
            Answered::Thinking(level) => {
                level.into_iter().for_each(|level| self.view.thinking_set(level));
            }
            Answered::Work(answer) => self.work_answered(answer),
            Answered::Agents(text) => self.view.print(Entry::Text(text)),
            Answered::Jobs(text) => {
                text.into_iter().for_each(|text| self.view.note(NoteKind::Info, text));
            }
            Answered::Approvals(lines) => self.view.list_approvals(lines),
            Answered::Files(files) => self.view.set_files(files),
            Answered::Compacted(Ok(())) | Answered::Question(Ok(())) => {}
            Answered::Question(Err(why)) => {
                self.view.note(NoteKind::Warning, format!("not answered: {why}"));
            }
            Answered::Compacted(Err(why)) => {
                self.view.note(NoteKind::Error, format!("cannot compact: {}", why.message));
            }
        }
        Vec::new()
    }
}
