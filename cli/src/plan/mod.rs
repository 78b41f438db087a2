//! Plans: files that define the tasks of a run.

mod format;
mod names;
mod node;
mod planned;
mod read;
mod syntax;
mod task_work;
mod text;
mod validate;
mod yield_fields;

pub(crate) use format::schema;
pub(crate) use planned::{Plan, PlannedLimits, PlannedTask};
pub(crate) use read::{PlanSource, read};
pub(crate) use task_work::PlannedWork;
pub(crate) use validate::schema_of;
