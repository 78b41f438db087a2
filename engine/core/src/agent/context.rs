//! What the agent loop works with, and how it ends.

use std::pin::pin;

use futures_util::future::{Either, select};
use protocol::SessionEvent;

use super::inputs::{Inputs, Model};
use super::limits::Limits;
use crate::ports::{CancelToken, SessionLogError, ToolRunner};

use protocol::AgentEnd;

/// What the loop works with.
pub struct AgentContext<'a> {
    /// The model. Another one of the session takes its place.
    pub model: Model,
    /// Carries out calls.
    pub tools: &'a dyn ToolRunner,
    /// Says what users have given the session meanwhile.
    pub inputs: &'a dyn Inputs,
    /// Told what happens.
    pub listener: &'a dyn Listener,
    /// How much may be used.
    pub limits: Limits,
    /// Ends the work; the conversation stays as it is in the log.
    pub abort: CancelToken,
}

impl AgentContext<'_> {
    /// Waits for `work`, unless it is aborted first. Then nothing comes back, and `work` is dropped.
    pub(super) async fn unless_aborted<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        match select(pin!(self.abort.cancelled()), pin!(work)).await {
            Either::Left(((), _dropped)) => None,
            Either::Right((done, _cancelled)) => Some(done),
        }
    }
}

impl From<SessionLogError> for AgentEnd {
    fn from(error: SessionLogError) -> Self {
        Self::Failed(error.to_failure())
    }
}

/// Told what happens in a session, as it happens.
pub trait Listener: Send + Sync {
    /// Something happened. Deltas come often, and of any size.
    fn event(&self, event: SessionEvent);
}
