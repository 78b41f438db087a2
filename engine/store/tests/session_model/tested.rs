//! A session that is tested, beside its model.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::fault::Faults;
use engine::ports::{OpenedLog, SessionHeader, SessionLog, SessionLogs};
use engine::session::{
    ContextMessage, LeftBranch, MemorySessionLogs, MovePreview, Moved, SessionContext, SessionMove,
};
use protocol::{EntryId, SessionEntry, SessionId, Timestamp};
use store::{BlobFolder, Durability, LoadedSession, SessionLogFiles, branch, fork, new_log_path};

use super::model::{Expected, ExpectedMove, Model, Node, Told, prompt};
use super::step::{Kept, Left, Step, compaction};

/// Where sessions are kept.
pub(super) enum Storage {
    Memory(MemorySessionLogs),
    Files { logs: SessionLogFiles, folder: PathBuf, blobs: BlobFolder },
}

impl Storage {
    /// Returns sessions in files below `folder`.
    pub(super) fn files(folder: &Path, durability: Durability) -> Self {
        let blobs = BlobFolder::new(folder.join("blobs"));
        let logs = SessionLogFiles::new(Faults::default()).with_blobs(blobs.clone());
        let logs = logs.with_durability(durability);
        Self::Files { logs, folder: folder.join("--app--"), blobs }
    }

    /// Returns the same with another time to wait for a file that is open.
    pub(super) fn with_lock_timeout(self, timeout: Duration) -> Self {
        match self {
            Self::Memory(logs) => Self::Memory(logs),
            Self::Files { logs, folder, blobs } => {
                Self::Files { logs: logs.with_lock_timeout(timeout), folder, blobs }
            }
        }
    }

    pub(super) fn logs(&self) -> &dyn SessionLogs {
        match self {
            Self::Memory(logs) => logs,
            Self::Files { logs, .. } => logs,
        }
    }

    /// Returns the path of the first session.
    pub(super) fn first(&self) -> PathBuf {
        match self {
            Self::Memory(_) => PathBuf::from("/memory/first.jsonl"),
            Self::Files { folder, .. } => folder.join("first.jsonl"),
        }
    }
}

/// Returns the header of one of the sessions of a test.
pub(super) fn header(number: u32, at: Timestamp) -> SessionHeader {
    let id = SessionId::of_text(&format!("session {number}"));
    SessionHeader { id, cwd: "/app".into(), at, parent: None }
}

/// A session that is tested, beside its model.
pub(super) struct Tested {
    storage: Storage,
    path: PathBuf,
    log: Option<Box<dyn SessionLog>>,
    model: Model,
    /// The time, which goes on with each entry.
    clock: i64,
    /// How many sessions there were.
    sessions: u32,
}

impl Tested {
    /// Opens the first session.
    pub(super) async fn begin(storage: Storage) -> Self {
        let (path, model) = (storage.first(), Model::default());
        let clock = 1_767_323_045_678;
        let mut tested = Self { storage, path, log: None, model, clock, sessions: 0 };
        tested.open().await;
        tested
    }

    pub(super) async fn take(&mut self, step: &Step) {
        match step {
            Step::Add(added) => {
                let at = self.now();
                self.append(at, added.entry(at)).await;
            }
            Step::Label(target, name) => {
                if let Some(target_id) = self.chosen(*target) {
                    let label = name.map(|name| format!("label {name}"));
                    let at = self.now();
                    self.append(at, SessionEntry::Label { target_id, label }).await;
                }
            }
            Step::Compact(kept, number) => {
                let kept = match kept {
                    Kept::Nothing => None,
                    Kept::From(kept) => self.chosen(*kept),
                    Kept::Unknown => Some(EntryId::new("unknown")),
                };
                let at = self.now();
                self.append(at, compaction(kept, *number)).await;
            }
            Step::GoTo(..) | Step::Restart(_) if self.is_new() => {}
            Step::GoTo(to, left) => self.go_to(self.chosen(*to), *left).await,
            Step::Restart(left) => self.go_to(None, *left).await,
            Step::GoAstray => self.go_astray().await,
            Step::Reload => self.reload().await,
            Step::Fork => self.fork().await,
            Step::Branch(prompt) => self.branch(*prompt).await,
        }
    }

    /// Opens the session again, which must give what the model has.
    pub(super) async fn reload(&mut self) {
        if self.is_new() {
            let said = self.model.nodes.iter().any(|node| is_stored(&node.entry));
            assert!(!said, "what was said is kept");
            self.model = Model::default();
        }
        let context = self.open().await;
        self.check(&context);
        self.check_entries();
        if let Storage::Memory(_) = &self.storage {
            // A move to what was said leads to its parent, which memory shows in no other way.
            let ids: Vec<_> = self.model.nodes.iter().map(|node| node.id.clone()).collect();
            for id in &ids {
                self.preview(Some(id)).await;
            }
        }
    }

    async fn open(&mut self) -> SessionContext {
        self.log = None;
        let header = header(self.sessions, self.now());
        let opened = self.storage.logs().open(&self.path, header).await;
        let OpenedLog { context, damage, log, .. } = opened.expect("it can be used");
        assert_eq!(damage, []);
        self.log = Some(log);
        context
    }

    fn log(&mut self) -> &mut dyn SessionLog {
        self.log.as_deref_mut().expect("it is open")
    }

    fn now(&mut self) -> Timestamp {
        self.clock += 1;
        Timestamp::from_millisecond(self.clock)
    }

    async fn append(&mut self, at: Timestamp, entry: SessionEntry) {
        let id = self.log().append(at, entry.clone()).await.expect("it can be used");
        self.model.append(id, at, entry);
    }

    /// Returns one of the entries.
    fn chosen(&self, number: u16) -> Option<EntryId> {
        let nodes = &self.model.nodes;
        nodes.get(usize::from(number) % nodes.len().max(1)).map(|node| node.id.clone())
    }

    /// Goes to an entry as a user does: before it, if it is something that the user said.
    async fn go_to(&mut self, chosen: Option<EntryId>, left: Left) {
        let target = self.preview(chosen.as_ref()).await;
        let summary = match left {
            Left::Untold => None,
            Left::Empty => Some(String::new()),
            Left::Summary => Some("left".to_owned()),
        };
        let (details, from_extension) = (None, false);
        let told = summary.clone().map(|summary| LeftBranch { summary, details, from_extension });
        let (to, at) = (SessionMove { target: target.clone(), summary: told }, self.now());
        let Moved { entry, context } = self.log().go_to(at, to).await.expect("it can be used");
        let from_id = target.clone().unwrap_or_else(|| EntryId::new("root"));
        let written = summary.map_or(SessionEntry::Leaf {}, |summary| {
            SessionEntry::BranchSummary { from_id, summary, details: None, from_extension }
        });
        self.model.leaf = target;
        self.model.append(entry, at, written);
        self.check(&context);
    }

    /// Returns where a move to an entry leads, after a check of all that it would do.
    async fn preview(&mut self, chosen: Option<&EntryId>) -> Option<EntryId> {
        let preview = self.log().preview(chosen.cloned()).await.expect("there is such an entry");
        let MovePreview { target, text, leaf, left } = preview;
        let left = left.iter().map(told).collect();
        let found = ExpectedMove { target: target.clone(), text, leaf, left };
        expect_same(&found, &self.model.expected_move(chosen));
        target
    }

    async fn go_astray(&mut self) {
        let target = Some(EntryId::new("unknown"));
        let (to, at) = (SessionMove { target: target.clone(), summary: None }, self.now());
        for error in [self.log().preview(target).await.err(), self.log().go_to(at, to).await.err()]
        {
            let error = error.expect("there is no such entry").source.to_string();
            assert_eq!(error, "the session has no entry `unknown`");
        }
    }

    fn check(&self, context: &SessionContext) {
        let mode = context.mode.as_ref();
        let files = context.compaction.as_ref();
        let found = Expected {
            messages: context.messages.iter().map(told).collect(),
            models: context.models.clone(),
            thinking: context.has_thinking_entry.then(|| context.thinking_level.clone()),
            service_tier: context.service_tier.clone(),
            mode: mode.map(|it| (it.name.clone(), it.data.as_ref().map(ToString::to_string))),
            rules: context.injected_rules.clone(),
            mcp_tools: context.mcp_tools.clone(),
            files: files.map(|it| (it.read_files.clone(), it.modified_files.clone())),
            answers: context.answers,
            used: context.used,
        };
        expect_same(&found, &self.model.expected());
    }

    /// Checks each entry of the session, its parent and the labels.
    fn check_entries(&self) {
        match &self.storage {
            Storage::Memory(logs) => {
                let found: Vec<_> =
                    logs.ids(&self.path).into_iter().zip(logs.entries(&self.path)).collect();
                let nodes = self.model.nodes.iter();
                let expected: Vec<_> =
                    nodes.map(|node| (node.id.clone(), node.entry.clone())).collect();
                expect_same(&found, &expected);
            }
            Storage::Files { .. } if self.is_new() => {}
            Storage::Files { blobs, .. } => {
                let (nodes, loaded) = stored(&self.path, blobs);
                expect_same(&nodes, &self.model.nodes);
                assert_eq!(*loaded.tree.labels(), self.model.labels());
            }
        }
    }

    /// Returns whether nothing of the session is stored yet.
    fn is_new(&self) -> bool {
        let is_file = matches!(self.storage, Storage::Files { .. });
        self.model.nodes.is_empty() || (is_file && !self.path.exists())
    }

    async fn fork(&mut self) {
        let Some(to) = self.next_file() else { return };
        let at = self.now();
        fork(&self.path, &to, &header(self.sessions, at)).expect("it can be forked");
        self.path = to;
        self.reload().await;
    }

    async fn branch(&mut self, number: u16) {
        let nodes = self.model.nodes.iter();
        let prompts: Vec<_> =
            nodes.filter_map(|node| Some((node.id.clone(), prompt(&node.entry)?))).collect();
        let place = usize::from(number) % prompts.len().max(1);
        let Some((prompt, text)) = prompts.get(place) else { return };
        let Some(to) = self.next_file() else { return };
        let Storage::Files { blobs, .. } = &self.storage else { return };
        let (blobs, at) = (blobs.clone(), Timestamp::from_millisecond(self.clock));
        let header = header(self.sessions, at);
        let branched = branch(&self.path, prompt, &to, &header, Some(&blobs));
        let branched = branched.expect("it is a prompt");
        assert!(branched.text == *text);
        let kept = self.model.branch(prompt);
        if kept.nodes.is_empty() {
            assert_eq!(branched.log, None);
            return;
        }
        assert_eq!(branched.log.as_ref(), Some(&to));
        let labels = self.model.labels();
        self.path = to;
        // The labels of what is kept come behind it, in the order of what they name.
        let (nodes, _loaded) = stored(&self.path, &blobs);
        let mut new = nodes.into_iter().skip(kept.nodes.len()).map(|node| node.id);
        self.model = kept;
        for (target_id, label) in labels {
            if self.model.nodes.iter().any(|node| node.id == target_id) {
                let label = SessionEntry::Label { target_id, label: Some(label) };
                self.model.append(new.next().expect("each label is there"), at, label);
            }
        }
        self.reload().await;
    }

    /// Returns the file of another session that is made from this one; `None` if nothing can be.
    fn next_file(&mut self) -> Option<PathBuf> {
        let is_new = self.is_new();
        let Storage::Files { folder, .. } = &self.storage else { return None };
        if is_new {
            return None;
        }
        self.sessions += 1;
        let at = Timestamp::from_millisecond(self.clock);
        Some(new_log_path(folder, at, header(self.sessions, at).id))
    }
}

/// Returns the entries of a file, with what they have in blobs.
fn stored(path: &Path, blobs: &BlobFolder) -> (Vec<Node>, LoadedSession) {
    let mut loaded = LoadedSession::read(path).expect("there is a file").expect("it is a session");
    let mut nodes = Vec::new();
    for place in 0..loaded.tree.nodes().len() {
        let entry = loaded.entry(place, Some(blobs)).expect("it was read").clone();
        let node = &loaded.tree.nodes()[place];
        nodes.push(Node { id: node.id.clone(), parent: node.parent.clone(), at: node.at, entry });
    }
    assert_eq!(loaded.damage, []);
    (nodes, loaded)
}

fn told(message: &ContextMessage) -> Told {
    (message.entry.clone(), message.input_id, message.message.clone())
}

/// Returns whether an entry is worth a file.
fn is_stored(entry: &SessionEntry) -> bool {
    matches!(
        entry,
        SessionEntry::Message { .. }
            | SessionEntry::CustomMessage { .. }
            | SessionEntry::Compaction { .. }
            | SessionEntry::BranchSummary { .. }
    )
}

/// Compares whole values, and shows both without the rest of their long lines.
fn expect_same<T: PartialEq + Debug>(found: &T, expected: &T) {
    let short = |value: &T| {
        let text = format!("{value:#?}");
        let lines = text.lines().map(|line| line.chars().take(120).collect::<String>());
        lines.collect::<Vec<_>>().join("\n")
    };
    if found != expected {
        panic!("found {}\nexpected {}", short(found), short(expected));
    }
}
