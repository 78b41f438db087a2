//! Finds what somebody may have meant.

/// Returns the candidate that is most like `given`, if one is like it at all: few letters differ,
/// whatever their case.
#[must_use]
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given: Vec<char> = given.chars().take(LONGEST).flat_map(char::to_lowercase).collect();
    let far = (given.len() / 3).max(2);
    candidates
        .into_iter()
        .map(|candidate| (distance(&given, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= far && *distance < candidate.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Nothing that is meant is longer.
const LONGEST: usize = 100;

/// How many letters must be put in, taken out or exchanged to make `to` out of `from`; two
/// neighbours that changed places count as one.
fn distance(from: &[char], to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut present = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let exchanged = last[column] + usize::from(letter != other);
            let mut cost = exchanged.min(last[column + 1] + 1).min(present[column] + 1);
            let swapped =
                row > 0 && column > 0 && from[row - 1] == *other && to[column - 1] == *letter;
            if swapped {
                cost = cost.min(before_last[column - 1] + 1);
            }
            present.push(cost);
        }
        before_last = std::mem::replace(&mut last, present);
    }
    last[to.len()]
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
    }
}
