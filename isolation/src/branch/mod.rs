//! Landing on branches: commits of the tasks' work as git would make them, without touching the
//! working tree or the index. Commits are made in memory first; then each branch is written to the
//! repository with one pack.

mod clean;
mod commit_tree;
mod lineage;
mod make;
mod publish;
#[cfg(test)]
mod tests;

pub(crate) use make::{Publish, make};
pub(crate) use publish::must_be_possible;
