//! The word that was probably meant by one that does not exist.

use std::cmp::Reverse;

/// The maximum number of characters of a text that `nearest` compares.
const COMPARED: usize = 100;

/// Returns the candidate most similar to `given`, ignoring case, if one is near: it differs by two letters,
/// or by one where one of them has at most five, and begins with the same letter, or has its first letter
/// left out, doubled or swapped. Among those that are as near, one with the same letters in another order
/// is preferred, and then one with more of its beginning and end in common.
#[must_use]
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given: String = given.chars().take(COMPARED).flat_map(char::to_lowercase).collect();
    let near = |candidate: &'a str| {
        let lower = candidate.to_lowercase();
        let shorter = given.chars().count().min(lower.chars().count());
        let is_same =
            sorted(&given) == sorted(&lower) && given.chars().next() == lower.chars().next();
        let distance = strsim::osa_distance(&given, &lower);
        let distance = if is_same { distance.min(1) } else { distance };
        let is_near = distance <= if shorter <= 5 { 1 } else { 2 } && distance < shorter;
        let is_near = is_near && begins_alike(&given, &lower);
        is_near.then_some(((distance, !is_same, Reverse(in_common(&given, &lower))), candidate))
    };
    let near = candidates.into_iter().filter_map(near).min_by_key(|(distance, _)| *distance);
    near.map(|(_, candidate)| candidate)
}

/// Returns whether two words begin with the same letter, or one of them has another letter before it.
fn begins_alike(one: &str, other: &str) -> bool {
    let two = |text: &str| (text.chars().next(), text.chars().nth(1));
    let ((first, second), (other_first, other_second)) = (two(one), two(other));
    first == other_first || second == other_first || first == other_second && other.len() > 3
}

/// Returns how many letters of their beginnings and ends two words have in common.
fn in_common(one: &str, other: &str) -> usize {
    let alike = |(one, other): &(char, char)| one == other;
    let before = one.chars().zip(other.chars()).take_while(alike).count();
    before + one.chars().rev().zip(other.chars().rev()).take_while(alike).count()
}

fn sorted(text: &str) -> Vec<char> {
    let mut letters: Vec<_> = text.chars().collect();
    letters.sort_unstable();
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 3] = ["task.maxConcurrency", "limits.wall", "env.remove"];

    #[test]
    fn a_slip_of_the_hand_is_understood() {
        for (given, meant) in [
            ("task.maxConcurency", "task.maxConcurrency"),
            ("TASK.MAXCONCURRENCY", "task.maxConcurrency"),
            ("limits.wlal", "limits.wall"),
            ("limit.wall", "limits.wall"),
            ("env.removed", "env.remove"),
        ] {
            assert_eq!(nearest(given, KEYS), Some(meant), "{given}");
        }
    }

    #[test]
    fn something_else_is_not_taken_for_a_slip() {
        for given in ["theme.dark", "", "xy", &"a".repeat(100_000)] {
            assert_eq!(nearest(given, KEYS), None, "{given}");
        }
        assert_eq!(nearest("x", ["a", "b"]), None);
        for (given, other) in [
            ("foo", "fork"),
            ("test", "cost"),
            ("redo", "demo"),
            ("make", "man"),
            ("prune", "run"),
            ("shell", "help"),
            ("search", "each"),
            ("theme", "tree"),
            ("message", "merge"),
            ("amend", "agent"),
            ("am", "rm"),
            ("deny", "reny"),
            ("fun", "run"),
            ("test", "best"),
        ] {
            assert_eq!(nearest(given, [other]), None, "{given}");
        }
        assert_eq!(nearest("jsob", ["json", "jobs"]), Some("jobs"), "the letters are the same");
        assert_eq!(nearest("logn", ["logs", "login"]), Some("login"), "a letter is left out");
        for (given, near) in [("uns", None), ("pply", Some("apply")), ("urn", Some("run"))] {
            assert_eq!(nearest(given, ["apply", "run"]), near, "{given}");
        }
    }
}
