//! How the work of a session reaches the inputs, which are the session's.

use async_trait::async_trait;
use engine::agent::{Inputs, RequestChanges};
use protocol::UserInput;
use ractor::{ActorRef, RpcReplyPort};

use super::message::SessionMessage;
use crate::ask::answer;

/// Asks the session. One that is gone takes its work with it, so that no answer is missed.
pub(super) struct SessionInputs(pub(super) ActorRef<SessionMessage>);

impl SessionInputs {
    async fn ask<T: Default + Send + 'static>(
        &self,
        question: impl FnOnce(RpcReplyPort<T>) -> SessionMessage,
    ) -> T {
        answer(&self.0, question).await.unwrap_or_default()
    }
}

#[async_trait]
impl Inputs for SessionInputs {
    async fn before_request(&self) -> RequestChanges {
        self.ask(SessionMessage::BeforeRequest).await
    }

    async fn before_stop(&self) -> Option<UserInput> {
        self.ask(SessionMessage::BeforeStop).await
    }
}
