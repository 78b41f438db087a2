//! What a server may ask, and what it reports: the client side of `rmcp`.
// Roots are deprecated in the newest revision, and part of all others.
#![expect(deprecated, reason = "servers of older revisions ask for roots")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::ports::{LineSink, McpClient, McpList};
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationCapability,
    FormElicitationCapability, Implementation, InputRequest, InputRequests, InputResponses,
    ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken,
    ProtocolVersion, Root, RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::Value;
use tokio::sync::{Mutex, Notify, watch};
use url::Url;

use crate::{elicitation, printable};

/// How often a line of progress is passed on.
const PROGRESS: Duration = Duration::from_millis(250);

/// The longest line of progress or of the log, in characters.
const LINE: usize = 500;

/// Answers the requests of one server, and passes on its notifications.
pub(crate) struct Client {
    server: String,
    revision: ProtocolVersion,
    client: Arc<dyn McpClient>,
    /// Who waits for the progress of which request.
    watchers: Mutex<BTreeMap<String, Watcher>>,
    /// The number of questions that a person has not answered.
    questions: watch::Sender<usize>,
}

/// Counts a question until it is answered or withdrawn.
struct Asking<'a>(&'a watch::Sender<usize>);

impl<'a> Asking<'a> {
    fn new(questions: &'a watch::Sender<usize>) -> Self {
        questions.send_modify(|count| *count += 1);
        Self(questions)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// Waits for the progress of one request.
pub(crate) struct Watcher {
    pub(crate) beat: Arc<Notify>,
    pub(crate) progress: Option<LineSink>,
    pub(crate) shown: Option<Instant>,
}

impl Client {
    pub(crate) fn new(
        server: &str,
        revision: ProtocolVersion,
        client: Arc<dyn McpClient>,
    ) -> Arc<Self> {
        Arc::new(Self {
            server: server.to_owned(),
            revision,
            client,
            watchers: Mutex::default(),
            questions: watch::channel(0).0,
        })
    }

    /// Returns who waits for progress. Progress that arrives while this is locked is not lost.
    pub(crate) fn watchers(&self) -> &Mutex<BTreeMap<String, Watcher>> {
        &self.watchers
    }

    /// Returns the key under which the progress of a request is waited for.
    pub(crate) fn watcher_key(token: &ProgressToken) -> String {
        token.0.to_string()
    }

    /// Returns what reports each question of a person, and each answer.
    pub(crate) fn questions(&self) -> watch::Receiver<usize> {
        self.questions.subscribe()
    }

    /// Reports that a list has changed.
    pub(crate) fn changed(&self, list: McpList) {
        self.client.changed(list);
    }

    /// Reports something as if the server had logged it.
    pub(crate) fn report(&self, line: &str) {
        self.client.logged(printable::line(line, LINE));
    }

    /// Answers what the server wants to know before it goes on with a request.
    pub(crate) async fn answer(&self, wanted: InputRequests) -> Result<InputResponses, ErrorData> {
        let mut answers = InputResponses::new();
        for (key, request) in wanted {
            let answer = match request {
                InputRequest::Elicitation(request) => {
                    serde_json::to_value(self.elicit(request.params).await)
                }
                InputRequest::ListRoots(_) => serde_json::to_value(self.roots()),
                _ => return Err(ErrorData::invalid_request("sampling is refused", None)),
            };
            answers.insert(key, answer.unwrap_or(Value::Null));
        }
        Ok(answers)
    }

    fn roots(&self) -> ListRootsResult {
        let roots = self.client.roots();
        let urls = roots.iter().filter_map(|root| {
            let url = Url::from_file_path(root).ok()?;
            let name = root.file_name().unwrap_or_default().to_string_lossy();
            Some(Root::new(url.to_string()).with_name(name))
        });
        ListRootsResult::new(urls.collect())
    }

    async fn elicit(&self, request: ElicitRequestParams) -> ElicitResult {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = request
        else {
            return elicitation::declined();
        };
        let schema = serde_json::to_value(requested_schema).unwrap_or(Value::Null);
        let Some(form) = elicitation::Form::new(&self.server, &message, &schema) else {
            return elicitation::declined();
        };
        let _asking = Asking::new(&self.questions);
        let answer = self.client.ask(form.question()).await;
        form.result(answer.as_deref())
    }
}

impl ClientHandler for Client {
    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(self.roots())
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        tokio::select! {
            answer = self.elicit(request) => Ok(answer),
            () = context.ct.cancelled() => Ok(elicitation::declined()),
        }
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let mut watchers = self.watchers.lock().await;
        let Some(watcher) = watchers.get_mut(&Self::watcher_key(&params.progress_token)) else {
            return;
        };
        watcher.beat.notify_one();
        let is_early = watcher.shown.is_some_and(|last| last.elapsed() < PROGRESS);
        let Some(progress) = watcher.progress.as_ref().filter(|_| !is_early) else { return };
        watcher.shown = Some(Instant::now());
        progress(progress_line(&params));
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        match &params.data {
            Value::String(text) => self.report(text),
            data => self.report(&data.to_string()),
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed(McpList::Tools);
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed(McpList::Resources);
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed(McpList::Prompts);
    }

    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        capabilities.elicitation =
            Some(ElicitationCapability::new().with_form(FormElicitationCapability::new()));
        let regatta = Implementation::new("regatta", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, regatta).with_protocol_version(self.revision.clone())
    }
}

/// Returns a notification of progress as a line.
fn progress_line(params: &ProgressNotificationParam) -> String {
    let message = printable::line(params.message.as_deref().unwrap_or_default(), LINE);
    let count = match params.total {
        Some(total) => format!("{}/{total}", params.progress),
        None => params.progress.to_string(),
    };
    match message.is_empty() {
        true => count,
        false if params.total.is_some() => format!("{count} {message}"),
        false => message,
    }
}
