//! The ports of a landing, as a run has them: the repository actor, and the run's own record.

use std::sync::Arc;

use async_trait::async_trait;
use engine::landing::{LandingBackend, LedgerWriter};
use engine::ports::{CancelToken, IsolationError, LandingNotice, LandingRequest, LedgerError};
use protocol::{FailureClass, LandingId, LandingReport, LedgerEntry, RunName};
use ractor::{ActorRef, RpcReplyPort};

use super::messages::RunMessage;
use crate::isolation::{Landing, RepositoryMessage};
use crate::messaging::{Receipt, answer};

/// Lands through the repository actor, one landing after another.
pub(super) struct RepositoryLands(pub(super) ActorRef<RepositoryMessage>);

#[async_trait]
impl LandingBackend for RepositoryLands {
    async fn land(
        &self,
        landing: LandingId,
        request: LandingRequest,
        cancel: CancelToken,
        notify: Arc<dyn Fn(LandingNotice) + Send + Sync>,
    ) -> Result<LandingReport, IsolationError> {
        let landed = answer(&self.0, |reply| {
            RepositoryMessage::Land(Landing { landing, request, cancel, notify, reply })
        });
        landed.await.unwrap_or_else(|| {
            let source = "the actor that was landing it crashed".into();
            Err(IsolationError::Failed { what: "land the work".to_owned(), source })
        })
    }

    async fn acknowledge(&self, _run: &RunName) {
        // Nothing to do: the run acknowledges its landing when it closes its use of the repository.
    }
}

/// Writes entries through the run, whose record they update.
pub(super) struct RunRecords(pub(super) ActorRef<RunMessage>);

#[async_trait]
impl LedgerWriter for RunRecords {
    async fn record(&self, entry: LedgerEntry) -> Result<(), LedgerError> {
        let written = answer(&self.0, |reply: RpcReplyPort<()>| {
            RunMessage::Record(entry, Receipt::from(reply))
        });
        written.await.ok_or_else(|| LedgerError {
            what: "write to the ledger".to_owned(),
            class: FailureClass::Crashed,
            source: "its writer has ended".into(),
        })
    }
}
