//! Branches made of tasks' work: as git would have committed it, without touching the working tree
//! or the index. Everything is made in memory first; what is new goes into the repository as one
//! pack per branch, and then the branch is there, whole.

mod clean;
mod commit_tree;
mod lineage;
mod make;
mod publish;
#[cfg(test)]
mod tests;

pub(crate) use make::{Publish, make};
pub(crate) use publish::must_be_possible;
