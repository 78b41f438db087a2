//! Merging three versions of a text by lines, with the same result as git: the histogram diff, the
//! placement of ambiguous changes, and the zealous merge of two lists of changes.

mod compact;
mod conflict_hunks;
mod diff;
mod histogram;
mod lines;
mod markers;
mod merge_text;
#[cfg(test)]
mod tests;

pub(crate) use diff::Budget;
pub(crate) use markers::{Labels, MARKER_LENGTH, MarkerStyle};
pub(crate) use merge_text::{Favor, Refinement, TextMerge, merge_text};
