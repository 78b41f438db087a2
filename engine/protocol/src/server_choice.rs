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

impl From<&[String]> for ServerChoice {
    /// Returns the choice that names mean; the name `all` stands for all servers.
    fn from(names: &[String]) -> Self {
        if names.is_empty() {
            Self::None
        } else if names.iter().any(|name| name == "all") {
            Self::All
        } else {
            Self::Named(names.iter().cloned().collect())
        }
    }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_a_choice_and_all_stands_for_every_server() {
        let of = |names: &[&str]| {
            ServerChoice::from(
                names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>().as_slice(),
            )
        };
        let (none, named, all) = (of(&[]), of(&["a", "b"]), of(&["a", "all"]));
        assert_eq!((&none, &all), (&ServerChoice::None, &ServerChoice::All));
        assert!(named.has("a") && !named.has("c") && all.has("c") && !none.has("a"));
        let written = serde_json::to_value(&named).unwrap();
        assert_eq!(written, json!({ "named": ["a", "b"] }));
        assert_eq!(serde_json::from_value::<ServerChoice>(written).unwrap(), named);
    }
}
