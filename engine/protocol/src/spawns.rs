//! Which agents may be given tasks.

use serde::{Deserialize, Serialize};

/// Which agents a session or an agent may give tasks to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spawns {
    /// None.
    #[default]
    None,
    /// Every one.
    Any,
    /// Those of these names.
    Only(Vec<String>),
}
