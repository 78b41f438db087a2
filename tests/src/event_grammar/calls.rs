//! The calls of an answer: their starts, progress, ends and results.

use protocol::{Content, ToolCall, ToolExecutionResult, ToolResult};
use serde_json::{Map, Value};

use super::rule;

#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// How many calls have started.
    started: usize,
    /// How many results have come.
    answered: usize,
}

#[derive(Debug)]
struct Call {
    call: ToolCall,
    state: State,
}

#[derive(Debug)]
enum State {
    Waiting,
    /// It runs. This is its last progress.
    Running(String),
    Ended {
        result: ToolExecutionResult,
        is_error: bool,
    },
}

impl Calls {
    pub(super) fn of(calls: Vec<ToolCall>) -> Self {
        let calls = calls.into_iter().map(|call| Call { call, state: State::Waiting }).collect();
        Self { calls, ..Self::default() }
    }

    pub(super) fn start(
        &mut self,
        id: &str,
        name: &str,
        args: &Map<String, Value>,
    ) -> Result<(), String> {
        let next = self.calls.get_mut(self.started).ok_or("a call starts that was asked for")?;
        let is_it = next.call.id == id && next.call.name == name && next.call.arguments == *args;
        rule(is_it, "calls start in their order")?;
        next.state = State::Running(String::new());
        self.started += 1;
        Ok(())
    }

    pub(super) fn update(&mut self, id: &str, line: &str) -> Result<(), String> {
        let call = self.find(id)?;
        let State::Running(last) = &mut call.state else {
            return Err("what progresses runs".to_owned());
        };
        rule(last != line, "progress is new")?;
        line.clone_into(last);
        Ok(())
    }

    pub(super) fn refuse(&mut self, id: &str, name: &str) -> Result<(), String> {
        let call = self.find(id)?;
        rule(matches!(call.state, State::Running(_)), "what is refused has started")?;
        rule(call.call.name == name, "a call is refused under its name")
    }

    #[expect(clippy::fn_params_excessive_bools, reason = "the event has it so")]
    pub(super) fn finish(
        &mut self,
        id: &str,
        name: &str,
        result: Option<&ToolExecutionResult>,
        is_error: bool,
    ) -> Result<(), String> {
        let call = self.find(id)?;
        rule(matches!(call.state, State::Running(_)), "what ends runs")?;
        rule(call.call.name == name, "a call ends under its name")?;
        let result = result.ok_or("the end of a call has its result")?.clone();
        call.state = State::Ended { result, is_error };
        Ok(())
    }

    pub(super) fn result(&mut self, result: &ToolResult) -> Result<(), String> {
        let are_over = self.calls.iter().all(|call| matches!(call.state, State::Ended { .. }));
        rule(are_over, "results come when every call has ended")?;
        let next = self.calls.get(self.answered).ok_or("a result is of a call")?;
        rule(next.call.id == result.tool_call_id, "results come in the order of the calls")?;
        let State::Ended { result: ended, is_error } = &next.state else {
            return Err("a result is of a call that has ended".to_owned());
        };
        let content: &Vec<Content> = &ended.content;
        let is_same = *content == result.content
            && ended.details == result.details
            && *is_error == result.is_error;
        rule(is_same, "the result is what the call ended with")?;
        self.answered += 1;
        Ok(())
    }

    pub(super) fn end(&self) -> Result<(), String> {
        rule(self.answered == self.calls.len(), "each call has one result")
    }

    fn find(&mut self, id: &str) -> Result<&mut Call, String> {
        let call = self.calls[..self.started].iter_mut().find(|call| call.call.id == id);
        call.ok_or_else(|| "the call has started".to_owned())
    }
}
