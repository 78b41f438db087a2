//! Plans: files that define the tasks of a run.

mod choices;
mod format;
mod names;
mod node;
mod other_keys;
mod planned;
mod planned_keys;
mod read;
mod syntax;
mod task_work;
mod text;
mod validate;
mod yield_fields;

pub use choices::{agent_name, land_time, merge_mode};
pub use format::schema;
pub use planned::{Plan, PlannedLimits, PlannedTask};
pub use planned_keys::PLANNED_KEYS;
pub use read::{PlanSource, read};
pub use task_work::PlannedWork;
pub use validate::schema_of;
