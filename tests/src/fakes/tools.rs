//! Tools that do as they are called, and artifacts that are never written.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use engine::ports::{
    Access, Artifact, ArtifactStore, Artifacts, CallJournal, CallProgress, Concurrency,
    ContentDigest, InputFiles, PlannedChange, Tool, ToolBuildError, ToolContext, ToolEnv,
    ToolFactory, ToolOutcome, ToolOutput, ToolSpec, Visibility,
};
use protocol::{TaskName, ToolCall};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

/// The tools `yield`, `read` (says `text`), `wait` (until [`FakeTools::release`]), `bad` (fails), `boom` (panics), `cling` (ends a moment
/// after it is killed, as what waits for a disk does, and not when its call is dropped) `stuck` (nothing but dropping its call ends it) and `tidy` (needs a moment of the grace), `later` (ends at once; what it leaves in the background ends with [`FakeTools::release`] and is reported as `say told`); and, once another tool runs, `lost`
/// (what it says cannot be logged) and `fatal` (what it says is the end of who logs it).
#[derive(Clone, Default)]
pub struct FakeTools(Arc<Running>);

/// What runs of the tools that take their time.
#[derive(Default)]
struct Running {
    now: AtomicUsize,
    tidied: AtomicUsize,
    released: Notify,
    /// What the tools of each session were built for.
    envs: Mutex<Vec<ToolEnv>>,
}

impl FakeTools {
    /// Returns how many tools run now.
    #[must_use]
    pub fn running(&self) -> usize {
        self.0.now.load(Ordering::SeqCst)
    }

    /// Ends every tool that waits.
    pub fn release(&self) {
        self.0.released.notify_waiters();
    }

    /// Waits until a tool runs.
    pub async fn until_busy(&self) {
        while self.running() == 0 {
            tokio::task::yield_now().await;
        }
    }

    /// Returns how many tools had the time to tidy up.
    #[must_use]
    pub fn tidied(&self) -> usize {
        self.0.tidied.load(Ordering::SeqCst)
    }

    /// Returns what the tools of each session were built for, in the order in which that was.
    #[must_use]
    pub fn envs(&self) -> Vec<ToolEnv> {
        self.0.envs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets others see that one is running.
    fn begin(&self) -> Begun {
        self.0.now.fetch_add(1, Ordering::SeqCst);
        Begun(self.clone())
    }
}

struct Begun(FakeTools);

impl Drop for Begun {
    fn drop(&mut self) {
        self.0.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// How long a tool needs to end.
const MOMENT: Duration = Duration::from_millis(50);

#[async_trait]
impl ToolFactory for FakeTools {
    fn name(&self) -> &str {
        "fake tools"
    }

    async fn build(&self, env: &ToolEnv) -> Vec<Result<Arc<dyn Tool>, ToolBuildError>> {
        self.0.envs.lock().unwrap_or_else(PoisonError::into_inner).push(env.clone());
        let names = [
            "read", "wait", "bad", "boom", "cling", "stuck", "tidy", "later", "lost", "fatal",
            "yield",
        ];
        let tool = |name: &str| -> Arc<dyn Tool> {
            Arc::new(FakeTool { spec: spec(name), tools: self.clone() })
        };
        names.iter().map(|name| Ok(tool(name))).collect()
    }
}

/// Returns the specification of a tool that takes any arguments.
#[must_use]
pub fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: name.into(),
        parameters: json!({ "type": "object" }).into(),
        checked: None,
        example: "{}".to_owned(),
        visibility: Visibility::Declared,
    }
}

struct FakeTool {
    spec: ToolSpec,
    tools: FakeTools,
}

#[async_trait]
impl Tool for FakeTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn classify(&self, _arguments: &Map<String, Value>) -> Access {
        let concurrency = match self.spec.name.as_str() {
            "yield" => Concurrency::Exclusive,
            _ => Concurrency::Shared,
        };
        Access { concurrency, ..Access::none() }
    }

    async fn execute(&self, call: ToolCall, context: &ToolContext) -> ToolOutcome {
        (context.progress)(format!("{} runs", call.name));
        let failed = |text: &str| ToolOutcome::Failed(ToolOutput::text(text));
        let stop = context.cancel.clone();
        match call.name.as_str() {
            "yield" => match (call.arguments.get("data"), call.arguments.get("error")) {
                (Some(value), _) => ToolOutcome::Yielded(value.clone()),
                (None, why) => {
                    let why = why.and_then(Value::as_str).unwrap_or_default();
                    ToolOutcome::GaveUp(why.to_owned())
                }
            },
            "boom" => panic!("boom"),
            "cling" => {
                let begun = self.tools.begin();
                let clinging = tokio::spawn(async move {
                    let _until_the_end = begun;
                    stop.cancelled_at_once().await;
                    tokio::time::sleep(MOMENT).await;
                });
                let _ended = clinging.await;
                failed("killed")
            }
            "wait" => {
                // Who is seen to run is reached by a release.
                let released = self.tools.0.released.notified();
                let _begun = self.tools.begin();
                released.await;
                ToolOutcome::Output(ToolOutput::text("waited"))
            }
            "stuck" => {
                let _begun = self.tools.begin();
                std::future::pending().await
            }
            "tidy" => {
                let _begun = self.tools.begin();
                stop.cancelled().await;
                tokio::select! {
                    () = stop.cancelled_at_once() => {}
                    () = tokio::time::sleep(MOMENT) => {
                        self.tools.0.tidied.fetch_add(1, Ordering::SeqCst);
                    }
                }
                failed("stopped")
            }
            "later" => {
                let tools = self.tools.clone();
                context.background.run(Box::pin(async move {
                    let released = tools.0.released.notified();
                    let _begun = tools.begin();
                    released.await;
                    Some("say told".to_owned())
                }));
                ToolOutcome::Output(ToolOutput::text("later"))
            }
            said @ ("lost" | "fatal") => {
                while self.tools.running() == 0 {
                    tokio::task::yield_now().await;
                }
                ToolOutcome::Output(ToolOutput::text(said))
            }
            "read" => {
                context.background.run(Box::pin(std::future::ready(None)));
                ToolOutcome::Output(ToolOutput::text("text"))
            }
            name => failed(&format!("{name} failed")),
        }
    }
}

/// Names artifacts that are never written.
#[derive(Clone, Default)]
pub struct FakeArtifacts(Arc<AtomicUsize>);

impl ArtifactStore for FakeArtifacts {
    fn open(&self, _folder: &Path) -> Arc<dyn Artifacts> {
        Arc::new(self.clone())
    }

    fn journal(&self, _folder: &Path) -> Arc<dyn CallJournal> {
        Arc::new(NoJournal)
    }

    fn inputs(&self, folder: &Path, _values: Vec<(TaskName, Value)>) -> Arc<dyn InputFiles> {
        Arc::new(UnwrittenInputs(folder.to_owned()))
    }
}

/// A journal without records.
struct NoJournal;

#[async_trait]
impl CallJournal for NoJournal {
    async fn expect(&self, _calls: &[String]) {}

    async fn begin(&self, _call: &str, _changes: &[PlannedChange]) -> io::Result<()> {
        Ok(())
    }

    async fn progress(&self, _call: &str) -> CallProgress {
        CallProgress::Unknown
    }

    fn digest(&self, _content: &[u8]) -> ContentDigest {
        ContentDigest(String::new())
    }
}

/// Input files that are never written.
struct UnwrittenInputs(PathBuf);

#[async_trait]
impl InputFiles for UnwrittenInputs {
    fn folder(&self) -> &Path {
        &self.0
    }

    async fn write(self: Arc<Self>) -> io::Result<()> {
        Ok(())
    }
}

#[async_trait]
impl Artifacts for FakeArtifacts {
    async fn reserve(&self, tool: &str) -> Artifact {
        let name = format!("{}.{tool}.log", self.0.fetch_add(1, Ordering::SeqCst));
        Artifact { path: Path::new("/artifacts").join(&name), name }
    }

    async fn find(&self, _number: u64) -> io::Result<Option<Artifact>> {
        Ok(None)
    }

    async fn agent(&self, _name: &str) -> io::Result<Option<Artifact>> {
        Ok(None)
    }

    async fn agents(&self) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }

    async fn size(&self, _artifact: &Artifact) -> io::Result<u64> {
        Err(io::ErrorKind::NotFound.into())
    }

    async fn write(&self, _artifact: &Artifact, _text: String) -> io::Result<()> {
        Ok(())
    }

    async fn read(&self, _artifact: &Artifact, _offset: u64, _most: u64) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }
}
