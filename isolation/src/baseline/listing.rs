//! Lists the files of a tree that belong to its repository, and makes the notices about the files
//! that workspaces do not contain.

use std::ffi::OsStr;

use engine::ports::Notice;
use protocol::RepoPath;

use crate::backends::RunContext;
use crate::baseline::scan;
use crate::baseline::scan::{Placement, Scan, printable};
use crate::baseline::scan_nested::scan_with_nested;
use crate::error::Result;
use crate::tree::{Tree, join};

/// The contents of a tree that are tracked, or untracked and not ignored.
#[derive(Clone, Debug, Default)]
pub struct TreeListing {
    /// Every folder, before its contents.
    pub folders: Vec<RepoPath>,
    /// Every file and symlink, sorted.
    pub files: Vec<RepoPath>,
    /// The notices about what is left out.
    pub notices: Vec<Notice>,
}

/// Lists `tree`, which is the user's tree or a copy of it. The index of the user's repository
/// decides what is tracked. Nested repositories are left out.
pub(crate) fn list_tree(context: &RunContext, tree: &Tree) -> Result<TreeListing> {
    let mut scan =
        scan::scan(&context.repo.git()?, tree, &context.paths.folders(), (context.now_ns)())?;
    for found in std::mem::take(&mut scan.repositories) {
        match found.placement {
            Placement::Submodule | Placement::Untracked => scan.nested.push(printable(&found.path)),
            Placement::Ignored(entry) => scan.ignored.push(entry),
        }
    }
    Ok(listing(scan))
}

/// Lists the user's tree, with nested repositories.
pub(crate) fn list_whole_tree(context: &RunContext, tree: &Tree) -> Result<TreeListing> {
    let git = context.repo.git()?;
    let now_ns = (context.now_ns)();
    let whole = (&context.repo, &git);
    let folders = context.paths.folders();
    let (scan, _) = scan_with_nested(whole, tree, &folders, now_ns, context.most_nested)?;
    Ok(listing(scan))
}

fn listing(scan: Scan) -> TreeListing {
    let ignored: Vec<_> = scan.ignored.iter().map(|entry| printable(&entry.path)).collect();
    let notices = notices_of(&scan, &ignored);
    let mut listing = TreeListing { notices, ..TreeListing::default() };
    for (path, folder) in &scan.table.folders {
        listing.folders.extend(RepoPath::new(path.as_slice()));
        let names = folder.files.keys().map(AsRef::<OsStr>::as_ref);
        listing.files.extend(names.filter_map(|name| RepoPath::new(join(path, name))));
    }
    listing.files.extend(scan.dirty_candidates.into_iter().map(|file| file.path));
    listing.files.sort();
    listing
}

/// How many paths a notice names.
const NAMED: usize = 3;

/// Returns the notices about files that a scan found and that workspaces do not contain. `ignored`
/// names the ignored files and folders among them.
pub(super) fn notices_of(scan: &Scan, ignored: &[String]) -> Vec<Notice> {
    let rows: [(&[String], &str, &str, &str); 5] = [
        (
            ignored,
            "ignored files",
            "not copied into workspaces; --carry copies them, --setup creates them",
            "git ignores",
        ),
        (
            &scan.nested,
            "repositories inside this one",
            "they are left out of the workspaces",
            "they cannot be used:",
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

/// Joins the first paths, and counts the others.
pub(crate) fn some_of(paths: &[String]) -> String {
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
        let notices = notices_of(&Scan::default(), &ignored);
        assert_eq!(notices.len(), 1);
        assert_eq!(notices[0].why, "git ignores a, b, c and 1 more");
    }
}
