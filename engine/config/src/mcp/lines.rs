//! The lines of a text by their offsets.

/// Where each line of a text begins.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    /// Returns the lines of a text.
    pub(super) fn of(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect())
    }

    /// Returns the line of an offset, from 1.
    pub(super) fn of_offset(&self, offset: usize) -> u64 {
        let line = self.0.partition_point(|start| *start <= offset);
        u64::try_from(line).unwrap_or(u64::MAX)
    }
}
