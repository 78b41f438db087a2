//! Conflicts that are settled.

mod agents;
mod branches;
mod branches_odd;
mod cases;
mod choices;
mod index;
mod odd;
mod programs;
mod ways;
