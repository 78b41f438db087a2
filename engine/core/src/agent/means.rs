//! What the agent loop works with.

use std::pin::pin;

use futures_util::future::{Either, select};
pub use protocol::AgentEnd as End;

use super::inputs::{Inputs, Model};
use super::limits::Limits;
use super::listener::Listener;
use crate::ports::{CancelToken, SessionLogError, ToolRunner};

/// What the loop works with.
pub struct Means<'a> {
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

impl Means<'_> {
    /// Waits for `work`, unless it is aborted first. Then nothing comes back, and `work` is dropped.
    pub(super) async fn unless_aborted<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        match select(pin!(self.abort.cancelled()), pin!(work)).await {
            Either::Left(((), _dropped)) => None,
            Either::Right((done, _cancelled)) => Some(done),
        }
    }
}

impl From<SessionLogError> for End {
    fn from(error: SessionLogError) -> Self {
        Self::Failed(error.to_failure())
    }
}
