//! Identities that never repeat: time-ordered UUIDs, one newtype per thing that has one.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Declares a newtype over a time-ordered UUID which prints with a readable prefix.
macro_rules! id_type {
    ($(#[$meta:meta])* $name:ident = $prefix:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Returns a fresh identifier, ordered by creation time.
            #[must_use]
            pub fn generate() -> Self {
                Self(Uuid::now_v7())
            }

            /// Returns the sixteen bytes of the identifier.
            #[must_use]
            pub fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "_{}"), self.0.simple())
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let digits = text.strip_prefix(concat!($prefix, "_")).unwrap_or(text);
                Uuid::from_str(digits).map(Self)
            }
        }
    };
}

id_type!(
    /// Identifies one run across every ledger.
    RunId = "run"
);
id_type!(
    /// Identifies one task across every ledger.
    TaskId = "task"
);
id_type!(
    /// Identifies one landing: in the ledger, and in the journal that the repository's own side keeps.
    LandingId = "landing"
);
id_type!(
    /// Identifies one session.
    SessionId = "session"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_as_it_prints() {
        let id = TaskId::generate();
        assert_eq!(id.to_string().parse(), Ok(id));
    }
}
