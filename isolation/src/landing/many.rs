//! What makes a landing of many files quick: looks and new files on several threads, and the closing of
//! removed files on threads that wait for the disk.

use std::cell::{Cell, OnceCell};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::landing::lease::Lease;
use crate::workspace::{FileWork, in_threads};

/// How long closing a removed file takes at most where the disk need not be waited for.
const SLOW: Duration = Duration::from_micros(200);

/// How many threads close files. A disk that learns at once which blocks are free again makes
/// whoever closes a removed file wait for that; it takes as long for a few as for one.
const CLOSING: usize = 8;

/// How many files wait for each of these threads.
const WAITING: usize = 4;

/// Returns whether so many files are worth several threads.
pub(super) fn are_many(files: usize) -> bool {
    FileWork::Land(files).threads() > 1
}

/// Does `work` for each of `items`, in several threads if there are many. Each thread has what `own`
/// makes. Returns the results in the order of the items, or an error; some items may be left out then.
pub(super) fn for_each<T: Sync, O, R: Send>(
    items: &[T],
    own: impl Fn() -> Result<O> + Sync,
    work: impl Fn(&O, &T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let (done, results) = mpsc::channel();
    let share = || {
        let own = own()?;
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return Ok(()) };
            let result = work(&own, item);
            if result.is_err() {
                next.store(items.len(), Ordering::Relaxed);
            }
            let _is_received = done.send((at, result?));
        }
    };
    in_threads(FileWork::Land(items.len()), &share)?;
    drop(done);
    let mut results: Vec<(usize, R)> = results.into_iter().collect();
    results.sort_by_key(|(at, _)| *at);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// Closes removed files, with threads once it turns out that the disk makes whoever closes one wait.
pub(super) struct Closers<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    threads: OnceCell<Vec<SyncSender<Lease>>>,
    next: Cell<usize>,
}

impl Closers<'_, '_> {
    /// Calls `work` with what closes removed files. All are closed when it returns.
    pub(super) fn with<T>(work: impl FnOnce(&Closers<'_, '_>) -> T) -> T {
        thread::scope(|scope| {
            work(&Closers { scope, threads: OnceCell::new(), next: Cell::new(0) })
        })
    }

    /// Releases the lease on a removed file, and closes the file.
    pub(super) fn close(&self, removed: Lease) {
        let at = self.next.get();
        self.next.set(at + 1);
        if let Some(threads) = self.threads.get()
            && let Some(thread) = threads.get(at % threads.len().max(1))
        {
            let _closed_here_if_it_has_ended = thread.send(removed);
            return;
        }
        let began = Instant::now();
        drop(removed);
        if began.elapsed() > SLOW {
            self.threads.get_or_init(|| self.begin());
        }
    }

    fn begin(&self) -> Vec<SyncSender<Lease>> {
        let begin = |_| {
            let (close, files) = mpsc::sync_channel(WAITING);
            let closing = move || files.into_iter().for_each(drop::<Lease>);
            let thread = thread::Builder::new().spawn_scoped(self.scope, closing);
            thread.ok().map(|_| close)
        };
        // A machine that has no more threads closes the files here.
        (0..CLOSING).map_while(begin).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::cannot;

    #[test]
    fn results_have_the_order_of_the_items_and_an_error_ends_the_work() {
        let items: Vec<usize> = (0..5_000).collect();
        let twice = for_each(&items, || Ok(2), |two, item| Ok(two * item)).unwrap();
        assert!(twice.iter().enumerate().all(|(at, twice)| 2 * at == *twice));
        assert_eq!(twice.len(), items.len());
        let done = AtomicUsize::new(0);
        let fails = |(): &(), item: &usize| match item {
            0 => Err(cannot("do it", "it is the first")),
            _ => Ok(done.fetch_add(1, Ordering::Relaxed)),
        };
        assert!(for_each(&items, || Ok(()), fails).is_err());
        assert!(done.into_inner() < items.len() - 1, "the rest is left out");
    }
}
