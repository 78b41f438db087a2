//! What a task's model works with.

use std::sync::Arc;

use engine::agent::Limits;
use engine::ports::{Workbench, Workspace as Place};
use protocol::Agent;

use super::command::{artifacts, environment, folder};
use super::message::TaskArguments;
use crate::session::AgentSession;

/// Returns the session of `task` as it is to be run in `place`.
pub(super) fn session(
    agent: &Agent,
    task: &TaskArguments,
    place: &Place,
    attempt: u32,
) -> AgentSession {
    let (spec, deps) = (&task.spec, &task.deps);
    let artifacts = artifacts(task);
    AgentSession {
        agent: agent.clone(),
        log: artifacts.join("session.jsonl"),
        bench: Workbench {
            root: place.root.clone(),
            folder: folder(task, place),
            repo: task.run.repo.clone(),
            environment: environment(task, place, attempt),
            artifacts,
            keep: spec.limits.output,
            schema: spec.schema.clone(),
        },
        limits: Limits { turns: spec.limits.turns, tokens: spec.limits.tokens },
        models: Arc::clone(&deps.models),
        gate: Arc::clone(&task.gate),
        requests: deps.policy.requests,
        toolbox: Arc::clone(&deps.toolbox),
        logs: Arc::clone(&deps.session_logs),
        clock: Arc::clone(&deps.clock),
    }
}
