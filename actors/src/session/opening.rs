//! Opens a session: its tools, its log and its model.

use std::sync::Arc;

use engine::agent::{Conversation, Model, SessionInit};
use engine::ports::{LogDamage, SessionHeader};
use engine::request::{ModelClient, Routes};
use engine::tools::interrupted_result;
use protocol::{Failure, ModelRoute, SessionEvent};

use super::messages::{Opened, SessionArguments};
use crate::executors::OpenedTools;
use crate::tokio_timer::RuntimeTimer;

/// Opens a session with a new log, or continues an existing one.
pub(super) async fn open(
    arguments: &SessionArguments,
    tools: &OpenedTools,
) -> Result<Box<Opened>, Failure> {
    let SessionArguments { spec, deps, .. } = arguments;
    for error in &tools.left_out {
        arguments.events.notify(SessionEvent::ToolUnavailable {
            tool_name: error.tool.clone(),
            error_message: error.reason.clone(),
        });
    }
    let header = SessionHeader {
        id: spec.id.unwrap_or_else(|| deps.ids.session()),
        cwd: spec.folder.clone(),
        at: deps.clock.now(),
        parent: None,
    };
    // Those of servers come and go; the model sees them in its requests.
    let declarations = tools.set.fixed().declarations();
    let names: Vec<&str> = declarations.iter().map(|tool| tool.name.as_str()).collect();
    let init = SessionInit {
        system: spec.system.text(&names),
        model: spec.model.clone(),
        tools: names.into_iter().map(str::to_owned).collect(),
        assignment: spec.assignment.clone(),
    };
    let clock = Arc::clone(&deps.clock);
    let logs = spec.logs.as_ref().unwrap_or(&deps.session_logs);
    let conversation = Conversation::open(logs.as_ref(), &spec.log, header, init, clock).await;
    let mut conversation = conversation.map_err(|error| error.to_failure())?;
    for call in conversation.unanswered_calls() {
        let text = interrupted_result(&call, tools.journal.as_ref(), tools.view.as_ref()).await;
        let answered = conversation.answer_interrupted_call(&call, text).await;
        answered.map_err(|error| error.to_failure())?;
    }
    for LogDamage { line, what } in conversation.damage() {
        let path = spec.log.display();
        let message =
            format!("line {line} of {path} cannot be read whole, and stays as it is: {what}");
        arguments.events.notify(SessionEvent::Notice { message });
    }
    let model = open_model(arguments, spec.model.clone())?;
    Ok(Box::new(Opened { conversation, model }))
}

/// Resolves a model route to a client that also asks with the other keys of its provider, and the
/// fallbacks of the session.
pub(super) fn open_model(
    arguments: &SessionArguments,
    route: ModelRoute,
) -> Result<Model, Failure> {
    let SessionArguments { spec, deps, gate, .. } = arguments;
    let mut ways = deps.models.open_with_each_key(&route)?.into_iter();
    let first = match ways.next() {
        Some(first) => first,
        None => deps.models.open(&route)?,
    };
    let fallbacks = spec.fallbacks.iter().filter(|fallback| fallback.name() != route.name());
    let fallbacks = fallbacks.flat_map(|fallback| {
        deps.models.open_with_each_key(fallback).unwrap_or_else(|failure| {
            tracing::warn!(%fallback, reason = failure.message, "a fallback cannot be used");
            Vec::new()
        })
    });
    let (absences, policy) = (Arc::clone(&deps.absences), deps.policy.requests);
    let client = ModelClient {
        routes: Routes::only(first).with(ways.chain(fallbacks), absences, policy.revert),
        gate: Arc::clone(gate),
        requester: spec.requester.clone(),
        timer: Arc::new(RuntimeTimer::start()),
        clock: Arc::clone(&deps.clock),
        policy,
    };
    Ok(Model { route, client })
}
