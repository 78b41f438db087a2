//! Writes a merged text, with git's markers around its conflicts.

use super::merge_text::{Merged, Refinement, Take, Versions};

/// The names of the two sides, which stand behind the markers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Labels<'a> {
    /// The name of our side.
    pub(crate) ours: &'a str,
    /// The name of their side.
    pub(crate) theirs: &'a str,
    /// The name of the base, in styles that show its lines.
    pub(crate) base: Option<&'a str>,
    /// The length of each marker.
    pub(crate) length: usize,
}

/// What a conflict looks like between its markers: git's setting `merge.conflictStyle`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MarkerStyle {
    /// The lines of both sides, without those that are the same.
    #[default]
    Merge,
    /// The lines of both sides and of the base, whole.
    Diff3,
    /// As `diff3`, without lines that begin or end both sides.
    Zdiff3,
}

impl MarkerStyle {
    /// Returns the style with a name of git's.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "merge" => Some(Self::Merge),
            "diff3" => Some(Self::Diff3),
            "zdiff3" => Some(Self::Zdiff3),
            _ => None,
        }
    }

    /// Returns how far conflicts are refined in a merge of branches.
    pub(crate) fn refinement(self) -> Refinement {
        match self {
            Self::Merge => Refinement::Zealous,
            Self::Diff3 => Refinement::Whole,
            Self::Zdiff3 => Refinement::Ends,
        }
    }
}

/// The usual length of a marker.
pub(crate) const MARKER_LENGTH: usize = 7;

/// Writes the text. A conflict needs `labels`.
pub(super) fn write(
    versions: &Versions<'_>,
    hunks: &[Merged],
    labels: Option<&Labels<'_>>,
) -> Vec<u8> {
    let Versions { base, ours, theirs, .. } = versions;
    let mut text = Vec::new();
    let mut written = 0;
    for hunk in hunks {
        // Lines that are the same on both sides come with the unchanged lines of ours.
        if hunk.take == Take::Either {
            continue;
        }
        text.extend(ours.texts[written..hunk.ours.start].concat());
        let ending = if needs_cr(versions, hunk) { "\r\n" } else { "\n" };
        let our_lines = &ours.texts[hunk.ours.clone()];
        let their_lines = &theirs.texts[hunk.theirs.clone()];
        match (hunk.take, labels) {
            (Take::Ours, _) => text.extend(our_lines.concat()),
            (Take::Theirs, _) => text.extend(their_lines.concat()),
            (Take::Conflict, Some(labels)) => {
                marker(&mut text, (b'<', labels.length), labels.ours, ending);
                complete(&mut text, our_lines, ending);
                if let Some(label) = labels.base {
                    marker(&mut text, (b'|', labels.length), label, ending);
                    complete(&mut text, &base.texts[hunk.base.clone()], ending);
                }
                marker(&mut text, (b'=', labels.length), "", ending);
                complete(&mut text, their_lines, ending);
                marker(&mut text, (b'>', labels.length), labels.theirs, ending);
            }
            (Take::Either | Take::Both | Take::Conflict, _) => {
                complete(&mut text, our_lines, ending);
                text.extend(their_lines.concat());
            }
        }
        written = hunk.ours.end;
    }
    text.extend(ours.texts[written..].concat());
    text
}

fn marker(text: &mut Vec<u8>, (sign, length): (u8, usize), label: &str, ending: &str) {
    text.extend(std::iter::repeat_n(sign, length));
    if !label.is_empty() {
        text.push(b' ');
        text.extend(label.as_bytes());
    }
    text.extend(ending.as_bytes());
}

/// Writes lines, the last of which gets a line ending if it has none.
fn complete(text: &mut Vec<u8>, lines: &[&[u8]], ending: &str) {
    text.extend(lines.concat());
    if lines.last().is_some_and(|last| !last.ends_with(b"\n")) {
        text.extend(ending.as_bytes());
    }
}

/// Returns whether the lines around a region end with CR LF.
fn needs_cr(versions: &Versions<'_>, hunk: &Merged) -> bool {
    let Versions { base, ours, theirs, .. } = versions;
    // What cannot be told counts as yes until another version tells.
    let mut needed = ours.ends_with_crlf(hunk.ours.start.saturating_sub(1));
    if needed != Some(false) {
        needed = theirs.ends_with_crlf(hunk.theirs.start.saturating_sub(1));
    }
    if needed != Some(false) {
        needed = base.ends_with_crlf(0);
    }
    needed.unwrap_or(false)
}
