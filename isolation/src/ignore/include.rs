//! Patterns as in `.gitignore` that select files instead of ignoring them.

use super::glob::Case;
use super::rules::{PathKind, Pattern, Verdict, read_patterns};

/// The patterns of one file at the root of a tree.
#[derive(Debug)]
pub(crate) struct IncludePatterns(Vec<Pattern>);

impl IncludePatterns {
    /// Reads the patterns of a file with this content.
    pub(crate) fn read(file: &[u8]) -> Self {
        Self(read_patterns(file, Case::Exact))
    }

    /// Returns whether the last pattern that matches `path` selects it.
    pub(crate) fn selects(&self, path: &[u8], kind: PathKind) -> bool {
        let verdict = self.0.iter().rev().find_map(|pattern| pattern.judge(path, kind));
        verdict == Some(Verdict::Ignored)
    }

    /// Returns whether a pattern is one of paths. Only those are looked for in ignored folders.
    pub(crate) fn has_paths(&self) -> bool {
        self.0.iter().any(Pattern::is_of_paths)
    }
}
