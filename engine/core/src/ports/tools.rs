//! What a model may call.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use protocol::ToolCall;
use serde_json::Value;

use super::CancelToken;

/// Makes the tools of one session.
pub trait Toolbox: Send + Sync {
    /// Returns tools that work on `bench`.
    fn open(&self, bench: Workbench) -> Arc<dyn Tools>;
}

/// What tools work on.
#[derive(Clone, Debug, PartialEq)]
pub struct Workbench {
    /// The root of the working tree. Nothing above it is read or written.
    pub root: PathBuf,
    /// The folder inside it that relative paths begin at, and in which commands run.
    pub folder: PathBuf,
    /// The user's own working tree, of which `root` may be a copy.
    pub repo: PathBuf,
    /// What is added to the environment of commands.
    pub environment: BTreeMap<String, OsString>,
    /// Where output goes that is too long for the model.
    pub artifacts: PathBuf,
    /// How many bytes of output are kept of one call.
    pub keep: u64,
    /// The JSON Schema of what is to be yielded; anything will do without one.
    pub schema: Option<Value>,
}

/// The tools of one session.
#[async_trait]
pub trait Tools: Send + Sync {
    /// Returns what there is, always in the same order.
    fn declarations(&self) -> Arc<[ToolDeclaration]>;

    /// Carries out one call, and says in a line now and then how it goes.
    ///
    /// Whatever goes wrong is an answer that the model reads.
    async fn call(&self, call: ToolCall, line: LineSink, stop: CancelToken) -> ToolAnswer;
}

/// Told a line of output.
pub type LineSink = Arc<dyn Fn(String) + Send + Sync>;

/// A tool as a model knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDeclaration {
    /// Its name.
    pub name: String,
    /// What it does, in words for the model.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
    /// Whether it may run beside others.
    pub concurrency: ToolConcurrency,
}

/// Whether a tool may run beside other calls of the same answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolConcurrency {
    /// It may.
    Shared,
    /// It waits for all earlier calls, and all later ones wait for it.
    Exclusive,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolAnswer {
    /// It did as it was asked.
    Said(ToolText),
    /// It did not; the text says why, and how to go on.
    Failed(ToolText),
    /// The machine has no more of something: disk, memory, descriptors, processes. The session
    /// cannot go on.
    Exhausted(String),
    /// The session is to end with this value.
    Yielded(Value),
    /// The session is to end without one: it cannot do what it was asked, for this reason.
    GaveUp(String),
}

/// What a tool says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolText {
    /// What the model reads.
    pub text: String,
    /// What a program reads.
    pub details: Option<Value>,
}

impl ToolText {
    /// Returns words without details.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), details: None }
    }
}
