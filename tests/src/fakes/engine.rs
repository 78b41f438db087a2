//! An engine built of fakes, driven through its handle.

use std::fmt::Debug;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actors::{Deps, Engine, Events, Policy, RunHandle, Submission, SubmitError};
use engine::compaction::{BranchSummaryPolicy, CompactionPolicy};
use engine::fault::{FaultHooks, Faults};
use engine::ports::{
    AnyValue, Clock, Ids, Models, NoTrustedRules, Schema, Schemas, ShellPart, ShellSyntax,
    ShellWord, Spawner, ToolFactory,
};
use engine::request::RequestPolicy;
use protocol::{
    ChangeDemand, Command, Event, EventKind, IsolationMode, LandingId, MergeMode, OnFailure, RunId,
    RunSpec, SessionId, TaskId, TaskLimits, TaskName, TaskReport, TaskSpec, Timestamp, Totals,
    VerifySpec, Work, WorkspaceNeeds,
};
use serde_json::{Value, json};

use super::{
    FakeArtifacts, FakeCommands, FakeGateStore, FakeLedger, FakeLogs, FakeModels, FakeRepository,
    FakeServers, FakeTools, Trace,
};

/// Tools beside the fake ones, and what starts subagents.
type OfCalls = (Vec<Arc<dyn ToolFactory>>, Option<Arc<dyn Spawner>>);

/// Always the same time.
pub struct FakeClock;

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(1_767_323_045_678)
    }
}

/// Counts what it makes.
#[derive(Debug, Default)]
struct FakeIds(AtomicU64);

impl FakeIds {
    fn next<T: FromStr<Err: Debug>>(&self) -> T {
        let number = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        format!("{number:032x}").parse().expect("it is an id")
    }
}

impl Ids for FakeIds {
    fn landing(&self) -> LandingId {
        self.next()
    }

    fn session(&self) -> SessionId {
        self.next()
    }
}

/// Wants an object with the key that is the schema's `required` string.
struct RequiredKey(String);

impl Schema for RequiredKey {
    fn faults(&self, value: &Value) -> Vec<String> {
        assert_ne!(self.0, "panic", "a test asked for it");
        let missing = value.get(&self.0).is_none();
        missing.then(|| format!("/{}: is missing", self.0)).into_iter().collect()
    }
}

struct FakeShell;

impl ShellSyntax for FakeShell {
    fn parts(&self, script: &str) -> Vec<ShellPart> {
        let words = script.split_whitespace().map(|word| ShellWord::Literal(word.to_owned()));
        vec![ShellPart::Command { variables: Vec::new(), words: words.collect() }]
    }
}

struct FakeSchemas;

impl Schemas for FakeSchemas {
    fn compile(&self, schema: &Value) -> Result<Arc<dyn Schema>, String> {
        assert!(schema.get("panic").is_none(), "a test asked for it");
        if *schema == json!({ "type": "object" }) {
            return Ok(Arc::new(AnyValue));
        }
        let key = schema.get("required").and_then(Value::as_str);
        let key = key.ok_or("it has no `required`")?;
        Ok(Arc::new(RequiredKey(key.to_owned())))
    }
}

/// Returns a run of `tasks`, one at a time.
#[must_use]
pub fn run_of(tasks: Vec<TaskSpec>) -> RunSpec {
    RunSpec {
        id: RunId::generate(),
        label: None,
        repo: PathBuf::from("/repo"),
        subfolder: PathBuf::new(),
        tasks,
        jobs: NonZeroUsize::MIN,
        isolation: IsolationMode::Worktree,
        merge: MergeMode::Patch,
        stack: None,
        land: protocol::LandTime::End,
        on_failure: OnFailure::Continue,
        union: Vec::new(),
        branch_prefix: "regatta".to_owned(),
        untracked_limit: u64::MAX,
        pass_env: Vec::new(),
        needs: WorkspaceNeeds::default(),
        verify: VerifySpec::default(),
        commits: protocol::CommitSubjects::default(),
        group: None,
        retry: None,
        caller: None,
    }
}

/// Returns a task named `name` that obeys `script`.
#[must_use]
pub fn task(name: &str, script: &str) -> TaskSpec {
    TaskSpec {
        id: TaskId::generate(),
        name: TaskName::nearest(name),
        title: name.to_owned(),
        items: Vec::new(),
        work: Work::Command(Command {
            script: script.to_owned(),
            item: None,
            arguments: Vec::new(),
        }),
        depends_on: Vec::new(),
        priority: 0,
        change: ChangeDemand::Optional,
        schema: None,
        limits: TaskLimits::default(),
        needs: protocol::TaskNeeds::default(),
    }
}

/// An engine of fakes.
pub struct TestEngine {
    /// The engine itself.
    pub engine: Engine,
    /// What happens in it.
    pub events: Events,
    /// What runs its commands.
    pub commands: Arc<FakeCommands>,
    /// What it works on.
    pub repository: Arc<FakeRepository>,
    /// What it records in.
    pub ledger: Arc<FakeLedger>,
    /// What answers for its models.
    pub models: FakeModels,
    /// What its models call.
    pub tools: FakeTools,
    /// What is said in its sessions.
    pub logs: FakeLogs,
    /// What its fakes did.
    pub trace: Trace,
    /// What strikes in it.
    pub faults: Faults,
    jobs: NonZeroUsize,
}

impl TestEngine {
    /// Opens an engine that runs at most `jobs` tasks at a time.
    pub async fn with_concurrency(jobs: usize) -> Self {
        Self::with_faults(jobs, "").await
    }

    /// Opens an engine in which what is asked to stop has longer than any test lasts.
    pub async fn with_patience(jobs: usize) -> Self {
        Self::open(jobs, "", Duration::from_secs(3600)).await
    }

    /// Opens an engine in which the faults of `plan` strike.
    pub async fn with_faults(jobs: usize, plan: &str) -> Self {
        Self::open(jobs, plan, Duration::from_millis(100)).await
    }

    /// Opens an engine whose models have the tools of `more` beside the fake ones.
    pub async fn with_tools(jobs: usize, more: Vec<Arc<dyn ToolFactory>>) -> Self {
        Self::open_asking((jobs, ""), Duration::from_millis(100), None, (more, None), None).await
    }

    /// Opens an engine whose models are `models`, asked as `requests` says, and in which the
    /// faults of `plan` strike.
    pub async fn with_models(
        jobs: usize,
        models: Arc<dyn Models>,
        requests: RequestPolicy,
        plan: &str,
    ) -> Self {
        let asked = Some((models, requests));
        Self::open_asking((jobs, plan), Duration::from_millis(100), asked, (Vec::new(), None), None)
            .await
    }

    /// Opens an engine whose models are `models`, with the tools of `more` beside the fake ones.
    pub async fn with_models_and_tools(
        models: Arc<dyn Models>,
        requests: RequestPolicy,
        more: Vec<Arc<dyn ToolFactory>>,
    ) -> Self {
        let asked = Some((models, requests));
        Self::open_asking((1, ""), Duration::from_millis(100), asked, (more, None), None).await
    }

    /// Opens an engine with these MCP servers, in which the faults of `plan` strike.
    pub async fn with_servers(jobs: usize, plan: &str, servers: &FakeServers) -> Self {
        let (grace, more) = (Duration::from_millis(100), (Vec::new(), None));
        Self::open_asking((jobs, plan), grace, None, more, Some(servers)).await
    }

    /// Opens an engine whose tools start subagents with `spawner`, with the tools of `more` beside the fake ones.
    pub async fn with_spawner(
        jobs: usize,
        spawner: Arc<dyn Spawner>,
        more: Vec<Arc<dyn ToolFactory>>,
    ) -> Self {
        let of_calls = (more, Some(spawner));
        Self::open_asking((jobs, ""), Duration::from_millis(100), None, of_calls, None).await
    }

    async fn open(jobs: usize, plan: &str, grace: Duration) -> Self {
        Self::open_asking((jobs, plan), grace, None, (Vec::new(), None), None).await
    }

    /// # Panics
    /// When the engine cannot be opened.
    async fn open_asking(
        (jobs, plan): (usize, &str),
        grace: Duration,
        asked: Option<(Arc<dyn Models>, RequestPolicy)>,
        (more, spawner): OfCalls,
        servers: Option<&FakeServers>,
    ) -> Self {
        let jobs = NonZeroUsize::new(jobs).unwrap_or(NonZeroUsize::MIN);
        let trace = Trace::default();
        let mut commands = FakeCommands::default();
        let mut repository = FakeRepository::default();
        let mut ledger = FakeLedger::default();
        commands.trace = trace.clone();
        repository.trace = trace.clone();
        ledger.trace = trace.clone();
        let (commands, repository, ledger) =
            (Arc::new(commands), Arc::new(repository), Arc::new(ledger));
        let (tools, logs) = (FakeTools::default(), FakeLogs::default());
        let models = FakeModels::beside(&tools);
        let (asked, requests) =
            asked.unwrap_or_else(|| (Arc::new(models.clone()) as Arc<_>, RequestPolicy::default()));
        repository.watch(&tools);
        let fakes: Arc<dyn ToolFactory> = Arc::new(tools.clone());
        let factories = std::iter::once(fakes).chain(more).collect();
        let faults =
            Faults::read(plan, FaultHooks::default()).expect("the plan of a test is right");
        let deps = Deps {
            ledger: ledger.clone(),
            commands: commands.clone(),
            models: asked,
            gates: Some(Arc::new(FakeGateStore::default())),
            tools: factories,
            mcp: servers.map(FakeServers::ports),
            spawner,
            artifacts: Arc::new(FakeArtifacts::default()),
            absences: Arc::default(),
            session_logs: Arc::new(logs.clone()),
            shell: Arc::new(FakeShell),
            trusted_rules: Arc::new(NoTrustedRules),
            schemas: Arc::new(FakeSchemas),
            clock: Arc::new(FakeClock),
            ids: Arc::new(FakeIds::default()),
            faults: faults.clone(),
            policy: Policy {
                capacity: jobs,
                grace,
                artifacts: PathBuf::from("/artifacts"),
                requests,
                compaction: CompactionPolicy::default(),
                branch_summary: BranchSummaryPolicy::default(),
                user_instructions: None,
            },
        };
        let engine = Engine::open(deps).await.expect("an engine of fakes opens");
        let events = engine.listen().await;
        Self {
            engine,
            events,
            commands,
            repository,
            ledger,
            models,
            tools,
            logs,
            trace,
            faults,
            jobs,
        }
    }

    /// Returns what a run of `tasks` asks for.
    #[must_use]
    pub fn spec(&self, tasks: Vec<TaskSpec>) -> RunSpec {
        RunSpec { jobs: self.jobs, ..run_of(tasks) }
    }

    /// Starts a run.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn submit(&self, spec: RunSpec) -> RunHandle {
        self.try_submit(spec).await.expect("the run is accepted")
    }

    /// Starts a run, or says why it was refused.
    ///
    /// # Errors
    /// Why it was refused.
    pub async fn try_submit(&self, spec: RunSpec) -> Result<RunHandle, SubmitError> {
        let repository = Arc::clone(&self.repository) as Arc<_>;
        self.engine.run(Submission::new(spec, repository)).await
    }

    /// Runs `tasks` to the end of their run and returns each task's report and the totals.
    pub async fn run(&mut self, tasks: Vec<TaskSpec>) -> (Vec<(TaskName, TaskReport)>, Totals) {
        let spec = self.spec(tasks);
        self.submit(spec).await;
        self.until_the_end().await
    }

    /// Waits for the end of a run and returns each task's report, in the order of their ends.
    ///
    /// # Panics
    /// When a task finishes twice.
    pub async fn until_the_end(&mut self) -> (Vec<(TaskName, TaskReport)>, Totals) {
        let mut reports: Vec<(TaskName, TaskReport)> = Vec::new();
        loop {
            match &self.next().await.kind {
                EventKind::TaskFinished { task, report } => {
                    let twice = reports.iter().any(|(name, _)| name == task);
                    assert!(!twice, "{task} finished twice");
                    reports.push((task.clone(), (**report).clone()));
                }
                EventKind::RunFinished { totals, .. } => return (reports, totals.clone()),
                _ => {}
            }
        }
    }

    /// Waits for the next event that `wanted` picks something from.
    pub async fn find<T>(&mut self, mut wanted: impl FnMut(&EventKind) -> Option<T>) -> T {
        loop {
            if let Some(found) = wanted(&self.next().await.kind) {
                return found;
            }
        }
    }

    /// Waits for the next event.
    ///
    /// # Panics
    /// When none comes within two minutes, or the engine has closed.
    pub async fn next(&mut self) -> Arc<Event> {
        let next = tokio::time::timeout(Duration::from_secs(120), self.events.recv()).await;
        next.expect("an event comes in time").expect("the engine stands")
    }
}
