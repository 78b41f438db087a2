//! Finds the places of many pieces in a text, in one pass over it.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::mismatch::Mismatch;

/// How many occurrences of an ambiguous piece are counted.
const COUNTED: usize = 100;

/// How many occurrences of an ambiguous piece are listed.
const LISTED: usize = 5;

/// How many places all pieces together may have, and how many bytes.
const MAX_PLACES: usize = 1_000_000;
const MAX_BYTES: usize = 4 << 20;

/// A piece to find, which is not empty.
pub(super) struct SoughtText<'a> {
    pub(super) text: &'a str,
    pub(super) wanted: Wanted,
    /// The number of its edit.
    pub(super) number: usize,
}

/// Which occurrences of a piece are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The only one. Places that overlap are several.
    Only,
    /// All that do not overlap, from the beginning.
    All,
}

/// Returns the offsets of each piece in `text`. Those of a piece are none or in order; of a piece with
/// several places of which the only one is wanted, the number of them is the error.
pub(super) fn places(text: &str, pieces: &[SoughtText<'_>]) -> Result<Vec<Vec<usize>>, Mismatch> {
    if pieces.is_empty() {
        return Ok(Vec::new());
    }
    let bytes: usize = pieces.iter().map(|piece| piece.text.len()).sum();
    if bytes > MAX_BYTES {
        return Err(Mismatch::TooLarge { bytes, most: MAX_BYTES });
    }
    let searcher = AhoCorasick::builder()
        .match_kind(MatchKind::Standard)
        // The smallest and the fastest to build.
        .kind(Some(AhoCorasickKind::NoncontiguousNFA))
        .build(pieces.iter().map(|piece| piece.text))
        .map_err(|_| Mismatch::TooLarge { bytes, most: MAX_BYTES })?;
    let mut found = vec![Vec::new(); pieces.len()];
    let mut left = MAX_PLACES;
    for place in searcher.find_overlapping_iter(text) {
        let (at, which) = (place.start(), place.pattern().as_usize());
        let (places, piece) = (&mut found[which], &pieces[which]);
        match piece.wanted {
            Wanted::All => {
                let is_free = places.last().is_none_or(|last| last + piece.text.len() <= at);
                if !is_free {
                    continue;
                }
            }
            Wanted::Only if places.len() + 1 == COUNTED => {
                places.push(at);
                return Err(several(text, piece.number, places));
            }
            Wanted::Only => {}
        }
        places.push(at);
        left -= 1;
        if left == 0 {
            return Err(Mismatch::TooMany { most: MAX_PLACES });
        }
    }
    for (piece, places) in pieces.iter().zip(&found) {
        if piece.wanted == Wanted::Only && places.len() > 1 {
            return Err(several(text, piece.number, places));
        }
    }
    Ok(found)
}

fn several(text: &str, number: usize, places: &[usize]) -> Mismatch {
    let line = |at: &usize| text[..*at].matches('\n').count() + 1;
    let lines = places.iter().take(LISTED).map(line).collect();
    Mismatch::Several { number, count: places.len(), most: COUNTED, lines }
}
