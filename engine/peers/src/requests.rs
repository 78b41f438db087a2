//! One request to a server, from sending it to its answer.

use std::sync::Arc;
use std::time::Duration;

use engine::ports::{CancelToken, LineSink, McpError, McpErrorKind};
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientRequest, InputResponses, RequestId,
    ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions};
use rmcp::{RoleClient, ServiceError};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, sleep_until};

use crate::bounds::INPUT_ROUNDS;
use crate::client::{Client, Watcher};
use crate::faults::{self, Fault};
use crate::guarded::Link;
use crate::subject::Subject;

/// How long a server that is busy is left alone before it is asked again.
const BUSY: Duration = Duration::from_millis(200);

/// Sends requests to one server.
pub(crate) struct Requests {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) client: Arc<Client>,
    pub(crate) subject: Subject,
}

/// How long a request is waited for, and what stops it.
pub(crate) struct Terms {
    /// How long the server may be silent.
    pub(crate) silence: Duration,
    /// When the request is over in any case.
    pub(crate) until: Instant,
    /// Receives lines about progress.
    pub(crate) progress: Option<LineSink>,
    /// Cancels the request.
    pub(crate) cancel: CancelToken,
}

impl Terms {
    /// Returns the terms of a request that takes at most `time`.
    pub(crate) fn of(time: Duration) -> Self {
        let until = Instant::now() + time;
        Self { silence: time, until, progress: None, cancel: CancelToken::default() }
    }
}

/// How waiting for an answer ended.
enum Waited {
    Answered(Box<Result<ServerResult, ServiceError>>),
    Gone,
    Silent(Duration),
    Late,
    Cancelled,
}

impl Waited {
    fn answered(answer: Result<ServerResult, ServiceError>) -> Self {
        Self::Answered(Box::new(answer))
    }
}

impl Requests {
    /// Sends a request that may need input before it is answered, and returns the answer. `make` returns the request
    /// with the input and the state of the server.
    pub(crate) async fn with_input(
        &self,
        make: impl Fn(Option<InputResponses>, Option<String>) -> ClientRequest + Sync,
        terms: &Terms,
    ) -> Result<ServerResult, McpError> {
        let (mut input, mut state) = (None, None);
        for _round in 0..INPUT_ROUNDS {
            let wanted = match self.send(make(input.take(), state.take()), terms).await? {
                ServerResult::InputRequiredResult(wanted) => wanted,
                answer => return Ok(answer),
            };
            state = wanted.request_state;
            let answers = async {
                match wanted.input_requests {
                    Some(wanted) => self.client.answer(wanted).await.map(Some),
                    None => {
                        sleep(BUSY).await;
                        Ok(None)
                    }
                }
            };
            input = tokio::select! {
                answers = answers => answers.map_err(|error| {
                    let what = format!("asked for what it cannot have: {}", error.message);
                    self.subject.error(McpErrorKind::NoAnswer, what)
                })?,
                () = terms.cancel.cancelled() => return Err(self.cancelled()),
                () = sleep_until(terms.until) => return Err(self.late()),
            };
        }
        let what = "asked for input again and again";
        Err(self.subject.error(McpErrorKind::NoAnswer, what))
    }

    /// Sends a request, and returns its answer. A request that is given up is cancelled at the server.
    pub(crate) async fn send(
        &self,
        request: ClientRequest,
        terms: &Terms,
    ) -> Result<ServerResult, McpError> {
        if terms.cancel.is_cancelled() {
            return Err(self.cancelled());
        }
        let beat = Arc::new(Notify::new());
        let mut watchers = self.client.watchers().lock().await;
        let options = PeerRequestOptions::no_options();
        let sent = self.peer.send_cancellable_request(request, options).await;
        let Ok(mut handle) = sent else {
            drop(watchers);
            return Err(self.subject.gone(McpErrorKind::NotSent).await);
        };
        let key = Client::watcher_key(&handle.progress_token);
        let watcher =
            Watcher { beat: Arc::clone(&beat), progress: terms.progress.clone(), shown: None };
        watchers.insert(key.clone(), watcher);
        drop(watchers);
        let mut open = Open {
            peer: Some(self.peer.clone()),
            client: Arc::clone(&self.client),
            link: self.subject.link.clone(),
            id: handle.id.clone(),
            key,
        };
        let waited = self.wait(&mut handle.rx, &beat, terms).await;
        if let Waited::Answered(_) | Waited::Gone = waited {
            open.close().await;
        }
        self.judge(waited, &open.id).await
    }

    async fn wait(
        &self,
        answer: &mut oneshot::Receiver<Result<ServerResult, ServiceError>>,
        beat: &Notify,
        terms: &Terms,
    ) -> Waited {
        let mut silence = std::pin::pin!(sleep(terms.silence));
        let mut questions = self.client.questions();
        loop {
            let is_asking = *questions.borrow() > 0;
            tokio::select! {
                biased;
                answer = &mut *answer => {
                    return answer.map_or(Waited::Gone, Waited::answered);
                }
                () = terms.cancel.cancelled() => return Waited::Cancelled,
                () = self.subject.link.ending.ended() => {
                    // What was received before the end has been passed on.
                    return answer.try_recv().map_or(Waited::Gone, Waited::answered);
                }
                () = beat.notified() => silence.as_mut().reset(Instant::now() + terms.silence),
                // A server that waits for a person is not silent.
                () = &mut silence, if !is_asking => {
                    return Waited::Silent(terms.silence);
                }
                Ok(()) = questions.changed() => {
                    silence.as_mut().reset(Instant::now() + terms.silence);
                }
                () = sleep_until(terms.until) => return Waited::Late,
            }
        }
    }

    async fn judge(&self, waited: Waited, id: &RequestId) -> Result<ServerResult, McpError> {
        let has_begun = self.subject.link.has_begun(id);
        let gone = if has_begun { McpErrorKind::NoAnswer } else { McpErrorKind::NotSent };
        let error = match waited {
            Waited::Answered(answer) => match *answer {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            },
            Waited::Gone => ServiceError::TransportClosed,
            Waited::Silent(time) => {
                let what = format!("did not answer within {time:?}");
                return Err(self.subject.error_with_stderr(McpErrorKind::NoAnswer, what));
            }
            Waited::Late => return Err(self.late()),
            Waited::Cancelled => return Err(self.cancelled()),
        };
        Err(match error {
            ServiceError::McpError(error) => {
                let (kind, what) = faults::answered(&error);
                self.subject.error(kind, what)
            }
            ServiceError::TransportSend(error) => match faults::transport_fault(&error) {
                // Of a line that could not be written, the end is missing: the server cannot have understood it.
                Fault::Gone => self.subject.gone(McpErrorKind::NotSent).await,
                Fault::Status(status, body) => {
                    let (kind, what) = faults::status_fault(status, &body);
                    self.subject.error(kind, what)
                }
                Fault::Elsewhere(what) => self.subject.error(McpErrorKind::NoAnswer, what),
                Fault::Other(kind, what) => self.subject.error(kind, what),
            },
            ServiceError::Cancelled { .. } => self.cancelled(),
            ServiceError::TransportClosed => self.subject.gone(gone).await,
            _ => self.subject.error(McpErrorKind::NoAnswer, "gave a wrong answer"),
        })
    }

    fn cancelled(&self) -> McpError {
        let message = format!("the request to MCP server `{}` was cancelled", self.subject.name);
        McpError { kind: McpErrorKind::Cancelled, message }
    }

    fn late(&self) -> McpError {
        let what = "did not come to an end in time";
        self.subject.error_with_stderr(McpErrorKind::NoAnswer, what)
    }
}

/// A request without an answer. Dropping it tells the server that the answer is not wanted any more.
struct Open {
    /// Absent when the request is over.
    peer: Option<Peer<RoleClient>>,
    client: Arc<Client>,
    link: Link,
    id: RequestId,
    key: String,
}

impl Open {
    /// Forgets the request, which is over.
    async fn close(&mut self) {
        self.peer = None;
        self.client.watchers().lock().await.remove(&self.key);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let Some(peer) = self.peer.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        self.link.has_begun(&self.id);
        let (id, key) = (self.id.clone(), std::mem::take(&mut self.key));
        let client = Arc::clone(&self.client);
        runtime.spawn(async move {
            client.watchers().lock().await.remove(&key);
            let reason = "the answer is not wanted any more".to_owned();
            let params = CancelledNotificationParam::new(Some(id), Some(reason));
            let cancelled = CancelledNotification::new(params);
            // The server may have ended.
            let _gone = peer.send_notification(cancelled.into()).await;
        });
    }
}
