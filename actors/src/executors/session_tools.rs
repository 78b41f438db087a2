//! Builds the tools of one session and executes their calls.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::approvals::ApprovalPolicy;
use engine::ports::{
    Access, Artifacts, Background, CallOrigin, CancelToken, ChangeShown, CommandOwner, Concurrency,
    LineSink, Lineage, SpawnOffer, Spawner, TaskOrigin, Tool, ToolBuildError, ToolContext, ToolEnv,
    ToolFactory, ToolOutcome, ToolOutput, Visibility, WorkspaceView,
};
use engine::tools::{CallGate, ToolSet};
use futures_util::FutureExt;
use futures_util::future::join_all;
use protocol::{TASK_TOOL, ToolCall};
use tokio::time::timeout;

use super::approver::{Approver, Cleared, Trust, Unbegun};
use super::chosen_mode::ChosenMode;
use super::session_ports::{CallFrom, SessionPorts};
use super::spawning::Spawning;
use super::turns::Turn;
use crate::deps::Deps;
use crate::jobs::Panicked;

/// How long a factory may take to build its tools.
const BUILDING: Duration = Duration::from_secs(30);

/// The parameters for building the tools of a session.
#[derive(Clone)]
pub struct ToolSetup {
    /// The workspace.
    pub view: Arc<dyn WorkspaceView>,
    /// Facts about the session that tools need.
    pub env: ToolEnv,
    /// The task whose session calls the tools, if it has one.
    pub task: Option<TaskOrigin>,
    /// The folder in which the session works.
    pub folder: PathBuf,
    /// What is above the session.
    pub lineage: Lineage,
    /// The folder of the output of the tools.
    pub artifacts: PathBuf,
    /// The names of the tools that the model may use; every tool if absent.
    pub only: Option<BTreeSet<String>>,
    /// Which calls are allowed.
    pub approvals: ApprovalPolicy,
    /// The mode to which a person changes.
    pub mode: ChosenMode,
    /// Who is asked about the others.
    pub answerer: Answerer,
}

impl ToolSetup {
    /// Returns the setup of a session whose questions `answerer` answers.
    #[must_use]
    pub fn answered_by(self, answerer: Answerer) -> Self {
        Self { answerer, ..self }
    }
}

/// Who answers the questions of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answerer {
    /// No one: calls that have to be asked about are refused.
    #[default]
    None,
    /// The client that has the handle of the session.
    Client,
}

/// The tools of one session.
pub(crate) struct SessionTools {
    pub(super) set: ToolSet,
    /// The tools that could not be built.
    pub(super) left_out: Vec<ToolBuildError>,
    task: Option<TaskOrigin>,
    spawning: Option<Spawning>,
    commands: Arc<dyn CommandOwner>,
    view: Arc<dyn WorkspaceView>,
    artifacts: Arc<dyn Artifacts>,
    background: Arc<dyn Background>,
    approver: Approver,
}

impl SessionTools {
    /// Builds the tools of a session. Tools that cannot be built are listed in `left_out`.
    pub(super) async fn build(
        deps: Arc<Deps>,
        (commands, background): (Arc<dyn CommandOwner>, Arc<dyn Background>),
        setup: ToolSetup,
        ports: SessionPorts,
    ) -> Self {
        let ToolSetup {
            view,
            mut env,
            task,
            folder,
            lineage,
            artifacts,
            only,
            approvals,
            mode,
            ..
        } = setup;
        if let Some(spawner) = &deps.spawner {
            env.spawn_offer = offer(spawner.as_ref(), only.as_ref(), (&folder, &lineage)).await;
        }
        let spawning = Spawning::of(&deps, &env, (folder, lineage), &artifacts, &ports);
        let built = deps.tools.iter().map(|factory| built(factory.as_ref(), &env));
        let is_wanted = |tool: &Arc<dyn Tool>| {
            let is_named = only.as_ref().map(|only| only.contains(&tool.spec().name));
            match tool.spec().visibility {
                Visibility::Declared => is_named.unwrap_or(true),
                Visibility::OnRequest => is_named.unwrap_or(env.is_scripted),
                Visibility::Hidden => true,
            }
        };
        let built = join_all(built).await.into_iter().flatten();
        let built = built.filter(|built| built.as_ref().map_or(true, is_wanted)).collect();
        let (set, left_out) = ToolSet::new(built, deps.schemas.as_ref(), deps.faults.clone());
        for error in &left_out {
            tracing::warn!(%error, "a tool is left out");
        }
        let artifacts = deps.artifacts.open(&artifacts);
        let trust = Trust { rules: Arc::clone(&deps.trusted_rules), folder: env.repo };
        let ask = ports.ask;
        let gate = CallGate::new(approvals, Arc::clone(&deps.shell));
        let approver = Approver::new((gate, mode), ask, trust);
        set.prepare(approver.shell(), &commands, background.as_ref());
        Self { set, left_out, task, spawning, commands, view, artifacts, background, approver }
    }

    /// Returns the access class of each call. A call whose tool panics here runs alone.
    pub(super) async fn classify(&self, calls: &[ToolCall]) -> Vec<Access> {
        let mut accesses = Vec::new();
        for call in calls {
            let resolved = AssertUnwindSafe(self.set.resolved(call, self.view.as_ref()));
            accesses.push(resolved.catch_unwind().await.unwrap_or_else(|_panic| Access {
                concurrency: Concurrency::Exclusive,
                ..Access::none()
            }));
        }
        accesses
    }

    /// Returns the turn of the next call. Calls are asked about in the order of their turns.
    pub(super) fn turn(&self) -> Turn {
        self.approver.turn()
    }

    /// Returns the calls that have not been allowed yet.
    pub(super) fn unbegun(&self) -> Unbegun {
        self.approver.unbegun()
    }

    /// Executes one call. A panic in a tool is an error that the model reads.
    pub(super) async fn call(
        &self,
        (from, call, turn): (Arc<CallFrom>, ToolCall, Turn),
        progress: LineSink,
        cancel: CancelToken,
    ) -> ToolOutcome {
        let name = call.name.clone();
        let decided = async {
            let view = self.view.as_ref();
            let cleared = self.approver.cleared(&self.set, (&call, turn), view, &cancel).await;
            let Cleared { shell, change_shown } = match cleared {
                Ok(cleared) => cleared,
                Err(refused) => return refused,
            };
            let origin = CallOrigin { session: from.session, task: self.task };
            let subagents = self.spawning.as_ref().map(|it| {
                let tools = self.set.declarations();
                it.subagents(&tools, self.approver.approvals(), (origin, from.model.clone()))
            });
            let context = ToolContext {
                origin,
                view: Arc::clone(&self.view),
                commands: Arc::clone(&self.commands),
                shell,
                change_shown,
                artifacts: Arc::clone(&self.artifacts),
                background: Arc::clone(&self.background),
                subagents,
                pending: self.set.pending(),
                progress,
                cancel,
            };
            let outcome = self.set.call(call, &context).await;
            match change_shown {
                ChangeShown::Yes => outcome,
                ChangeShown::No => without_diff(outcome),
            }
        };
        let outcome = AssertUnwindSafe(decided).catch_unwind().await;
        outcome.unwrap_or_else(|payload| {
            let words = Panicked::from_payload(&*payload);
            tracing::error!(tool = name, %words, "a tool crashed");
            ToolOutcome::Failed(ToolOutput::text(format!(
                "the tool `{name}` crashed: {words}. Its effects may be there: look before you go \
                 on, and try another way"
            )))
        })
    }
}

/// Removes the diff from the details of a call, which has lines of a file that may not be read.
fn without_diff(mut outcome: ToolOutcome) -> ToolOutcome {
    if let ToolOutcome::Output(output) = &mut outcome
        && let Some(details) = output.details.as_mut().and_then(serde_json::Value::as_object_mut)
    {
        details.remove("diff");
    }
    outcome
}

/// Returns which agents a session is offered, if it may have the tool that starts them.
async fn offer(
    spawner: &dyn Spawner,
    only: Option<&BTreeSet<String>>,
    (folder, lineage): (&Path, &Lineage),
) -> Option<SpawnOffer> {
    let may_call = only.is_none_or(|only| only.contains(TASK_TOOL));
    if may_call { spawner.offer(folder, lineage).await } else { None }
}

/// Builds the tools of one factory within the deadline. A factory that panics builds no tool.
async fn built(
    factory: &dyn ToolFactory,
    env: &ToolEnv,
) -> Vec<Result<Arc<dyn Tool>, ToolBuildError>> {
    let failed = |reason| vec![Err(ToolBuildError { tool: factory.name().to_owned(), reason })];
    match timeout(BUILDING, AssertUnwindSafe(factory.build(env)).catch_unwind()).await {
        Ok(Ok(tools)) => tools,
        Ok(Err(payload)) => {
            failed(format!("building crashed: {}", Panicked::from_payload(&*payload)))
        }
        Err(_elapsed) => failed(format!("building took longer than {} s", BUILDING.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use engine::ports::{Caller, SpawnCall, SpawnRefusal, SpawnReport};
    use serde_json::json;

    use super::*;

    /// Offers one agent, and starts none.
    struct Offers;

    #[async_trait]
    impl Spawner for Offers {
        async fn offer(&self, _folder: &Path, _lineage: &Lineage) -> Option<SpawnOffer> {
            Some(SpawnOffer { agents: Vec::new(), isolated: true })
        }

        async fn run(
            &self,
            _call: SpawnCall,
            _caller: &Caller,
            _progress: LineSink,
            _cancel: CancelToken,
        ) -> Result<SpawnReport, SpawnRefusal> {
            Err(SpawnRefusal("It starts none.".to_owned()))
        }
    }

    #[test]
    async fn agents_are_looked_for_only_where_the_session_may_have_the_tool_that_starts_them() {
        let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        for (only, is_offered) in [
            (None, true),
            (Some(named(&["read", "task"])), true),
            (Some(named(&["read", "yield"])), false),
            (Some(BTreeSet::new()), false),
        ] {
            let of = (Path::new("/repo"), &Lineage::default());
            let offered = offer(&Offers, only.as_ref(), of).await;
            assert_eq!(offered.is_some(), is_offered, "{only:?}");
        }
    }

    #[test]
    fn a_diff_that_may_not_be_shown_is_taken_out_of_the_details() {
        let details = json!({ "path": "x", "diff": "-secret" });
        let output = ToolOutput::text("done").with_details(details);
        let ToolOutcome::Output(output) = without_diff(ToolOutcome::Output(output)) else {
            panic!("it is a result")
        };
        assert_eq!(output.details, Some(json!({ "path": "x" })));
    }
}
