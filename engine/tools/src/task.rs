//! The tool `task`: gives tasks to subagents, and returns what came of them when all have ended.

mod arguments;
mod declaration;
mod details;
mod other_forms;
mod result_lines;
mod shares;
mod summary;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use engine::ports::{
    Access, CancelToken, LineSink, SpawnRefusal, Subagents, ToolContext, ToolEnv, ToolOutcome,
    ToolOutput, ToolSpec,
};
use protocol::quote_within;
use serde_json::{Map, Value, json};

use self::arguments::TaskArguments;
use crate::builtin::{Builtin, Session};
use crate::error::ToolError;

/// The tool `task`. What its subagents do is judged call by call, so the call itself does nothing.
pub(crate) struct Task;

/// How many tasks the title of a call names, and how many characters of each.
const NAMED: usize = 3;
const NAMED_CHARACTERS: usize = 40;

impl Builtin for Task {
    const NAME: &'static str = "task";
    const DESCRIPTION: &'static str = declaration::DESCRIPTION;
    const EXAMPLE: &'static str = r#"{"context":"The parser is in src/parser.rs.","tasks":[{"id":"ParserTests","description":"Test the parser","assignment":"Write tests of the parser in tests/parser.rs. It is done when cargo test passes."}]}"#;

    type Arguments = TaskArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        other_forms::reshape(arguments);
    }

    fn title(arguments: &Map<String, Value>) -> Option<String> {
        let tasks = arguments.get("tasks")?.as_array()?;
        let name = |task: &Value| {
            let part = |name: &str| task.get(name)?.as_str().map(str::trim);
            let name = part("description").filter(|text| !text.is_empty()).or_else(|| part("id"));
            name.map(|name| quote_within(name, NAMED_CHARACTERS))
        };
        let names: Vec<_> = tasks.iter().filter_map(name).take(NAMED).collect();
        let rest = if tasks.len() > NAMED { ", …" } else { "" };
        Some(match tasks.len() {
            1 => names.concat(),
            count => format!("{count} tasks: {}{rest}", names.join(", ")),
        })
    }

    fn shown_result(details: &Value) -> Option<Vec<String>> {
        result_lines::lines(details)
    }

    fn is_offered(env: &ToolEnv) -> bool {
        env.spawn_offer.is_some()
    }

    fn declared(usual: &ToolSpec, env: &ToolEnv) -> Option<ToolSpec> {
        env.spawn_offer.as_ref().map(|offer| declaration::declared(usual, offer))
    }

    fn new(_session: &Arc<Session>) -> Self {
        Self
    }

    fn classify(_arguments: &Map<String, Value>) -> Access {
        Access::none()
    }

    async fn run(
        &self,
        arguments: TaskArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        // Subagents change the tree without this view, as processes do, whose root says so.
        let _changed_by_others = context.view.process_root();
        let progress = (Arc::clone(&context.progress), context.cancel.clone());
        let ran = ran(arguments, context.subagents.as_ref(), progress).await;
        Ok(ToolOutcome::Output(ran.unwrap_or_else(|why| {
            let details = json!({ details::RESULTS: [], details::DURATION: 0 });
            ToolOutput::text(why.0).with_details(details)
        })))
    }
}

/// Runs the tasks, and returns what came of them. Why none was started is a result too, and no failure of the tool.
async fn ran(
    arguments: TaskArguments,
    subagents: Option<&Subagents>,
    (progress, cancel): (LineSink, CancelToken),
) -> Result<ToolOutput, SpawnRefusal> {
    let call = arguments.into_call().map_err(|wrong| SpawnRefusal(wrong.to_string()))?;
    let none = || SpawnRefusal("This session can start no subagents.".to_owned());
    let Subagents { spawner, caller } = subagents.ok_or_else(none)?;
    let report = spawner.run(call, caller, progress, cancel).await?;
    let details = details::details(&report, &caller.artifacts);
    Ok(ToolOutput::text(summary::summary(&report)).with_details(details))
}
