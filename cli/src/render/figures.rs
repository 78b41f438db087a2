//! How counts, changes, times and spans of time are written.

use jiff::tz::TimeZone;
use protocol::{ChangeSummary, Timestamp};

/// Returns a span of time as people read it: `0.4s`, `31s`, `1m48s`, `2h05m`.
#[must_use]
pub fn span(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..10 => format!("{seconds}.{}s", ms % 1000 / 100),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// Returns the lines of a change: `+41 −7`.
#[must_use]
pub fn lines(changes: ChangeSummary) -> String {
    format!("+{} −{}", changes.added, changes.removed)
}

/// Returns `1 file`, `3 files`: a number and its noun.
#[must_use]
pub fn count(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Returns the local date and time, to the minute.
#[must_use]
pub fn when(at: Timestamp, zone: &TimeZone) -> String {
    zoned(at, zone).strftime("%Y-%m-%d %H:%M").to_string()
}

/// Returns the local time of day.
pub(super) fn clock(at: Timestamp, zone: &TimeZone) -> String {
    zoned(at, zone).strftime("%H:%M:%S").to_string()
}

fn zoned(at: Timestamp, zone: &TimeZone) -> jiff::Zoned {
    let at = jiff::Timestamp::from_millisecond(at.as_millisecond());
    at.unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_zoned(zone.clone())
}

/// Returns how long after `since` it is now, in milliseconds; a clock that went back counts as 0.
#[must_use]
pub fn elapsed(since: Timestamp, now: Timestamp) -> u64 {
    u64::try_from(now.as_millisecond() - since.as_millisecond()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_two_figures_that_matter() {
        let spans: Vec<_> = [0, 440, 9_999, 31_000, 108_000, 7_500_000].map(span).into();
        assert_eq!(spans, ["0.0s", "0.4s", "9.9s", "31s", "1m48s", "2h05m"]);
    }

    #[test]
    fn a_number_agrees_with_its_noun() {
        assert_eq!(
            (count(1_u64, "file"), count(0_usize, "file")),
            ("1 file".into(), "0 files".into())
        );
    }

    #[test]
    fn times_are_local() {
        let at = Timestamp::from_millisecond(1_767_323_045_678);
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(clock(at, &zone), "05:04:05");
        assert_eq!(when(at, &zone), "2026-01-02 05:04");
    }
}
