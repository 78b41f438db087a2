//! How much room there is to write in.

/// The size of a terminal in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Characters in a line.
    pub columns: usize,
    /// Lines.
    pub rows: usize,
}

/// How long a line may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// As many columns as a terminal has.
    Columns(usize),
    /// Nobody will wrap it; only what is absurdly long is cut.
    Pipe,
}

impl Room {
    /// The longest free text on a pipe, in columns.
    const LONGEST: usize = 300;

    /// Returns how many columns are left behind `used` ones, and never fewer than a word needs.
    pub(super) fn behind(self, used: usize) -> usize {
        match self {
            Self::Columns(columns) => columns.saturating_sub(used).max(24),
            Self::Pipe => Self::LONGEST,
        }
    }
}
