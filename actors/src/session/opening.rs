//! Opens a session: its tools, its log and its model.

use std::sync::Arc;

use engine::agent::{Conversation, Listener, Model, SessionInit};
use engine::ports::{SessionHeader, ToolRunner as _};
use engine::request::ModelClient;
use protocol::{Failure, ModelRoute, SessionEvent};

use super::messages::{Opened, SessionArguments};
use crate::executors::ExecutorTools;
use crate::tokio_timer::RuntimeTimer;

/// Waits until the executor has built the tools.
pub(super) async fn open_tools(
    arguments: &SessionArguments,
    listener: Arc<dyn Listener>,
) -> Result<ExecutorTools, Failure> {
    ExecutorTools::open(arguments.executor.clone(), listener).await
}

/// Opens a session with a new log, or continues an existing one.
pub(super) async fn open(
    arguments: &SessionArguments,
    tools: &ExecutorTools,
) -> Result<Box<Opened>, Failure> {
    let SessionArguments { spec, deps, .. } = arguments;
    for error in tools.left_out() {
        arguments.events.notify(SessionEvent::ToolUnavailable {
            tool_name: error.tool.clone(),
            error_message: error.reason.clone(),
        });
    }
    let header =
        SessionHeader { id: deps.ids.session(), cwd: spec.folder.clone(), at: deps.clock.now() };
    let init = SessionInit {
        system: Arc::clone(&spec.system),
        model: spec.model.clone(),
        tools: tools.declarations().iter().map(|tool| tool.name.clone()).collect(),
        assignment: spec.assignment.clone(),
    };
    let clock = Arc::clone(&deps.clock);
    let logs = deps.session_logs.as_ref();
    let conversation = Conversation::open(logs, &spec.log, header, init, clock).await;
    let conversation = conversation.map_err(|error| error.to_failure())?;
    let model = open_model(arguments, spec.model.clone())?;
    Ok(Box::new(Opened { conversation, model }))
}

/// Resolves a model route to a client.
pub(super) fn open_model(
    arguments: &SessionArguments,
    route: ModelRoute,
) -> Result<Model, Failure> {
    let SessionArguments { spec, deps, gate, .. } = arguments;
    let client = ModelClient {
        provider: deps.models.open(&route)?,
        fallbacks: Vec::new(),
        gate: Arc::clone(gate),
        requester: spec.requester.clone(),
        timer: Arc::new(RuntimeTimer::start()),
        clock: Arc::clone(&deps.clock),
        policy: deps.policy.requests,
    };
    Ok(Model { route, client })
}
