//! The table of tools. A new one is a file and a line here.

use crate::bash::Bash;
use crate::builtin::Entry;
use crate::edit::Edit;
use crate::read::Read;
use crate::rehearsal::Panic;
use crate::write::Write;
use crate::yielding::Yield;

/// The tools a model is told of, in the order in which it is told.
pub(crate) const TABLE: &[Entry] = &[
    Entry::of::<Read>(),
    Entry::of::<Write>(),
    Entry::of::<Edit>(),
    Entry::of::<Bash>(),
    Entry::of::<Yield>(),
];

/// The tools that no model is told of: only a scripted one knows them.
pub(crate) const REHEARSAL: &[Entry] = &[Entry::of::<Panic>()];
