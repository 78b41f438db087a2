//! A request that has failed for good.

use protocol::{AssistantMessage, Failure};

use crate::ports::FailureCause;

/// A request that has failed for good.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedRequest {
    /// The failure.
    pub failure: Failure,
    /// Why it failed, as far as retries depend on it.
    pub cause: FailureCause,
    /// The message with the content received in the last attempt. Its stop reason is an error.
    pub partial: AssistantMessage,
}
