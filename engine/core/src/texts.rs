//! Numbers, durations and limits in the words that failures, notes and prompts have in common.

use protocol::ReachedLimit;

/// Formats a number and its noun: `1 file`, `3 files`.
#[must_use]
pub fn counted(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Formats a duration in milliseconds: `0.4s`, `31s`, `1m48s`, `2h05m`.
#[must_use]
pub fn duration_text(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..10 => format!("{seconds}.{}s", ms % 1000 / 100),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// Formats a limit with what was used of it: `tokens 923 of 300`.
#[must_use]
pub fn limit_text(limit: &ReachedLimit) -> String {
    match limit {
        ReachedLimit::Turns { used, most } => format!("turns {used} of {most}"),
        ReachedLimit::Tokens { used, most } => format!("tokens {used} of {most}"),
        ReachedLimit::Cost { used: Some(used), most } => format!("cost {used} of {most}"),
        ReachedLimit::Cost { used: None, most } => format!("cost ? of {most}"),
        ReachedLimit::Wall { used, most } => {
            format!("wall {} of {}", duration_text(*used), duration_text(*most))
        }
    }
}

/// Formats the limit itself: `300 tokens`.
pub(crate) fn most_text(limit: &ReachedLimit) -> String {
    match limit {
        ReachedLimit::Turns { most, .. } => format!("{most} turns"),
        ReachedLimit::Tokens { most, .. } => format!("{most} tokens"),
        ReachedLimit::Cost { most, .. } => most.to_string(),
        ReachedLimit::Wall { most, .. } => duration_text(*most),
    }
}

#[cfg(test)]
mod tests {
    use protocol::Cost;

    use super::*;

    #[test]
    fn a_number_agrees_with_its_noun() {
        let files = [0_usize, 1, 2].map(|number| counted(number, "file"));
        assert_eq!(files, ["0 files", "1 file", "2 files"]);
    }

    #[test]
    fn a_duration_has_two_figures_that_matter() {
        let texts = [0, 440, 9_999, 31_000, 108_000, 7_500_000].map(duration_text);
        assert_eq!(texts, ["0.0s", "0.4s", "9.9s", "31s", "1m48s", "2h05m"]);
    }

    #[test]
    fn a_limit_says_what_was_used_of_it() {
        let dollars = Cost::from_nanodollars;
        let (used, most) = (Some(dollars(250_000_000)), dollars(200_000_000));
        for (limit, text, itself) in [
            (ReachedLimit::Turns { used: 8, most: 8 }, "turns 8 of 8", "8 turns"),
            (ReachedLimit::Tokens { used: 923, most: 300 }, "tokens 923 of 300", "300 tokens"),
            (ReachedLimit::Cost { used, most }, "cost $0.25 of $0.20", "$0.20"),
            (ReachedLimit::Cost { used: None, most }, "cost ? of $0.20", "$0.20"),
            (ReachedLimit::Wall { used: 12_000, most: 10_000 }, "wall 12s of 10s", "10s"),
        ] {
            assert_eq!((limit_text(&limit).as_str(), most_text(&limit).as_str()), (text, itself));
        }
    }
}
