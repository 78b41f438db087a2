//! Capturing: what a task made of its workspace, put into the task store.

mod compare;
mod forced;
mod left_out;
mod lines;
mod take;
#[cfg(test)]
mod tests;
mod walk;

pub(crate) use lines::count as count_lines;
pub(crate) use take::{capture, checkpoint, recapture, summary};
