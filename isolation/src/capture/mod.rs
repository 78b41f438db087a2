//! Captures: the changes of a task in its workspace, written to the task store.

mod capture_workspace;
mod compare;
mod damage;
mod left_out;
mod nested_works;
mod own_commit;
mod own_objects;
mod series;
mod setup;
#[cfg(test)]
mod tests;
mod walk;
mod without_setup;
mod work_rules;

pub(crate) use capture_workspace::{Known, capture, checkpoint, recapture, summary};
pub(crate) use compare::count_lines;
pub(crate) use setup::accept_setup;
