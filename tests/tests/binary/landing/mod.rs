//! How work lands.

mod again;
mod all_land;
mod calls;
mod calls_branches;
mod commit_subjects;
mod eager;
mod escapes;
mod fuzz;
mod letter_case;
mod lines;
mod many;
mod odd;
pub(super) mod onto;
mod renames;
mod series;
mod shapes;
mod source;
mod stack;
mod tree;
mod union;
mod writers;
