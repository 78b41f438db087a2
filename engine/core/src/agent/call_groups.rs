//! Which tool calls of one answer run side by side.

use std::ops::Range;
use std::path::Path;

use crate::ports::{Access, AccessClass, Concurrency};

/// Splits the calls into groups. The groups run one after another, the calls of one group concurrently.
pub(super) fn groups(accesses: &[Access], calls: usize) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let mut begin = 0;
    for at in 1..calls {
        let Some(access) = accesses.get(at) else { continue };
        if accesses[begin..at].iter().any(|earlier| conflict(earlier, access)) {
            groups.push(begin..at);
            begin = at;
        }
    }
    groups.push(begin..calls);
    groups
}

/// Returns whether two calls must run in their order: they are about one path and one of them changes it, or
/// one changes a file and the other runs a command or has a server do something, which may use any.
fn conflict(one: &Access, other: &Access) -> bool {
    let is_exclusive = |access: &Access| access.concurrency == Concurrency::Exclusive;
    if is_exclusive(one) || is_exclusive(other) {
        return true;
    }
    match (&one.class, &other.class) {
        (AccessClass::Write(one), AccessClass::Write(other) | AccessClass::Read(other))
        | (AccessClass::Read(one), AccessClass::Write(other)) => overlap(one, other),
        (AccessClass::Write(_), AccessClass::Exec { .. } | AccessClass::Server { .. })
        | (AccessClass::Exec { .. } | AccessClass::Server { .. }, AccessClass::Write(_)) => true,
        (
            AccessClass::Read(_) | AccessClass::Exec { .. } | AccessClass::Server { .. },
            AccessClass::Read(_) | AccessClass::Exec { .. } | AccessClass::Server { .. },
        ) => false,
    }
}

/// Returns whether a path of one call is, or is in, a path of the other.
fn overlap(one: &[String], other: &[String]) -> bool {
    let is_one = |one: &String, other: &String| {
        let (one, other) = (Path::new(one), Path::new(other));
        one.starts_with(other) || other.starts_with(one)
    };
    one.iter().any(|path| other.iter().any(|beside| is_one(path, beside)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the groups of calls, each written as `r PATH`, `w PATH`, `x` for a command, or `!` for one that
    /// runs alone.
    fn grouped(calls: &str) -> Vec<Vec<&str>> {
        let calls: Vec<_> = calls.split(", ").collect();
        let access = |call: &&str| {
            let (kind, path) = call.split_once(' ').unwrap_or((call, ""));
            let class = match kind {
                "r" => AccessClass::Read(vec![path.to_owned()]),
                "w" => AccessClass::Write(vec![path.to_owned()]),
                "x" => AccessClass::Exec { command: "make".to_owned(), folder: String::new() },
                _ => AccessClass::Read(Vec::new()),
            };
            let is_alone = kind == "!";
            let concurrency = if is_alone { Concurrency::Exclusive } else { Concurrency::Shared };
            Access { class, concurrency }
        };
        let accesses: Vec<_> = calls.iter().map(access).collect();
        groups(&accesses, calls.len()).into_iter().map(|group| calls[group].to_vec()).collect()
    }

    #[test]
    fn calls_on_one_path_run_in_order_and_others_side_by_side() {
        for (calls, expected) in [
            ("w a, w b, r c, w d/e", vec![vec!["w a", "w b", "r c", "w d/e"]]),
            ("w a, w a, r a", vec![vec!["w a"], vec!["w a"], vec!["r a"]]),
            ("r a, w a", vec![vec!["r a"], vec!["w a"]]),
            ("r a, r a, x, x", vec![vec!["r a", "r a", "x", "x"]]),
            ("w a/b, r a, r ab", vec![vec!["w a/b"], vec!["r a", "r ab"]]),
            ("r , w a", vec![vec!["r "], vec!["w a"]]),
            ("w a, x, w b", vec![vec!["w a"], vec!["x"], vec!["w b"]]),
            ("w a, !, w b", vec![vec!["w a"], vec!["!"], vec!["w b"]]),
            ("w a, w b, w a, w b", vec![vec!["w a", "w b"], vec!["w a", "w b"]]),
        ] {
            assert_eq!(grouped(calls), expected, "{calls}");
        }
    }
}
