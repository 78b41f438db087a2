//! A transport of `rmcp` that knows which requests have been sent, and when the connection ends.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleClient;
use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

use crate::bounds::UNSENT;
use crate::ending::{Ending, Why};

/// What is known about the messages of a connection. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Link {
    pub(crate) ending: Ending,
    /// The requests of which sending has begun.
    begun: Arc<Mutex<BTreeSet<String>>>,
    /// The number of messages that are being sent.
    unsent: Arc<AtomicUsize>,
}

impl Link {
    /// Returns whether sending a request has begun, and forgets the request.
    pub(crate) fn has_begun(&self, id: &RequestId) -> bool {
        self.begun().remove(&id.to_string())
    }

    fn begun(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A transport, watched.
pub(crate) struct Guarded<T> {
    transport: T,
    link: Link,
}

impl<T> Guarded<T> {
    pub(crate) fn new(transport: T, link: Link) -> Self {
        Self { transport, link }
    }
}

/// Counts a message until it has been sent or given up.
struct Unsent(Arc<AtomicUsize>);

impl Unsent {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Guarded<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let id = match &item {
            JsonRpcMessage::Request(request) => Some(request.id.to_string()),
            JsonRpcMessage::Response(_)
            | JsonRpcMessage::Notification(_)
            | JsonRpcMessage::Error(_) => None,
        };
        let unsent = Unsent::new(&self.link.unsent);
        let link = self.link.clone();
        let send = self.transport.send(item);
        async move {
            let _unsent = unsent;
            if let Some(id) = id {
                link.begun().insert(id);
            }
            send.await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        // A server that asks and asks, and reads no answers.
        if self.link.unsent.load(Ordering::Relaxed) > UNSENT {
            self.link.ending.end(Why::Fault("does not read what it is sent"));
            return None;
        }
        let message = self.transport.receive().await;
        if message.is_none() {
            self.link.ending.end(Why::Left);
        }
        message
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}
