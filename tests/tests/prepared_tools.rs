//! A tool begins with its session what its first call would wait for, and the end of the session ends that.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actors::ToolSetup;
use async_trait::async_trait;
use engine::ports::{
    Access, Background, CommandOwner, CommandShell, Tool, ToolBuildError, ToolContext, ToolEnv,
    ToolFactory, ToolOutcome, ToolOutput, ToolSpec,
};
use protocol::{ApprovalMode, Approvals, ToolCall};
use serde_json::{Map, Value};
use tests::fakes::{TestEngine, agent, session, session_tools, spec, task};

/// Counts what was begun and what has ended, with the user's shell and without.
#[derive(Clone, Default)]
struct Slow(Arc<Counts>);

#[derive(Default)]
struct Counts {
    begun: AtomicUsize,
    plain: AtomicUsize,
    ended: AtomicUsize,
}

impl Slow {
    /// Returns how much was begun, how much of that not for the user's shell, and how much has ended.
    fn counts(&self) -> (usize, usize, usize) {
        let Counts { begun, plain, ended } = self.0.as_ref();
        let read = |count: &AtomicUsize| count.load(Ordering::SeqCst);
        (read(begun), read(plain), read(ended))
    }
}

#[async_trait]
impl ToolFactory for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    async fn build(&self, _env: &ToolEnv) -> Vec<Result<Arc<dyn Tool>, ToolBuildError>> {
        vec![Ok(Arc::new(SlowTool(spec("slow"), self.clone())))]
    }
}

struct SlowTool(ToolSpec, Slow);

#[async_trait]
impl Tool for SlowTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn prepare(
        &self,
        shell: CommandShell,
        _commands: &Arc<dyn CommandOwner>,
        background: &dyn Background,
    ) {
        let (counts, stop) = (Arc::clone(&self.1.0), background.stop());
        counts.begun.fetch_add(1, Ordering::SeqCst);
        match shell {
            CommandShell::User => {}
            CommandShell::Plain => drop(counts.plain.fetch_add(1, Ordering::SeqCst)),
        }
        background.run(Box::pin(async move {
            stop.cancelled().await;
            counts.ended.fetch_add(1, Ordering::SeqCst);
            None
        }));
    }

    fn classify(&self, _arguments: &Map<String, Value>) -> Access {
        Access::none()
    }

    async fn execute(&self, _call: ToolCall, _context: &ToolContext) -> ToolOutcome {
        ToolOutcome::Output(ToolOutput::text("ran"))
    }
}

#[test(flavor = "multi_thread")]
async fn what_a_tool_begins_with_its_session_ends_with_it_or_with_the_engine() {
    let slow = Slow::default();
    let mut engine = TestEngine::with_tools(1, vec![Arc::new(slow.clone())]).await;
    let _reports = engine.run(vec![task("command", "yield 1")]).await;
    assert_eq!(slow.counts(), (0, 0, 0), "a run without agents has no tools");
    let _reports = engine.run(vec![agent("agent", "yield 1")]).await;
    assert_eq!(slow.counts(), (1, 0, 1));
    let open = async |log: &str, mode| {
        let approvals = Approvals { mode: Some(mode), ..Approvals::default() }.into();
        let tools = ToolSetup { approvals, ..session_tools() };
        engine.engine.open_session(session(log), tools).await.expect("it opens")
    };
    let (first, _events) = open("/sessions/one.jsonl", ApprovalMode::Yolo).await;
    assert_eq!(slow.counts(), (2, 0, 1), "before anything is said");
    first.close().await;
    assert_eq!(slow.counts(), (2, 0, 2));
    let _second = open("/sessions/two.jsonl", ApprovalMode::Ask).await;
    assert_eq!(slow.counts(), (3, 1, 2), "its commands are judged, and run by /bin/sh");
    assert_eq!(engine.engine.clone().close().await, None);
    assert_eq!(slow.counts(), (3, 1, 3));
}
