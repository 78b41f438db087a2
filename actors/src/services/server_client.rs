//! What a server may ask of the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use async_trait::async_trait;
use engine::ports::{Ask, McpClient, McpList};
use protocol::{Question, SessionId, quote_within};

use crate::messaging::Notifier;

/// The maximum number of characters of a line that a server logs.
const LONGEST_LINE: usize = 500;

/// Answers the requests of one server.
pub(super) struct ServerClient {
    server: String,
    changed: OnceLock<Notifier<McpList>>,
    roots: Mutex<BTreeSet<PathBuf>>,
    /// The sessions with calls under way.
    callers: Mutex<BTreeMap<SessionId, CallingSession>>,
}

/// A session with calls under way.
struct CallingSession {
    calls: usize,
    /// Asks a person; `None` where the session has no one who could answer.
    ask: Option<Arc<dyn Ask>>,
}

/// A call under way. Dropping it ends the call.
pub(super) struct CallUnderWay {
    client: Arc<ServerClient>,
    session: SessionId,
}

impl ServerClient {
    pub(super) fn new(server: &str) -> Self {
        let (roots, callers) = (Mutex::default(), Mutex::default());
        Self { server: server.to_owned(), changed: OnceLock::new(), roots, callers }
    }

    /// Has changes of the server's lists reported to `changed`.
    pub(super) fn report_to(&self, changed: Notifier<McpList>) {
        let _only_once = self.changed.set(changed);
    }

    pub(super) fn add_root(&self, root: Option<PathBuf>) {
        self.roots.lock().unwrap_or_else(PoisonError::into_inner).extend(root);
    }

    /// Notes that a session calls the server.
    pub(super) fn begin(
        self: &Arc<Self>,
        session: SessionId,
        ask: Option<Arc<dyn Ask>>,
    ) -> CallUnderWay {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        callers.entry(session).or_insert(CallingSession { calls: 0, ask }).calls += 1;
        CallUnderWay { client: Arc::clone(self), session }
    }
}

impl Drop for CallUnderWay {
    fn drop(&mut self) {
        let mut callers = self.client.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(caller) = callers.get_mut(&self.session) {
            caller.calls -= 1;
            if caller.calls == 0 {
                callers.remove(&self.session);
            }
        }
    }
}

#[async_trait]
impl McpClient for ServerClient {
    fn roots(&self) -> Vec<PathBuf> {
        self.roots.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn changed(&self, list: McpList) {
        if let Some(changed) = self.changed.get() {
            changed.notify(list);
        }
    }

    fn logged(&self, line: String) {
        tracing::info!(server = self.server, line = quote_within(&line, LONGEST_LINE), "MCP");
    }

    /// Asks in the session that calls. Where several do, it is not known which of them is meant.
    async fn ask(&self, question: Question) -> Option<String> {
        let ask = {
            let callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
            let mut callers = callers.values();
            let caller = callers.next()?;
            caller.ask.clone().filter(|_| callers.next().is_none())?
        };
        ask.ask(question).await
    }
}
