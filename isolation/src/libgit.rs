//! How libgit2 is set up for the whole process.

use std::sync::Once;

/// Sets libgit2 up. Called once at the beginning of `main`, before there are threads.
pub fn initialise() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        allow_partial_clones();
        // A tree never names an object that is not there, and what is read is what was written.
        git2::opts::strict_object_creation(true);
        git2::opts::strict_hash_verification(true);
    });
}

/// Repositories that an older git cloned in part say so in an extension that libgit2 does not know
/// and need not know: all of their objects that we read are there, or missing and told.
#[expect(unsafe_code, reason = "libgit2's list of extensions is a global without a lock")]
fn allow_partial_clones() {
    // SAFETY: `initialise` runs before any other thread exists, and once.
    let set = unsafe { git2::opts::set_extensions(&["partialclone"]) };
    if let Err(error) = set {
        tracing::debug!(%error, "partial clones by an older git cannot be opened");
    }
}
