//! A lock that ends when its owner drops it.

use std::fs::{File, TryLockError};
use std::ops::Deref;

/// A file or folder that is locked until this is dropped, or until the process ends.
#[derive(Debug)]
pub(crate) struct LockedFile(File);

impl LockedFile {
    /// Locks the file for this owner alone, without waiting.
    pub(crate) fn try_lock(file: File) -> Result<Self, TryLockError> {
        file.try_lock().map(|()| Self(file))
    }

    /// Locks the file together with others that share it, without waiting.
    pub(crate) fn try_lock_shared(file: File) -> Result<Self, TryLockError> {
        file.try_lock_shared().map(|()| Self(file))
    }

    /// Waits until the file can be shared, and locks it.
    pub(crate) fn lock_shared(file: File) -> std::io::Result<Self> {
        file.lock_shared().map(|()| Self(file))
    }
}

impl Deref for LockedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // Closing the file would not release the lock: a child that another thread is starting has
        // the descriptor, too, until it executes its program.
        let _closed_anyway = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_released_lock_is_free_although_a_new_child_has_its_descriptor() {
        let folder = tempfile::tempdir().unwrap();
        let open = || File::open(folder.path()).unwrap();
        let alone = LockedFile::try_lock(open()).unwrap();
        let _of_a_child = alone.try_clone().unwrap();
        assert!(LockedFile::try_lock_shared(open()).is_err());
        drop(alone);
        let shared = LockedFile::lock_shared(open()).unwrap();
        let _of_another_child = shared.try_clone().unwrap();
        drop(shared);
        assert!(LockedFile::try_lock(open()).is_ok());
    }
}
