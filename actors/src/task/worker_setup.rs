//! The start parameters of a task's worker and executor.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use engine::approvals::ApprovalPolicy;
use engine::ports::{
    InputFiles, Lineage, Models, SessionPurpose, TaskOrigin, ToolEnv, WorkerReport, WorkerStart,
    Workspace as Place,
};
use protocol::{Agent, Failure, FailureClass, RunName, TaskLimits, TaskName, TaskSpec, Work};

use super::state::TaskArguments;
use crate::deps::Deps;
use crate::executors::{Answerer, ExecutorSetup, SessionPorts, ToolSetup};
use crate::isolation::Lease;

/// Returns the start parameters of the worker of `task` in `place`.
pub(super) fn start(
    task: &TaskArguments,
    place: &Place,
    attempt: u32,
    reports: impl Fn(WorkerReport) + Send + Sync + 'static,
) -> WorkerStart {
    WorkerStart {
        run: task.run.name.clone(),
        task: task.spec.id,
        attempt,
        root: place.root.clone(),
        folder: folder(task, place),
        repo: task.run.repo.clone(),
        environment: environment(task, place, attempt),
        artifacts: artifacts(task),
        limits: task.spec.limits,
        schema: task.spec.schema.as_deref().cloned(),
        reports: Arc::new(reports),
    }
}

/// Returns the environment variables of every process of the task.
fn environment(task: &TaskArguments, place: &Place, attempt: u32) -> BTreeMap<String, OsString> {
    let mut environment: BTreeMap<String, OsString> = BTreeMap::new();
    let mut set = |name: &str, value: OsString| environment.insert(name.to_owned(), value);
    set("REGATTA_RUN", task.run.name.as_str().into());
    set("REGATTA_TASK", task.spec.name.as_str().into());
    set("REGATTA_ATTEMPT", attempt.to_string().into());
    set("REGATTA_REPO", task.run.repo.clone().into());
    set("REGATTA_WORKSPACE", place.root.clone().into());
    if let Some(inputs) = &task.inputs {
        set("REGATTA_INPUTS", inputs.folder().into());
    }
    environment
}

/// Returns the variables that may hold the keys of a task's models.
pub(crate) fn key_variables(task: &TaskSpec, models: &dyn Models) -> Vec<String> {
    let Work::Agent(agent) = &task.work else { return Vec::new() };
    let routes = std::iter::once(&agent.model).chain(&agent.fallback);
    routes.flat_map(|route| models.key_variables(route)).collect()
}

/// Returns the working folder of the task.
fn folder(task: &TaskArguments, place: &Place) -> PathBuf {
    let subfolder = &task.run.subfolder;
    // Joining an empty path would add a trailing slash.
    if subfolder.as_os_str().is_empty() { place.root.clone() } else { place.root.join(subfolder) }
}

fn artifacts(task: &TaskArguments) -> PathBuf {
    artifacts_of(&task.deps, &task.run.name, &task.spec.name)
}

/// Writes the files with the yields of the task's predecessors, if it has any.
///
/// # Errors
/// They cannot be written; then the task fails.
pub(super) async fn write_inputs(inputs: Option<Arc<dyn InputFiles>>) -> Result<(), Failure> {
    let Some(inputs) = inputs else { return Ok(()) };
    inputs.write().await.map_err(|error| {
        let message = format!("cannot write what its predecessors yielded: {error}");
        Failure::new(FailureClass::Resources, message)
    })
}

/// Returns the folder of a task's logs and output.
pub(crate) fn artifacts_of(deps: &Deps, run: &RunName, task: &TaskName) -> PathBuf {
    artifacts_of_run(deps, run).join(task.as_str())
}

/// Returns the folder of the logs and the output of a run's tasks.
pub(crate) fn artifacts_of_run(deps: &Deps, run: &RunName) -> PathBuf {
    deps.policy.artifacts.join(run.as_str())
}

/// The folder of a task's input files, beside its logs. It exists while the task does.
pub(crate) const INPUTS: &str = "inputs";

/// Returns what is above the session of an agent with these limits.
fn lineage(agent: &Agent, limits: TaskLimits) -> Lineage {
    let lineage = agent.subagent.as_deref().map(Lineage::from).unwrap_or_default();
    Lineage { limits: Some(limits), ..lineage }
}

/// Returns the setup of the executor of `task` in the leased workspace.
pub(super) fn executor(task: &TaskArguments, lease: &Lease, attempt: u32) -> ExecutorSetup {
    let spec = &task.spec;
    match spec.work {
        Work::Command(_) | Work::Conversation(_) => ExecutorSetup::Commands,
        Work::Agent(ref agent) => ExecutorSetup::Tools(
            Box::new(ToolSetup {
                view: lease.view(),
                env: ToolEnv {
                    subfolder: task.run.subfolder.clone(),
                    repo: task.run.repo.clone(),
                    environment: environment(task, &lease.place, attempt),
                    keep: spec.limits.output,
                    schema: spec.schema.as_deref().cloned(),
                    purpose: SessionPurpose::Task,
                    model: agent.model.id.clone(),
                    is_scripted: agent.model.is_scripted(),
                    spawn_offer: None,
                },
                task: Some(TaskOrigin { run: task.run.id, task: spec.id }),
                artifacts: artifacts(task),
                only: agent.subagent.as_ref().map(|it| it.tools.iter().cloned().collect()),
                servers: agent.servers.clone(),
                folder: folder(task, &lease.place),
                lineage: lineage(agent, spec.limits),
                approvals: ApprovalPolicy::from(agent.approvals.clone())
                    .in_workspace(task.run.workspace),
                mode: task.mode.clone(),
                answerer: Answerer::None,
            }),
            SessionPorts::default(),
        ),
    }
}
