//! What is made for workspaces before a task asks for one, on a thread of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use crate::backends::{FrozenRun, FrozenTree};

/// The thread that makes something ahead, if there is one. It ends soon after this is dropped.
#[derive(Default)]
pub(super) struct Ahead {
    stop: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Ahead {
    /// Begins to make what is needed for as many workspaces as `at_once`. Called once. If no thread can
    /// be started, each task makes what it needs.
    pub(super) fn begin(&self, run: &Arc<FrozenRun<Arc<dyn FrozenTree>>>, at_once: usize) {
        let (run, stop) = (Arc::clone(run), Arc::clone(&self.stop));
        let make = move || run.tree.make_ahead(at_once, &stop);
        match Builder::new().name("copies".to_owned()).spawn(make) {
            Ok(thread) => *self.thread() = Some(thread),
            Err(error) => tracing::info!(%error, "nothing is made ahead"),
        }
    }

    /// Ends the thread, and waits until it has ended.
    pub(super) fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread().take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread that makes copies ahead has panicked");
        }
    }

    fn thread(&self) -> std::sync::MutexGuard<'_, Option<JoinHandle<()>>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
