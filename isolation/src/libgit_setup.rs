//! The setup of libgit2 for the whole process.

use std::sync::Once;

/// Sets libgit2 up. `main` calls this function once at its beginning, before other threads exist.
pub fn initialise() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        allow_partial_clones();
        // Trees may name only existing objects, and objects are verified when read.
        git2::opts::strict_object_creation(true);
        git2::opts::strict_hash_verification(true);
    });
}

/// Makes libgit2 open partial clones that an older git has made. Their settings name an extension
/// that libgit2 does not know. libgit2 can ignore it: reading a missing object is an error.
#[expect(unsafe_code, reason = "libgit2's list of extensions is a global without a lock")]
fn allow_partial_clones() {
    // SAFETY: `initialise` runs before any other thread exists, and once.
    let set = unsafe { git2::opts::set_extensions(&["partialclone"]) };
    if let Err(error) = set {
        tracing::debug!(%error, "partial clones by an older git cannot be opened");
    }
}
