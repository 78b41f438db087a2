//! The writer thread of the ledger: writes all waiting requests in one transaction with one sync.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use engine::failpoint;
use engine::fault::Faults;
use engine::ports::{LockRun, RunLock};
use protocol::{LedgerEntry, RunName, RunSpec, Timestamp};
use rusqlite::{Connection, Savepoint, TransactionBehavior};
use tokio::sync::oneshot;

use crate::error::LedgerCause;
use crate::recording;

/// The most requests in one batch.
const MAX_BATCH: usize = 256;

/// The longest time for which the first request of a batch waits for others. It also never waits
/// longer than the last commit took, because sharing saves no more than one.
const BATCH_DELAY: Duration = Duration::from_millis(1);

/// A request to the writer thread, which is written completely or not at all.
pub(crate) enum Request {
    Open {
        run: Box<RunSpec>,
        at: Timestamp,
        /// The function that locks the run. It is called once the name of the run is chosen.
        lock: Mutex<Option<LockRun>>,
        reply: oneshot::Sender<Result<(RunName, RunLock), LedgerCause>>,
    },
    Append {
        entries: Vec<(Timestamp, LedgerEntry)>,
        reply: oneshot::Sender<Result<(), LedgerCause>>,
    },
}

/// The result of a request, which is sent when it is durable.
enum Written {
    Opened(RunName, RunLock),
    Appended,
}

/// Writes requests until all senders are dropped. Returns the number of commits, each with one sync.
pub(crate) fn run(mut ledger: Connection, faults: &Faults, requests: &Receiver<Request>) -> u64 {
    let (mut expected, mut last_commit, mut commits) = (1, BATCH_DELAY, 0);
    while let Ok(first) = requests.recv() {
        let batch = next_batch(first, expected, last_commit.min(BATCH_DELAY), requests);
        expected = batch.len();
        let began = Instant::now();
        let committed = commit(&mut ledger, faults, &batch);
        last_commit = began.elapsed();
        commits += 1;
        match committed {
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
    commits
}

/// Returns the next batch: all waiting requests.
///
/// If there are fewer than `expected`, the size of the last batch, it waits at most `delay` for more:
/// the callers of the last batch often send their next request at once, and a second sync would
/// take longer than the delay. A single caller never waits.
fn next_batch(
    first: Request,
    expected: usize,
    delay: Duration,
    requests: &Receiver<Request>,
) -> Vec<Request> {
    let mut batch = vec![first];
    let until = Instant::now() + delay;
    while batch.len() < expected {
        match requests.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(request) => batch.push(request),
            Err(_nobody) => break,
        }
    }
    batch.extend(requests.try_iter().take(MAX_BATCH.saturating_sub(batch.len())));
    batch
}

/// Writes a batch with one sync. A failed request is rolled back and does not affect the others; an
/// error of the whole file fails them all.
fn commit(
    ledger: &mut Connection,
    faults: &Faults,
    batch: &[Request],
) -> Result<Vec<Result<Written, LedgerCause>>, LedgerCause> {
    let mut all = ledger.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut results = Vec::with_capacity(batch.len());
    for request in batch {
        let one = all.savepoint()?;
        let result = request.perform(&one, faults);
        match &result {
            Ok(_) => one.commit()?,
            Err(_) => roll_back(one)?,
        }
        // On some errors, a full disk for example, SQLite rolls back the whole transaction.
        if all.is_autocommit() {
            return Err(result.err().unwrap_or(LedgerCause::Ended));
        }
        results.push(result);
    }
    all.commit()?;
    Ok(results)
}

fn roll_back(mut one: Savepoint<'_>) -> Result<(), LedgerCause> {
    if one.is_autocommit() {
        one.set_drop_behavior(rusqlite::DropBehavior::Ignore);
        return Ok(());
    }
    Ok(one.finish()?)
}

impl Request {
    fn perform(&self, ledger: &Connection, faults: &Faults) -> Result<Written, LedgerCause> {
        match self {
            Self::Open { run, at, lock, .. } => {
                let name = recording::open_run(ledger, run, *at)?;
                let lock = lock.lock().unwrap_or_else(PoisonError::into_inner).take();
                let held = lock.ok_or(LedgerCause::Ended)?.take(&name);
                Ok(Written::Opened(name, held.map_err(|error| LedgerCause::Lock(Arc::new(error)))?))
            }
            Self::Append { entries, .. } => {
                failpoint!(faults, "ledger.append")
                    .map_err(|error| LedgerCause::Fault(Arc::new(error)))?;
                for (at, entry) in entries {
                    recording::record(ledger, *at, entry)?;
                }
                Ok(Written::Appended)
            }
        }
    }

    fn answer(self, result: Result<Written, LedgerCause>) {
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
