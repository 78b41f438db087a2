//! The servers of one session, and which of their tools its model has.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use engine::approvals::names_tool;
use engine::mcp::{
    Declared, DeferLimits, FIND_TOOLS, PREFIX, ServerOwner, ServerPhase, ServerPlace, ServerTools,
    offered, placed,
};
use engine::ports::{Ask, LiveTools, McpDefinition, Tool, WorkspaceView};
use futures_util::future::{BoxFuture, join_all};
use protocol::{Failure, FailureClass, ServerChoice};
use ractor::ActorRef;
use tokio::time::{Instant, timeout, timeout_at};

use super::find_tools::{FindTools, FoundTools};
use super::server_handle::ServerHandle;
use super::server_snapshot::ServerSnapshot;
use super::server_tool::ServerTool;
use super::supervisor::ServicesMessage;
use crate::deps::McpPorts;
use crate::messaging::answer;

/// How long the first request waits for all servers, also for those whose tools are known.
const FIRST_WAIT: Duration = Duration::from_millis(250);

/// How long the servers of a task may take to end.
const ENDING: Duration = Duration::from_secs(5);

/// What the servers of a session are chosen by.
pub(crate) struct ServersSetup<'a> {
    pub(crate) choice: &'a ServerChoice,
    /// The root of the user's tree.
    pub(crate) repo: &'a Path,
    /// The folder of the session below the root.
    pub(crate) subfolder: &'a Path,
    /// The folder in which the session works.
    pub(crate) folder: &'a Path,
    /// The tree in which it is.
    pub(crate) view: &'a dyn WorkspaceView,
    /// The names of the tools that the model may use; every tool if absent.
    pub(crate) only: Option<BTreeSet<String>>,
    /// Asks a person; `None` where the session has no one who could answer.
    pub(crate) ask: Option<Arc<dyn Ask>>,
}

/// The servers of one session. Dropping it ends those of its task.
pub(crate) struct SessionServers {
    services: ActorRef<ServicesMessage>,
    /// In the order of their names.
    servers: Vec<Used>,
    only: Option<BTreeSet<String>>,
    ask: Option<Arc<dyn Ask>>,
    /// The deferred tools that its model has found.
    found: Arc<FoundTools>,
    first_request: OnceLock<Instant>,
    /// What was not reported yet.
    notices: Mutex<Vec<String>>,
}

/// A server in a session.
struct Used {
    handle: ServerHandle,
    owner: ServerOwner,
    /// Whether a failure of it was reported.
    reported: OnceLock<()>,
}

impl SessionServers {
    /// Starts the servers of a session; `None` if it uses none.
    pub(crate) async fn open(
        services: &ActorRef<ServicesMessage>,
        ports: Option<&McpPorts>,
        setup: ServersSetup<'_>,
    ) -> Option<Arc<Self>> {
        let ServersSetup { choice, repo, subfolder, folder, view, only, ask } = setup;
        // Without any of their tools, servers need not be started.
        let is_of_server = |name: &String| name == FIND_TOOLS || name.starts_with(PREFIX);
        let is_used = only.as_ref().is_none_or(|only| only.iter().any(is_of_server));
        let ports = ports.filter(|_| is_used && !choice.is_none())?;
        let (mut definitions, mut notices) =
            ports.definitions.in_folder(&joined(repo, subfolder)).await;
        definitions.retain(|definition| choice.has(&definition.name));
        if let ServerChoice::Named(names) = choice {
            let is_there = |name: &&String| definitions.iter().any(|it| it.name == **name);
            let missing = names.iter().filter(|name| !is_there(name));
            notices.extend(missing.map(|name| {
                format!("no MCP server `{name}` can be used; `regatta mcp list` lists them")
            }));
        }
        definitions.sort_by(|one, other| one.name.cmp(&other.name));
        let servers = start(services, &definitions, (repo, subfolder, folder), view).await;
        Some(Arc::new(Self {
            services: services.clone(),
            servers,
            only,
            ask,
            found: Arc::default(),
            first_request: OnceLock::new(),
            notices: Mutex::new(notices),
        }))
    }

    /// Waits for the servers before a request, and returns what the user should know: each once. The first request
    /// waits a moment for all, and longer for those whose tools are not known. Later ones do not wait.
    ///
    /// # Errors
    /// The session cannot work without a server that cannot be used.
    pub(crate) async fn refresh(&self) -> Result<Vec<String>, Failure> {
        let is_first = self.first_request.get().is_none();
        let in_time = self.wait().await;
        let mut notices =
            std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner));
        for (used, in_time) in self.servers.iter().zip(in_time) {
            let definition = used.handle.definition();
            let (name, source) = (&definition.name, &definition.source);
            let (why, then) = match (used.handle.fault(), in_time) {
                (Some(fault), _) => (fault, ""),
                (None, false) => {
                    let seconds = definition.startup_timeout.as_secs_f32();
                    let late = format!("it was not ready within {seconds} s");
                    (late, "; its tools come when it is ready")
                }
                (None, true) => continue,
            };
            if is_first && definition.required {
                let message = format!("the MCP server `{name}` ({source}) is required: {why}");
                return Err(Failure::new(FailureClass::Invalid, message));
            }
            if used.reported.set(()).is_ok() {
                notices.push(format!("the MCP server `{name}` ({source}): {why}{then}"));
            }
        }
        Ok(notices)
    }

    /// Waits for the servers, and returns for each whether it can be used in time, or cannot be used.
    async fn wait(&self) -> Vec<bool> {
        let first = *self.first_request.get_or_init(Instant::now);
        let all = self.servers.iter().map(|used| used.handle.until(is_settled));
        let _elapsed = timeout_at(first + FIRST_WAIT, join_all(all)).await;
        let each = self.servers.iter().map(async |Used { handle, .. }| {
            let definition = handle.definition();
            let is_enough = |newest: &ServerSnapshot| {
                let is_known = newest.offer.is_some() || newest.phase == ServerPhase::BackOff;
                is_settled(newest) || (is_known && !definition.required)
            };
            timeout_at(first + definition.startup_timeout, handle.until(is_enough)).await.is_ok()
        });
        join_all(each).await
    }

    /// Ends the servers that only this session's task has.
    pub(crate) async fn end(&self) {
        let _late = timeout(ENDING, join_all(self.ends())).await;
    }

    fn ends(&self) -> Vec<BoxFuture<'static, Option<()>>> {
        let own = self.servers.iter().filter(|used| used.owner == ServerOwner::Task);
        let end = |used: &Used| {
            let key = used.handle.definition().key.clone();
            answer(&self.services, |reply| ServicesMessage::End(key, reply))
        };
        own.map(end).collect()
    }

    /// Returns how the model may use a tool: whether it is shown it; `None` if it may not.
    fn use_of(&self, name: &str, declared: Declared) -> Option<Declared> {
        let Some(only) = &self.only else { return Some(declared) };
        if only.iter().any(|named| names_tool(named, name)) {
            return Some(declared);
        }
        only.contains(FIND_TOOLS).then_some(Declared::Deferred)
    }
}

impl Drop for SessionServers {
    fn drop(&mut self) {
        drop(self.ends()); // they are sent already, and are not waited for
    }
}

impl LiveTools for SessionServers {
    fn version(&self) -> u64 {
        let servers = self.servers.iter().map(|used| used.handle.snapshot().version);
        servers.sum::<u64>() + self.found.version()
    }

    fn tools(self: Arc<Self>, taken: &BTreeSet<String>) -> Vec<Arc<dyn Tool>> {
        let found = self.found.names();
        let known = self.servers.iter().filter_map(|Used { handle, .. }| {
            let definition = Arc::clone(handle.definition());
            let offer = handle.snapshot().offer?;
            Some((handle, ServerTools { definition, offer }))
        });
        let (handles, servers): (Vec<_>, Vec<_>) = known.unzip();
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        let (mut deferred, mut of_servers) = (Vec::new(), Vec::new());
        for mut tool in offered(&servers, taken, &found, DeferLimits::default()) {
            let is_found = found.contains(&tool.name);
            let Some(declared) = self.use_of(&tool.name, tool.declared) else { continue };
            tool.declared = if is_found { Declared::Yes } else { declared };
            if tool.declared == Declared::Deferred {
                let name = servers[tool.server].definition.name.as_str();
                if of_servers.last() != Some(&name) {
                    of_servers.push(name);
                }
                deferred.push(tool.clone());
            }
            let handle = handles[tool.server].clone();
            tools.push(Arc::new(ServerTool::new(tool, handle, self.ask.clone())));
        }
        if !deferred.is_empty() {
            tools.push(Arc::new(FindTools::new(deferred, &of_servers, Arc::clone(&self.found))));
        }
        tools
    }
}

/// Starts servers for a session that works in `folder`.
async fn start(
    services: &ActorRef<ServicesMessage>,
    definitions: &[Arc<McpDefinition>],
    (repo, subfolder, folder): (&Path, &Path, &Path),
    view: &dyn WorkspaceView,
) -> Vec<Used> {
    let workspace = workspace_root(folder, subfolder);
    let place = match joined(repo, subfolder) == folder {
        true => ServerPlace::Tree,
        false => ServerPlace::Copy { repo, workspace: &workspace },
    };
    let mut servers = Vec::new();
    for definition in definitions {
        let placed = placed(definition, place);
        // A server that copies share has no folder in which all of its sessions work.
        let root = match (place, placed.owner) {
            (ServerPlace::Tree, _) | (_, ServerOwner::Task) => Some(folder.to_owned()),
            (ServerPlace::Copy { .. }, ServerOwner::Everyone) => None,
        };
        if placed.owner == ServerOwner::Task {
            // It may change any file of the copy.
            let _changed_by_others = view.process_root();
        }
        let question = |reply| ServicesMessage::Use(placed.definition, root, reply);
        if let Some(handle) = answer(services, question).await {
            servers.push(Used { handle, owner: placed.owner, reported: OnceLock::new() });
        }
    }
    servers
}

/// Returns whether a server is not about to be ready.
fn is_settled(newest: &ServerSnapshot) -> bool {
    match newest.phase {
        ServerPhase::Ready => newest.offer.is_some(),
        ServerPhase::Degraded(_) => true,
        ServerPhase::Stopped | ServerPhase::Starting | ServerPhase::BackOff => false,
    }
}

fn joined(root: &Path, subfolder: &Path) -> PathBuf {
    // Joining an empty path would add a slash.
    match subfolder.as_os_str().is_empty() {
        true => root.to_owned(),
        false => root.join(subfolder),
    }
}

/// Returns the root of the workspace of a folder that is `subfolder` in it.
fn workspace_root(folder: &Path, subfolder: &Path) -> PathBuf {
    let depth = subfolder.components().count();
    folder.ancestors().nth(depth).unwrap_or(folder).to_owned()
}
