//! Landing on branches: commits of the tasks' work as git would make them, without touching the
//! working tree or the index. Commits are made in memory first; then each branch is written to the
//! repository with one pack.

mod ancestry;
mod clean_filter;
mod commit_tree;
mod make_branches;
mod one_branch;
mod publish;
#[cfg(test)]
mod tests;

pub(crate) use make_branches::{Publish, make_branches};
pub(crate) use one_branch::make_branch;
pub(crate) use publish::must_be_possible;
