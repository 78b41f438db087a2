//! The reasons why an edit does not apply to a file.

use engine::ports::ChangeShown;

use crate::nearest::{NearestMatch, nearest};

/// Why a file was not edited. The file is unchanged.
#[derive(Debug, thiserror::Error)]
#[error("{path} was not edited: {}{mismatch}", which(*.count, .mismatch.number()))]
pub(crate) struct EditError {
    path: String,
    /// How many edits there were.
    count: usize,
    mismatch: Mismatch,
}

impl EditError {
    /// Returns the error of a call with `count` edits for the file at `path`.
    pub(super) fn new(path: &str, count: usize, mismatch: Mismatch) -> Self {
        Self { path: path.to_owned(), count, mismatch }
    }
}

fn which(count: usize, number: Option<usize>) -> String {
    match number {
        Some(number) if count > 1 => format!("edit {number} of {count}: "),
        _ => String::new(),
    }
}

/// Why edits do not apply to a text. Edits are counted from 1.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Mismatch {
    /// The old text is empty.
    #[error("oldText is empty; use write to make a file")]
    Empty {
        /// The edit.
        number: usize,
    },
    /// The old text is not in the file.
    #[error("oldText is not in it{}", .nearest.describe())]
    Missing {
        /// The edit.
        number: usize,
        /// The most similar place in the file.
        nearest: NearestMatch,
    },
    /// The old text occurs more than once.
    #[error(
        "oldText has {}{count} occurrences, on lines {}; it must have exactly one: add lines \
         around it, or replace them with replaceAll",
        if .count == .most { "at least " } else { "" },
        line_list(.lines, *.count)
    )]
    Several {
        /// The edit.
        number: usize,
        /// The number of counted occurrences.
        count: usize,
        /// The number at which counting stops.
        most: usize,
        /// The lines of the first occurrences.
        lines: Vec<usize>,
    },
    /// The old texts are larger than is searched for.
    #[error("the old texts have {bytes} bytes, of at most {most}; use write for such a change")]
    TooLarge {
        /// Their bytes.
        bytes: usize,
        /// The most.
        most: usize,
    },
    /// The old texts have more places than are replaced.
    #[error("there are more than {most} places to replace; use bash, for instance sed")]
    TooMany {
        /// The most.
        most: usize,
    },
    /// The file would be too large.
    #[error("the file would have more than {most} bytes")]
    Grows {
        /// The most.
        most: usize,
    },
    /// Two edits replace the same text.
    #[error("edits {one} and {other} overlap; make one edit of them")]
    Overlap {
        /// The first edit.
        one: usize,
        /// The second edit.
        other: usize,
    },
    /// The new text equals the old text.
    #[error("no change: the new text is the old text")]
    NoChange,
}

impl Mismatch {
    /// Returns the error that `old` is not in `text`.
    pub(super) fn missing(number: usize, text: &str, old: &str) -> Self {
        Self::Missing { number, nearest: nearest(text, old) }
    }

    /// Returns the error without lines of the file if they may not be shown.
    pub(super) fn for_model(self, shown: ChangeShown) -> Self {
        match (self, shown) {
            (Self::Missing { number, nearest: _ }, ChangeShown::No) => {
                Self::Missing { number, nearest: NearestMatch::Hidden }
            }
            (mismatch, ChangeShown::Yes | ChangeShown::No) => mismatch,
        }
    }

    fn number(&self) -> Option<usize> {
        match self {
            Self::Empty { number }
            | Self::Missing { number, .. }
            | Self::Several { number, .. } => Some(*number),
            Self::TooLarge { .. }
            | Self::Grows { .. }
            | Self::TooMany { .. }
            | Self::Overlap { .. }
            | Self::NoChange => None,
        }
    }
}

fn line_list(lines: &[usize], count: usize) -> String {
    let numbers: Vec<_> = lines.iter().map(usize::to_string).collect();
    let more = if count > lines.len() { ", …" } else { "" };
    format!("{}{more}", numbers.join(", "))
}
