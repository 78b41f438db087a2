//! Finds a run or a task by its name or the beginning of the name.

use engine::ports::LedgerError;
use protocol::RunName;

/// The maximum number of candidates that a message lists.
const CANDIDATES: usize = 8;

/// Why a run or task was not found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The ledger has no run, or none of the given repository.
    #[error("there is no run yet")]
    NoRuns,
    /// No run has this name.
    #[error("there is no run `{given}`")]
    UnknownRun {
        /// The given name.
        given: String,
    },
    /// Several runs begin with the given name.
    #[error("`{given}` could be {}", listed(.candidates))]
    AmbiguousRun {
        /// The given name.
        given: String,
        /// The runs, latest first.
        candidates: Vec<RunName>,
    },
    /// No task of the run has this name.
    #[error("there is no task `{given}` in the run; its tasks are {}", listed(.tasks))]
    UnknownTask {
        /// The given name.
        given: String,
        /// The run's tasks by their items or else their names, in the order of their declaration.
        tasks: Vec<String>,
    },
    /// Several tasks of the run match the given name.
    #[error("`{given}` could be {}", listed(.candidates))]
    AmbiguousTask {
        /// The given name.
        given: String,
        /// The tasks by their items or else their names, in the order of their declaration.
        candidates: Vec<String>,
    },
    /// The ledger cannot be read.
    #[error(transparent)]
    Unreadable(#[from] LedgerError),
}

/// The names that match a given name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Matches<T> {
    None,
    One(T),
    Several(Vec<T>),
}

/// Returns the names that match `given`: the equal one, else all that begin with it, ignoring case.
pub(crate) fn matches<T>(names: Vec<T>, name: impl Fn(&T) -> &str, given: &str) -> Matches<T> {
    let begins = |candidate: &T| {
        let candidate = name(candidate).as_bytes();
        candidate
            .get(..given.len())
            .is_some_and(|first| first.eq_ignore_ascii_case(given.as_bytes()))
    };
    let mut candidates: Vec<T> = names.into_iter().filter(begins).collect();
    if let Some(exact) =
        candidates.iter().position(|candidate| name(candidate).len() == given.len())
    {
        return Matches::One(candidates.swap_remove(exact));
    }
    match candidates.len() {
        0 => Matches::None,
        1 => Matches::One(candidates.remove(0)),
        _ => Matches::Several(candidates),
    }
}

/// How well an item matches what the user typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemMatch {
    /// The item is equal.
    Whole,
    /// The item begins with it, ends with it after a `/`, or is what it shortens with `…`.
    Part,
}

/// Returns how `item` matches `given`, if it does. A `./` at the beginning of either is ignored.
pub(crate) fn item_match(item: &str, given: &str) -> Option<ItemMatch> {
    let path = |text: &'_ str| text.strip_prefix("./").unwrap_or(text).len();
    let (item, given) = (&item[item.len() - path(item)..], &given[given.len() - path(given)..]);
    if given.is_empty() {
        return None;
    }
    let ends = |end: &str| item.strip_suffix(end).is_some_and(|rest| rest.ends_with('/'));
    let is_shortened = given.split_once('…').is_some_and(|(begin, end)| {
        item.len() >= begin.len() + end.len() && item.starts_with(begin) && item.ends_with(end)
    });
    match item == given {
        true => Some(ItemMatch::Whole),
        false => {
            (item.starts_with(given) || ends(given) || is_shortened).then_some(ItemMatch::Part)
        }
    }
}

/// Returns the number of a task that is given as `t3`: the third in the order of declaration.
pub(crate) fn task_number(given: &str) -> Option<usize> {
    let number = given.strip_prefix(['t', 'T'])?;
    number.parse().ok().filter(|number| *number > 0 && !given.contains('+'))
}

fn listed(names: &[impl ToString]) -> String {
    let mut listed: Vec<_> = names.iter().take(CANDIDATES).map(ToString::to_string).collect();
    match names.len().checked_sub(CANDIDATES) {
        Some(more @ 1..) => format!("{} and {more} more", listed.join(", ")),
        _ => {
            let last = listed.pop().unwrap_or_else(|| "none".to_owned());
            if listed.is_empty() { last } else { format!("{} or {last}", listed.join(", ")) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(given: &str) -> Matches<&'static str> {
        matches(vec!["auth", "Auth.tests", "api", "billing"], |name| name, given)
    }

    #[test]
    fn a_name_is_found_whole_or_by_its_first_letters_without_case() {
        assert_eq!(find("AUTH"), Matches::One("auth"));
        assert_eq!(find("auth."), Matches::One("Auth.tests"));
        assert_eq!(find("b"), Matches::One("billing"));
        assert_eq!(find("ap"), Matches::One("api"));
        assert_eq!(find("a"), Matches::Several(vec!["auth", "Auth.tests", "api"]));
        assert_eq!(find("ö"), Matches::None);
    }

    #[test]
    fn an_item_is_found_whole_by_its_beginning_by_its_end_and_as_it_was_shortened() {
        let item = "src/buffer/mod.rs";
        for whole in ["src/buffer/mod.rs", "./src/buffer/mod.rs"] {
            assert_eq!(item_match(item, whole), Some(ItemMatch::Whole), "{whole}");
        }
        for part in ["src/b", "mod.rs", "buffer/mod.rs", "src/…/mod.rs", "sr…rs"] {
            assert_eq!(item_match(item, part), Some(ItemMatch::Part), "{part}");
        }
        for other in ["", "./", "od.rs", "src/buffer/mod.rs2", "src/buffer/mod…/mod.rs", "x…mod.rs"]
        {
            assert_eq!(item_match(item, other), None, "{other}");
        }
        assert_eq!(item_match("./-n", "-n"), Some(ItemMatch::Whole));
    }

    #[test]
    fn a_task_number_is_counted_from_one() {
        let numbers = ["t1", "T12", "t0", "t", "t+1", "t-1", "t1a", "1", "t99999999999999999999"];
        let expected = [Some(1), Some(12), None, None, None, None, None, None, None];
        assert_eq!(numbers.map(task_number), expected);
    }

    #[test]
    fn what_it_could_be_is_listed_and_cut_short() {
        let names: Vec<String> = (1..=10).map(|number| format!("t{number}")).collect();
        assert_eq!(listed(&names[..2]), "t1 or t2");
        assert_eq!(listed(&names), "t1, t2, t3, t4, t5, t6, t7, t8 and 2 more");
        assert_eq!(listed(&names[..0]), "none");
    }
}
