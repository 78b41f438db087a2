//! What goes on in an engine while one of its jobs panics, and what comes of it in a line.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actors::Submission;
use engine::exit_code::Interruption;
use engine::ports::{AttemptFailure, CancelLevel, FailureCause, ModelEvent};
use engine::request::RequestPolicy;
use protocol::{
    AgentEnd, EventKind, FailureClass, Outcome, RunSpec, ServerChoice, SessionEvent, TaskSpec, Work,
};
use serde_json::json;
use tests::fakes::{
    FakeAccounts, FakeServers, TestEngine, TestSession, agent, input, server, silent, task, yields,
};

/// What goes on in the engine.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scene {
    /// Two commands, one after the other.
    Commands,
    /// The same, in workspaces that are set up before.
    SetUp,
    /// An agent that calls a tool.
    Agent,
    /// An agent whose session crashes once.
    CrashedAgent,
    /// An agent that says nothing until its time is over.
    SlowAgent,
    /// Two agents whose provider turns the first away.
    LimitedAgents,
    /// A task whose actor dies.
    DeadTask,
    /// A task the owner of whose workspace dies.
    DeadOwner,
    /// A run is cancelled while it is opened.
    Cancelled,
    /// The engine closes, and a capture does not end.
    Closing,
    /// A session without a task is opened, gets another model, crashes once and is closed.
    Session,
    /// A session without a task is compacted.
    Compaction,
    /// An agent calls tools of an MCP server, which changes its tools, ends once and is started again.
    Server,
}

/// Waits for `what`, unless nothing goes on any more.
async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(5_000), what).await.expect("nobody waits for ever")
}

/// Plays a scene with a panic at `point`; returns what came of it, of tasks the class of their
/// failure.
pub(super) async fn play(scene: Scene, point: &str) -> String {
    let mut plan = format!("crash@{point}");
    if matches!(scene, Scene::DeadOwner) {
        plan.push_str(",crash@workspace.lend");
    }
    let mut engine = match scene {
        Scene::LimitedAgents => limited(&plan).await,
        Scene::Server => {
            TestEngine::with_servers(1, &plan, &FakeServers::of(vec![server("s")])).await
        }
        _ => TestEngine::with_faults(1, &plan).await,
    };
    let commands = || vec![task("one", "yield"), task("two", "yield")];
    let came = match scene {
        Scene::Commands | Scene::DeadOwner => run(&mut engine, commands()).await,
        Scene::SetUp => {
            let mut spec = engine.spec(commands());
            spec.needs.setup = vec!["yield".to_owned()];
            submit(&mut engine, spec).await
        }
        Scene::Agent => run(&mut engine, vec![agent("one", "call read; yield 1")]).await,
        Scene::CrashedAgent => run(&mut engine, vec![agent("one", "crash-once")]).await,
        Scene::SlowAgent => {
            let mut slow = agent("one", "call read; hang");
            slow.limits.wall = Duration::from_secs(60);
            run(&mut engine, vec![slow]).await
        }
        Scene::LimitedAgents => run(&mut engine, vec![agent("one", ""), agent("two", "")]).await,
        Scene::DeadTask => {
            let mut dead = task("one", "yield 1");
            dead.schema = Some(Box::new(json!({ "required": "panic" })));
            run(&mut engine, vec![dead]).await
        }
        Scene::Cancelled => cancel(&engine).await,
        Scene::Closing => {
            engine.repository.failpoints.block_at("capture");
            engine.submit(engine.spec(vec![task("one", "yield")])).await;
            within(engine.repository.failpoints.until_blocked()).await;
            "closed".to_owned()
        }
        Scene::Session => converse(&engine).await,
        Scene::Compaction => compact(&engine).await,
        Scene::Server => {
            let words = "use mcp__s_change {}; use mcp__s_die {}; use mcp__s_echo {}; yield 1";
            let mut one = agent("one", words);
            if let Work::Agent(agent) = &mut one.work {
                agent.servers = ServerChoice::All;
            }
            run(&mut engine, vec![one]).await
        }
    };
    let (repository, faults) = (engine.repository.clone(), engine.faults.clone());
    let captured = repository.captured().len();
    let next = match scene {
        Scene::Closing => None,
        _ => Some(run(&mut engine, vec![task("next", "yield")]).await),
    };
    let fell = within(engine.engine.close()).await;
    #[cfg(debug_assertions)]
    assert!(faults.were_hit(), "{point} was not reached");
    let left = repository.leaked();
    let came = match (next, fell) {
        (_, Some(fell)) => {
            format!("{came}; {captured} captured, {left} left; fell: {}", fell.message)
        }
        (next, None) => {
            assert_eq!(next.as_deref(), Some("done; 1 landed"), "{point}: the engine goes on");
            format!("{came}; {captured} captured, {left} left")
        }
    };
    came.replace(point, "POINT")
}

/// Opens an engine whose provider turns the first request away.
async fn limited(plan: &str) -> TestEngine {
    let models = FakeAccounts::new(Duration::from_secs(1), |_, before| match before {
        0 => {
            let failed = AttemptFailure::new(FailureClass::Transient, "slow down");
            let (wait, cause) = (Some(Duration::from_secs(20)), FailureCause::RateLimit);
            ModelEvent::Failed(AttemptFailure { wait, cause, ..failed })
        }
        _ => yields(),
    });
    let one = NonZeroUsize::new(1);
    let requests = RequestPolicy { concurrency: one, ..RequestPolicy::default() };
    TestEngine::with_models(2, Arc::new(models), requests, plan).await
}

/// Starts a run of `tasks` and waits for its end.
async fn run(engine: &mut TestEngine, tasks: Vec<TaskSpec>) -> String {
    submit(engine, engine.spec(tasks)).await
}

async fn submit(engine: &mut TestEngine, spec: RunSpec) -> String {
    match within(engine.try_submit(spec)).await {
        Ok(_submitted) => end(engine).await,
        Err(refused) => format!("refused: {refused}"),
    }
}

/// Waits for the end of the run, or of the engine.
async fn end(engine: &mut TestEngine) -> String {
    let TestEngine { engine, events, .. } = engine;
    let mut came = Vec::new();
    let ended = async {
        loop {
            match &events.recv().await.expect("the engine is open").kind {
                EventKind::TaskFinished { report, .. } => came.push(match &report.outcome {
                    Outcome::Done { .. } => "done".to_owned(),
                    Outcome::Cancelled => "cancelled".to_owned(),
                    Outcome::Failed { failure } => failure.class.to_string(),
                }),
                EventKind::RunFinished { totals, .. } => return totals.landed,
                _ => {}
            }
        }
    };
    let landed = within(async {
        tokio::select! {
            biased;
            landed = ended => Some(landed),
            _fell = engine.failed() => None,
        }
    });
    match landed.await {
        Some(landed) => format!("{}; {landed} landed", came.join(", ")),
        None => "no end".to_owned(),
    }
}

async fn cancel(engine: &TestEngine) -> String {
    engine.repository.failpoints.block_at("freeze");
    let spec = engine.spec(vec![task("one", "yield")]);
    let run = spec.id;
    let submitted = engine.engine.run(Submission::new(spec, engine.repository.clone()));
    within(engine.repository.failpoints.until_blocked()).await;
    engine.engine.controls(run).cancel(CancelLevel::Gently, Interruption::Interrupt);
    engine.repository.failpoints.release();
    let refused = within(submitted).await.expect_err("it was cancelled");
    format!("refused: {refused}")
}

/// Has a session work while a run beside it goes on.
async fn converse(engine: &TestEngine) -> String {
    let mut it = match within(TestSession::try_open(engine, Path::new("/one.jsonl"))).await {
        Ok(opened) => opened,
        Err(refused) => return format!("refused: {refused}"),
    };
    let model = it.session.set_model("fake/other".parse().expect("it is a route"));
    let model = within(model).await.map_err(|failure| failure.message);
    it.session.prompt(input("crash-once; say two"));
    it.session.prompt(input("more"));
    let mut came = vec![format!("{model:?}")];
    while came.len() < 3 {
        match within(it.next()).await {
            Some(SessionEvent::AgentEnd { end }) => came.push(match end {
                AgentEnd::Yielded(_) => "yielded".to_owned(),
                AgentEnd::Silent(_) => "silent".to_owned(),
                AgentEnd::Failed(failure) => failure.message,
                AgentEnd::GaveUp(_) | AgentEnd::Aborted => "ended".to_owned(),
            }),
            Some(SessionEvent::InputDropped { .. }) => came.push("dropped".to_owned()),
            Some(_) => {}
            None => came.push("closed".to_owned()),
        }
    }
    within(it.session.close()).await;
    assert_eq!(engine.tools.running(), 0);
    came.join(", ")
}

/// Compacts a session, which goes on with its next input.
async fn compact(engine: &TestEngine) -> String {
    let mut it = within(TestSession::open(engine, Path::new("/one.jsonl"))).await;
    let compacted = within(it.session.compact(None)).await;
    let compacted = compacted.map(drop).map_err(|failure| failure.message);
    it.session.prompt(input("say one"));
    let end = within(it.end()).await;
    within(it.session.close()).await;
    let end = if end == silent() { "silent" } else { "ended" };
    format!("{compacted:?}, {end}")
}
