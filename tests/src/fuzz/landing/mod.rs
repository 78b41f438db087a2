//! Random repositories and random tasks over them: what lands is compared, path by path, with what
//! `git merge-file` and a check of files against folders say.

mod content;
mod disk;
mod edits;
mod names;
mod oracle;
mod outcome;
mod renames;
mod scenario;
mod three_way;

pub use outcome::check;
