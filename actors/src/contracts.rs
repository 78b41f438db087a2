//! Builds the yield contracts of tasks: the schema and how often a worker is reminded.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::ports::{AnyValue, Schema};
use engine::task::{ReminderPolicy, YieldContract};
use protocol::{TaskId, TaskName, TaskSpec, Work};

use crate::deps::Deps;

/// The contracts of some tasks.
pub(crate) type Contracts = BTreeMap<TaskId, YieldContract>;

/// A schema that cannot be compiled.
pub(crate) struct SchemaFault {
    pub(crate) task: TaskName,
    pub(crate) fault: String,
}

/// Builds the contract of each task. The compiler of schemas is foreign code and may panic.
pub(crate) fn contracts(tasks: &[TaskSpec], deps: &Deps) -> Result<Contracts, SchemaFault> {
    let any: Arc<dyn Schema> = Arc::new(AnyValue);
    let contract = |task: &TaskSpec| {
        let schema = match &task.schema {
            None => Arc::clone(&any),
            Some(schema) => deps
                .schemas
                .compile(schema)
                .map_err(|fault| SchemaFault { task: task.name.clone(), fault })?,
        };
        Ok((task.id, YieldContract::new(schema, reminder_policy(&task.work))))
    };
    tasks.iter().map(contract).collect()
}

/// Returns a contract that any value satisfies.
pub(crate) fn any() -> YieldContract {
    YieldContract::new(Arc::new(AnyValue), ReminderPolicy::COMMAND)
}

/// Returns how often a worker of this kind is reminded.
fn reminder_policy(work: &Work) -> ReminderPolicy {
    match work {
        Work::Command(_) | Work::Conversation(_) => ReminderPolicy::COMMAND,
        Work::Agent(_) => ReminderPolicy::AGENT,
    }
}
