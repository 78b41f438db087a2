//! What keeps the commands of one task apart from those of tasks that run meanwhile: a slot, and a
//! folder for temporary files.

use std::ffi::OsString;
use std::sync::Arc;

use engine::ports::OwnerEnd;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use crate::slots::Slots;
use crate::temporary_folders::{TemporaryFolder, TemporaryFolders};

/// The slot and the temporary folder of an owner of commands, from its first command on.
pub(crate) struct OwnerEnvironment {
    slots: Arc<Slots>,
    /// What makes its folder; without it, the owner has none of its own.
    folders: Option<TemporaryFolders>,
    state: Mutex<State>,
    /// Each command that has its variables and is not started yet has another reference to it.
    starting: Arc<()>,
}

/// A command that has its variables and is not started yet. It is dropped when the command has started, or
/// will not.
pub(crate) struct Starting {
    _starting: Arc<()>,
}

#[derive(Default)]
struct State {
    slot: Option<usize>,
    folder: Option<TemporaryFolder>,
    /// Whether a command has begun since the owner's processes ended.
    has_begun: bool,
    /// Whether processes may be left although the owner has ended.
    is_left: bool,
}

impl State {
    fn may_have_processes(&self) -> bool {
        self.has_begun || self.is_left
    }

    fn release_slot(&mut self, slots: &Slots) {
        if !self.may_have_processes()
            && let Some(slot) = self.slot.take()
        {
            slots.release(slot);
        }
    }
}

impl OwnerEnvironment {
    pub(crate) fn new(slots: Arc<Slots>, folders: Option<TemporaryFolders>) -> Self {
        Self { slots, folders, state: Mutex::default(), starting: Arc::default() }
    }

    /// Begins a command. Returns its variables.
    pub(crate) async fn begin(&self) -> (Vec<(String, OsString)>, Starting) {
        let mut state = self.state.lock().await;
        let starting = Starting { _starting: Arc::clone(&self.starting) };
        state.has_begun = true;
        let slot = *state.slot.get_or_insert_with(|| self.slots.take());
        if let (None, Some(folders)) = (&state.folder, self.folders.clone()) {
            match spawn_blocking(move || folders.make()).await {
                Ok(Ok(folder)) => state.folder = Some(folder),
                // The commands have the folder of the system then, as any program.
                Ok(Err(error)) => tracing::warn!(%error, "a task has no temporary folder"),
                Err(error) => tracing::warn!(%error, "a task has no temporary folder"),
            }
        }
        let folder = state.folder.as_ref().map(|folder| folder.path().as_os_str().to_owned());
        let slot = ("REGATTA_SLOT".to_owned(), slot.to_string().into());
        let folder = folder.map(|folder| ("TMPDIR".to_owned(), folder));
        (std::iter::once(slot).chain(folder).collect(), starting)
    }

    /// Waits for the end of the owner's processes, and notes what is left of them. The slot stays taken for
    /// its next commands: what the earlier ones have left may name it.
    pub(crate) async fn end(&self, end: impl Future<Output = OwnerEnd>) -> OwnerEnd {
        // No command begins until the others have ended.
        let mut state = self.state.lock().await;
        // One that has begun already may start after they have.
        let is_starting = Arc::strong_count(&self.starting) > 1;
        let end = end.await;
        state.is_left |= end != OwnerEnd::Childless;
        state.has_begun = is_starting;
        end
    }

    /// Makes the slot free if no process is left.
    pub(crate) async fn release_slot(&self) {
        self.state.lock().await.release_slot(&self.slots);
    }

    /// Removes the folder, unless a process may still use it.
    pub(crate) async fn remove_folder(&self) {
        let mut state = self.state.lock().await;
        if state.may_have_processes() {
            return;
        }
        let Some(folder) = state.folder.take() else { return };
        match spawn_blocking(move || folder.remove()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "a temporary folder stays"),
            Err(error) => tracing::warn!(%error, "a temporary folder stays"),
        }
    }
}

impl Drop for OwnerEnvironment {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        state.release_slot(&self.slots);
        if state.may_have_processes() {
            // A process may still use the folder: its lock is held until this process ends.
            std::mem::forget(state.folder.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use tokio::task::yield_now;

    use super::*;

    #[test]
    async fn a_command_that_begins_or_starts_while_others_end_keeps_the_slot() {
        let slots = Arc::new(Slots::default());
        let own = OwnerEnvironment::new(Arc::clone(&slots), None);
        let slow = async {
            yield_now().await;
            OwnerEnd::Childless
        };
        let (_variables, started) = own.begin().await;
        drop(started);
        let (end, (_variables, starting)) = tokio::join!(own.end(slow), own.begin());
        assert_eq!(end, OwnerEnd::Childless);
        own.release_slot().await;
        assert_eq!(slots.take(), 1, "a command has begun");
        assert_eq!(own.end(ready(OwnerEnd::Childless)).await, OwnerEnd::Childless);
        own.release_slot().await;
        assert_eq!(slots.take(), 2, "it may start now");
        drop(starting);
        assert_eq!(own.end(ready(OwnerEnd::Childless)).await, OwnerEnd::Childless);
        own.release_slot().await;
        assert_eq!(slots.take(), 0);
    }
}
