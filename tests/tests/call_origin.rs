//! A tool learns where each of its calls comes from.

use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use engine::ports::{
    Access, CallOrigin, TaskOrigin, Tool, ToolBuildError, ToolContext, ToolEnv, ToolFactory,
    ToolOutcome, ToolOutput, ToolSpec,
};
use protocol::{EventKind, ToolCall};
use serde_json::{Map, Value};
use tests::fakes::{TestEngine, TestSession, agent, input, spec};

/// Notes the origin of each call.
#[derive(Clone, Default)]
struct Whence(Arc<Mutex<Vec<CallOrigin>>>);

#[async_trait]
impl ToolFactory for Whence {
    fn name(&self) -> &str {
        "whence"
    }

    async fn build(&self, _env: &ToolEnv) -> Vec<Result<Arc<dyn Tool>, ToolBuildError>> {
        vec![Ok(Arc::new(WhenceTool(spec("whence"), self.clone())))]
    }
}

struct WhenceTool(ToolSpec, Whence);

#[async_trait]
impl Tool for WhenceTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn classify(&self, _arguments: &Map<String, Value>) -> Access {
        Access::none()
    }

    async fn execute(&self, _call: ToolCall, context: &ToolContext) -> ToolOutcome {
        self.1.0.lock().expect("nothing panics here").push(context.origin);
        ToolOutcome::Output(ToolOutput::text("noted"))
    }
}

impl Whence {
    fn take(&self) -> CallOrigin {
        self.0.lock().expect("nothing panics here").pop().expect("there was a call")
    }
}

#[test(flavor = "multi_thread")]
async fn a_tool_call_knows_its_session_and_its_run_and_task_where_there_are() {
    let whence = Whence::default();
    let mut engine = TestEngine::with_tools(2, vec![Arc::new(whence.clone())]).await;

    let mut alone = TestSession::open(&engine, Path::new("/sessions/alone.jsonl")).await;
    alone.session.prompt(input("use whence {}; say done"));
    alone.end().await;
    assert_eq!(whence.take(), CallOrigin { session: alone.session.id(), task: None });

    let calls = agent("calls", "use whence {}; yield 1");
    let task = calls.id;
    let run = engine.submit(engine.spec(vec![calls])).await.id;
    engine.find(|event| matches!(event, EventKind::RunFinished { .. }).then_some(())).await;
    let of_task = whence.take();
    assert_eq!(of_task.task, Some(TaskOrigin { run, task }));
    assert_ne!(of_task.session, alone.session.id());
}
