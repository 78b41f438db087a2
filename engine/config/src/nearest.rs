//! Finds the candidate nearest to a mistyped name.

/// Returns the candidate that is most like `given`, if one is like it at all: few letters differ,
/// whatever their case.
#[must_use]
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given: String = given.chars().take(LONGEST).flat_map(char::to_lowercase).collect();
    let far = (given.chars().count() / 3).max(2);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&given, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= far && *distance < candidate.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The longest name that is compared, in characters.
const LONGEST: usize = 100;

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
