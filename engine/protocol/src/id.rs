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
id_type!(
    /// Identifies one input of a session: a text that somebody gave it. Equal texts with different
    /// ids are different inputs; the same id is never said twice in a session.
    InputId = "input"
);

impl InputId {
    /// Returns the id of an input that a task gives its worker: 0 is the prompt, the reminders are
    /// counted from 1. It is the same each time it is asked for.
    #[must_use]
    pub fn of_task(task: TaskId, attempt: u32, number: u32) -> Self {
        Self::derived(task.0, (u64::from(attempt) << 16) ^ u64::from(number) ^ (1 << 48))
    }

    /// Returns the id of the input by which a session that reached a limit is asked to yield.
    #[must_use]
    pub fn of_limit(session: SessionId) -> Self {
        Self::derived(session.0, 2 << 48)
    }

    fn derived(source: Uuid, salt: u64) -> Self {
        let bytes = (source.as_u128() ^ u128::from(salt)).to_be_bytes();
        // The version for ids of a custom format: no fresh id is equal to it.
        Self(uuid::Builder::from_custom_bytes(bytes).into_uuid())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_as_it_prints() {
        let id = TaskId::generate();
        assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn a_derived_id_is_the_same_each_time_and_no_other() {
        let (task, session) = (TaskId::generate(), SessionId::generate());
        assert_eq!(InputId::of_task(task, 1, 2), InputId::of_task(task, 1, 2));
        let ids = [
            InputId::of_task(task, 1, 0),
            InputId::of_task(task, 1, 1),
            InputId::of_task(task, 2, 0),
            InputId::of_task(TaskId::generate(), 1, 0),
            InputId::of_limit(session),
            InputId::generate(),
        ];
        let different: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(different.len(), ids.len());
    }
}
