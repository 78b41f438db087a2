//! Unique ids: one newtype over a time-ordered UUID for each kind of thing that has an id.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Declares an id type. It is displayed with a prefix that names its kind.
macro_rules! id_type {
    ($(#[$meta:meta])* $name:ident = $prefix:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Returns a new id. Later ids sort after earlier ones.
            #[must_use]
            pub fn generate() -> Self {
                Self(Uuid::now_v7())
            }

            /// Returns the sixteen bytes of the UUID.
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
    /// Identifies a run. It is unique across ledgers.
    RunId = "run"
);
id_type!(
    /// Identifies a task. It is unique across ledgers.
    TaskId = "task"
);
id_type!(
    /// Identifies one landing, both in the ledger and in the journal that the landing keeps in the
    /// repository.
    LandingId = "landing"
);
id_type!(
    /// Identifies one session of a model.
    SessionId = "session"
);
id_type!(
    /// Identifies one input of a session, which is a text for the model. A session adds an input
    /// only once: a second input with the same id is ignored. Equal texts with different ids are
    /// different inputs.
    InputId = "input"
);
id_type!(
    /// Identifies one question to a person, which is answered once.
    QuestionId = "question"
);

impl InputId {
    /// Returns the id of an input that a task sends to its worker. Number 0 is the prompt;
    /// reminders are numbered from 1. The same arguments always give the same id.
    #[must_use]
    pub fn of_task(task: TaskId, attempt: u32, number: u32) -> Self {
        Self::derived(task.0, (u64::from(attempt) << 16) ^ u64::from(number) ^ (1 << 48))
    }

    /// Returns the id of the input that asks a session to yield because it has reached a limit.
    #[must_use]
    pub fn of_limit(session: SessionId) -> Self {
        Self::derived(session.0, 2 << 48)
    }

    fn derived(source: Uuid, salt: u64) -> Self {
        let bytes = (source.as_u128() ^ u128::from(salt)).to_be_bytes();
        // UUID version 8 is for custom formats, so the id never equals a generated one (version 7).
        Self(uuid::Builder::from_custom_bytes(bytes).into_uuid())
    }
}

impl SessionId {
    /// Returns the UUID as session files and their names have it, with hyphens.
    #[must_use]
    pub fn uuid(&self) -> String {
        self.0.to_string()
    }

    /// Returns the id of a session of another program, whose ids may be any text: the UUID that the
    /// text is, or one that is derived from it. The same text always gives the same id.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        text.parse().unwrap_or_else(|_no_uuid| {
            // FNV-1a with 128 bits.
            let hash =
                text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
                    (hash ^ u128::from(byte))
                        .wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
                });
            Self(uuid::Builder::from_custom_bytes(hash.to_be_bytes()).into_uuid())
        })
    }
}

/// The id of an entry, unique in its file: eight hexadecimal digits, but other programs may write
/// any text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryId(String);

impl EntryId {
    /// Returns the id with this text.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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
