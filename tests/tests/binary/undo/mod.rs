//! Landed work that is taken back.

mod branches;
mod nested;
mod races;
mod renames;
mod tree;
