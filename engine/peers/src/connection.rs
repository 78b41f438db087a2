//! A connection to a server: implements the port of the connection.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use engine::ports::{
    CancelToken, LineSink, McpCall, McpConnection, McpError, McpErrorKind, McpList, McpPrompt,
    McpResource, McpResult, McpServerInfo, McpTool,
};
use protocol::Content;
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, GetPromptRequest,
    GetPromptRequestParams, ReadResourceRequest, ReadResourceRequestParams, ServerPeerInfo,
    ServerResult,
};
use rmcp::service::RunningService;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::bounds::CALL;
use crate::changes;
use crate::client::Client;
use crate::content;
use crate::ending::Why;
use crate::printable;
use crate::requests::{Requests, Terms};
use crate::subject::Subject;

/// The longest name or version of a server, and its longest instructions, in characters.
const NAME: usize = 100;
const INSTRUCTIONS: usize = 16 << 10;

/// How long closing takes at most.
const CLOSE: Duration = Duration::from_millis(900);

/// A connection to a server. Dropping it ends the server's process.
pub(crate) struct Connection {
    info: McpServerInfo,
    /// How long a request takes at most, if it is not a call.
    time: Duration,
    requests: Requests,
    /// Absent when the connection has been closed.
    running: Mutex<Option<RunningService<RoleClient, Arc<Client>>>>,
    _changes: Option<AbortOnDropHandle<()>>,
}

impl Connection {
    /// Returns the connection that `running` has made.
    pub(crate) fn new(
        running: RunningService<RoleClient, Arc<Client>>,
        server: &ServerPeerInfo,
        subject: Subject,
        time: Duration,
    ) -> Self {
        let client = Arc::clone(running.service());
        let changes = changes::follow(running.peer().clone(), Arc::clone(&client), server);
        let requests = Requests { peer: running.peer().clone(), client, subject };
        Self {
            info: info(server),
            time,
            requests,
            running: Mutex::new(Some(running)),
            _changes: changes,
        }
    }

    fn request_terms(&self) -> Terms {
        Terms::of(self.time)
    }

    fn wrong(&self, what: &str) -> McpError {
        let what = format!("gave a wrong answer to {what}");
        self.requests.subject.error(McpErrorKind::NoAnswer, what)
    }

    fn has(&self, list: McpList) -> bool {
        self.info.lists.contains(&list)
    }
}

#[async_trait]
impl McpConnection for Connection {
    fn info(&self) -> &McpServerInfo {
        &self.info
    }

    async fn tools(&self) -> Result<Vec<McpTool>, McpError> {
        self.requests.list_tools(&self.request_terms()).await
    }

    async fn call(
        &self,
        call: McpCall,
        progress: LineSink,
        cancel: CancelToken,
    ) -> Result<McpResult, McpError> {
        let until = Instant::now() + CALL;
        let terms = Terms { silence: call.timeout, until, progress: Some(progress), cancel };
        let mut params = CallToolRequestParams::new(call.tool).with_arguments(call.arguments);
        let make = |input, state| {
            let mut params = params.clone();
            (params.input_responses, params.request_state) = (input, state);
            ClientRequest::CallToolRequest(CallToolRequest::new(params))
        };
        let answer = self.requests.with_input(make, &terms).await?;
        let name = std::mem::take(&mut params.name);
        match answer {
            ServerResult::CallToolResult(result) => Ok(content::result(result)),
            ServerResult::EmptyResult(_) => Ok(content::result(CallToolResult::default())),
            ServerResult::CustomResult(custom) => content::lenient_result(custom.0)
                .ok_or_else(|| self.wrong(&format!("a call of `{name}`"))),
            _ => Err(self.wrong(&format!("a call of `{name}`"))),
        }
    }

    async fn resources(&self) -> Result<Vec<McpResource>, McpError> {
        match self.has(McpList::Resources) {
            true => self.requests.list_resources(&self.request_terms()).await,
            false => Ok(Vec::new()),
        }
    }

    async fn read_resource(&self, uri: &str) -> Result<Vec<Content>, McpError> {
        let make = |input, state| {
            let mut params = ReadResourceRequestParams::new(uri);
            (params.input_responses, params.request_state) = (input, state);
            ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
        };
        match self.requests.with_input(make, &self.request_terms()).await? {
            ServerResult::ReadResourceResult(result) => Ok(content::resource(result)),
            _ => Err(self.wrong("a request for a resource")),
        }
    }

    async fn prompts(&self) -> Result<Vec<McpPrompt>, McpError> {
        match self.has(McpList::Prompts) {
            true => self.requests.list_prompts(&self.request_terms()).await,
            false => Ok(Vec::new()),
        }
    }

    async fn prompt(
        &self,
        name: &str,
        arguments: BTreeMap<String, String>,
    ) -> Result<String, McpError> {
        let arguments = arguments.into_iter().map(|(name, value)| (name, Value::String(value)));
        let params = GetPromptRequestParams::new(name).with_arguments(arguments.collect());
        let make = |input, state| {
            let mut params = params.clone();
            (params.input_responses, params.request_state) = (input, state);
            ClientRequest::GetPromptRequest(GetPromptRequest::new(params))
        };
        match self.requests.with_input(make, &self.request_terms()).await? {
            ServerResult::GetPromptResult(result) => {
                let texts =
                    result.messages.into_iter().map(|message| content::text(message.content));
                Ok(texts.collect::<Vec<_>>().join("\n\n"))
            }
            _ => Err(self.wrong(&format!("a request for the prompt `{name}`"))),
        }
    }

    async fn closed(&self) -> McpError {
        let subject = &self.requests.subject;
        subject.link.ending.ended().await;
        subject.gone(McpErrorKind::NoAnswer).await
    }

    async fn close(&self) {
        let subject = &self.requests.subject;
        subject.link.ending.end(Why::Closed);
        let running = self.running.lock().await.take();
        let closed = async {
            if let Some(mut running) = running {
                // What is not over in time is given up.
                let _late = running.close_with_timeout(CLOSE).await;
            }
        };
        let ended = async {
            if let Some(program) = &subject.program {
                program.close().await;
            }
        };
        tokio::join!(closed, ended);
    }
}

/// Returns what a server says about itself.
fn info(server: &ServerPeerInfo) -> McpServerInfo {
    let of = |list, has: bool| has.then_some(list);
    let capabilities = &server.capabilities;
    let lists = [
        of(McpList::Tools, capabilities.tools.is_some()),
        of(McpList::Resources, capabilities.resources.is_some()),
        of(McpList::Prompts, capabilities.prompts.is_some()),
    ];
    let program = server.server_info.as_ref();
    let text = |text: Option<&String>| printable::line(text.map_or("", |text| text), NAME);
    let instructions = server.instructions.as_deref();
    McpServerInfo {
        name: text(program.map(|program| &program.name)),
        version: text(program.map(|program| &program.version)),
        protocol: server.protocol_version.to_string(),
        instructions: instructions
            .map(|text| printable::block(text, INSTRUCTIONS))
            .filter(|text| !text.is_empty()),
        lists: lists.into_iter().flatten().collect::<BTreeSet<_>>(),
    }
}
