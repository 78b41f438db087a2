//! What can be typed: commands, options, and what is made of a command line.

mod captures;
mod complaint;
mod examples;
mod globals;
mod parse;
mod root;
mod run;
mod unbuilt;

pub use captures::{
    ApplyArgs, ConflictsArgs, DemoArgs, DiffArgs, DiscardArgs, LogsArgs, RunsArgs, RunsCommand,
    Step,
};
pub(crate) use examples::no_task;
pub use globals::{ColorWhen, Form, Globals, ProgressStyle, Verbosity};
pub use parse::{Parsed, help_of, parse};
pub use root::{Arguments, Command, HelpArgs, SchemaArgs};
pub use run::{
    AgentChoice, Intent, IsolationChoice, LimitSetting, MergeChoice, RunArgs, VariableName,
};
