//! Runs the subagents of the calls of an engine's sessions.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use actors::{Answerer, Engine, Submission, WeakEngine};
use async_trait::async_trait;
use config::agents::AgentFiles;
use engine::ports::{
    Caller, CancelLevel, CancelToken, LineSink, Lineage, Repository, SpawnCall, SpawnOffer,
    SpawnRefusal, SpawnReport, Spawner, SubagentReport, SubagentStatus,
};
use futures_util::future::join_all;
use protocol::{
    AgentCatalog, AgentDefinition, ApprovalMode, ModelRoute, Outcome, RunName, Spawns, TaskName,
    TaskReport,
};
use serde_json::Value;
use tokio::task::spawn_blocking;

use super::allowed::AllowedForSession;
use super::follow::{ChildLanding, Person, RunEnd, follow};
use super::groups::{Group, groups};
use super::landing::ask_and_land;
use super::outputs::Outputs;
use super::resolve::{ItemPlace, ResolvedItem, Resolving};
use crate::app_context::AppContext;
use crate::model::ModelDirectory;
use crate::recovery::open_repository;
use crate::runs::RepositoryRuns;

/// How many tasks work at the same time, if the settings do not say.
const AT_ONCE: NonZeroUsize = NonZeroUsize::new(32).expect("thirty-two is not zero");

impl AppContext {
    /// Returns how many subagents work at the same time.
    #[must_use]
    pub fn subagents_at_once(&self) -> NonZeroUsize {
        self.settings.max_concurrency.value.unwrap_or(AT_ONCE)
    }
}

/// Runs subagents on the engine whose sessions call.
pub(crate) struct EngineSpawner {
    app: AppContext,
    engine: OnceLock<WeakEngine>,
    agents: Arc<AgentFiles>,
    outputs: Outputs,
    allowed: AllowedForSession,
}

impl EngineSpawner {
    pub(crate) fn new(app: AppContext) -> Self {
        let (engine, agents) = (OnceLock::new(), Arc::default());
        let (outputs, allowed) = (Outputs::default(), AllowedForSession::default());
        Self { app, engine, agents, outputs, allowed }
    }

    /// Runs the subagents on this engine, and does not keep it open.
    pub(crate) fn run_on(&self, engine: &Engine) {
        let _only_once = self.engine.set(engine.downgrade());
    }

    /// Returns the agents that there are in a folder of a repository; `None` outside of one.
    async fn catalog(&self, folder: &Path) -> Option<AgentCatalog> {
        let (agents, places) = (Arc::clone(&self.agents), self.app.places.clone());
        let disabled = self.app.settings.disabled_agents.value.clone();
        let folder = folder.to_owned();
        let discover = move || {
            let root = folder.ancestors().find(|folder| folder.join(".git").exists())?;
            Some(agents.discover(&places, root, &folder).without(&disabled))
        };
        spawn_blocking(discover).await.ok().flatten()
    }

    fn engine(&self) -> Result<Engine, SpawnRefusal> {
        let engine = self.engine.get().and_then(WeakEngine::upgrade);
        engine.ok_or_else(|| SpawnRefusal("The engine is closing.".to_owned()))
    }

    /// Returns the repository of the caller's tree.
    async fn repository(&self, caller: &Caller) -> Result<Arc<dyn Repository>, SpawnRefusal> {
        let opened = open_repository(&self.app, &caller.folder).await;
        let opened = opened.map_err(|error| {
            SpawnRefusal(format!("Subagents need a git repository. {}", error.what))
        })?;
        Ok(opened.repository)
    }

    async fn resolve(
        &self,
        call: &SpawnCall,
        caller: &Caller,
    ) -> Result<(Vec<ResolvedItem>, Vec<String>), SpawnRefusal> {
        let catalog = self.catalog(&caller.folder).await.unwrap_or_default();
        let directory = OnceLock::new();
        let named = |name: &str| -> Option<ModelRoute> {
            let directory =
                directory.get_or_init(|| ModelDirectory::of_user(&self.app.user_models));
            match name.parse::<ModelRoute>() {
                Ok(route) => directory.checked(route).ok(),
                Err(_no_route) => directory.named(name).ok(),
            }
        };
        let settings = &self.app.settings;
        let resolving = Resolving {
            catalog: &catalog,
            named: &named,
            agent_models: &settings.agent_models.value,
            limits: settings.task_limits(),
            max_depth: settings.max_recursion_depth.value,
            can_isolate: settings.isolation_mode.value.capabilities().can_capture,
        };
        resolving.resolve(call, caller)
    }

    async fn run_group(
        &self,
        (engine, repository): (&Engine, &Arc<dyn Repository>),
        group: &Group,
        (call, caller): (&SpawnCall, &Caller),
        (progress, cancel): (&LineSink, &CancelToken),
    ) -> Result<(RunName, RunEnd), String> {
        let spec = group.spec(&self.app, repository.as_ref(), (call, caller));
        let spec = spec.map_err(|error| error.what.clone())?;
        let answerer = caller.ask.as_ref().map_or(Answerer::None, |_| Answerer::Client);
        let submission = Submission::new(spec, Arc::clone(repository)).answered_by(answerer);
        let submission = submission.in_mode(caller.chosen.clone());
        let run = engine.run(submission).await.map_err(|error| error.to_string())?;
        let name = run.name.clone();
        let person = caller.ask.clone().map(|ask| {
            let (session, allowed) = (caller.origin.session, self.allowed.clone());
            Person { ask, session, allowed }
        });
        let mut end = follow(run, person, progress, cancel).await;
        if let (ItemPlace::Isolated, ApprovalMode::Ask, Some(ask)) =
            (group.place, caller.mode, &caller.ask)
        {
            let work = (&name, &mut end);
            let landed = ask_and_land(&self.app, repository.as_ref(), work, (ask.as_ref(), cancel));
            if let Err(error) = landed.await {
                progress(format!("note: {error}: its work is kept"));
            }
        }
        Ok((name, end))
    }
}

#[async_trait]
impl Spawner for EngineSpawner {
    async fn offer(&self, folder: &Path, lineage: &Lineage) -> Option<SpawnOffer> {
        let settings = &self.app.settings;
        if lineage.depth >= settings.max_recursion_depth.value || lineage.spawns == Spawns::None {
            return None;
        }
        let catalog = self.catalog(folder).await?;
        let may_start = |agent: &&AgentDefinition| match &lineage.spawns {
            Spawns::Any => true,
            Spawns::None => false,
            Spawns::Only(names) => names.contains(&agent.name),
        };
        let agents = catalog.agents.iter().filter(may_start);
        let agents = agents.map(|agent| (agent.name.clone(), agent.description.clone())).collect();
        let isolated = settings.isolation_mode.value.capabilities().can_capture;
        Some(SpawnOffer { agents, isolated })
    }

    async fn run(
        &self,
        call: SpawnCall,
        caller: &Caller,
        progress: LineSink,
        cancel: CancelToken,
    ) -> Result<SpawnReport, SpawnRefusal> {
        let began = Instant::now();
        let engine = self.engine()?;
        let repository = self.repository(caller).await?;
        let (items, notes) = self.resolve(&call, caller).await?;
        let ids = items.iter().map(|item| item.item.id.clone()).collect();
        let above = caller.lineage.name.as_deref();
        let names = self.outputs.reserve(&caller.artifacts, above, ids).await;
        let names = names.map_err(|crashed| {
            SpawnRefusal(format!("Their names cannot be reserved: {crashed}."))
        })?;
        let order = names.clone();
        let groups = groups(names.into_iter().zip(items).collect());
        let stops: Vec<_> = groups.iter().map(|_| cancel.child()).collect();
        let runs = groups.iter().zip(&stops).map(async |(group, stop)| {
            let (place, of) = ((&engine, &repository), (&call, caller));
            let ended = self.run_group(place, group, of, (&progress, stop)).await;
            // Its run has cancelled its own rest.
            if call.fail_fast && !has_succeeded(&ended) {
                stops.iter().for_each(|stop| stop.cancel(CancelLevel::Gently));
            }
            ended
        });
        let mut ended = Vec::new();
        let work = async { ended = join_all(runs).await };
        match &caller.pause {
            Some(pause) => pause.during(Box::pin(work)).await,
            None => work.await,
        }
        let runs = RepositoryRuns::of(&self.app, repository.facts().root.clone());
        let mut subagents = Vec::new();
        for (group, ended) in groups.iter().zip(ended) {
            for (name, item) in &group.items {
                let mut subagent = report(name, item, (group.place, caller), &ended);
                subagent.patch = patch(&runs, (name, &subagent), &ended, &caller.artifacts).await;
                subagents.push(subagent);
            }
        }
        let place = |name: &str| order.iter().position(|other| other.as_str() == name);
        subagents.sort_by_key(|subagent| place(&subagent.name));
        let subagents = Outputs::keep(&caller.artifacts, subagents).await;
        let subagents = subagents
            .map_err(|crashed| SpawnRefusal(format!("Their results cannot be kept: {crashed}.")))?;
        let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(SpawnReport { subagents, notes, ms })
    }
}

/// Returns whether all items of a run have succeeded.
fn has_succeeded(ended: &Result<(RunName, RunEnd), String>) -> bool {
    let is_done = |report: &TaskReport| matches!(report.outcome, Outcome::Done { .. });
    ended.as_ref().is_ok_and(|(_, end)| end.reports.values().all(|report| is_done(report)))
}

/// Keeps what a subagent has changed and what has not landed, and returns its name.
async fn patch(
    runs: &RepositoryRuns,
    (name, subagent): (&TaskName, &SubagentReport),
    ended: &Result<(RunName, RunEnd), String>,
    artifacts: &Path,
) -> Option<String> {
    if subagent.status == SubagentStatus::Completed {
        return None;
    }
    let report = ended.as_ref().ok()?.1.reports.get(name)?;
    let captured = report.captured.as_ref().filter(|captured| captured.changes.files > 0)?;
    let (captures, capture) = (Arc::clone(&runs.captured), captured.capture.clone());
    let (folder, name) = (artifacts.to_owned(), name.clone());
    let write = move || {
        let patch = captures.patch(&capture).ok()?;
        Outputs::write_patch(&folder, name.as_str(), &patch).ok()
    };
    spawn_blocking(write).await.ok().flatten()
}

/// Returns what became of an item.
fn report(
    name: &TaskName,
    resolved: &ResolvedItem,
    (place, caller): (ItemPlace, &Caller),
    ended: &Result<(RunName, RunEnd), String>,
) -> SubagentReport {
    let (run, task) = match ended {
        Ok((run, end)) => (Some(run), end.reports.get(name).map(|report| (end, report))),
        Err(_) => (None, None),
    };
    let status = match task {
        Some((end, report)) => {
            // No command reaches work on the copy of a task, which is gone when the task has ended.
            let run = run.filter(|_| caller.origin.task.is_none());
            status(name, run, (report, end.landings.get(name)), place)
        }
        None => SubagentStatus::Failed,
    };
    let (output, error) = match (task.map(|(_, report)| &report.outcome), ended) {
        (Some(Outcome::Done { value }), _) => (text(value), String::new()),
        (Some(Outcome::Failed { failure }), _) => (String::new(), failure.message.clone()),
        (Some(Outcome::Cancelled), _) => (String::new(), String::new()),
        (None, Err(why)) => (String::new(), why.clone()),
        (None, Ok(_)) => (String::new(), "the engine ended before it did".to_owned()),
    };
    let report = task.map(|(_, report)| report);
    SubagentReport {
        name: name.to_string(),
        agent: resolved.agent.name.clone(),
        description: resolved.item.description.clone(),
        status,
        output,
        error,
        task: run.map(|run| format!("{run}/{name}")).unwrap_or_default(),
        changes: report.and_then(|report| Some(report.captured.as_ref()?.changes)),
        patch: None,
        ms: report.map(|report| report.ms).unwrap_or_default(),
        usage: report.and_then(|report| report.usage),
        refused_calls: report.map_or(0, |report| report.refused_calls),
        findings: Vec::new(),
    }
}

fn status(
    name: &TaskName,
    run: Option<&RunName>,
    (report, landing): (&TaskReport, Option<&ChildLanding>),
    place: ItemPlace,
) -> SubagentStatus {
    let is_changed = report.captured.as_ref().is_some_and(|captured| captured.changes.files > 0);
    let command = |what: &str| run.map(|run| format!("regatta {what} {run}/{name}"));
    match (&report.outcome, landing) {
        (Outcome::Failed { .. }, _) => SubagentStatus::Failed,
        (Outcome::Cancelled, _) => SubagentStatus::Cancelled,
        (Outcome::Done { .. }, Some(ChildLanding::Conflicted(paths))) => {
            SubagentStatus::MergeFailed { paths: paths.clone(), command: command("conflicts") }
        }
        (Outcome::Done { .. }, Some(ChildLanding::Landed)) => SubagentStatus::Completed,
        (Outcome::Done { .. }, _) if is_changed && place != ItemPlace::Shared => {
            SubagentStatus::Kept { command: command("apply") }
        }
        (Outcome::Done { .. }, _) => SubagentStatus::Completed,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => serde_json::to_string_pretty(value).unwrap_or_default(),
    }
}
