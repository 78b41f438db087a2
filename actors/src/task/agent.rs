//! What a task's model works with, and its tools.

use std::sync::Arc;

use engine::agent::Limits;
use engine::ports::{ToolEnv, Workspace as Place};
use protocol::{Agent, Work};

use super::command::{artifacts, environment, folder};
use super::message::TaskArguments;
use crate::executors::{ExecutorSetup, ToolSetup};
use crate::isolation::Lease;
use crate::session::AgentSession;

/// Returns the session of `task` as it is to be run in `place`.
pub(super) fn session(agent: &Agent, task: &TaskArguments, place: &Place) -> AgentSession {
    let (spec, deps) = (&task.spec, &task.deps);
    AgentSession {
        agent: agent.clone(),
        log: artifacts(task).join("session.jsonl"),
        folder: folder(task, place),
        schema: spec.schema.clone(),
        limits: Limits { turns: spec.limits.turns, tokens: spec.limits.tokens },
        models: Arc::clone(&deps.models),
        gate: Arc::clone(&task.gate),
        requests: deps.policy.requests,
        logs: Arc::clone(&deps.session_logs),
        clock: Arc::clone(&deps.clock),
    }
}

/// Returns what the executor of `task` is for, whose workspace is the leased one.
pub(super) fn executor(task: &TaskArguments, lease: &Lease, attempt: u32) -> ExecutorSetup {
    let spec = &task.spec;
    match spec.work {
        Work::Command(_) => ExecutorSetup::Commands,
        Work::Agent(_) => ExecutorSetup::Tools(Box::new(ToolSetup {
            view: lease.view(),
            env: ToolEnv {
                subfolder: task.run.subfolder.clone(),
                repo: task.run.repo.clone(),
                environment: environment(task, &lease.place, attempt),
                keep: spec.limits.output,
                schema: spec.schema.clone(),
            },
            artifacts: artifacts(task),
        })),
    }
}
