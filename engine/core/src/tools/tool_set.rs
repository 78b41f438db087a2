//! The tools of one session: finds the tool of a call, corrects and checks the arguments against its
//! schema, and turns every error before the call into an outcome.

use std::collections::BTreeSet;
use std::sync::Arc;

use protocol::{ToolCall, quote};
use serde_json::{Map, Value};

use super::repairs::{Repaired, repaired};
use super::resolve::Resolve;
use crate::failpoint;
use crate::fault::Faults;
use crate::ports::{
    Access, AccessClass, AnyValue, Background, CommandOwner, CommandShell, PendingSlot, Schema,
    Schemas, Tool, ToolBuildError, ToolContext, ToolDeclaration, ToolOutcome, ToolOutput, ToolSpec,
    Visibility, WorkspaceView,
};

/// The maximum number of bytes of a message about invalid arguments.
const MAX_FAULT_BYTES: usize = 2 << 10;

/// The tools of one session.
pub struct ToolSet {
    entries: Vec<ToolEntry>,
    declarations: Arc<[ToolDeclaration]>,
    pending: PendingSlot,
    faults: Faults,
}

/// A tool and the compiled schema of its arguments.
#[derive(Clone)]
struct ToolEntry {
    tool: Arc<dyn Tool>,
    schema: Arc<dyn Schema>,
}

impl ToolSet {
    /// Returns a set of the tools, with `resolve` if one of them leaves actions pending, and the errors of
    /// those that are not in it: tools that could not be built, that have an invalid schema, or whose name
    /// is taken.
    #[must_use]
    pub fn new(
        built: Vec<Result<Arc<dyn Tool>, ToolBuildError>>,
        schemas: &dyn Schemas,
        faults: Faults,
    ) -> (Self, Vec<ToolBuildError>) {
        let (mut entries, mut left_out) = (Vec::new(), Vec::new());
        let pending = PendingSlot::default();
        let leaves = built.iter().flatten().any(|tool| tool.leaves_pending());
        let resolve = leaves.then(|| Ok(Arc::new(Resolve::new(pending.clone())) as Arc<dyn Tool>));
        let mut names = BTreeSet::new();
        for built in built.into_iter().chain(resolve) {
            let entry = built.and_then(|tool| ToolEntry::new(tool, schemas));
            match entry {
                Ok(entry) if names.insert(entry.spec().name.clone()) => entries.push(entry),
                Ok(entry) => left_out.push(ToolBuildError {
                    tool: entry.spec().name.clone(),
                    reason: "another tool has its name".to_owned(),
                }),
                Err(error) => left_out.push(error),
            }
        }
        (Self::of(entries, pending, faults), left_out)
    }

    fn of(entries: Vec<ToolEntry>, pending: PendingSlot, faults: Faults) -> Self {
        let declared = entries.iter().map(ToolEntry::spec);
        let declared = declared.filter(|spec| spec.visibility != Visibility::Hidden);
        let declarations = declared.map(declaration).collect();
        Self { entries, declarations, pending, faults }
    }

    /// Returns the set with further tools at its end. Where one has an invalid schema, its arguments are not
    /// checked: that is up to the program that has the tool.
    #[must_use]
    pub(super) fn with(&self, tools: Vec<Arc<dyn Tool>>, schemas: &dyn Schemas) -> Self {
        let further = tools.into_iter().map(|tool| {
            let schema = schemas.compile(checked_against(tool.spec()));
            ToolEntry { tool, schema: schema.unwrap_or_else(|_invalid| Arc::new(AnyValue)) }
        });
        let entries = self.entries.iter().cloned().chain(further).collect();
        Self::of(entries, self.pending(), self.faults.clone())
    }

    /// Returns the names of all tools, also of those that are not declared.
    pub(super) fn names(&self) -> BTreeSet<String> {
        self.entries.iter().map(|entry| entry.spec().name.clone()).collect()
    }

    /// Returns what keeps the action that a call leaves pending.
    #[must_use]
    pub fn pending(&self) -> PendingSlot {
        self.pending.clone()
    }

    /// Begins what first calls would have to wait for.
    pub fn prepare(
        &self,
        shell: CommandShell,
        commands: &Arc<dyn CommandOwner>,
        background: &dyn Background,
    ) {
        self.entries.iter().for_each(|entry| entry.tool.prepare(shell, commands, background));
    }

    /// Returns the declarations of the tools for the model.
    #[must_use]
    pub fn declarations(&self) -> Arc<[ToolDeclaration]> {
        Arc::clone(&self.declarations)
    }

    /// Returns how a call accesses its surroundings. An invalid call accesses nothing.
    #[must_use]
    pub fn classify(&self, call: &ToolCall) -> Access {
        self.classified(call).map_or_else(Access::none, |(_, access)| access)
    }

    /// Does the same with the paths that those of the call lead to: two names of one file are one path.
    pub async fn resolved(&self, call: &ToolCall, view: &dyn WorkspaceView) -> Access {
        let Some((tool, mut access)) = self.classified(call) else { return Access::none() };
        if let AccessClass::Read(paths) | AccessClass::Write(paths) = &mut access.class {
            for path in paths {
                if let Some(found) = tool.find(view, path).await {
                    *path = found.path().to_string_lossy().into_owned();
                }
            }
        }
        access
    }

    /// Returns the tool of a call and how the call accesses its surroundings, unless it is invalid.
    pub(super) fn classified(&self, call: &ToolCall) -> Option<(&dyn Tool, Access)> {
        let entry = self.find(&call.name).filter(|_| call.malformed.is_none())?;
        let access = entry.tool.classify(&entry.repaired(call.arguments.clone()).arguments);
        Some((entry.tool.as_ref(), access))
    }

    /// Returns the change that a call would make, as a unified diff, if its tool knows it before.
    pub async fn preview(&self, call: &ToolCall, view: &dyn WorkspaceView) -> Option<String> {
        let entry = self.find(&call.name)?;
        let checked = entry.checked_call(call).ok()?;
        entry.tool.preview(&checked.arguments, view).await
    }

    /// Fails if a call cannot succeed as the files are now.
    ///
    /// # Errors
    /// The outcome of the call.
    pub async fn check(
        &self,
        call: &ToolCall,
        view: &dyn WorkspaceView,
    ) -> Result<(), ToolOutcome> {
        let entry = self.find(&call.name).ok_or_else(|| failed(self.unknown(&call.name)))?;
        let checked = entry.checked_call(call).map_err(failed)?;
        entry.tool.check(&checked.arguments, view).await
    }

    /// Runs one call. Errors become outcomes.
    ///
    /// # Panics
    /// Panics if the tool panics.
    pub async fn call(&self, call: ToolCall, context: &ToolContext) -> ToolOutcome {
        let Some(entry) = self.find(&call.name) else { return failed(self.unknown(&call.name)) };
        let spec = entry.spec();
        if let Err(error) = failpoint!(self.faults, &format!("tool.{}", spec.name)) {
            let what = format!("{} failed: {error}", spec.name);
            return match error.kind() {
                std::io::ErrorKind::StorageFull => ToolOutcome::ResourceExhausted(what),
                _ => failed(what),
            };
        }
        if context.cancel.is_cancelled() {
            return failed("Operation aborted".to_owned());
        }
        match entry.checked_call(&call) {
            Ok(Repaired { arguments, repairs }) => {
                let call = ToolCall { arguments, ..call };
                let mut outcome = entry.tool.execute(call, context).await;
                if let ToolOutcome::Output(output) | ToolOutcome::Failed(output) = &mut outcome {
                    repairs.add_to(output);
                }
                outcome
            }
            Err(message) => failed(message),
        }
    }

    /// Finds a tool by its name. A name in another case is taken if exactly one tool has it, because
    /// some models write `Read` for `read`.
    fn find(&self, name: &str) -> Option<&ToolEntry> {
        let exact = self.entries.iter().find(|entry| entry.spec().name == name);
        exact.or_else(|| {
            let is_meant = |entry: &&ToolEntry| entry.spec().name.eq_ignore_ascii_case(name);
            let mut meant = self.entries.iter().filter(is_meant);
            let first = meant.next()?;
            meant.next().is_none().then_some(first)
        })
    }

    fn unknown(&self, name: &str) -> String {
        let names: Vec<_> = self.declarations.iter().map(|tool| tool.name.as_str()).collect();
        // Some models write the name of the tool `read` as `Read` or `functions.read`.
        let last = name.trim().rsplit(['.', ':']).next().unwrap_or_default();
        let meant = names.iter().find(|name| name.eq_ignore_ascii_case(last));
        let meant = meant.map_or_else(String::new, |name| format!(" Did you mean {name}?"));
        let (name, names) = (quote(name), names.join(", "));
        format!("Tool {name} not found.{meant} The tools there are: {names}")
    }
}

impl ToolEntry {
    fn new(tool: Arc<dyn Tool>, schemas: &dyn Schemas) -> Result<Self, ToolBuildError> {
        let spec = tool.spec();
        let schema = schemas.compile(checked_against(spec)).map_err(|error| ToolBuildError {
            tool: spec.name.clone(),
            reason: format!("its schema is not a JSON Schema: {error}"),
        })?;
        Ok(Self { tool, schema })
    }

    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    /// Returns the arguments with spelling and types corrected.
    fn repaired(&self, arguments: Map<String, Value>) -> Repaired {
        let reshape = |arguments: &mut Map<String, Value>| self.tool.reshape(arguments);
        repaired(arguments, checked_against(self.spec()), reshape)
    }

    /// Returns the corrected arguments of a call, or a message about what is wrong with them.
    fn checked_call(&self, call: &ToolCall) -> Result<Repaired, String> {
        if let Some(text) = &call.malformed {
            return Err(malformed_arguments(self.spec(), text));
        }
        let Repaired { arguments, repairs } = self.repaired(call.arguments.clone());
        let value = Value::Object(arguments);
        let faults = self.schema.faults(&value);
        match value {
            Value::Object(arguments) if faults.is_empty() => Ok(Repaired { arguments, repairs }),
            _ => Err(invalid_arguments(self.spec(), &faults)),
        }
    }
}

fn failed(message: String) -> ToolOutcome {
    ToolOutcome::Failed(ToolOutput::text(message))
}

fn checked_against(spec: &ToolSpec) -> &Value {
    spec.checked.as_ref().unwrap_or(&spec.parameters)
}

fn declaration(spec: &ToolSpec) -> ToolDeclaration {
    ToolDeclaration {
        name: spec.name.clone(),
        description: Arc::clone(&spec.description),
        parameters: Arc::clone(&spec.parameters),
    }
}

fn invalid_arguments(ToolSpec { name, example, .. }: &ToolSpec, faults: &[String]) -> String {
    let faults = faults.join("\n- ");
    let faults = &faults[..faults.floor_char_boundary(MAX_FAULT_BYTES)];
    format!(
        "The arguments of {name} are not right:\n- {faults}\nRight arguments are, for instance: \
         {example}"
    )
}

fn malformed_arguments(ToolSpec { name, example, .. }: &ToolSpec, text: &str) -> String {
    let why = match serde_json::from_str::<Value>(text) {
        Err(error) => format!("not JSON ({error})"),
        Ok(Value::Object(_)) => "nested too deeply".to_owned(),
        Ok(_) => "not a JSON object".to_owned(),
    };
    format!(
        "The arguments of {name} are {why}. They begin with: {}\nRight arguments are, for \
         instance: {example}",
        quote(text)
    )
}
