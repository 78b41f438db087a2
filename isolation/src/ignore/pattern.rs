//! One line of a `.gitignore`.

use crate::ignore::glob::{Case, Glob};
use crate::ignore::rules::PathKind;

/// One line that says something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    glob: Glob,
    verdict: Verdict,
    /// What it is held against.
    against: Against,
    /// What it applies to.
    applies: Applies,
}

/// What a line says about what it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is ignored.
    Ignored,
    /// It is not, whatever earlier lines said.
    Kept,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Against {
    /// The last component.
    Name,
    /// The path from the folder of the file.
    Path,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Applies {
    ToFolders,
    ToAll,
}

/// Reads a whole file.
pub(super) fn read(file: &[u8], case: Case) -> Vec<Pattern> {
    let text = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    text.split(|byte| *byte == b'\n').filter_map(|line| Pattern::read(line, case)).collect()
}

impl Pattern {
    /// Reads one line. Nothing comes back for a blank one or a comment.
    fn read(line: &[u8], case: Case) -> Option<Self> {
        if line.first() == Some(&b'#') {
            return None;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // Git reads a line as a C string.
        let line = trimmed(line.split(|byte| *byte == 0).next().unwrap_or(line));
        let (line, verdict) = match line.strip_prefix(b"!") {
            Some(rest) => (rest, Verdict::Kept),
            None => (line, Verdict::Ignored),
        };
        let (line, applies) = match line.strip_suffix(b"/") {
            Some(rest) => (rest, Applies::ToFolders),
            None => (line, Applies::ToAll),
        };
        let against = if line.contains(&b'/') { Against::Path } else { Against::Name };
        let line = line.strip_prefix(b"/").unwrap_or(line);
        if line.is_empty() {
            return None;
        }
        Some(Self { glob: Glob::new(line, case), verdict, against, applies })
    }

    /// Returns what the line says about `path`, which is relative to the file's folder.
    pub(super) fn judge(&self, path: &[u8], kind: PathKind) -> Option<Verdict> {
        if self.applies == Applies::ToFolders && kind != PathKind::Folder {
            return None;
        }
        let text = match self.against {
            Against::Path => path,
            Against::Name => path.rsplit(|byte| *byte == b'/').next().unwrap_or(path),
        };
        self.glob.matches(text).then_some(self.verdict)
    }
}

/// Takes off the spaces at the end that no backslash keeps.
fn trimmed(line: &[u8]) -> &[u8] {
    let mut keep = 0;
    let mut at = 0;
    while at < line.len() {
        match line[at] {
            b'\\' => {
                at = (at + 2).min(line.len());
                keep = at;
            }
            b' ' => at += 1,
            _ => {
                at += 1;
                keep = at;
            }
        }
    }
    &line[..keep]
}
