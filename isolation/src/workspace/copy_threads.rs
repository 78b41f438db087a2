//! The threads that copy files into a workspace.

use std::thread;

use crate::error::{Result, cannot};

/// The number of threads. More threads do not make one disk faster, and the workspaces of many
/// tasks are prepared at the same time.
pub(crate) const COPY_THREADS: usize = 2;

/// The number of files below which starting a second thread takes longer than it saves.
const FEW: usize = 64;

/// Runs `copy` in as many threads as copying `files` files needs. Each call copies until nothing is
/// left to copy.
pub(crate) fn in_threads(files: usize, copy: &(dyn Fn() -> Result<()> + Sync)) -> Result<()> {
    let threads = if files < FEW { 1 } else { COPY_THREADS };
    thread::scope(|scope| {
        // If no second thread can be started, the current thread copies everything.
        let another = || thread::Builder::new().spawn_scoped(scope, copy).ok();
        let others: Vec<_> = (1..threads).map_while(|_| another()).collect();
        let mut end = copy();
        for other in others {
            let panicked = || cannot("copy files to a workspace", "a thread that copied panicked");
            end = end.and(other.join().unwrap_or_else(|_| Err(panicked())));
        }
        end
    })
}
