//! The thread that writes: everything that waits goes into one transaction, and so into one sync.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use engine::fault::Faults;
use engine::ports::{LockRun, RunLock};
use protocol::{LedgerEntry, RunName, RunSpec, Timestamp};
use rusqlite::{Connection, Savepoint, TransactionBehavior};
use tokio::sync::oneshot;

use crate::cause::Cause;
use crate::{entry, opening};

/// How many requests share one sync at most.
const BATCH: usize = 256;

/// How long the first of a batch waits for others at most.
const MOMENT: Duration = Duration::from_millis(1);

/// Something to be written, whole or not at all.
pub(crate) enum Request {
    Open {
        run: Box<RunSpec>,
        at: Timestamp,
        /// Taken out when the name is chosen.
        lock: Mutex<Option<LockRun>>,
        reply: oneshot::Sender<Result<(RunName, RunLock), Cause>>,
    },
    Append {
        entries: Vec<(Timestamp, LedgerEntry)>,
        reply: oneshot::Sender<Result<(), Cause>>,
    },
}

/// What a request came to; told only when it is durable.
enum Written {
    Opened(RunName, RunLock),
    Appended,
}

/// Writes until nobody can ask any more.
pub(crate) fn write(mut ledger: Connection, faults: &Faults, requests: &Receiver<Request>) {
    let mut expected = 1;
    while let Ok(first) = requests.recv() {
        let batch = gather(first, expected, requests);
        expected = batch.len();
        match commit(&mut ledger, faults, &batch) {
            Ok(results) => {
                for (request, result) in batch.into_iter().zip(results) {
                    request.answer(result);
                }
            }
            Err(cause) => {
                tracing::error!(%cause, requests = batch.len(), "the ledger was not written");
                for request in batch {
                    request.answer(Err(cause.clone()));
                }
            }
        }
    }
}

/// Returns what is to share one sync: what waits already, and whoever asks within a moment, until
/// there are as many as last time. Those who were answered last time are about to ask again, and a
/// sync takes longer than that; a single writer is never kept waiting.
fn gather(first: Request, expected: usize, requests: &Receiver<Request>) -> Vec<Request> {
    let mut batch = vec![first];
    let until = Instant::now() + MOMENT;
    while batch.len() < expected {
        match requests.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(request) => batch.push(request),
            Err(_nobody) => break,
        }
    }
    batch.extend(requests.try_iter().take(BATCH.saturating_sub(batch.len())));
    batch
}

/// Writes a batch with one sync. A request that cannot be written leaves no trace and does not
/// concern the others; what concerns the whole file fails them all.
fn commit(
    ledger: &mut Connection,
    faults: &Faults,
    batch: &[Request],
) -> Result<Vec<Result<Written, Cause>>, Cause> {
    let mut all = ledger.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut results = Vec::with_capacity(batch.len());
    for request in batch {
        let one = all.savepoint()?;
        let result = request.perform(&one, faults);
        match &result {
            Ok(_) => one.commit()?,
            Err(_) => undo(one)?,
        }
        // Some faults, a full disk among them, make SQLite give up the whole transaction.
        if all.is_autocommit() {
            return Err(result.err().unwrap_or(Cause::Ended));
        }
        results.push(result);
    }
    all.commit()?;
    Ok(results)
}

fn undo(mut one: Savepoint<'_>) -> Result<(), Cause> {
    if one.is_autocommit() {
        one.set_drop_behavior(rusqlite::DropBehavior::Ignore);
        return Ok(());
    }
    Ok(one.finish()?)
}

impl Request {
    fn perform(&self, ledger: &Connection, faults: &Faults) -> Result<Written, Cause> {
        match self {
            Self::Open { run, at, lock, .. } => {
                let name = opening::open_run(ledger, run, *at)?;
                let lock = lock.lock().unwrap_or_else(PoisonError::into_inner).take();
                let held = lock.ok_or(Cause::Ended)?.take(&name);
                Ok(Written::Opened(name, held.map_err(|error| Cause::Lock(Arc::new(error)))?))
            }
            Self::Append { entries, .. } => {
                faults.strike("ledger.append").map_err(|error| Cause::Fault(Arc::new(error)))?;
                for (at, entry) in entries {
                    entry::record(ledger, *at, entry)?;
                }
                Ok(Written::Appended)
            }
        }
    }

    fn answer(self, result: Result<Written, Cause>) {
        match (self, result) {
            (Self::Open { reply, .. }, Ok(Written::Opened(name, lock))) => {
                let _gone = reply.send(Ok((name, lock)));
            }
            (Self::Open { reply, .. }, Err(cause)) => {
                let _gone = reply.send(Err(cause));
            }
            (Self::Append { reply, .. }, Ok(Written::Appended)) => {
                let _gone = reply.send(Ok(()));
            }
            (Self::Append { reply, .. }, Err(cause)) => {
                let _gone = reply.send(Err(cause));
            }
            (Self::Open { .. }, Ok(Written::Appended))
            | (Self::Append { .. }, Ok(Written::Opened(..))) => {
                unreachable!("a request is answered by what it asked for")
            }
        }
    }
}

#[cfg(test)]
mod tests;
