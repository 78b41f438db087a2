//! Landing on branches: commits of the tasks' work as git would make them, without touching the
//! working tree or the index. Commits are made in memory first; then each branch is written to the
//! repository with one pack.

mod ancestry;
mod clean_filter;
mod commit_authors;
mod commit_notices;
mod commit_tree;
mod commits;
mod committed_moves;
mod conversions;
mod explain;
mod make_branches;
mod merged_by_hand;
mod one_branch;
mod publish;
mod replay;
mod settled_work;
mod stack;
mod stack_branch;
#[cfg(test)]
mod tests;

pub(crate) use commit_authors::named_task;
pub(crate) use commit_notices::commit_notices;
pub(crate) use commit_tree::RepoBlobs;
pub(crate) use conversions::{committed_bytes, working_bytes};
pub(crate) use make_branches::{Publish, head_tree, make_branches};
pub(crate) use one_branch::make_branch;
pub(crate) use publish::{find_branch, keep_in_memory, must_be_possible, write_pack};
pub(crate) use settled_work::InTheWay;
pub(crate) use stack::{Stacked, make_stack};
pub(crate) use stack_branch::{Checkout, StackTarget, checkout};
