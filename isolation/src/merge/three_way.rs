//! Merges three versions of one path: what kind of thing it is, whether it may be run, its bytes.

use protocol::ConflictReason;

use crate::entry::{Entry, Mode};
use crate::error::Result;
use crate::merge::Blobs;
use crate::merge::bytes::{self, Merged};

/// Merges what `ours` and `theirs` made of `base`. Where they disagree, nothing is written, and
/// what the disagreement is comes back.
pub(crate) fn three_way(
    blobs: &dyn Blobs,
    base: Option<Entry>,
    ours: Option<Entry>,
    theirs: Option<Entry>,
) -> Result<std::result::Result<Option<Entry>, ConflictReason>> {
    if ours == theirs || base == theirs {
        return Ok(Ok(ours));
    }
    if base == ours {
        return Ok(Ok(theirs));
    }
    match (base, ours, theirs) {
        (None, _, _) => Ok(Err(ConflictReason::BothAdded)),
        (Some(base), Some(ours), Some(theirs)) => three_entries(blobs, base, ours, theirs),
        (Some(_), _, _) => Ok(Err(ConflictReason::ChangedAndRemoved)),
    }
}

fn three_entries(
    blobs: &dyn Blobs,
    base: Entry,
    ours: Entry,
    theirs: Entry,
) -> Result<std::result::Result<Option<Entry>, ConflictReason>> {
    let links = [base, ours, theirs].iter().filter(|side| side.mode == Mode::Link).count();
    match links {
        0 => {}
        // A symlink's target is one line, and both wrote it.
        3 => return Ok(Err(ConflictReason::Content)),
        _ => return Ok(Err(ConflictReason::Kind)),
    }
    // There are two modes a file can have, so that two who change it change it alike.
    let mode = if ours.mode == base.mode { theirs.mode } else { ours.mode };
    let merged = |oid| Ok(Ok(Some(Entry { mode, oid })));
    if base.oid == ours.oid || ours.oid == theirs.oid {
        return merged(theirs.oid);
    }
    if base.oid == theirs.oid {
        return merged(ours.oid);
    }
    let bytes = [blobs.read(base.oid)?, blobs.read(ours.oid)?, blobs.read(theirs.oid)?];
    match bytes::merge(&bytes[0], &bytes[1], &bytes[2])? {
        Merged::Bytes(bytes) => merged(blobs.write(&bytes)?),
        Merged::SameLines => Ok(Err(ConflictReason::Content)),
        Merged::Binary => Ok(Err(ConflictReason::Binary)),
    }
}
