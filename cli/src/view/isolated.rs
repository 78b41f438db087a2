//! What the view asks of the workspace of an isolated session.

use futures_util::future::LocalBoxFuture;

/// The work of an isolated session. Nothing may be working in its workspace meanwhile.
pub(crate) trait IsolatedWork {
    /// Returns what has changed, as a patch; an empty one if nothing has.
    fn diff(&self) -> LocalBoxFuture<'_, Result<String, String>>;

    /// Returns how much has changed, for people; `None` if nothing has.
    fn amount(&self) -> LocalBoxFuture<'_, Result<Option<String>, String>>;

    /// Checks that the work could land now. `Ok(false)` if there is none.
    fn can_land(&self) -> LocalBoxFuture<'_, Result<bool, String>>;
}

/// What becomes of the work in a workspace, which ends then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkEnd {
    /// It lands in the user's tree.
    Land,
    /// It is thrown away.
    Discard,
}

/// Something that is asked of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkRequest {
    /// Show it.
    Diff,
    /// Land it, if it can.
    Land,
    /// Say how much would be thrown away.
    Amount,
    /// Throw it away.
    Discard,
}
