//! The threads that copy files into a workspace, look at those in it, remove copies, or land files.

use std::num::NonZero;
use std::sync::LazyLock;
use std::thread;

use crate::error::{Result, cannot};

/// The number of threads. More threads do not make one disk faster, and the workspaces of many
/// tasks are prepared at the same time.
pub(crate) const COPY_THREADS: usize = 2;

/// The numbers of files below which starting a second thread takes longer than it saves.
const FEW_TO_COPY: usize = 64;
const FEW_TO_LOOK_AT: usize = 2_048;
const FEW_TO_LAND: usize = 256;

/// Returns the number of cores. The system is asked once: the answer is in several files.
pub(crate) fn cores() -> usize {
    static CORES: LazyLock<usize> =
        LazyLock::new(|| thread::available_parallelism().map_or(1, NonZero::get));
    *CORES
}

/// What a thread does with files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileWork {
    /// It copies so many.
    Copy(usize),
    /// It reads the stats of so many.
    LookAt(usize),
    /// It looks at so many in the tree of the user, or writes new versions beside them.
    Land(usize),
    /// It removes so many copies, with all their files.
    Remove(usize),
}

impl FileWork {
    /// Returns the number of threads that it is worth.
    pub(crate) fn threads(self) -> usize {
        match self {
            Self::Copy(files) if files < FEW_TO_COPY => 1,
            Self::LookAt(files) if files < FEW_TO_LOOK_AT => 1,
            Self::Land(files) if files < FEW_TO_LAND => 1,
            Self::Copy(_) | Self::LookAt(_) | Self::Land(_) => COPY_THREADS,
            Self::Remove(copies) => copies.clamp(1, COPY_THREADS),
        }
    }
}

/// Runs `share` in as many threads as `work` needs. Each call works until nothing is left to do.
pub(crate) fn in_threads(work: FileWork, share: &(dyn Fn() -> Result<()> + Sync)) -> Result<()> {
    let threads = work.threads();
    thread::scope(|scope| {
        // If no second thread can be started, the current thread does everything.
        let another = || thread::Builder::new().spawn_scoped(scope, share).ok();
        let others: Vec<_> = (1..threads).map_while(|_| another()).collect();
        let mut end = share();
        for other in others {
            let panicked =
                || cannot("copy or look at files of a workspace", "one of its threads panicked");
            end = end.and(other.join().unwrap_or_else(|_| Err(panicked())));
        }
        end
    })
}
