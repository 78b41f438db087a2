//! The children of the root: which of them the engine cannot go on without.

use ractor::ActorCell;

/// A child of the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChildName {
    Ledger,
    Isolator,
    Services,
    Executors,
    Gates,
    Sessions,
    Runs,
}

impl ChildName {
    /// Returns the name for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ledger => "the ledger",
            Self::Isolator => "the isolator",
            Self::Services => "the services",
            Self::Executors => "the executors",
            Self::Gates => "the gates",
            Self::Sessions => "the sessions",
            Self::Runs => "the runs",
        }
    }

    /// Returns whether a failure of the child ends the engine. Without services, sessions lose the tools of
    /// servers and go on.
    pub(crate) fn is_critical(self) -> bool {
        match self {
            Self::Services => false,
            Self::Ledger
            | Self::Isolator
            | Self::Executors
            | Self::Gates
            | Self::Sessions
            | Self::Runs => true,
        }
    }
}

/// The children of the root that have not ended.
pub(crate) struct Children(Vec<(ChildName, ActorCell)>);

impl Children {
    pub(crate) fn new(children: impl Into<Vec<(ChildName, ActorCell)>>) -> Self {
        Self(children.into())
    }

    /// Records that an actor has ended, and returns which child it was.
    pub(crate) fn end(&mut self, ended: &ActorCell) -> Option<ChildName> {
        let at = self.0.iter().position(|(_, cell)| cell.get_id() == ended.get_id())?;
        Some(self.0.remove(at).0)
    }

    /// Returns a child, if it has not ended.
    pub(crate) fn running(&self, child: ChildName) -> Option<&ActorCell> {
        self.0.iter().find(|(name, _)| *name == child).map(|(_, cell)| cell)
    }
}
