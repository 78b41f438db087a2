//! What the tests of the tools stand on: a tree in a temporary folder, commands that do as they
//! are told, and a simple judge of arguments.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use engine::fault::{FaultMeans, Faults};
use engine::ports::{
    CancelToken, CommandEnd, CommandError, CommandRequest, Commands, EndCause, LineSink, Schema,
    Schemas, ToolAnswer, ToolText, Toolbox as _, Tools, Workbench,
};
use protocol::ToolCall;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Builtins;

/// A session's tools, and the tree they work on.
pub(crate) struct Stage {
    folder: TempDir,
    pub(crate) tools: Arc<dyn Tools>,
    pub(crate) puppet: Arc<Puppet>,
    pub(crate) stop: CancelToken,
}

/// How a stage differs from the usual one.
#[derive(Default)]
pub(crate) struct Setting {
    pub(crate) below: &'static str,
    pub(crate) schema: Option<Value>,
    pub(crate) faults: &'static str,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(Setting::default())
    }

    pub(crate) fn with(setting: Setting) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("tree");
        fs::create_dir_all(root.join(setting.below)).unwrap();
        let puppet = Arc::new(Puppet::default());
        let means = FaultMeans { kill: || {}, wait: || {} };
        let faults = Faults::read(setting.faults, means).unwrap();
        let commands: Arc<dyn Commands> = puppet.clone();
        let builtins = Builtins::new(commands, Arc::new(Strict), faults).with_rehearsal();
        let bench = Workbench {
            folder: root.join(setting.below),
            root,
            repo: folder.path().join("repo"),
            environment: BTreeMap::from([("TASK".to_owned(), "t1".into())]),
            artifacts: folder.path().join("artifacts"),
            keep: 64 << 20,
            schema: setting.schema,
        };
        Self { tools: builtins.open(bench), folder, puppet, stop: CancelToken::default() }
    }

    /// Where a path of the tree is.
    pub(crate) fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join("tree").join(path)
    }

    /// Where a path beside the tree is.
    pub(crate) fn beside(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    pub(crate) async fn send(&self, call: ToolCall) -> ToolAnswer {
        self.tools.call(call, silence(), self.stop.clone()).await
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolAnswer {
        self.send(call(name, arguments)).await
    }

    pub(crate) async fn answer(&self, name: &str, arguments: Value) -> ToolText {
        match self.call(name, arguments).await {
            ToolAnswer::Said(text) => text,
            other => panic!("{name}: {other:?}"),
        }
    }

    pub(crate) async fn said(&self, name: &str, arguments: Value) -> String {
        self.answer(name, arguments).await.text
    }

    pub(crate) async fn failed(&self, name: &str, arguments: Value) -> String {
        match self.call(name, arguments).await {
            ToolAnswer::Failed(text) => text.text,
            other => panic!("{name}: {other:?}"),
        }
    }

    /// The names in the tree, so that nothing is left that was not meant.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.at("")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }
}

pub(crate) fn silence() -> LineSink {
    Arc::new(|_line| {})
}

pub(crate) fn call(name: &str, arguments: Value) -> ToolCall {
    let arguments = match arguments {
        Value::Object(arguments) => arguments,
        other => panic!("{other}"),
    };
    ToolCall { id: "call_1".to_owned(), name: name.to_owned(), arguments, malformed: None }
}

/// Commands that do what the test says.
#[derive(Default)]
pub(crate) struct Puppet {
    pub(crate) requests: Mutex<Vec<CommandRequest>>,
    pub(crate) act: Mutex<Act>,
}

/// What a command does.
#[derive(Clone, Default)]
pub(crate) enum Act {
    /// Ends at once, silent.
    #[default]
    Nothing,
    /// Prints this and ends so.
    Print(Vec<u8>, EndCause),
    /// Prints this, of which so many bytes are left out.
    Overflow(Vec<u8>, u64),
    /// Ends when it is stopped.
    Wait,
    /// Cannot be run.
    Refuse,
}

#[async_trait]
impl Commands for Puppet {
    async fn run(
        &self,
        request: CommandRequest,
        line: Arc<dyn Fn(String) + Send + Sync>,
        stop: CancelToken,
    ) -> Result<CommandEnd, CommandError> {
        let act = self.act.lock().unwrap().clone();
        self.requests.lock().unwrap().push(request.clone());
        let mut end =
            CommandEnd { cause: EndCause::Exited(0), last_line: None, written: 0, dropped: 0 };
        let mut print = |bytes: &[u8]| {
            fs::create_dir_all(request.output.parent().unwrap()).unwrap();
            fs::write(&request.output, bytes).unwrap();
            end.written = bytes.len() as u64;
        };
        line("begun".to_owned());
        match act {
            Act::Nothing => print(b""),
            Act::Print(bytes, cause) => {
                print(&bytes);
                end.cause = cause;
            }
            Act::Overflow(bytes, dropped) => {
                print(&bytes);
                (end.written, end.dropped) = (end.written + dropped, dropped);
            }
            Act::Wait => {
                print(b"half\n");
                stop.cancelled().await;
                end.cause = EndCause::Stopped;
            }
            Act::Refuse => {
                let source = std::io::Error::from_raw_os_error(11);
                return Err(CommandError::Resources { what: "start /bin/sh".to_owned(), source });
            }
        }
        Ok(end)
    }
}

/// Knows as much of JSON Schema as our own arguments need.
struct Strict;

impl Schemas for Strict {
    fn compile(&self, schema: &Value) -> Result<Box<dyn Schema>, String> {
        Ok(Box::new(StrictSchema(schema.clone())))
    }
}

struct StrictSchema(Value);

impl Schema for StrictSchema {
    fn faults(&self, value: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        judge(&self.0, value, "", &mut faults);
        faults
    }
}

fn judge(schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    let is_right = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64(),
        _ => true,
    };
    if !is_right {
        faults.push(format!("{at}: must be {}", schema["type"].as_str().unwrap()));
    }
    let few = schema["minItems"].as_u64().unwrap_or_default();
    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
        judge(&schema["items"], item, &format!("{at}/{number}"), faults);
    }
    if value.as_array().is_some_and(|items| (items.len() as u64) < few) {
        faults.push(format!("{at}: must have at least {few} items"));
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        if value.get(name.as_str().unwrap()).is_none() {
            faults.push(format!("{at}/{}: is missing", name.as_str().unwrap()));
        }
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        match schema["properties"].get(name) {
            Some(schema) => judge(schema, member, &format!("{at}/{name}"), faults),
            None if schema["additionalProperties"] == json!(false) => {
                faults.push(format!("{at}/{name}: is not one of the properties there are"));
            }
            None => {}
        }
    }
}
