//! How similar two files are: which part of their content is the same, in pieces of a line or of 64
//! bytes, with the score that git gives.

/// The score of files with the same content.
pub(super) const MAX_SCORE: u64 = 60_000;

/// The score from which on two files count as renamed: half of the content is the same.
pub(super) const MIN_SCORE: u64 = 30_000;

/// The number of different hashes of pieces.
const HASHES: u32 = 107_927;

/// The longest piece, in bytes.
const LONGEST_PIECE: u32 = 64;

/// The pieces of a file: how many bytes have each hash, sorted by hash.
pub(super) struct Pieces {
    size: u64,
    counts: Vec<(u32, u64)>,
}

impl Pieces {
    pub(super) fn of(bytes: &[u8]) -> Self {
        // As in git, a carriage return at the end of a line does not count in a text.
        let is_text = !bytes[..bytes.len().min(8_000)].contains(&0);
        let mut pieces = Vec::new();
        let (mut low, mut high, mut length) = (0_u32, 0_u32, 0_u32);
        let hash = |low: u32, high: u32| low.wrapping_add(high.wrapping_mul(0x61)) % HASHES;
        for (at, &byte) in bytes.iter().enumerate() {
            if is_text && byte == b'\r' && bytes.get(at + 1) == Some(&b'\n') {
                continue;
            }
            (low, high) = ((low << 7) ^ (high >> 25), (high << 7) ^ (low >> 25));
            low = low.wrapping_add(u32::from(byte));
            length += 1;
            if length >= LONGEST_PIECE || byte == b'\n' {
                pieces.push((hash(low, high), u64::from(length)));
                (low, high, length) = (0, 0, 0);
            }
        }
        if length > 0 {
            pieces.push((hash(low, high), u64::from(length)));
        }
        pieces.sort_unstable();
        pieces.dedup_by(|next, last| {
            let same = next.0 == last.0;
            if same {
                last.1 += next.1;
            }
            same
        });
        Self { size: bytes.len() as u64, counts: pieces }
    }

    /// Returns the score of a rename from `self` to `new`; 0 if it is certainly below
    /// [`MIN_SCORE`].
    pub(super) fn score(&self, new: &Self) -> u64 {
        if !may_be_similar(self.size, new.size) {
            return 0;
        }
        let (mut copied, mut others) = (0, new.counts.iter().peekable());
        for (hash, count) in &self.counts {
            while others.next_if(|(other, _)| other < hash).is_some() {}
            if let Some((_, other)) = others.next_if(|(other, _)| other == hash) {
                copied += count.min(other);
            }
        }
        copied * MAX_SCORE / self.size.max(new.size).max(1)
    }
}

/// Returns whether files of these sizes can reach [`MIN_SCORE`].
pub(super) fn may_be_similar(one: u64, other: u64) -> bool {
    let (largest, difference) = (one.max(other), one.abs_diff(other));
    largest > 0 && largest * (MAX_SCORE - MIN_SCORE) >= difference * MAX_SCORE
}
