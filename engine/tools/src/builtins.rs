//! The table of built-in tools, and the factory that builds them for each session.

use std::sync::Arc;

use async_trait::async_trait;
use engine::failpoint;
use engine::fault::Faults;
use engine::ports::{
    Access, AccessClass, SessionPurpose, Syntax, Tool, ToolBuildError, ToolContext, ToolEnv,
    ToolFactory, ToolOutcome, ToolSpec, Visibility,
};
use protocol::{EditMode, ToolCall};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::apply_patch::ApplyPatch;
use crate::ask::Ask;
use crate::ast_edit::AstEdit;
use crate::ast_grep::AstGrep;
use crate::bash::Bash;
use crate::bash::user_shell::UserShells;
use crate::builtin::{Builtin, Requires, Session, ShownPart, build, spec, title};
use crate::edit::Edit;
use crate::error::ToolError;
use crate::find::Find;
use crate::grep::Grep;
use crate::images::ImageSizes;
use crate::job::Job;
use crate::ls::Ls;
use crate::notebook::NotebookTool;
use crate::read::Read;
use crate::report_finding::ReportFinding;
use crate::task::Task;
use crate::todo_write::TodoWrite;
use crate::write::Write;
use crate::yield_tool::Yield;

/// The built-in tools.
pub struct Builtins {
    faults: Faults,
    shells: Arc<UserShells>,
    edit_mode: EditMode,
    images: ImageSizes,
    syntax: Option<Arc<dyn Syntax>>,
    tools: Vec<(&'static Entry, Arc<ToolSpec>)>,
}

impl Builtins {
    /// Returns the tools. `faults` may make the building of a tool fail.
    #[must_use]
    pub fn new(faults: Faults) -> Self {
        let specified = |entry: &'static Entry| (entry, Arc::new((entry.spec)()));
        let tools = TABLE.iter().chain(PANIC_TOOL).map(specified).collect();
        let (edit_mode, images) = (EditMode::Auto, ImageSizes::Fitted);
        Self { faults, shells: Arc::default(), edit_mode, images, syntax: None, tools }
    }

    /// Returns the tools, which run commands in the user's shell.
    #[must_use]
    pub fn with_shells(self, shells: Arc<UserShells>) -> Self {
        Self { shells, ..self }
    }

    /// Returns the tools, of which this mode decides with which parts of files are changed.
    #[must_use]
    pub fn with_edit_mode(self, edit_mode: EditMode) -> Self {
        Self { edit_mode, ..self }
    }

    /// Returns the tools, with those that find and rewrite code by its syntax.
    #[must_use]
    pub fn with_syntax(self, syntax: Option<Arc<dyn Syntax>>) -> Self {
        Self { syntax, ..self }
    }

    /// Returns the tools, which give models images of these sizes.
    #[must_use]
    pub fn with_images(self, images: ImageSizes) -> Self {
        Self { images, ..self }
    }

    /// Returns the names of the tools that are declared to the models of such sessions.
    #[must_use]
    pub fn names(purpose: SessionPurpose) -> Vec<&'static str> {
        let usual = TABLE.iter().filter(|entry| entry.requires == Requires::Nothing);
        usual.filter(|entry| entry.is_for(purpose)).map(|entry| entry.name).collect()
    }

    /// Returns the names of those that [`Builtins::with_syntax`] adds.
    #[must_use]
    pub fn syntax_names() -> Vec<&'static str> {
        let syntax = TABLE.iter().filter(|entry| entry.requires == Requires::Syntax);
        syntax.map(|entry| entry.name).collect()
    }

    /// Returns what a call is about, for people; `None` if its tool has nothing to say about it.
    #[must_use]
    pub fn title(call: &ToolCall) -> Option<String> {
        (entry(&call.name)?.title)(call.arguments.clone())
    }

    /// Returns the printable lines that people are shown of a result of `tool` with these details; `None` shows a
    /// part of its text.
    #[must_use]
    pub fn shown_result(tool: &str, details: &Value) -> Option<Vec<String>> {
        (entry(tool)?.shown_result)(details)
    }

    /// Returns whether no call of `tool` changes a file or runs a command.
    #[must_use]
    pub fn only_reads(tool: &str) -> bool {
        let access = entry(tool).map(|entry| (entry.classify)(&Map::new()));
        access.is_some_and(|access| matches!(access.class, AccessClass::Read(_)))
    }

    /// Returns whether `tool` is one of these tools.
    #[must_use]
    pub fn has(tool: &str) -> bool {
        entry(tool).is_some()
    }

    /// Returns which part of a long result of `tool` people are shown.
    #[must_use]
    pub fn shown_part(tool: &str) -> ShownPart {
        entry(tool).map_or(ShownPart::Beginning, |entry| entry.shown_part)
    }
}

/// Returns the row of a tool, whose name models may write in another case.
fn entry(name: &str) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.name.eq_ignore_ascii_case(name))
}

#[async_trait]
impl ToolFactory for Builtins {
    fn name(&self) -> &str {
        "built-in tools"
    }

    async fn build(&self, env: &ToolEnv) -> Vec<Result<Arc<dyn Tool>, ToolBuildError>> {
        let session =
            Session::new(env.clone(), Arc::clone(&self.shells), self.images, self.faults.clone());
        let session = Arc::new(session.with_syntax(self.syntax.clone()));
        let build = |(entry, spec): &(&Entry, Arc<ToolSpec>)| {
            failpoint!(self.faults, &format!("tool.build.{}", spec.name)).map_err(|error| {
                ToolBuildError { tool: spec.name.clone(), reason: error.to_string() }
            })?;
            Ok((entry.build)(spec, &session))
        };
        let edit_mode = self.edit_mode.for_model(&env.model);
        let is_there = |(entry, spec): &&(&Entry, Arc<ToolSpec>)| {
            let is_seen = spec.visibility != Visibility::Hidden || env.is_scripted;
            let can_work = entry.requires == Requires::Nothing || self.syntax.is_some();
            is_seen
                && can_work
                && entry.is_for(env.purpose)
                && (entry.is_offered)(env)
                && (env.is_scripted || entry.is_of(edit_mode))
        };
        self.tools.iter().filter(is_there).map(build).collect()
    }
}

/// The tools that are declared to models, in this order.
pub(crate) const TABLE: &[Entry] = &[
    Entry::of::<Read>(),
    Entry::of::<Write>(),
    Entry::of::<Edit>(),
    Entry::of::<ApplyPatch>(),
    Entry::of::<NotebookTool>(),
    Entry::of::<Bash>(),
    Entry::of::<Job>(),
    Entry::of::<Grep>(),
    Entry::of::<Find>(),
    Entry::of::<Ls>(),
    Entry::of::<AstGrep>(),
    Entry::of::<AstEdit>(),
    Entry::of::<TodoWrite>(),
    Entry::of::<Ask>(),
    Entry::of::<Task>(),
    Entry::of::<ReportFinding>(),
    Entry::of::<Yield>(),
];

/// The tool `panic`, which is not declared to models: only scenarios call it.
pub(crate) const PANIC_TOOL: &[Entry] = &[Entry::of::<Panic>()];

/// One row of the table.
pub(crate) struct Entry {
    name: &'static str,
    /// The sessions that have the tool; all if absent.
    purpose: Option<SessionPurpose>,
    /// The mode of edits that offers the tool; all if absent.
    edit_mode: Option<EditMode>,
    requires: Requires,
    shown_part: ShownPart,
    title: fn(Map<String, Value>) -> Option<String>,
    shown_result: fn(&Value) -> Option<Vec<String>>,
    classify: fn(&Map<String, Value>) -> Access,
    /// Returns whether sessions in such an environment have the tool.
    is_offered: fn(&ToolEnv) -> bool,
    /// Returns the specification of the tool.
    pub(crate) spec: fn() -> ToolSpec,
    /// Builds the tool for a session.
    pub(crate) build: fn(&Arc<ToolSpec>, &Arc<Session>) -> Arc<dyn Tool>,
}

impl Entry {
    const fn of<T: Builtin>() -> Self {
        Self {
            name: T::NAME,
            purpose: T::PURPOSE,
            edit_mode: T::EDIT_MODE,
            requires: T::REQUIRES,
            shown_part: T::SHOWN_PART,
            title: title::<T>,
            shown_result: T::shown_result,
            classify: T::classify,
            is_offered: T::is_offered,
            spec: spec::<T>,
            build: build::<T>,
        }
    }

    fn is_for(&self, purpose: SessionPurpose) -> bool {
        self.purpose.is_none_or(|only| only == purpose)
    }

    fn is_of(&self, mode: EditMode) -> bool {
        self.edit_mode.is_none_or(|only| only == mode)
    }
}

/// The tool `panic`: it panics, so that a scenario can show how the engine handles a panic.
pub(crate) struct Panic;

/// Nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PanicArguments {}

impl Builtin for Panic {
    const NAME: &'static str = "panic";
    const DESCRIPTION: &'static str = "Panics.";
    const EXAMPLE: &'static str = "{}";
    const VISIBILITY: Visibility = Visibility::Hidden;

    type Arguments = PanicArguments;

    fn new(_session: &Arc<Session>) -> Self {
        Self
    }

    fn classify(_arguments: &Map<String, Value>) -> Access {
        Access::none()
    }

    async fn run(&self, _: PanicArguments, _: &ToolContext) -> Result<ToolOutcome, ToolError> {
        panic!("the tool panic was called")
    }
}
