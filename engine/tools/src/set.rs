//! The tools of one session: finds the tool of a call, holds the arguments against its schema, and
//! makes an answer of whatever comes of it.

use std::sync::Arc;

use async_trait::async_trait;
use engine::ports::{CancelToken, LineSink, ToolAnswer, ToolDeclaration, ToolText, Tools};
use protocol::ToolCall;
use serde_json::{Map, Value};

use crate::arguments::coerce;
use crate::builtin::Errand;
use crate::builtins::{Shared, Tool};
use crate::desk::Desk;
use crate::limits::{COMPLAINT, head};
use crate::shown::quote;
use crate::trouble::Trouble;

/// The tools of one session.
pub(crate) struct ToolSet {
    shared: Arc<Shared>,
    desk: Arc<Desk>,
    declarations: Arc<[ToolDeclaration]>,
}

impl ToolSet {
    /// Returns the tools that work at `desk`.
    pub(crate) fn new(
        shared: Arc<Shared>,
        desk: Arc<Desk>,
        declarations: Arc<[ToolDeclaration]>,
    ) -> Self {
        Self { shared, desk, declarations }
    }

    /// Finds a tool by its very name: by that name others know whether it may run beside others.
    fn find(&self, name: &str) -> Option<&Tool> {
        let mut all = self.shared.tools.iter().chain(self.shared.hidden.iter());
        all.find(|tool| tool.entry.name == name)
    }

    fn unknown(&self, name: &str) -> String {
        let names: Vec<_> = self.declarations.iter().map(|tool| tool.name.as_str()).collect();
        // Models write `Read` and `functions.read`.
        let last = name.trim().rsplit(['.', ':']).next().unwrap_or_default();
        let meant = names.iter().find(|name| name.eq_ignore_ascii_case(last));
        let meant = meant.map_or_else(String::new, |name| format!(" Did you mean {name}?"));
        let (name, names) = (quote(name), names.join(", "));
        format!("Tool {name} not found.{meant} The tools there are: {names}")
    }

    async fn carry_out(&self, tool: &Tool, call: ToolCall, errand: Errand) -> Answer {
        let entry = tool.entry;
        let fault = self.shared.faults.strike(&format!("tool.{}", entry.name));
        if let Err(error) = fault {
            let told = format!("{} failed: {error}", entry.name);
            return match error.kind() {
                std::io::ErrorKind::StorageFull => Ok(ToolAnswer::Exhausted(told)),
                _ => Err(told),
            };
        }
        if errand.stop.is_cancelled() {
            return Err(Trouble::Aborted.told());
        }
        if let Some(text) = call.malformed {
            return Err(malformed(tool, &text));
        }
        let arguments = fitted(tool, call.arguments)?;
        let carried_out = (entry.call)(arguments, Arc::clone(&self.desk), errand).await;
        match carried_out {
            Err(trouble) if trouble.is_exhaustion() => Ok(ToolAnswer::Exhausted(trouble.told())),
            carried_out => carried_out.map_err(|trouble| trouble.told()),
        }
    }
}

/// What a tool answers, or what there is to complain about.
type Answer = Result<ToolAnswer, String>;

#[async_trait]
impl Tools for ToolSet {
    fn declarations(&self) -> Arc<[ToolDeclaration]> {
        Arc::clone(&self.declarations)
    }

    async fn call(&self, call: ToolCall, line: LineSink, stop: CancelToken) -> ToolAnswer {
        let answer = match self.find(&call.name) {
            Some(tool) => self.carry_out(tool, call, Errand { line, stop }).await,
            None => Err(self.unknown(&call.name)),
        };
        answer.unwrap_or_else(|complaint| ToolAnswer::Failed(ToolText::plain(complaint)))
    }
}

/// Returns the arguments as the tool wants them.
fn fitted(tool: &Tool, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let mut arguments = arguments;
    (tool.entry.reshape)(&mut arguments);
    let mut value = Value::Object(arguments);
    coerce(&mut value, &tool.schema);
    let faults = tool.judge.faults(&value);
    match value {
        Value::Object(arguments) if faults.is_empty() => Ok(arguments),
        _ => Err(misfit(tool, &faults)),
    }
}

fn misfit(tool: &Tool, faults: &[String]) -> String {
    let faults = faults.join("\n- ");
    let (name, example) = (tool.entry.name, tool.entry.example);
    let faults = head(&faults, COMPLAINT);
    format!(
        "The arguments of {name} are not right:\n- {faults}\nRight arguments are, for instance: \
         {example}"
    )
}

fn malformed(tool: &Tool, text: &str) -> String {
    let (name, example) = (tool.entry.name, tool.entry.example);
    let why = match serde_json::from_str::<Value>(text) {
        Err(error) => format!("no JSON ({error})"),
        Ok(Value::Object(_)) => "nested too deeply".to_owned(),
        Ok(_) => "no JSON object".to_owned(),
    };
    format!(
        "The arguments of {name} are {why}. They begin with: {}\nRight arguments are, for \
         instance: {example}",
        quote(text)
    )
}

#[cfg(test)]
mod tests;
