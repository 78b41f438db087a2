//! What a person should know about what the workspaces will and will not hold.

use engine::ports::Notice;

use crate::baseline::scan::Scan;

/// How many paths a notice names.
const NAMED: usize = 3;

/// Returns what a scan found that workspaces do not have.
pub(super) fn of(scan: &Scan) -> Vec<Notice> {
    let rows: [(&[String], &str, &str, &str); 5] = [
        (
            &scan.ignored,
            "ignored files in the workspaces",
            "they are not there; a task makes what it needs",
            "git ignores",
        ),
        (
            &scan.nested,
            "repositories inside this one",
            "they are left out of the workspaces",
            "each is a repository of its own:",
        ),
        (
            &scan.special,
            "sockets, pipes and devices",
            "they are left out of the workspaces",
            "git does not know such files:",
        ),
        (
            &scan.unreadable,
            "untracked files that may not be read",
            "they are left out of the workspaces",
            "permissions keep us out of",
        ),
        (
            &scan.invalid_names,
            "files with names like .git",
            "they are left out of the workspaces",
            "no repository can have such names:",
        ),
    ];
    rows.into_iter()
        .filter(|(paths, ..)| !paths.is_empty())
        .map(|(paths, from, to, why)| Notice {
            from: from.to_owned(),
            to: to.to_owned(),
            why: format!("{why} {}", some_of(paths)),
        })
        .collect()
}

/// Names the first few.
fn some_of(paths: &[String]) -> String {
    let mut sorted: Vec<&str> = paths.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    let named = sorted[..sorted.len().min(NAMED)].join(", ");
    match sorted.len().checked_sub(NAMED) {
        None | Some(0) => named,
        Some(more) => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_names_the_first_few_paths_and_counts_the_rest() {
        let ignored = ["d", "c", "b", "a"].map(str::to_owned).to_vec();
        let notices = of(&Scan { ignored, ..Scan::default() });
        assert_eq!(notices.len(), 1);
        assert_eq!(notices[0].why, "git ignores a, b, c and 1 more");
    }
}
