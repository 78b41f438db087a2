//! Repositories inside the user's repository: submodules that are checked out, and folders with a
//! `.git` of their own. Their files are in the workspaces, each repository has a private git folder
//! there, and its part of a task's work lands in it. Nothing in their git folders is trusted.

mod git_folders;
mod git_links;
mod open;
mod part;
mod reachable;
mod readers;
#[cfg(test)]
mod tests;
mod work;

pub(crate) use git_folders::{
    git_folder_of, has_whole_link, link_text, write_link, write_links, write_templates,
};
pub(crate) use git_links::{GitLink, GitLinks, git_link, with_git_links};
pub(crate) use open::{NestedRepo, git_dirs, open_below, open_in};
pub(crate) use part::{NO_LINKS, Part, below, nested_of, within};
pub(crate) use reachable::is_reachable;
pub(crate) use readers::NestedReaders;
pub(crate) use work::{NestedWork, StoredNested, root_of};
