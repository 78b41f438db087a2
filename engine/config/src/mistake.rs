//! A mistake in a file that the user writes, with its place.

/// A mistake in a text, with its place. It never contains a value that may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}{}: {message}", column_text(*.column))]
pub struct Mistake {
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1, if it is known.
    pub column: Option<u64>,
    /// What is wrong.
    pub message: String,
}

impl Mistake {
    /// Returns a mistake in a line.
    pub(crate) fn in_line(line: u64, message: impl Into<String>) -> Self {
        Self { line, column: None, message: message.into() }
    }

    /// Returns a mistake at an offset of the text, in bytes.
    #[must_use]
    pub fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let from_one = |count: usize| u64::try_from(count).unwrap_or(u64::MAX).saturating_add(1);
        let line = from_one(before.matches('\n').count());
        let column = from_one(before.rsplit('\n').next().unwrap_or_default().chars().count());
        Self { line, column: Some(column), message: message.into() }
    }
}

/// Returns a column as it stands behind a line.
pub(crate) fn column_text(column: Option<u64>) -> String {
    column.map(|column| format!(":{column}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_has_its_line_and_its_column_in_characters() {
        for (offset, place) in [(0, "1:1: x"), (4, "1:3: x"), (5, "2:1: x"), (99, "2:3: x")] {
            assert_eq!(Mistake::at("ää\nbc", offset, "x").to_string(), place);
        }
        assert_eq!(Mistake::in_line(3, "x").to_string(), "3: x");
    }
}
