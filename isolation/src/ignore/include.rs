//! Patterns as in `.gitignore` that select files instead of ignoring them.

use super::glob::Case;
use super::rules::{PathKind, Pattern, Verdict, pattern_lines};

/// The patterns of one file at the root of a tree.
#[derive(Debug)]
pub(crate) struct IncludePatterns {
    patterns: Vec<Pattern>,
    /// The lines that can match no path.
    useless: Vec<String>,
}

impl IncludePatterns {
    /// Reads the patterns of a file with this content.
    pub(crate) fn read(file: &[u8]) -> Self {
        let (mut patterns, mut useless) = (Vec::new(), Vec::new());
        for (line, pattern) in pattern_lines(file, Case::Exact) {
            if !pattern.can_match() {
                useless.push(String::from_utf8_lossy(line).trim().to_owned());
            }
            patterns.push(pattern);
        }
        Self { patterns, useless }
    }

    /// Returns the lines that can match no path.
    pub(crate) fn useless(&self) -> &[String] {
        &self.useless
    }

    /// Returns whether a pattern can select a path.
    pub(crate) fn can_select(&self) -> bool {
        self.patterns.iter().any(|pattern| pattern.selects() && pattern.can_match())
    }

    /// Returns whether the last pattern that matches `path` selects it.
    pub(crate) fn selects(&self, path: &[u8], kind: PathKind) -> bool {
        let verdict = self.patterns.iter().rev().find_map(|pattern| pattern.judge(path, kind));
        verdict == Some(Verdict::Ignored)
    }

    /// Returns whether a pattern is one of paths. Only those are looked for in ignored folders.
    pub(crate) fn has_paths(&self) -> bool {
        self.patterns.iter().any(Pattern::is_of_paths)
    }
}
