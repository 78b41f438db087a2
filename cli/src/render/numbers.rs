//! Formats numbers: counts, changes, tokens, costs, times and durations.

pub use engine::texts::{counted as count, duration_text as duration};
use jiff::tz::TimeZone;
use protocol::{AccountWait, ChangeSummary, Cost, CostSource, Timestamp, Usage};

/// Formats the lines of a change: `+41 −7`.
#[must_use]
pub fn changed_lines(changes: ChangeSummary) -> String {
    format!("+{} −{}", changes.added, changes.removed)
}

/// Formats a number of tokens: `950`, `24.1k`, `182k`, `1.2M`.
#[must_use]
pub fn tokens(number: u64) -> String {
    let short = |unit: u64, letter| match number / unit {
        whole @ 100.. => format!("{whole}{letter}"),
        whole => format!("{whole}.{}{letter}", number % unit / (unit / 10)),
    };
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => short(1_000, 'k'),
        1_000_000.. => short(1_000_000, 'M'),
    }
}

/// Formats a cost for a column: `?` if it is unknown.
pub(super) fn price(cost: Option<Cost>) -> String {
    cost.map_or_else(|| "?".to_owned(), |cost| cost.to_string())
}

/// Formats a usage: `182k tokens · $0.41`.
#[must_use]
pub fn usage_text(usage: Usage) -> String {
    let cost = usage.cost.map_or_else(|| "cost unknown".to_owned(), |cost| cost.to_string());
    format!("{} tokens · {cost}", tokens(usage.tokens()))
}

/// Formats a usage with each kind of token and the source of its cost: `24.1k tokens (20.0k read, 4.1k
/// written) · $0.05 (priced)`.
#[must_use]
pub fn usage_details(usage: Usage) -> String {
    let kinds = [
        (usage.input, "read"),
        (usage.cache_read, "read from a cache"),
        (usage.cache_write, "written into a cache"),
        (usage.output, "written"),
    ];
    let kinds = kinds.into_iter().filter(|(number, _)| *number > 0);
    let kinds: Vec<_> = kinds.map(|(number, kind)| format!("{} {kind}", tokens(number))).collect();
    let all = usage_text(usage);
    let source = match usage.cost_source {
        _ if usage.cost.is_none() => "",
        CostSource::Priced => " (priced)",
        CostSource::Reported => " (reported)",
        CostSource::Unknown => " (source unknown)",
    };
    let all = match all.split_once(" · ") {
        Some((tokens, cost)) if !kinds.is_empty() => {
            format!("{tokens} ({}) · {cost}{source}", kinds.join(", "))
        }
        _ => all,
    };
    if usage.has_cached() { format!("{all} · {}", saving_text(usage)) } else { all }
}

/// Formats what caches have saved of a usage: `$0.12 saved by caches`.
fn saving_text(usage: Usage) -> String {
    match usage.cache_saving {
        Some(saving) => format!("{saving} by caches"),
        None => "savings by caches are unknown".to_owned(),
    }
}

/// Returns the line of a run whose models used caches: `22.0k tokens read from caches · $0.12 saved by
/// caches`.
pub(super) fn cache_line(usage: Usage) -> Option<String> {
    let read = tokens(usage.cache_read);
    usage.has_cached().then(|| format!("{read} tokens read from caches · {}", saving_text(usage)))
}

/// Formats a local date and time, to the minute.
#[must_use]
pub fn date_time(at: Timestamp, zone: &TimeZone) -> String {
    zoned(at, zone).strftime("%Y-%m-%d %H:%M").to_string()
}

/// Formats a local time of day.
pub(super) fn time_of_day(at: Timestamp, zone: &TimeZone) -> String {
    zoned(at, zone).strftime("%H:%M:%S").to_string()
}

fn zoned(at: Timestamp, zone: &TimeZone) -> jiff::Zoned {
    let at = jiff::Timestamp::from_millisecond(at.as_millisecond());
    at.unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_zoned(zone.clone())
}

/// Returns the milliseconds from `since` to `now`; 0 if the clock was set back.
#[must_use]
pub fn elapsed(since: Timestamp, now: Timestamp) -> u64 {
    u64::try_from(now.as_millisecond() - since.as_millisecond()).unwrap_or(0)
}

/// Returns how many milliseconds a wait lasts that was announced then, if that is known.
#[must_use]
pub fn time_left(wait: &AccountWait, announced: Timestamp) -> Option<u64> {
    wait.until.map(|until| elapsed(announced, until))
}

#[cfg(test)]
mod tests {
    use protocol::CacheSaving;

    use super::*;

    #[test]
    fn tokens_have_three_figures_and_their_cost_is_known_or_said_to_be_unknown() {
        let numbers = [0, 999, 1_000, 24_199, 99_999, 182_400, 1_250_000, 182_000_000, u64::MAX];
        let shown = ["0", "999", "1.0k", "24.1k", "99.9k", "182k", "1.2M", "182M"];
        for (number, shown) in numbers.into_iter().zip(shown) {
            assert_eq!(tokens(number), shown);
        }
        let usage = Usage { input: 180_000, output: 2_400, ..Usage::ZERO };
        let priced = Usage { cost: Some(Cost::from_nanodollars(410_000_000)), ..usage };
        let unpriced = Usage { cost: None, ..usage };
        assert_eq!(usage_text(priced), "182k tokens · $0.41");
        assert_eq!(usage_text(unpriced), "182k tokens · cost unknown");
        for (cost_source, said) in [
            (CostSource::Priced, "priced"),
            (CostSource::Reported, "reported"),
            (CostSource::Unknown, "source unknown"),
        ] {
            let all = format!("182k tokens (180k read, 2.4k written) · $0.41 ({said})");
            assert_eq!(usage_details(Usage { cost_source, ..priced }), all);
        }
        let unknown = "182k tokens (180k read, 2.4k written) · cost unknown";
        assert_eq!(usage_details(unpriced), unknown);
        assert_eq!(usage_details(Usage::ZERO), "0 tokens · $0.00");
        assert_eq!(cache_line(priced), None);
        assert_eq!((price(priced.cost), price(None)), ("$0.41".to_owned(), "?".to_owned()));
    }

    #[test]
    fn what_caches_have_saved_is_known_or_said_to_be_unknown() {
        let cost = Some(Cost::from_nanodollars(50_000_000));
        let cost_source = CostSource::Priced;
        let cached = Usage { input: 2_000, cache_read: 22_000, cost, cost_source, ..Usage::ZERO };
        let saving = |nanodollars| Usage {
            cache_saving: Some(CacheSaving::from_nanodollars(nanodollars)),
            ..cached
        };
        let line = |usage| cache_line(usage).unwrap();
        let read = "22.0k tokens read from caches";
        assert_eq!(line(saving(120_000_000)), format!("{read} · $0.12 saved by caches"));
        let more = format!("{read} · $0.01 more spent than saved by caches");
        assert_eq!(line(saving(-10_000_000)), more);
        assert_eq!(line(cached), format!("{read} · savings by caches are unknown"));
        assert_eq!(
            usage_details(saving(120_000_000)),
            "24.0k tokens (2.0k read, 22.0k read from a cache) · $0.05 (priced) · $0.12 saved by caches"
        );
    }

    #[test]
    fn times_are_local() {
        let at = Timestamp::from_millisecond(1_767_323_045_678);
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(time_of_day(at, &zone), "05:04:05");
        assert_eq!(date_time(at, &zone), "2026-01-02 05:04");
    }
}
