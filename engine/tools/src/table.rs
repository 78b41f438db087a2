//! The table of tools. A new one is a file and a line here.

use std::sync::Arc;

use engine::ports::{Tool, ToolSpec};

use crate::bash::Bash;
use crate::builtin::{Builtin, build, spec};
use crate::edit::Edit;
use crate::read::Read;
use crate::rehearsal::Panic;
use crate::session::Session;
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

/// A tool in the table.
pub(crate) struct Entry {
    /// The capability that it is.
    pub(crate) capability: &'static str,
    /// Returns what is known about it before it is called.
    pub(crate) spec: fn() -> ToolSpec,
    /// Builds it for a session.
    pub(crate) build: fn(&Arc<ToolSpec>, &Arc<Session>) -> Arc<dyn Tool>,
}

impl Entry {
    const fn of<T: Builtin>() -> Self {
        Self { capability: T::CAPABILITY, spec: spec::<T>, build: build::<T> }
    }
}
