//! Timestamps.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time, written in UTC with milliseconds: `2026-01-02T03:04:05.678Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
pub struct Timestamp(#[schemars(with = "String")] jiff::Timestamp);

impl Timestamp {
    /// Returns the time this many milliseconds after the Unix epoch.
    #[must_use]
    pub fn from_millisecond(millisecond: i64) -> Self {
        Self(jiff::Timestamp::from_millisecond(millisecond).unwrap_or(jiff::Timestamp::UNIX_EPOCH))
    }

    /// Returns the number of milliseconds since the Unix epoch.
    #[must_use]
    pub fn as_millisecond(self) -> i64 {
        self.0.as_millisecond()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        jiff::Timestamp::deserialize(deserializer).map(Self)
    }
}

/// Serializes timestamps as session files do: in milliseconds since the Unix epoch.
pub(crate) mod millis {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Timestamp;

    pub(crate) fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(at.as_millisecond())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        f64::deserialize(from).map(from_number)
    }

    /// Returns the time of a number that another program wrote, perhaps with a fraction.
    #[expect(clippy::cast_possible_truncation, reason = "what is out of range saturates")]
    pub(super) fn from_number(milliseconds: f64) -> Timestamp {
        Timestamp::from_millisecond(milliseconds as i64)
    }
}

/// The same for a time that may be absent.
pub(crate) mod optional_millis {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Timestamp;
    use super::millis::from_number;

    #[expect(clippy::ref_option, reason = "serde gives a reference to the field")]
    pub(crate) fn serialize<S: Serializer>(
        at: &Option<Timestamp>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => to.serialize_some(&at.as_millisecond()),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        Ok(Option::<f64>::deserialize(from)?.map(from_number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_has_milliseconds_and_reads_back() {
        let at = Timestamp::from_millisecond(1_767_323_045_678);
        let json = serde_json::to_string(&at).unwrap();
        assert_eq!(json, "\"2026-01-02T03:04:05.678Z\"");
        assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), at);
    }
}
