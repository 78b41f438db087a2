//! What the tools of a session start subagents with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::approvals::ChosenMode;
use engine::ports::{CallOrigin, Caller, Lineage, Spawner, Subagents, ToolDeclaration, ToolEnv};
use protocol::{ApprovalMode, Approvals, ModelRoute, ServerChoice};
use serde_json::Value;

use super::session_ports::SessionPorts;
use crate::deps::Deps;

/// The part of a [`Caller`] that all calls of a session have in common.
pub(super) struct Spawning {
    spawner: Arc<dyn Spawner>,
    folder: PathBuf,
    lineage: Lineage,
    chosen: ChosenMode,
    schema: Option<Value>,
    artifacts: PathBuf,
    servers: ServerChoice,
    ports: SessionPorts,
}

impl Spawning {
    /// Returns it for a session; `None` if the session can start no subagents.
    pub(super) fn of(
        deps: &Deps,
        env: &ToolEnv,
        (folder, lineage, chosen): (PathBuf, Lineage, ChosenMode),
        (artifacts, servers): (&Path, &ServerChoice),
        ports: &SessionPorts,
    ) -> Option<Self> {
        env.spawn_offer.as_ref()?;
        let spawner = Arc::clone(deps.spawner.as_ref()?);
        let (schema, artifacts, ports) = (env.schema.clone(), artifacts.to_owned(), ports.clone());
        let servers = servers.clone();
        Some(Self { spawner, folder, lineage, chosen, schema, artifacts, servers, ports })
    }

    /// Returns what a call starts subagents with, in a session with these tools, rules and mode.
    pub(super) fn subagents(
        &self,
        tools: &[ToolDeclaration],
        (approvals, mode): (Approvals, ApprovalMode),
        (origin, model): (CallOrigin, ModelRoute),
    ) -> Subagents {
        let caller = Caller {
            origin,
            folder: self.folder.clone(),
            model,
            approvals,
            mode,
            chosen: self.chosen.clone(),
            schema: self.schema.clone(),
            ask: self.ports.ask.clone(),
            pause: self.ports.pause.clone(),
            lineage: self.lineage.clone(),
            tools: tools.iter().map(|tool| tool.name.clone()).collect(),
            servers: self.servers.clone(),
            artifacts: self.artifacts.clone(),
        };
        Subagents { spawner: Arc::clone(&self.spawner), caller: Arc::new(caller) }
    }
}
