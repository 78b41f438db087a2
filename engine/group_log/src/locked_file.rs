//! A lock that ends when its owner drops it.

use std::fs::{File, TryLockError};
use std::io;
use std::ops::{Deref, DerefMut};

/// A file or folder that is locked until this is dropped, or until the process ends.
#[derive(Debug)]
pub struct LockedFile(File);

impl LockedFile {
    /// Waits for the lock of the file.
    ///
    /// # Errors
    /// The file cannot be locked.
    pub fn lock(file: File) -> io::Result<Self> {
        file.lock().map(|()| Self(file))
    }

    /// Locks the file for this owner alone, without waiting.
    ///
    /// # Errors
    /// Another owner has locked it, or it cannot be locked.
    pub fn try_lock(file: File) -> Result<Self, TryLockError> {
        file.try_lock().map(|()| Self(file))
    }

    /// Waits until the file can be shared, and locks it.
    ///
    /// # Errors
    /// The file cannot be locked.
    pub fn lock_shared(file: File) -> io::Result<Self> {
        file.lock_shared().map(|()| Self(file))
    }

    /// Locks the file together with others that share it, without waiting.
    ///
    /// # Errors
    /// Another owner has locked it for itself, or it cannot be locked.
    pub fn try_lock_shared(file: File) -> Result<Self, TryLockError> {
        file.try_lock_shared().map(|()| Self(file))
    }

    /// Tries to lock the file until `try_again` returns false.
    ///
    /// # Errors
    /// Another owner has locked it, or it cannot be locked.
    pub fn lock_while(
        file: File,
        mut try_again: impl FnMut() -> bool,
    ) -> Result<Self, TryLockError> {
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::WouldBlock) if try_again() => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Deref for LockedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for LockedFile {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
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
