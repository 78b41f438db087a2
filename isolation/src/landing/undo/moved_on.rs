//! Files that an undo of one task moves on after others were taken back: the run has still to give them their
//! first names back.

use std::collections::{BTreeSet, HashSet};

use git2::Oid;
use protocol::TaskName;

use super::history::{PastChange, PastLanding};
use super::record::UndoRecord;
use crate::landing::plan::FileChange;

/// Notes what an undo has made of files that were as the run had found them: an earlier undo had taken the
/// other landings back, which had moved them. Nothing is noted if a file may have an edit of the user.
pub(super) fn note_moved_on(
    landings: &mut [PastLanding],
    undo: &UndoRecord,
    (moment, steps): (usize, &[FileChange]),
) {
    let known: HashSet<Oid> = landings
        .iter()
        .flat_map(|landing| landing.found.values())
        .flatten()
        .map(|it| it.oid)
        .collect();
    if steps.iter().filter_map(|step| step.new).any(|new| !known.contains(&new.oid)) {
        return;
    }
    let over: BTreeSet<&TaskName> = undo.changes.iter().flat_map(|taken| &taken.tasks).collect();
    let is_taken = |id: &str| undo.changes.iter().any(|taken| taken.landing == id);
    let taken = landings.iter().filter(|landing| is_taken(&landing.id));
    let Some(landed_at) = taken.map(|landing| landing.landed_at).max() else { return };
    // What the undo has left of the landings that it takes back is known. Of those before them, only such can
    // have moved their files as were taken back after they had landed.
    let before = landings.iter().position(|landing| is_taken(&landing.id)).unwrap_or_default();
    for step in steps {
        let first = landings[..before]
            .iter_mut()
            .find(|landing| landing.moment > landed_at && landing.found.contains_key(&step.path));
        let Some(first) = first else { continue };
        let found = first.found.get(&step.path).copied().flatten();
        let is_back = !first.changes.contains_key(&step.path) && step.expected == found;
        if is_back && step.new != found {
            let by = over.iter().map(|task| (*task).clone()).collect();
            let moved_on = PastChange { before: found, after: step.new, by };
            first.changes.insert(step.path.clone(), moved_on);
            first.moment = moment;
        }
    }
}
