//! How many lines a change adds and removes, as `git diff --numstat` counts them.

use git2::{DiffOptions, Patch};
use protocol::ChangeSummary;

/// Content with a NUL among its first bytes is binary, for git too.
const LOOKED_AT: usize = 8000;

/// Content beyond this size is binary, for git too.
const HUGE: usize = 512 << 20;

/// Adds the change from `before` to `after` to a summary.
pub(crate) fn count(
    summary: &mut ChangeSummary,
    before: &[u8],
    after: &[u8],
) -> Result<(), git2::Error> {
    summary.files += 1;
    if is_binary(before) || is_binary(after) {
        return Ok(());
    }
    let mut options = DiffOptions::new();
    options.context_lines(0).force_text(true);
    let patch = Patch::from_buffers(before, None, after, None, Some(&mut options))?;
    let (_, added, removed) = patch.line_stats()?;
    summary.added += added as u64;
    summary.removed += removed as u64;
    Ok(())
}

fn is_binary(bytes: &[u8]) -> bool {
    bytes.len() > HUGE || bytes[..bytes.len().min(LOOKED_AT)].contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(before: &[u8], after: &[u8]) -> (u64, u64) {
        let mut summary = ChangeSummary::default();
        count(&mut summary, before, after).unwrap();
        assert_eq!(summary.files, 1);
        (summary.added, summary.removed)
    }

    #[test]
    fn lines_are_counted_and_binary_files_have_none() {
        assert_eq!(counted(b"", b"a\nb\n"), (2, 0));
        assert_eq!(counted(b"a\nb\n", b""), (0, 2));
        assert_eq!(counted(b"a\nb\nc\n", b"a\nx\nc\n"), (1, 1));
        assert_eq!(counted(b"a", b"a\n"), (1, 1));
        assert_eq!(counted(b"a\n", b"a\n"), (0, 0));
        assert_eq!(counted(b"a\n", b"a\0\n"), (0, 0));
        assert_eq!(counted(b"", b""), (0, 0));
    }
}
