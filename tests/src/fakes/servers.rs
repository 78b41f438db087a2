//! MCP servers that are not started, whose tools do as they are called.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actors::McpPorts;
use async_trait::async_trait;
use engine::ports::{
    CancelToken, LineSink, McpCache, McpCall, McpClient, McpConnection, McpConnector,
    McpDefinition, McpDefinitions, McpError, McpErrorKind, McpList, McpOffer, McpPrompt,
    McpResource, McpResult, McpServerInfo, McpTool, McpTransport,
};
use protocol::Content;
use serde_json::{Value, json};
use tokio::sync::watch;

/// The servers that there are, and what happens to them. A server has the tools `echo` (returns its argument
/// `text`), `die` (has an effect, and ends the server), `retry` (the same, and is idempotent; the second call
/// returns), `lose` (ends the server before the first call reaches it) and `change` (adds the tool `added`).
#[derive(Clone, Default)]
pub struct FakeServers(Arc<Servers>);

#[derive(Default)]
struct Servers {
    definitions: Mutex<Vec<Arc<McpDefinition>>>,
    tools: Mutex<Vec<McpTool>>,
    cached: Mutex<BTreeMap<String, McpOffer>>,
    /// Whether servers start; otherwise they wait for that.
    starts: watch::Sender<Starts>,
    /// The folders of the servers that were started.
    started: Mutex<Vec<Option<PathBuf>>>,
    open: AtomicUsize,
    effects: AtomicUsize,
    calls: AtomicUsize,
    /// The maximum number of calls under way.
    peak: AtomicUsize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Starts {
    #[default]
    Yes,
    Later,
    Never,
}

/// Returns the definition of a server.
#[must_use]
pub fn server(name: &str) -> McpDefinition {
    McpDefinition {
        name: name.to_owned(),
        transport: McpTransport::Stdio {
            command: "server".into(),
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            folder: None,
        },
        protocol: None,
        startup_timeout: Duration::from_secs(10),
        timeout: Duration::from_secs(60),
        concurrency: 8,
        required: false,
        scope: Default::default(),
        tools: Default::default(),
        read_only_hints: Default::default(),
        source: "mcp.json:1".to_owned(),
        key: format!("key of {name}"),
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tool(name: &str) -> McpTool {
    McpTool {
        name: name.to_owned(),
        title: None,
        description: format!("Does {name}."),
        // It is not a schema for those who compile it here.
        input_schema: json!({ "$schema": "x", "type": "object" }),
        read_only: false,
        idempotent: name == "retry",
    }
}

impl FakeServers {
    /// Returns these servers.
    #[must_use]
    pub fn of(definitions: Vec<McpDefinition>) -> Self {
        let servers = Self::default();
        *lock(&servers.0.definitions) = definitions.into_iter().map(Arc::new).collect();
        *lock(&servers.0.tools) =
            ["echo", "die", "retry", "lose", "change"].map(tool).into_iter().collect();
        servers
    }

    /// Adds tools with these names, each of which returns its argument `text`.
    pub fn add_tools(&self, names: impl IntoIterator<Item = String>) {
        lock(&self.0.tools).extend(names.into_iter().map(|name| tool(&name)));
    }

    /// Has servers wait before they start.
    pub fn hold(&self) {
        self.0.starts.send_replace(Starts::Later);
    }

    /// Has servers fail to start.
    pub fn break_down(&self) {
        self.0.starts.send_replace(Starts::Never);
    }

    /// Has servers start.
    pub fn release(&self) {
        self.0.starts.send_replace(Starts::Yes);
    }

    /// Keeps what the server with this name offers, as if it had been used before.
    pub fn cache(&self, name: &str) {
        let tools = lock(&self.0.tools).clone();
        let offer = McpOffer { tools, instructions: None };
        lock(&self.0.cached).insert(format!("key of {name}"), offer);
    }

    /// Returns the folders of the servers that were started, in their order.
    #[must_use]
    pub fn started(&self) -> Vec<Option<PathBuf>> {
        lock(&self.0.started).clone()
    }

    /// Returns how many connections are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.0.open.load(Ordering::SeqCst)
    }

    /// Returns how many calls had an effect.
    #[must_use]
    pub fn effects(&self) -> usize {
        self.0.effects.load(Ordering::SeqCst)
    }

    /// Returns how many calls were under way at the same time.
    #[must_use]
    pub fn peak(&self) -> usize {
        self.0.peak.load(Ordering::SeqCst)
    }

    /// Returns what an engine uses the servers with.
    #[must_use]
    pub fn ports(&self) -> McpPorts {
        let all = Arc::new(self.clone());
        McpPorts { definitions: all.clone(), connector: all.clone(), cache: all }
    }
}

#[async_trait]
impl McpDefinitions for FakeServers {
    async fn in_folder(&self, _folder: &Path) -> (Vec<Arc<McpDefinition>>, Vec<String>) {
        (lock(&self.0.definitions).clone(), Vec::new())
    }
}

#[async_trait]
impl McpCache for FakeServers {
    async fn load(&self, key: &str) -> Option<McpOffer> {
        lock(&self.0.cached).get(key).cloned()
    }

    async fn store(&self, key: &str, offer: McpOffer) {
        lock(&self.0.cached).insert(key.to_owned(), offer);
    }
}

#[async_trait]
impl McpConnector for FakeServers {
    async fn connect(
        &self,
        definition: &McpDefinition,
        client: Arc<dyn McpClient>,
    ) -> Result<Arc<dyn McpConnection>, McpError> {
        let mut starts = self.0.starts.subscribe();
        let starts = starts.wait_for(|starts| *starts != Starts::Later).await;
        if starts.is_ok_and(|starts| *starts == Starts::Never) {
            let message = "it ended at its start: no such module".to_owned();
            return Err(McpError { kind: McpErrorKind::NotSent, message });
        }
        let McpTransport::Stdio { folder, .. } = &definition.transport else {
            panic!("all of them are programs")
        };
        lock(&self.0.started).push(folder.clone());
        self.0.open.fetch_add(1, Ordering::SeqCst);
        let info = McpServerInfo { lists: BTreeSet::from([McpList::Tools]), ..Default::default() };
        let ended = watch::Sender::new(false);
        Ok(Arc::new(FakeConnection { servers: self.clone(), info, ended, client }))
    }
}

struct FakeConnection {
    servers: FakeServers,
    info: McpServerInfo,
    ended: watch::Sender<bool>,
    client: Arc<dyn McpClient>,
}

fn error(kind: McpErrorKind) -> McpError {
    McpError { kind, message: "it ended; stderr: Segmentation fault".to_owned() }
}

impl FakeConnection {
    /// Has an effect and ends.
    fn die(&self) -> McpError {
        self.servers.0.effects.fetch_add(1, Ordering::SeqCst);
        self.ended.send_replace(true);
        error(McpErrorKind::NoAnswer)
    }

    async fn run(&self, call: &McpCall) -> Result<String, McpError> {
        let before = self.servers.0.effects.load(Ordering::SeqCst);
        match call.tool.as_str() {
            "die" => Err(self.die()),
            "retry" if before == 0 => Err(self.die()),
            "lose" if self.servers.started().len() == 1 => {
                self.ended.send_replace(true);
                Err(error(McpErrorKind::NotSent))
            }
            "change" => {
                self.servers.add_tools(["added".to_owned()]);
                self.client.changed(McpList::Tools);
                Ok("changed".to_owned())
            }
            _ => {
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                let text = call.arguments.get("text").and_then(Value::as_str);
                Ok(text.unwrap_or(&call.tool).to_owned())
            }
        }
    }
}

impl Drop for FakeConnection {
    fn drop(&mut self) {
        self.servers.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl McpConnection for FakeConnection {
    fn info(&self) -> &McpServerInfo {
        &self.info
    }

    async fn tools(&self) -> Result<Vec<McpTool>, McpError> {
        Ok(lock(&self.servers.0.tools).clone())
    }

    async fn call(
        &self,
        call: McpCall,
        _progress: LineSink,
        _cancel: CancelToken,
    ) -> Result<McpResult, McpError> {
        let under_way = self.servers.0.calls.fetch_add(1, Ordering::SeqCst) + 1;
        self.servers.0.peak.fetch_max(under_way, Ordering::SeqCst);
        let result = self.run(&call).await;
        self.servers.0.calls.fetch_sub(1, Ordering::SeqCst);
        let content = vec![Content::text(result?)];
        Ok(McpResult { content, ..McpResult::default() })
    }

    async fn resources(&self) -> Result<Vec<McpResource>, McpError> {
        Ok(Vec::new())
    }

    async fn read_resource(&self, _uri: &str) -> Result<Vec<Content>, McpError> {
        Ok(Vec::new())
    }

    async fn prompts(&self) -> Result<Vec<McpPrompt>, McpError> {
        Ok(Vec::new())
    }

    async fn prompt(
        &self,
        _name: &str,
        _arguments: BTreeMap<String, String>,
    ) -> Result<String, McpError> {
        Ok(String::new())
    }

    async fn closed(&self) -> McpError {
        let mut ended = self.ended.subscribe();
        let _ended = ended.wait_for(|ended| *ended).await;
        error(McpErrorKind::NoAnswer)
    }

    async fn close(&self) {
        self.ended.send_replace(true);
    }
}
