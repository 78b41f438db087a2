//! A task whose call waits for subagents, and what they get from it.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use engine::ports::{
    Access, Caller, CancelToken, LineSink, Lineage, SpawnCall, SpawnOffer, SpawnRefusal,
    SpawnReport, Spawner, Tool, ToolBuildError, ToolContext, ToolEnv, ToolFactory, ToolOutcome,
    ToolOutput, ToolSpec,
};
use protocol::{EventKind, Outcome, ToolCall};
use serde_json::{Map, Value, json};
use tests::fakes::{TestEngine, agent, spec};

/// Subagents that take ten minutes.
#[derive(Default)]
struct Slow {
    callers: Mutex<Vec<Caller>>,
}

#[async_trait]
impl Spawner for Slow {
    async fn offer(&self, _folder: &Path, _lineage: &Lineage) -> Option<SpawnOffer> {
        Some(SpawnOffer { agents: Vec::new(), isolated: false })
    }

    async fn run(
        &self,
        _call: SpawnCall,
        caller: &Caller,
        _progress: LineSink,
        _cancel: CancelToken,
    ) -> Result<SpawnReport, SpawnRefusal> {
        self.callers.lock().expect("nothing panics here").push(caller.clone());
        let pause = caller.pause.as_ref().expect("it works for a task");
        pause.during(Box::pin(tokio::time::sleep(Duration::from_secs(600)))).await;
        Ok(SpawnReport { subagents: Vec::new(), notes: Vec::new(), ms: 0 })
    }
}

/// A tool that calls subagents.
struct HandOut;

#[async_trait]
impl ToolFactory for HandOut {
    fn name(&self) -> &str {
        "hand_out"
    }

    async fn build(&self, _env: &ToolEnv) -> Vec<Result<Arc<dyn Tool>, ToolBuildError>> {
        vec![Ok(Arc::new(HandOutTool(spec("hand_out"))))]
    }
}

struct HandOutTool(ToolSpec);

#[async_trait]
impl Tool for HandOutTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn classify(&self, _arguments: &Map<String, Value>) -> Access {
        Access::none()
    }

    async fn execute(&self, _call: ToolCall, context: &ToolContext) -> ToolOutcome {
        let subagents = context.subagents.as_ref().expect("there is a spawner");
        let (progress, cancel) = (Arc::clone(&context.progress), context.cancel.clone());
        let call = SpawnCall::default();
        let report = subagents.spawner.run(call, &subagents.caller, progress, cancel).await;
        assert!(report.is_ok());
        ToolOutcome::Output(ToolOutput::text("all have ended"))
    }
}

#[test(start_paused = true)]
async fn while_subagents_work_neither_time_nor_permit_of_their_caller_is_used_and_they_get_its_limits()
 {
    let slow = Arc::new(Slow::default());
    let mut engine = TestEngine::with_spawner(1, slow.clone(), vec![Arc::new(HandOut)]).await;
    let mut caller = agent("caller", "use hand_out {}; use hand_out {}; yield 1");
    caller.limits.wall = Duration::from_secs(60);
    caller.schema = Some(Box::new(json!({ "type": "object" })));
    let (limits, schema) = (caller.limits, caller.schema.clone());
    engine.submit(engine.spec(vec![caller, agent("other", "yield 2")])).await;
    let mut ends = Vec::new();
    let began = tokio::time::Instant::now();
    while ends.len() < 2 {
        let event = engine.events.recv().await.expect("the engine stands");
        if let EventKind::TaskFinished { task, report } = &event.kind {
            ends.push((task.to_string(), report.outcome.clone(), began.elapsed().as_secs()));
        }
    }
    let done = |value: i32| Outcome::Done { value: json!(value) };
    assert_eq!(ends[0], ("other".to_owned(), done(2), 0), "it has the permit meanwhile");
    assert_eq!(ends[1], ("caller".to_owned(), done(1), 1200), "its limit is a minute");
    let callers = slow.callers.lock().expect("nothing panics here");
    for caller in &*callers {
        assert_eq!(caller.lineage.limits, Some(limits));
        assert_eq!(caller.schema, schema.as_deref().cloned());
    }
    assert_eq!(callers.len(), 2);
}
