//! The contracts of tasks: each holds the yield of its worker against a schema.

use std::collections::BTreeMap;

use engine::fault::Faults;
use engine::ports::{AnyValue, Schema};
use engine::task::{ReminderPolicy, YieldContract};
use protocol::{TaskId, TaskName, TaskSpec, Work};

use crate::deps::Deps;

/// The contracts of some tasks.
pub(crate) type Contracts = BTreeMap<TaskId, YieldContract>;

/// A task's schema is none.
pub(crate) struct SchemaFault {
    pub(crate) task: TaskName,
    pub(crate) fault: String,
}

/// Makes the contract of each task. What compiles a schema is no code of ours and may panic.
pub(crate) fn contracts(tasks: &[TaskSpec], deps: &Deps) -> Result<Contracts, SchemaFault> {
    let contract = |task: &TaskSpec| {
        let schema: Box<dyn Schema> = match &task.schema {
            None => Box::new(AnyValue),
            Some(schema) => deps
                .schemas
                .compile(schema)
                .map_err(|fault| SchemaFault { task: task.name.clone(), fault })?,
        };
        Ok((task.id, YieldContract::new(schema, reminder_policy(&task.work, &deps.faults))))
    };
    tasks.iter().map(contract).collect()
}

/// Returns a contract that any value satisfies.
pub(crate) fn any() -> YieldContract {
    YieldContract::new(Box::new(AnyValue), ReminderPolicy::COMMAND)
}

/// How much the contract of a worker forgives.
fn reminder_policy(work: &Work, faults: &Faults) -> ReminderPolicy {
    match work {
        Work::Command(_) => ReminderPolicy::COMMAND,
        Work::Agent(_) if faults.is_off("F127") => {
            ReminderPolicy { reminders: 0, ..ReminderPolicy::AGENT }
        }
        Work::Agent(_) | Work::External(_) => ReminderPolicy::AGENT,
    }
}
