//! Plans: files that say what a run is to do.

mod bounded;
mod check;
mod file;
mod json;
mod keys;
mod place;
mod planned;
mod read;
mod schema;
mod work;

pub(crate) use check::schema_of;
pub(crate) use planned::{Plan, PlannedTask, PlannedWork};
pub(crate) use read::{PlanSource, read};
pub(crate) use schema::schema;
