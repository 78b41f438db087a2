//! Lists of lines about tasks, of which many may say the same.

use std::collections::BTreeMap;

use crate::args::Verbosity;

/// How many lines that say the same are listed, unless all are asked for.
pub(super) const LISTED: usize = 20;

/// What stands beside the count of lines that are not listed.
pub const ALL: &str = "-v lists all";

/// Returns how many lines that say the same are listed.
#[must_use]
pub fn most_listed(verbosity: Verbosity) -> usize {
    match verbosity {
        Verbosity::Quiet | Verbosity::Normal => LISTED,
        Verbosity::Verbose => usize::MAX,
    }
}

/// Returns the lines in their order. Of those with the same key, `most` are listed; in place of the others
/// is one line, which `more` makes of the key and their number.
#[must_use]
pub fn folded_lines<K: Ord>(
    lines: Vec<(K, String)>,
    most: usize,
    more: impl Fn(&K, usize) -> String,
) -> Vec<String> {
    let mut counts: BTreeMap<&K, usize> = BTreeMap::new();
    for (key, _) in &lines {
        *counts.entry(key).or_default() += 1;
    }
    let mut listed: BTreeMap<&K, usize> = BTreeMap::new();
    let mut shown = Vec::new();
    for (key, line) in &lines {
        let before = listed.entry(key).or_default();
        *before += 1;
        match *before - 1 {
            before if before < most => shown.push(line.clone()),
            before if before == most => shown.push(more(key, counts[key] - most)),
            _ => {}
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_lines_that_say_the_same_the_first_are_listed_and_the_others_counted() {
        let line = |at: usize| match at {
            3 => ("conflict", "t3 conflict".to_owned()),
            at => ("landed", format!("t{at} landed")),
        };
        let lines: Vec<_> = (0..6).map(line).collect();
        let folded = |most| {
            let more = |key: &&str, count| format!("and {count} more {key}");
            folded_lines(lines.clone(), most, more).join(", ")
        };
        assert_eq!(folded(2), "t0 landed, t1 landed, and 3 more landed, t3 conflict");
        assert_eq!(folded(5).matches(", ").count(), 5);
        assert_eq!(folded(usize::MAX), folded(5));
    }
}
