//! An engine in this process with the parts that the binary has: providers, session files, and tools
//! whose commands are processes. For what is measured at the handle of a session.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use actors::{Deps, Engine, Policy, SessionSpec, ToolSetup};
use engine::agent::{Limits, QueueModes, RequestHooks};
use engine::approvals::ApprovalPolicy;
use engine::compaction::{BranchSummaryPolicy, CompactionPolicy};
use engine::fault::Faults;
use engine::ports::{NoTrustedRules, Requester, SessionPurpose, ToolEnv};
use engine::prompt::{Environment, Role, SystemPrompt};
use engine::request::RequestPolicy;
use exec::{BaseEnvironment, EnvironmentRules, GRACE, Processes, Shell};
use protocol::{ApprovalMode, Approvals, ModelRoute};
use providers::{Catalogue, CatalogueConfig, NoUserProviders};
use schema::JsonSchemas;
use shell_syntax::BashSyntax;
use store::{ArtifactFolders, BlobFolder, SessionLogFiles};
use tempfile::TempDir;
use tests::fakes::{FakeGateStore, FakeLedger, TestSession};
use tests::model::{LoopbackModel, Wire};
use tools::Builtins;

use regatta::app_context::{SystemClock, UniqueIds};

/// How models are asked, and when conversations are compacted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SessionPolicies {
    pub(super) requests: RequestPolicy,
    pub(super) compaction: CompactionPolicy,
}

/// An engine whose sessions work in a folder of its own.
pub(super) struct SessionEngine {
    pub(super) engine: Engine,
    folder: PathBuf,
    logs: PathBuf,
    _place: TempDir,
}

/// Names the process that starts the commands of an engine.
const LAUNCHER: &str = "REGATTA_TEST_LAUNCHER";

/// The process that starts the commands of an engine. Without the variable there is nothing to do.
#[test]
fn a_process_starts_the_commands_of_an_engine() {
    if std::env::var_os(LAUNCHER).is_some() {
        exec::launch().expect("it starts commands until the engine ends");
    }
}

impl SessionEngine {
    /// Opens an engine.
    pub(super) async fn open(policies: SessionPolicies) -> Self {
        let place = tempfile::tempdir().expect("a folder can be made");
        let logs = place.path().join("sessions/work");
        let folder = place.path().join("work");
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        let mut launcher = Command::new(std::env::current_exe().expect("it is a file"));
        let test = "session::tests::engine::a_process_starts_the_commands_of_an_engine";
        launcher.args(["--exact", test, "--nocapture"]).env(LAUNCHER, "1");
        let environment = BaseEnvironment::new(std::env::vars_os(), &EnvironmentRules::default());
        let keys = |variable: &str| Some(format!("key of {variable}"));
        let models = Catalogue::new(CatalogueConfig {
            keys: Arc::new(keys),
            user: Arc::new(NoUserProviders),
            prices: BTreeMap::new(),
            clock: Arc::new(SystemClock),
        });
        let blobs = BlobFolder::new(place.path().join("blobs"));
        let deps = Deps {
            ledger: Arc::new(FakeLedger::default()),
            commands: Arc::new(Shell::new(environment, GRACE, Processes::new(launcher))),
            gates: Some(Arc::new(FakeGateStore::default())),
            models: Arc::new(models),
            absences: Arc::default(),
            tools: vec![Arc::new(Builtins::new(Faults::default()))],
            mcp: None,
            spawner: None,
            artifacts: Arc::new(ArtifactFolders),
            session_logs: Arc::new(SessionLogFiles::new(Faults::default()).with_blobs(blobs)),
            shell: Arc::new(BashSyntax),
            trusted_rules: Arc::new(NoTrustedRules),
            schemas: Arc::new(JsonSchemas),
            clock: Arc::new(SystemClock),
            ids: Arc::new(UniqueIds),
            faults: Faults::default(),
            policy: Policy {
                capacity: NonZeroUsize::MIN,
                grace: GRACE,
                artifacts: place.path().join("artifacts"),
                requests: policies.requests,
                compaction: policies.compaction,
                branch_summary: BranchSummaryPolicy::default(),
                user_instructions: None,
            },
        };
        let engine = Engine::open(deps).await.expect("an engine opens");
        Self { engine, folder, logs, _place: place }
    }

    /// Returns the file of the session `name`.
    pub(super) fn log(&self, name: &str) -> PathBuf {
        self.logs.join(format!("{name}.jsonl"))
    }

    /// Opens the session `name` with a model of the loopback.
    pub(super) async fn session(
        &self,
        name: &str,
        model: &LoopbackModel,
        wire: Wire,
    ) -> TestSession {
        let mut route: ModelRoute = wire.route().parse().expect("it is a route");
        route.base_url = Some(model.url_of(wire));
        let role = Role::Own("You work in a folder.".to_owned());
        let spec = SessionSpec {
            log: self.log(name),
            logs: None,
            id: None,
            folder: self.folder.clone(),
            system: Arc::new(SystemPrompt::of(role, Environment::default())),
            model: route,
            fallbacks: Vec::new(),
            requester: Requester::Person,
            limits: Limits { turns: std::num::NonZeroU32::MAX, tokens: None, cost: None },
            assignment: None,
            modes: QueueModes::default(),
            request_hooks: RequestHooks::default(),
        };
        TestSession::new(self.engine.open_session(spec, self.tools()).await.expect("it opens"))
    }

    /// Returns the folder in which sessions work.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn tools(&self) -> ToolSetup {
        ToolSetup {
            view: Arc::new(isolation::DirectoryView::new(self.folder.clone())),
            env: ToolEnv {
                subfolder: PathBuf::new(),
                repo: self.folder.clone(),
                environment: BTreeMap::new(),
                keep: 1_000_000,
                schema: None,
                purpose: SessionPurpose::Conversation,
                model: String::new(),
                is_scripted: false,
                spawn_offer: None,
            },
            task: None,
            folder: Default::default(),
            lineage: Default::default(),
            artifacts: self.logs.join("artifacts"),
            only: None,
            servers: Default::default(),
            approvals: ApprovalPolicy::from(Approvals {
                mode: Some(ApprovalMode::Yolo),
                ..Approvals::default()
            }),
            mode: Default::default(),
            answerer: Default::default(),
        }
    }
}
