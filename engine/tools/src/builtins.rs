//! The tools of the engine: what all sessions have of them in common.

use std::sync::Arc;

use engine::fault::Faults;
use engine::ports::{Commands, Schema, Schemas, ToolDeclaration, Toolbox, Tools, Workbench};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::builtin::Entry;
use crate::desk::Desk;
use crate::set::ToolSet;
use crate::table::{REHEARSAL, TABLE};

/// How many threads of all sessions wait for the disk at the same time.
const AT_THE_DISK: usize = 32;

/// The tools of the engine: `read`, `write`, `edit`, `bash` and `yield`.
pub struct Builtins {
    commands: Arc<dyn Commands>,
    schemas: Arc<dyn Schemas>,
    shared: Arc<Shared>,
    disk: Arc<Semaphore>,
}

/// What all sessions have in common.
#[derive(Clone)]
pub(crate) struct Shared {
    /// The faults of this process.
    pub(crate) faults: Faults,
    /// The tools that a model is told of.
    pub(crate) tools: Arc<[Tool]>,
    /// The tools that no model is told of.
    pub(crate) hidden: Arc<[Tool]>,
    /// What a model is told whose task has no schema.
    declarations: Arc<[ToolDeclaration]>,
}

/// A tool, and what its arguments are held against.
pub(crate) struct Tool {
    /// The tool.
    pub(crate) entry: &'static Entry,
    /// The JSON Schema of its arguments.
    pub(crate) schema: Value,
    /// Judges its arguments.
    pub(crate) judge: Box<dyn Schema>,
}

impl Builtins {
    /// Returns the tools.
    ///
    /// # Panics
    /// `schemas` does not understand the schemas of our own arguments.
    #[must_use]
    pub fn new(commands: Arc<dyn Commands>, schemas: Arc<dyn Schemas>, faults: Faults) -> Self {
        let tools = compiled(TABLE, &*schemas, &faults);
        let declarations = declarations(&tools, None);
        let shared = Shared { faults, tools, hidden: Arc::from([]), declarations };
        let disk = Arc::new(Semaphore::new(AT_THE_DISK));
        Self { commands, schemas, shared: Arc::new(shared), disk }
    }

    /// Returns the tools with those that only a scripted model knows: `panic`, which panics.
    ///
    /// # Panics
    /// As [`Self::new`].
    #[must_use]
    pub fn with_rehearsal(self) -> Self {
        let hidden = compiled(REHEARSAL, &*self.schemas, &self.shared.faults);
        let shared = Shared { hidden, ..Shared::clone(&self.shared) };
        Self { shared: Arc::new(shared), ..self }
    }
}

impl Toolbox for Builtins {
    fn open(&self, bench: Workbench) -> Arc<dyn Tools> {
        let declarations = match &bench.schema {
            None => Arc::clone(&self.shared.declarations),
            schema => declarations(&self.shared.tools, schema.as_ref()),
        };
        let desk = Arc::new(Desk::new(bench, Arc::clone(&self.commands), Arc::clone(&self.disk)));
        Arc::new(ToolSet::new(Arc::clone(&self.shared), desk, declarations))
    }
}

fn compiled(entries: &'static [Entry], schemas: &dyn Schemas, faults: &Faults) -> Arc<[Tool]> {
    let tool = |entry: &'static Entry| {
        let schema = (entry.schema)();
        let judge = schemas.compile(&schema).expect("the schemas of our arguments are schemas");
        Tool { entry, schema, judge }
    };
    entries.iter().filter(|entry| !faults.is_off(entry.capability)).map(tool).collect()
}

fn declarations(tools: &[Tool], result: Option<&Value>) -> Arc<[ToolDeclaration]> {
    let declaration = |Tool { entry, schema, .. }: &Tool| {
        let mut parameters = schema.clone();
        if let Some(result) = result {
            (entry.declare)(&mut parameters, result);
        }
        ToolDeclaration {
            name: entry.name.to_owned(),
            description: entry.description.to_owned(),
            parameters,
            concurrency: entry.concurrency,
        }
    };
    tools.iter().map(declaration).collect()
}
