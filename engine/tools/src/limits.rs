//! How much a model is told at most: the one place of all limits of what tools say.

/// How much of the beginning and of the end of a command's output: 50 KB and 3000 lines with what
/// is said about it. What went wrong is told at the end, more often than not.
pub(crate) const HEAD_BYTES: usize = 10 << 10;
pub(crate) const HEAD_LINES: usize = 600;
pub(crate) const TAIL_BYTES: usize = 39 << 10;
pub(crate) const TAIL_LINES: usize = 2400;

/// How much of a file at once, and how much of one line of it.
pub(crate) const READ_LINES: u64 = 5000;
pub(crate) const READ_BYTES: usize = 128 << 10;
pub(crate) const READ_COLUMNS: usize = 4096;

/// How deep into a file lines are looked for and counted.
pub(crate) const SCAN_BYTES: u64 = 256 << 20;

/// How many names of a folder are listed, and how many are looked at.
pub(crate) const LISTED: usize = 500;
pub(crate) const LOOKED_AT: usize = 20_000;

/// How large a file may be that is edited or written.
pub(crate) const WHOLE_FILE: u64 = 16 << 20;

/// How much of a change is said, and how much of it is kept for programs.
pub(crate) const DIFF_SAID: usize = 4 << 10;
pub(crate) const DIFF_KEPT: usize = 32 << 10;

/// How much of the reason is passed on why a task cannot be done.
pub(crate) const REASON: usize = 8 << 10;

/// Returns as much of the beginning of `text` as fits into `bytes`, cut between characters.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Returns as much of the end of `text` as fits into `bytes`, cut between characters.
pub(crate) fn tail(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!((head("aéb", 2), tail("aéb", 2)), ("a", "b"));
        assert_eq!((head("aéb", 9), tail("aéb", 9)), ("aéb", "aéb"));
        assert_eq!((head("日本", 0), tail("日本", 4)), ("", "本"));
    }
}
