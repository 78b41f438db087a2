//! Which MCP servers a session or task uses.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Which of the user's MCP servers a session or task uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerChoice {
    /// None.
    #[default]
    None,
    /// All that are enabled.
    All,
    /// Those with these names.
    Named(BTreeSet<String>),
}

impl ServerChoice {
    /// Returns whether none is used.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// Returns whether the server with this name is used.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Named(names) => names.contains(name),
        }
    }
}
