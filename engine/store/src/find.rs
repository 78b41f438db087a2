//! Finds the run or the task that a person names, often by its first letters only.

use engine::ports::LedgerError;
use protocol::{RunName, TaskName};

/// How many candidates are told.
const CANDIDATES: usize = 8;

/// Why there is no run or task of that name.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// There is no run at all, in this repository if one was named.
    #[error("there is no run yet")]
    NoRuns,
    /// No run is called that.
    #[error("there is no run `{given}`")]
    UnknownRun {
        /// What was given.
        given: String,
    },
    /// Several runs begin with that.
    #[error("`{given}` could be {}", listed(.candidates))]
    AmbiguousRun {
        /// What was given.
        given: String,
        /// The runs, latest first.
        candidates: Vec<RunName>,
    },
    /// No task of the run is called that.
    #[error("there is no task `{given}` in the run; its tasks are {}", listed(.tasks))]
    UnknownTask {
        /// What was given.
        given: String,
        /// The run's tasks, in the order of their declaration.
        tasks: Vec<TaskName>,
    },
    /// Several tasks of the run begin with that.
    #[error("`{given}` could be {}", listed(.candidates))]
    AmbiguousTask {
        /// What was given.
        given: String,
        /// The tasks, in the order of their declaration.
        candidates: Vec<TaskName>,
    },
    /// The ledger cannot be read.
    #[error(transparent)]
    Unreadable(#[from] LedgerError),
}

/// What names begin with the letters that were given.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Named<T> {
    Nothing,
    One(T),
    Several(Vec<T>),
}

/// Returns which of `names` is meant by `given`: the one that equals it, else the ones that begin
/// with it, both compared without case.
pub(crate) fn named<T>(names: Vec<T>, name: impl Fn(&T) -> &str, given: &str) -> Named<T> {
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
        return Named::One(candidates.swap_remove(exact));
    }
    match candidates.len() {
        0 => Named::Nothing,
        1 => Named::One(candidates.remove(0)),
        _ => Named::Several(candidates),
    }
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

    fn find(given: &str) -> Named<&'static str> {
        named(vec!["auth", "Auth.tests", "api", "billing"], |name| name, given)
    }

    #[test]
    fn a_name_is_found_whole_or_by_its_first_letters_without_case() {
        assert_eq!(find("AUTH"), Named::One("auth"));
        assert_eq!(find("auth."), Named::One("Auth.tests"));
        assert_eq!(find("b"), Named::One("billing"));
        assert_eq!(find("ap"), Named::One("api"));
        assert_eq!(find("a"), Named::Several(vec!["auth", "Auth.tests", "api"]));
        assert_eq!(find("ö"), Named::Nothing);
    }

    #[test]
    fn what_it_could_be_is_listed_and_cut_short() {
        let names: Vec<String> = (1..=10).map(|number| format!("t{number}")).collect();
        assert_eq!(listed(&names[..2]), "t1 or t2");
        assert_eq!(listed(&names), "t1, t2, t3, t4, t5, t6, t7, t8 and 2 more");
        assert_eq!(listed(&names[..0]), "none");
    }
}
