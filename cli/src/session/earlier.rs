//! What was said in a session before it is continued.

use std::path::Path;

use protocol::SessionEntry;
use store::{Body, LoadedSession};

use crate::view::Earlier;

/// The most entries of a log that are read again for the screen.
const MOST: usize = 400;

/// Returns what was said before on the branch of the leaf of the log at `path`; nothing if there is no
/// log. Its images are left out.
pub(crate) fn earlier(path: &Path) -> Earlier {
    let mut session = match LoadedSession::read(path) {
        Ok(Some(session)) => session,
        Ok(None) => return Earlier::default(),
        Err(error) => {
            tracing::debug!(%error, "there are no earlier messages");
            return Earlier::default();
        }
    };
    let places = session.tree.path();
    let (left_out, shown) = places.split_at(places.len().saturating_sub(MOST));
    let is_message = |place: &&usize| match session.tree.nodes().get(**place).map(|it| &it.body) {
        Some(Body::Read(entry)) => matches!(**entry, SessionEntry::Message { .. }),
        Some(Body::Unread { .. }) | None => false,
    };
    let left_out = left_out.iter().filter(is_message).count();
    let entries = shown.iter().filter_map(|place| session.entry(*place, None).cloned()).collect();
    Earlier { entries, left_out, is_printed: false }
}
