//! Builds the tools of one session and executes their calls.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::approvals::{ApprovalPolicy, ChosenMode};
use engine::ports::{
    Access, AccessClass, Artifacts, Ask, Background, CallJournal, CallOrigin, CancelToken,
    ChangeShown, CommandOwner, Concurrency, LineSink, Lineage, LiveTools, SpawnOffer, Spawner,
    TaskOrigin, Tool, ToolBuildError, ToolContext, ToolEnv, ToolFactory, ToolOutcome, ToolOutput,
    Visibility, WorkspaceView,
};
use engine::tools::{CallGate, LiveToolSet, ToolSet};
use futures_util::FutureExt;
use futures_util::future::join_all;
use protocol::{ServerChoice, TASK_TOOL, ToolCall};
use ractor::ActorRef;
use tokio::time::timeout;

use super::approver::{Approver, Cleared, Trust, Unbegun};
use super::session_ports::{CallFrom, SessionPorts};
use super::spawning::Spawning;
use super::turns::Turn;
use crate::deps::Deps;
use crate::jobs::Panicked;
use crate::services::{ServersSetup, ServicesMessage, SessionServers};

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
    /// The MCP servers whose tools it may use.
    pub servers: ServerChoice,
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
    /// The client that has the handle of the session or run, within ten minutes.
    Client,
    /// A person in a conversation, who may take any time. In a run, the same as the client.
    Person,
}

/// The result of building the tools of a session.
#[derive(Clone)]
pub(crate) struct OpenedTools {
    /// The tools, of which those of servers change.
    pub(crate) set: Arc<LiveToolSet>,
    /// The servers that the session uses, if it uses any.
    pub(crate) servers: Option<Arc<SessionServers>>,
    /// The tools that could not be built.
    pub(crate) left_out: Vec<ToolBuildError>,
    /// The calls that have not been allowed yet.
    pub(crate) unbegun: Unbegun,
    /// What is recorded of the calls.
    pub(crate) journal: Arc<dyn CallJournal>,
    /// The files that the tools change.
    pub(crate) view: Arc<dyn WorkspaceView>,
}

/// The tools of one session.
pub(crate) struct SessionTools {
    pub(super) set: Arc<LiveToolSet>,
    pub(super) servers: Option<Arc<SessionServers>>,
    /// The tools that could not be built.
    pub(super) left_out: Vec<ToolBuildError>,
    task: Option<TaskOrigin>,
    spawning: Option<Spawning>,
    commands: Arc<dyn CommandOwner>,
    view: Arc<dyn WorkspaceView>,
    artifacts: Arc<dyn Artifacts>,
    journal: Arc<dyn CallJournal>,
    background: Arc<dyn Background>,
    ask: Option<Arc<dyn Ask>>,
    approver: Approver,
}

impl SessionTools {
    /// Builds the tools of a session. Tools that cannot be built are listed in `left_out`.
    pub(super) async fn build(
        (deps, services): (Arc<Deps>, ActorRef<ServicesMessage>),
        (commands, background): (Arc<dyn CommandOwner>, Arc<dyn Background>),
        setup: ToolSetup,
        ports: SessionPorts,
    ) -> Self {
        let servers = servers_setup(&setup, &ports);
        let servers = SessionServers::open(&services, deps.mcp.as_ref(), servers).await;
        let ToolSetup {
            view,
            mut env,
            task,
            folder,
            lineage,
            artifacts,
            only,
            servers: choice,
            approvals,
            mode,
            ..
        } = setup;
        if let Some(spawner) = &deps.spawner {
            env.spawn_offer = offer(spawner.as_ref(), only.as_ref(), (&folder, &lineage)).await;
        }
        let of_session = (folder, lineage, mode.clone());
        let spawning = Spawning::of(&deps, &env, of_session, (&artifacts, &choice), &ports);
        let built = deps.tools.iter().map(|factory| built(factory.as_ref(), &env));
        let is_wanted = |tool: &Arc<dyn Tool>| {
            let is_named = only.as_ref().map(|only| only.contains(&tool.spec().name));
            match tool.spec().visibility {
                Visibility::Declared => is_named.unwrap_or(true),
                Visibility::Answered => {
                    env.is_scripted || (ports.ask.is_some() && is_named.unwrap_or(true))
                }
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
        let journal = deps.artifacts.journal(&artifacts);
        let artifacts = deps.artifacts.open(&artifacts);
        let trust = Trust { rules: Arc::clone(&deps.trusted_rules), folder: env.repo };
        let ask = ports.ask;
        let gate = CallGate::new(approvals, Arc::clone(&deps.shell));
        let approver = Approver::new((gate, mode), ask.clone(), trust);
        set.prepare(approver.shell(), &commands, background.as_ref());
        let live = servers.clone().map(|servers| servers as Arc<dyn LiveTools>);
        let set = Arc::new(LiveToolSet::new(set, live, Arc::clone(&deps.schemas)));
        Self {
            set,
            servers,
            left_out,
            task,
            spawning,
            commands,
            view,
            artifacts,
            journal,
            background,
            ask,
            approver,
        }
    }

    /// Returns the access class of each call of an answer, none of which has begun. A call whose tool panics
    /// here runs alone.
    pub(super) async fn classify(&self, calls: &[ToolCall]) -> Vec<Access> {
        let (set, mut accesses) = (self.set.newest(), Vec::new());
        for call in calls {
            let resolved = AssertUnwindSafe(set.resolved(call, self.view.as_ref()));
            accesses.push(resolved.catch_unwind().await.unwrap_or_else(|_panic| Access {
                concurrency: Concurrency::Exclusive,
                ..Access::none()
            }));
        }
        if accesses.iter().any(changes_something) {
            let ids: Vec<_> = calls.iter().map(|call| call.id.clone()).collect();
            self.journal.expect(&ids).await;
        }
        accesses
    }

    /// Returns the turn of the next call. Calls are asked about in the order of their turns.
    pub(super) fn turn(&self) -> Turn {
        self.approver.turn()
    }

    /// Returns what a session needs of its tools.
    pub(super) fn opened(&self) -> OpenedTools {
        OpenedTools {
            set: Arc::clone(&self.set),
            servers: self.servers.clone(),
            left_out: self.left_out.clone(),
            unbegun: self.approver.unbegun(),
            journal: Arc::clone(&self.journal),
            view: Arc::clone(&self.view),
        }
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
            let set = self.set.newest();
            let view = self.view.as_ref();
            let cleared = self.approver.cleared(&set, (&call, turn), view, &cancel).await;
            let Cleared { shell, change_shown } = match cleared {
                Ok(cleared) => cleared,
                Err(refused) => return refused,
            };
            if let Err(error) = self.journal.begin(&call.id, &[]).await {
                let why = format!("not run: that it begins cannot be recorded: {error}");
                return ToolOutcome::Failed(ToolOutput::text(why));
            }
            let origin = CallOrigin { session: from.session, task: self.task };
            let subagents = self.spawning.as_ref().map(|it| {
                let tools = set.declarations();
                it.subagents(&tools, self.approver.approvals(), (origin, from.model.clone()))
            });
            let context = ToolContext {
                origin,
                call_id: call.id.clone(),
                journal: Arc::clone(&self.journal),
                view: Arc::clone(&self.view),
                commands: Arc::clone(&self.commands),
                shell,
                change_shown,
                artifacts: Arc::clone(&self.artifacts),
                background: Arc::clone(&self.background),
                ask: self.ask.clone(),
                subagents,
                pending: set.pending(),
                progress,
                cancel,
            };
            let outcome = set.call(call, &context).await;
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

/// Returns whether it matters after a kill whether the call had begun.
fn changes_something(access: &Access) -> bool {
    match access.class {
        AccessClass::Read(_) => false,
        AccessClass::Write(_) | AccessClass::Exec { .. } | AccessClass::Server { .. } => true,
    }
}

/// Returns what the servers of a session are chosen by.
fn servers_setup<'a>(setup: &'a ToolSetup, ports: &SessionPorts) -> ServersSetup<'a> {
    ServersSetup {
        choice: &setup.servers,
        repo: &setup.env.repo,
        subfolder: &setup.env.subfolder,
        folder: &setup.folder,
        view: setup.view.as_ref(),
        only: setup.only.clone(),
        ask: ports.ask.clone(),
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
