//! A session's built-in tools in a workspace of either kind.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::fault::{FaultHooks, Faults};
use engine::ports::{
    ArtifactStore as _, Artifacts, Ask, CallOrigin, CancelToken, ChangeShown, CommandShell,
    SessionPurpose, SpawnOffer, Syntax, ToolContext, ToolDeclaration, ToolEnv, ToolFactory as _,
    ToolOutcome, ToolOutput, ViewPath, Visibility, WorkspaceView,
};
use engine::tools::{ToolSet, interrupted_result};
use isolation::DirectoryView;
use protocol::{Content, SessionId, ToolCall};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use schema::JsonSchemas;
use serde_json::{Map, Value};
use store::ArtifactFolders;
use tempfile::TempDir;
use tests::view_memory::MemoryView;
use tools::{Builtins, UserShells};

use super::commands::{InBackground, ScriptedCommands};
use super::meddling::{Meddle, MeddledView};

/// What a workspace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ViewKind {
    Directory,
    Memory,
}

/// A session's tools, and the workspace they work in.
#[derive(Clone)]
pub(crate) struct Session {
    folder: Arc<TempDir>,
    workspace: Workspace,
    tools: Arc<ToolSet>,
    context: ToolContext,
    /// The tools that are declared to a model, each with right arguments.
    pub(crate) examples: Vec<(String, String)>,
    pub(crate) commands: Arc<ScriptedCommands>,
    pub(crate) background: Arc<InBackground>,
    pub(crate) cancel: CancelToken,
}

#[derive(Clone)]
enum Workspace {
    Directory,
    Memory(MemoryView),
}

/// How a session differs from the usual one.
pub(crate) struct Setting {
    pub(crate) below: &'static str,
    pub(crate) purpose: SessionPurpose,
    pub(crate) schema: Option<Value>,
    /// The id of the model; empty for one that is scripted, which has every tool.
    pub(crate) model: &'static str,
    pub(crate) faults: &'static str,
    /// The user's shell.
    pub(crate) shell: Option<&'static str>,
    /// The agents that it is offered.
    pub(crate) offer: Option<SpawnOffer>,
    /// The tools that cannot be built.
    pub(crate) left_out: &'static [&'static str],
    /// Knows the syntax of languages.
    pub(crate) syntax: Option<Arc<dyn Syntax>>,
}

impl Default for Setting {
    fn default() -> Self {
        let purpose = SessionPurpose::Task;
        Self {
            below: "",
            purpose,
            schema: None,
            model: "",
            faults: "",
            shell: None,
            offer: None,
            left_out: &[],
            syntax: None,
        }
    }
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) details: Option<Value>,
}

impl Session {
    pub(crate) async fn new(kind: ViewKind) -> Self {
        Self::with(kind, Setting::default()).await
    }

    pub(crate) async fn with(kind: ViewKind, setting: Setting) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("tree");
        let (workspace, view): (_, Arc<dyn WorkspaceView>) = match kind {
            ViewKind::Directory => {
                fs::create_dir_all(root.join(setting.below)).unwrap();
                (Workspace::Directory, Arc::new(DirectoryView::new(root)))
            }
            ViewKind::Memory => {
                let view = MemoryView::new(root);
                if !setting.below.is_empty() {
                    view.put_folder(&path(setting.below));
                }
                (Workspace::Memory(view.clone()), Arc::new(view))
            }
        };
        Self::over(Arc::new(folder), workspace, view, setting).await
    }

    /// Returns a session in the same folder, whose root processes see at `root`.
    pub(crate) async fn seen_at(&self, root: PathBuf, below: &'static str) -> Self {
        let setting = Setting { below, ..Setting::default() };
        let view = Arc::new(DirectoryView::new(root));
        Self::over(Arc::clone(&self.folder), Workspace::Directory, view, setting).await
    }

    async fn over(
        folder: Arc<TempDir>,
        workspace: Workspace,
        view: Arc<dyn WorkspaceView>,
        setting: Setting,
    ) -> Self {
        let faults = Faults::read(setting.faults, FaultHooks::default()).unwrap();
        let env = ToolEnv {
            subfolder: setting.below.into(),
            repo: folder.path().join("repo"),
            environment: BTreeMap::from([("TASK".to_owned(), "t1".into())]),
            keep: 64 << 20,
            schema: setting.schema,
            purpose: setting.purpose,
            model: setting.model.to_owned(),
            is_scripted: setting.model.is_empty(),
            spawn_offer: setting.offer,
        };
        let shells =
            Arc::new(UserShells::new(setting.shell.map(OsStr::new), &folder.path().join("shells")));
        let tools = Builtins::new(faults.clone()).with_shells(shells).with_syntax(setting.syntax);
        let built = tools.build(&env).await;
        let declared = built.iter().flatten().map(|tool| tool.spec());
        let declared = declared.filter(|spec| spec.visibility != Visibility::Hidden);
        let examples = declared.map(|spec| (spec.name.clone(), spec.example.clone())).collect();
        let (tools, left_out) = ToolSet::new(built, &JsonSchemas, faults);
        let left_out: Vec<_> = left_out.into_iter().map(|error| error.tool).collect();
        assert_eq!(left_out, setting.left_out);
        let (commands, cancel) = (Arc::<ScriptedCommands>::default(), CancelToken::default());
        let background = Arc::<InBackground>::default();
        let context = ToolContext {
            origin: CallOrigin { session: SessionId::generate(), task: None },
            call_id: CALL_ID.to_owned(),
            journal: ArtifactFolders.journal(&folder.path().join("artifacts")),
            view,
            commands: commands.clone(),
            shell: CommandShell::User,
            change_shown: ChangeShown::Yes,
            artifacts: ArtifactFolders.open(&folder.path().join("artifacts")),
            background: background.clone(),
            ask: None,
            subagents: None,
            pending: tools.pending(),
            progress: Arc::new(|_line| {}),
            cancel: cancel.clone(),
        };
        let tools = Arc::new(tools);
        Self { folder, workspace, tools, context, examples, commands, background, cancel }
    }

    /// The same session, with something that happens before each change of its tree.
    pub(crate) fn meddled(&self, meddle: Meddle) -> Self {
        let mut meddled = self.clone();
        meddled.context.view = Arc::new(MeddledView::new(self.view(), meddle));
        meddled
    }

    /// The same session, in which what is in the changed files may not be shown.
    pub(crate) fn without_changes(&self) -> Self {
        let mut changed = self.clone();
        changed.context.change_shown = ChangeShown::No;
        changed
    }

    /// The same session, with someone who answers.
    pub(crate) fn answered_by(&self, ask: Arc<dyn Ask>) -> Self {
        let mut changed = self.clone();
        changed.context.ask = Some(ask);
        changed
    }

    /// The same session, with other artifacts.
    pub(crate) fn with_artifacts(
        &self,
        artifacts: impl FnOnce(Arc<dyn Artifacts>) -> Arc<dyn Artifacts>,
    ) -> Self {
        let mut changed = self.clone();
        changed.context.artifacts = artifacts(Arc::clone(&self.context.artifacts));
        changed
    }

    /// Where processes see a path of the tree.
    pub(crate) fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join("tree").join(path)
    }

    /// Where a path beside the tree is.
    pub(crate) fn beside(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn put(&self, at: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        match &self.workspace {
            Workspace::Directory => {
                fs::create_dir_all(self.at(&at).parent().unwrap()).unwrap();
                fs::write(self.at(at), content).unwrap();
            }
            Workspace::Memory(view) => view.put(&path(at), content.as_ref(), 0o644),
        }
    }

    pub(crate) fn put_folder(&self, at: &str) {
        match &self.workspace {
            Workspace::Directory => fs::create_dir_all(self.at(at)).unwrap(),
            Workspace::Memory(view) => view.put_folder(&path(at)),
        }
    }

    pub(crate) fn put_symlink(&self, target: impl AsRef<Path>, at: &str) {
        match &self.workspace {
            Workspace::Directory => symlink(target, self.at(at)).unwrap(),
            Workspace::Memory(view) => view.put_symlink(&path(at), target.as_ref()),
        }
    }

    pub(crate) fn put_pipe(&self, at: &str) {
        let mode = Mode::from_raw_mode(0o600);
        match &self.workspace {
            Workspace::Directory => mknodat(CWD, self.at(at), FileType::Fifo, mode, 0).unwrap(),
            Workspace::Memory(view) => view.put_pipe(&path(at)),
        }
    }

    pub(crate) async fn set_mode(&self, at: &str, mode: u32) {
        match &self.workspace {
            Workspace::Directory => {
                fs::set_permissions(self.at(at), fs::Permissions::from_mode(mode)).unwrap();
            }
            Workspace::Memory(view) => {
                let bytes = self.bytes(at).await;
                view.put(&path(at), &bytes, mode);
            }
        }
    }

    pub(crate) async fn mode(&self, at: &str) -> u32 {
        match &self.workspace {
            Workspace::Directory => fs::symlink_metadata(self.at(at)).unwrap().mode() & 0o777,
            Workspace::Memory(view) => view.stat(&path(at)).await.unwrap().mode,
        }
    }

    /// What distinguishes one state of a file from another.
    pub(crate) async fn version(&self, at: &str) -> engine::ports::FileVersion {
        self.context.view.stat(&path(at)).await.unwrap().version
    }

    pub(crate) async fn is_symlink(&self, at: &str) -> bool {
        let stat = self.context.view.stat(&path(at)).await.unwrap();
        stat.kind == engine::ports::FileKind::Symlink
    }

    pub(crate) async fn bytes(&self, at: &str) -> Vec<u8> {
        match &self.workspace {
            Workspace::Directory => fs::read(self.at(at)).unwrap(),
            Workspace::Memory(view) => {
                view.open(&path(at)).await.unwrap().read(usize::MAX).await.unwrap()
            }
        }
    }

    pub(crate) async fn text(&self, at: &str) -> String {
        String::from_utf8(self.bytes(at).await).unwrap()
    }

    /// The names in a folder, so that nothing is left that was not meant.
    pub(crate) async fn names(&self, at: &str) -> Vec<String> {
        let listing = self.context.view.read_dir(&path(at), usize::MAX).await.unwrap();
        listing.names.into_iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect()
    }

    pub(crate) fn view(&self) -> Arc<dyn WorkspaceView> {
        Arc::clone(&self.context.view)
    }

    pub(crate) fn tools(&self) -> &ToolSet {
        &self.tools
    }

    pub(crate) fn declarations(&self) -> Arc<[ToolDeclaration]> {
        self.tools.declarations()
    }

    pub(crate) fn access(&self, name: &str, arguments: Value) -> engine::ports::Access {
        self.tools.classify(&call(name, arguments))
    }

    pub(crate) async fn send(&self, call: ToolCall) -> ToolOutcome {
        self.tools.call(call, &self.context).await
    }

    /// Records that the call of an answer has not begun.
    pub(crate) async fn expect_calls(&self) {
        self.context.journal.expect(&[CALL_ID.to_owned()]).await;
    }

    /// The result of a call that has none when the session goes on after a kill.
    pub(crate) async fn interrupted(&self, name: &str) -> String {
        let (call, journal) = (call(name, Value::Object(Map::new())), &self.context.journal);
        interrupted_result(&call, journal.as_ref(), self.context.view.as_ref()).await
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolOutcome {
        self.send(call(name, arguments)).await
    }

    pub(crate) async fn answer(&self, name: &str, arguments: Value) -> Answer {
        match self.call(name, arguments).await {
            ToolOutcome::Output(output) => read(output),
            other => panic!("{name}: {other:?}"),
        }
    }

    pub(crate) async fn said(&self, name: &str, arguments: Value) -> String {
        self.answer(name, arguments).await.text
    }

    /// What a tool answers, whether it succeeds or not.
    pub(crate) async fn outcome_text(&self, name: &str, arguments: Value) -> String {
        match self.call(name, arguments).await {
            ToolOutcome::Output(output) | ToolOutcome::Failed(output) => read(output).text,
            other => panic!("{name}: {other:?}"),
        }
    }

    pub(crate) async fn failed(&self, name: &str, arguments: Value) -> String {
        match self.call(name, arguments).await {
            ToolOutcome::Failed(output) => read(output).text,
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// Returns the one text that a tool answered.
pub(crate) fn read(output: ToolOutput) -> Answer {
    match output.content.as_slice() {
        [Content::Text { text }] => Answer { text: text.clone(), details: output.details },
        other => panic!("{other:?}"),
    }
}

fn path(at: impl AsRef<Path>) -> ViewPath {
    ViewPath::new(at.as_ref()).unwrap()
}

/// The id of each call.
const CALL_ID: &str = "call_1";

pub(crate) fn call(name: &str, arguments: Value) -> ToolCall {
    let arguments = match arguments {
        Value::Object(arguments) => arguments,
        other => panic!("{other}"),
    };
    ToolCall {
        id: CALL_ID.to_owned(),
        name: name.to_owned(),
        arguments,
        malformed: None,
        thought_signature: None,
    }
}
