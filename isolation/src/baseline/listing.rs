//! What of a tree belongs to its repository, as a list: for backends that look at whole trees.

use std::ffi::OsStr;

use engine::ports::Notice;
use protocol::RepoPath;

use crate::backends::RunContext;
use crate::baseline::{notices, scan};
use crate::error::Result;
use crate::tree::{Tree, join};

/// What of a tree is tracked, or neither tracked nor ignored.
#[derive(Clone, Debug, Default)]
pub struct TreeListing {
    /// Every folder, each before what is in it.
    pub folders: Vec<RepoPath>,
    /// Every file and symlink, sorted.
    pub files: Vec<RepoPath>,
    /// What a person should know about what is left out.
    pub notices: Vec<Notice>,
}

/// Lists `tree`, which is the user's or a copy of it. The user's repository says what is tracked.
pub(crate) fn list_tree(context: &RunContext, tree: &Tree) -> Result<TreeListing> {
    let scan =
        scan::scan(&context.repo.git()?, tree, &context.paths.folders(), (context.now_ns)())?;
    let notices = notices::of(&scan);
    let mut listing = TreeListing { notices, ..TreeListing::default() };
    for (path, folder) in &scan.table.folders {
        listing.folders.extend(RepoPath::new(path.as_slice()));
        let names = folder.files.keys().map(AsRef::<OsStr>::as_ref);
        listing.files.extend(names.filter_map(|name| RepoPath::new(join(path, name))));
    }
    listing.files.extend(scan.dirty_candidates.into_iter().map(|file| file.path));
    listing.files.sort();
    Ok(listing)
}
