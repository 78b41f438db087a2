//! Writes patches: byte for byte to a pipe, printable and in colour to a terminal.

use std::io::{self, Write};

use super::OutputWidth;
use super::printable::harmless;
use super::terminal::{Meaning, Palette, View};

/// Writes a patch. A pipe gets the patch unchanged, so that `git apply` accepts it.
///
/// # Errors
/// `out` cannot be written.
pub fn write_patch(out: &mut dyn Write, patch: &[u8], view: &View) -> io::Result<()> {
    match (view.room(), view.palette) {
        (OutputWidth::Pipe, Palette::Plain) => out.write_all(patch)?,
        (OutputWidth::Pipe | OutputWidth::Columns(_), palette) => {
            let mut part = DiffPart::Header;
            for line in patch.split_inclusive(|byte| *byte == b'\n') {
                let text = String::from_utf8_lossy(line);
                let text: String = text.trim_end_matches('\n').chars().map(visible).collect();
                part = part.after(&text);
                writeln!(out, "{}", palette.paint(part.meaning(&text), &text))?;
            }
        }
    }
    out.flush()
}

/// Colours the lines of a patch, which must be printable.
pub(super) fn painted(lines: &[String], palette: Palette) -> Vec<String> {
    let mut part = DiffPart::Header;
    let painted = lines.iter().map(|line| {
        part = part.after(line);
        palette.paint(part.meaning(line), line)
    });
    painted.collect()
}

/// Replaces a control character, except a tab, which indents code.
fn visible(letter: char) -> char {
    if letter == '\t' { letter } else { harmless(letter) }
}

/// The part of a patch that a line belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffPart {
    Header,
    Hunk,
}

impl DiffPart {
    pub(super) fn after(self, line: &str) -> Self {
        if line.starts_with("@@") {
            return Self::Hunk;
        }
        let inside = line.is_empty() || line.starts_with([' ', '+', '-', '\\']);
        if self == Self::Hunk && inside { Self::Hunk } else { Self::Header }
    }

    fn meaning(self, line: &str) -> Meaning {
        match (self, line.as_bytes().first()) {
            (Self::Header, _) => Meaning::Heading,
            (Self::Hunk, Some(b'@')) => Meaning::Place,
            (Self::Hunk, Some(b'+')) => Meaning::Good,
            (Self::Hunk, Some(b'-')) => Meaning::Bad,
            (Self::Hunk, _) => Meaning::Neutral,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Size;
    use super::super::terminal::{ColorEnv, OutputOptions, TermCapability, Terminal};
    use super::*;
    use crate::args::{ColorWhen, Globals};

    const PATCH: &[u8] =
        b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\x1b[2J\n+n\xffew\tx\n";

    fn view(stdout: Option<fn() -> Size>, color: ColorWhen) -> View {
        let terminal = Terminal {
            stdout,
            stderr: None,
            capability: TermCapability::Able,
            color_env: ColorEnv::Silent,
        };
        View::of(OutputOptions { color, ..OutputOptions::from(&Globals::default()) }, terminal)
    }

    fn written(view: &View) -> Vec<u8> {
        let mut out = Vec::new();
        write_patch(&mut out, PATCH, view).unwrap();
        out
    }

    #[test]
    fn a_pipe_gets_every_byte_as_it_is() {
        assert_eq!(written(&view(None, ColorWhen::Auto)), PATCH);
    }

    #[test]
    fn a_terminal_gets_colours_of_ours_and_none_of_the_files() {
        let text = written(&view(Some(|| Size { columns: 80, rows: 24 }), ColorWhen::Auto));
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[1], "\u{1b}[1m--- a/x\u{1b}[0m");
        assert_eq!(lines[3], "\u{1b}[36m@@ -1 +1 @@\u{1b}[0m");
        assert_eq!(lines[4], "\u{1b}[31m-old␛[2J\u{1b}[0m");
        assert_eq!(lines[5], "\u{1b}[32m+n�ew\tx\u{1b}[0m");
    }

    #[test]
    fn a_terminal_without_colours_still_obeys_nobody() {
        let text = written(&view(Some(|| Size { columns: 80, rows: 24 }), ColorWhen::Never));
        assert!(!text.contains(&0x1b));
    }
}
