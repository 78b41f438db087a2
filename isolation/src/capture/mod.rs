//! Captures: the changes of a task in its workspace, written to the task store.

mod capture_workspace;
mod changed_paths;
mod compare;
mod damage;
mod left_out;
mod nested_works;
mod own_commit;
mod own_objects;
mod recorded_renames;
mod renamed_lines;
mod series;
mod setup;
#[cfg(test)]
mod tests;
mod walk;
mod without_setup;
mod work_rules;

pub(crate) use capture_workspace::{Known, capture, checkpoint, recapture, summary};
pub(crate) use changed_paths::{ChangedPath, changed_paths};
pub(crate) use compare::count_lines;
pub(crate) use renamed_lines::count_renames;
pub(crate) use setup::{accept_setup, after_setup};
