//! How the conflicts of one task are to be settled in a landing.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{RepoPath, ResolverRecord, SettledBy, Side};

/// How the conflicts of a task are to be settled. By default none is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettleRequest {
    /// The choice for every conflict that has none of its own.
    pub all: Option<SettleChoice>,
    /// The choices for conflicts, by their path.
    pub paths: BTreeMap<RepoPath, SettleChoice>,
    /// What happens if conflicts are left.
    pub rest: ConflictingRest,
    /// The paths that an earlier landing has settled or landed. They are left as they are.
    pub landed: BTreeSet<RepoPath>,
}

/// What happens to the work of a task if conflicts are left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConflictingRest {
    /// Nothing of it lands.
    #[default]
    KeepAll,
    /// What does not conflict lands.
    LandClean,
}

/// How one conflict is to be settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettleChoice {
    /// What stands in the tree is kept.
    Ours,
    /// The version of the task is taken.
    Theirs,
    /// Where both sides changed the same lines, the lines of both are kept, ours first.
    Union,
    /// The file gets git's markers around the lines that both sides changed.
    Markers,
    /// The file gets this content, which a program or a person made of the sides.
    Written(WrittenFile),
}

/// The content that settles a conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// The content; `None` removes the file.
    pub bytes: Option<Vec<u8>>,
    /// The version in the tree that it was made from. If another one is there, the conflict stays.
    pub ours: Option<Side>,
    /// The version of the task that it was made from.
    pub theirs: Option<Side>,
    /// Who made it.
    pub by: SettledBy,
    /// What is recorded of the resolver, if one made it.
    pub resolver: Option<ResolverRecord>,
}

impl SettleRequest {
    /// Returns the choice for the conflict at a path.
    #[must_use]
    pub fn choice(&self, path: &RepoPath) -> Option<&SettleChoice> {
        self.paths.get(path).or(self.all.as_ref())
    }

    /// Returns whether it settles nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }
}

impl SettleChoice {
    /// Returns how a conflict that was settled so is reported.
    #[must_use]
    pub fn reported(&self) -> SettledBy {
        match self {
            Self::Ours => SettledBy::Ours,
            Self::Theirs => SettledBy::Theirs,
            Self::Union => SettledBy::Union,
            Self::Markers => SettledBy::Markers,
            Self::Written(file) => file.by,
        }
    }

    /// Returns what is recorded of the resolver, if one made the content.
    #[must_use]
    pub fn resolver(&self) -> Option<&ResolverRecord> {
        match self {
            Self::Written(file) => file.resolver.as_ref(),
            Self::Ours | Self::Theirs | Self::Union | Self::Markers => None,
        }
    }
}
