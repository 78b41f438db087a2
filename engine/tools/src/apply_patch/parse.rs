//! Reads a patch: `*** Begin Patch`, the changes of files, `*** End Patch`.

use protocol::quote;

/// A patch.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Patch {
    /// Its changes in their order, of which there is at least one.
    pub(super) changes: Vec<FileChange>,
}

/// The change of a file, whose path is as the model wrote it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileChange {
    Add { path: String, text: String },
    Delete { path: String },
    Update { path: String, to: Option<String>, hunks: Vec<Hunk> },
}

/// A part of a file that changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// The lines behind `@@`, each of which is sought behind the one before it.
    pub(super) contexts: Vec<String>,
    pub(super) lines: Vec<HunkLine>,
    /// Whether the part is at the end of the file.
    pub(super) is_at_end: bool,
    /// Its first line in the patch.
    pub(super) line: usize,
}

/// A line of a hunk.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HunkLine {
    Kept(String),
    Removed(String),
    Added(String),
}

/// Why a text is not a patch.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseError {
    #[error("a patch begins with the line `*** Begin Patch`, and not with `{}`", quote(.0))]
    Begin(String),
    #[error(
        "a patch ends with the line `*** End Patch`, and not with `{}`; send all of it again",
        quote(.0)
    )]
    End(String),
    #[error("the patch changes nothing")]
    Empty,
    #[error(
        "line {line} of the patch is `{}`; expected is `*** Add File: PATH`, `*** Update File: PATH` or \
         `*** Delete File: PATH`",
        quote(.text)
    )]
    Header { line: usize, text: String },
    #[error("line {0} of the patch names no path")]
    NoPath(usize),
    #[error(
        "line {line} of the patch is `{}`; a line of a hunk begins with a blank, `+` or `-`",
        quote(.text)
    )]
    HunkLine { line: usize, text: String },
    #[error("`{}` on line {line} of the patch has no hunk, which begins with `@@`", quote(.path))]
    NoHunk { line: usize, path: String },
    #[error("the hunk on line {0} of the patch neither adds nor removes lines")]
    NoChange(usize),
}

const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";

impl Patch {
    /// Parses a patch. Blanks around markers, and a here-document around the patch, are left out.
    pub(super) fn parse(text: &str) -> Result<Self, ParseError> {
        let lines: Vec<&str> = without_heredoc(text.trim().lines().collect());
        let is = |line: Option<&&str>, marker| line.is_some_and(|line| line.trim() == marker);
        let shown = |line: Option<&&str>| line.map_or_else(String::new, ToString::to_string);
        if !is(lines.first(), "*** Begin Patch") {
            return Err(ParseError::Begin(shown(lines.first())));
        }
        if !is(lines.last(), "*** End Patch") {
            return Err(ParseError::End(shown(lines.last())));
        }
        let mut lines = Lines { lines: &lines[1..lines.len() - 1], number: 2 };
        let mut changes = Vec::new();
        while let Some(line) = lines.peek() {
            match line.trim().is_empty() {
                true => lines.skip(),
                false => changes.push(change(&mut lines)?),
            }
        }
        if changes.is_empty() { Err(ParseError::Empty) } else { Ok(Self { changes }) }
    }

    /// Returns the paths that the patch changes.
    pub(super) fn paths(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for change in &self.changes {
            let (path, to) = match change {
                FileChange::Update { path, to, .. } => (path, to.as_ref()),
                FileChange::Add { path, .. } | FileChange::Delete { path } => (path, None),
            };
            for path in [Some(path), to].into_iter().flatten() {
                if !all.contains(&path.as_str()) {
                    all.push(path);
                }
            }
        }
        all
    }
}

/// Removes `<<'EOF'` and `EOF` around a patch, and the name of a command before them.
fn without_heredoc(lines: Vec<&str>) -> Vec<&str> {
    let word = || {
        let (command, word) = lines.first()?.split_once("<<")?;
        let is_command = ["", "apply_patch", "applypatch"].contains(&command.trim());
        let word = word.trim_start_matches('-').trim().trim_matches(['\'', '"']);
        (is_command && !word.is_empty() && lines.len() > 2).then_some(word)
    };
    match (word(), lines.last()) {
        (Some(word), Some(last)) if last.trim() == word => lines[1..lines.len() - 1].to_vec(),
        _ => lines,
    }
}

/// The lines that are left.
struct Lines<'a> {
    lines: &'a [&'a str],
    /// The number of the next line.
    number: usize,
}

impl<'a> Lines<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.lines.first().copied()
    }

    fn skip(&mut self) {
        self.lines = self.lines.get(1..).unwrap_or_default();
        self.number += 1;
    }

    /// Takes the next line if it has this marker, and returns what is behind it.
    fn take(&mut self, marker: &str) -> Option<&'a str> {
        let rest = self.peek()?.trim().strip_prefix(marker)?;
        self.skip();
        Some(rest.trim())
    }
}

fn change(lines: &mut Lines<'_>) -> Result<FileChange, ParseError> {
    let line = lines.number;
    let path = |text: &str| match text.is_empty() {
        true => Err(ParseError::NoPath(line)),
        false => Ok(text.to_owned()),
    };
    if let Some(name) = lines.take(ADD) {
        let path = path(name)?;
        let mut text = String::new();
        while let Some(added) = lines.peek().and_then(|line| line.strip_prefix('+')) {
            text.push_str(added);
            text.push('\n');
            lines.skip();
        }
        return Ok(FileChange::Add { path, text });
    }
    if let Some(name) = lines.take(DELETE) {
        return Ok(FileChange::Delete { path: path(name)? });
    }
    let Some(name) = lines.take(UPDATE) else {
        let text = lines.peek().unwrap_or_default().to_owned();
        return Err(ParseError::Header { line, text });
    };
    let path = path(name)?;
    let to = match lines.take(MOVE) {
        Some("") => return Err(ParseError::NoPath(lines.number - 1)),
        to => to.map(str::to_owned),
    };
    let mut hunks = Vec::new();
    while let Some(hunk) = hunk(lines)? {
        hunks.push(hunk);
    }
    match hunks.is_empty() && to.is_none() {
        true => Err(ParseError::NoHunk { line, path }),
        false => Ok(FileChange::Update { path, to, hunks }),
    }
}

/// Reads the next hunk of a file, if there is one.
fn hunk(lines: &mut Lines<'_>) -> Result<Option<Hunk>, ParseError> {
    let mut hunk = Hunk { line: lines.number, ..Hunk::default() };
    while let Some(context) = lines.take("@@") {
        // A range of lines, as in a unified diff, names no context.
        let context = match context.split_once("@@") {
            Some((range, context)) if range.starts_with('-') => context.trim(),
            Some(_) | None => context,
        };
        if !context.is_empty() {
            hunk.contexts.push(context.to_owned());
        }
    }
    while let Some(line) = lines.peek() {
        // Only a marker that is not padded ends a hunk: the file may have a line like it.
        if line.starts_with("@@") {
            break;
        }
        if line.starts_with("***") {
            hunk.is_at_end = lines.take(END_OF_FILE).is_some();
            break;
        }
        let owned = |text: &str| text.to_owned();
        hunk.lines.push(match (line.get(..1), line.get(1..)) {
            (Some(" "), Some(text)) => HunkLine::Kept(owned(text)),
            (Some("-"), Some(text)) => HunkLine::Removed(owned(text)),
            (Some("+"), Some(text)) => HunkLine::Added(owned(text)),
            _ if line.is_empty() => HunkLine::Kept(String::new()),
            _ => return Err(ParseError::HunkLine { line: lines.number, text: owned(line) }),
        });
        lines.skip();
    }
    let is_change = |line: &HunkLine| !matches!(line, HunkLine::Kept(_));
    match hunk.lines.iter().any(is_change) {
        true => Ok(Some(hunk)),
        // Blank lines between the files of a patch.
        false if hunk.contexts.is_empty() && hunk.lines.iter().all(is_blank) => Ok(None),
        false => Err(ParseError::NoChange(hunk.line)),
    }
}

fn is_blank(line: &HunkLine) -> bool {
    matches!(line, HunkLine::Kept(text) if text.is_empty())
}

#[cfg(test)]
mod tests;
