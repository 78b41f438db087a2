//! The port by which the engine asks a person.

use async_trait::async_trait;
use protocol::Question;

/// Asks a person.
#[async_trait]
pub trait Ask: Send + Sync {
    /// Returns the id of the choice that answers a question; `None` if there is no answer in time. Dropping
    /// the future withdraws the question.
    async fn ask(&self, question: Question) -> Option<String>;
}
