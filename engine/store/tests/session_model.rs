//! Any sequence of steps of a session gives the context of a model that knows only the format, in a
//! file as in memory.

#[macro_use]
extern crate test_limit;

use std::path::{Path, PathBuf};

use engine::fault::Faults;
use engine::ports::{OpenedLog, SessionHeader, SessionLog, SessionLogs};
use engine::session::{LeftBranch, MemorySessionLogs, Moved, SessionContext, SessionMove};
use proptest::prelude::*;
use protocol::{Content, EntryId, Message, SessionEntry, SessionId, Timestamp};
use store::{BlobFolder, SessionLogFiles, branch, fork, new_log_path};

use self::model::{Expected, Model, word};

/// A step of a session. Numbers choose among the entries that are there.
#[derive(Clone, Debug)]
enum Step {
    Say(u8),
    Long,
    Custom,
    Note,
    ChangeModel(u8),
    Think(Option<u8>),
    Mode(bool),
    Label(u16),
    Compact { kept: u16 },
    GoTo(u16),
    GoToWith(u16, bool),
    Restart,
    Reload,
    Fork,
    Branch(u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => any::<u8>().prop_map(Step::Say),
        1 => Just(Step::Long),
        1 => Just(Step::Custom),
        1 => Just(Step::Note),
        1 => any::<u8>().prop_map(Step::ChangeModel),
        1 => any::<Option<u8>>().prop_map(Step::Think),
        1 => any::<bool>().prop_map(Step::Mode),
        1 => any::<u16>().prop_map(Step::Label),
        2 => any::<u16>().prop_map(|kept| Step::Compact { kept }),
        2 => any::<u16>().prop_map(Step::GoTo),
        2 => any::<(u16, bool)>().prop_map(|(to, empty)| Step::GoToWith(to, empty)),
        1 => Just(Step::Restart),
        2 => Just(Step::Reload),
        1 => Just(Step::Fork),
        1 => any::<u16>().prop_map(Step::Branch),
    ]
}

fn at() -> Timestamp {
    Timestamp::from_millisecond(1_767_323_045_678)
}

fn header(id: SessionId) -> SessionHeader {
    SessionHeader { id, cwd: "/app".into(), at: at(), parent: None }
}

/// A session that is tested, beside its model.
struct Tested<'a> {
    logs: &'a dyn SessionLogs,
    /// The folder of its files; `None` in memory.
    folder: Option<&'a Path>,
    path: PathBuf,
    log: Option<Box<dyn SessionLog>>,
    model: Model,
}

impl Tested<'_> {
    async fn open(&mut self) -> SessionContext {
        self.log = None;
        let opened = self
            .logs
            .open(&self.path, header(SessionId::generate()))
            .await
            .expect("it can be used");
        let OpenedLog { context, damage, log, .. } = opened;
        assert_eq!(damage, []);
        self.log = Some(log);
        context
    }

    async fn append(&mut self, entry: SessionEntry) {
        let id = self
            .log
            .as_mut()
            .expect("it is open")
            .append(at(), entry.clone())
            .await
            .expect("it can be used");
        self.model.append(id, entry);
    }

    /// Returns one of the entries.
    fn chosen(&self, number: u16) -> Option<EntryId> {
        let entries = &self.model.entries;
        let place = usize::from(number) % entries.len().max(1);
        entries.get(place).map(|(id, ..)| id.clone())
    }

    async fn go_to(&mut self, target: Option<EntryId>, summary: Option<&str>) {
        let left = summary.map(|summary| LeftBranch {
            summary: summary.to_owned(),
            details: None,
            from_extension: false,
        });
        let to = SessionMove { target: target.clone(), summary: left };
        let log = self.log.as_mut().expect("it is open");
        let Moved { entry, context } = log.go_to(at(), to).await.expect("it can be used");
        self.model.leaf = target;
        let summary = summary.unwrap_or_default().to_owned();
        let from_id = EntryId::new("root");
        let (details, from_extension) = (None, false);
        let shown = SessionEntry::BranchSummary { from_id, summary, details, from_extension };
        self.model.append(entry, shown);
        self.check(&context);
    }

    fn check(&self, context: &SessionContext) {
        let found = Expected {
            messages: context.messages.iter().map(|message| word(&message.message)).collect(),
            model: context.model().map(str::to_owned),
            thinking: context.thinking_level.clone(),
            mode: context.mode.as_ref().map(|mode| mode.name.clone()),
        };
        assert_eq!(found, self.model.expected());
    }

    async fn take(&mut self, step: &Step) {
        match step {
            Step::Say(number) => self.append(said(&format!("say {number}"))).await,
            Step::Long => self.append(said(&"long ".repeat(110_000))).await,
            Step::Custom => {
                let custom_type = "state".to_owned();
                self.append(SessionEntry::Custom { custom_type, data: None }).await;
            }
            Step::Note => self.append(note()).await,
            Step::ChangeModel(number) => {
                let model = format!("p/{number}");
                self.append(SessionEntry::ModelChange { model, role: None }).await;
            }
            Step::Think(level) => {
                let thinking_level = level.map(|level| level.to_string());
                self.append(SessionEntry::ThinkingLevelChange { thinking_level }).await;
            }
            Step::Mode(ends) => {
                let mode = if *ends { "none" } else { "plan" }.to_owned();
                self.append(SessionEntry::ModeChange { mode, data: None }).await;
            }
            Step::Label(target) => {
                if let Some(target_id) = self.chosen(*target) {
                    let label = Some("here".to_owned());
                    self.append(SessionEntry::Label { target_id, label }).await;
                }
            }
            Step::Compact { kept } => self.append(compaction(self.chosen(*kept))).await,
            Step::GoTo(_) | Step::GoToWith(..) | Step::Restart if self.is_new() => {}
            Step::GoTo(to) => self.go_to(self.chosen(*to), None).await,
            Step::GoToWith(to, true) => self.go_to(self.chosen(*to), Some("")).await,
            Step::GoToWith(to, false) => self.go_to(self.chosen(*to), Some("left")).await,
            Step::Restart => self.go_to(None, None).await,
            Step::Reload => self.reload().await,
            Step::Fork => self.fork().await,
            Step::Branch(prompt) => self.branch(*prompt).await,
        }
    }

    /// Returns whether nothing of the session is stored yet.
    fn is_new(&self) -> bool {
        self.model.entries.is_empty() || (self.folder.is_some() && !self.path.exists())
    }

    async fn reload(&mut self) {
        if self.is_new() {
            let said = self.model.entries.iter().any(|(_, _, entry)| is_stored(entry));
            assert!(!said, "what was said is kept");
            self.model = Model::default();
        }
        let context = self.open().await;
        self.check(&context);
    }

    async fn fork(&mut self) {
        let Some(folder) = self.folder.filter(|_| !self.is_new()) else { return };
        let id = SessionId::generate();
        let to = new_log_path(folder, at(), id);
        fork(&self.path, &to, &header(id)).expect("it can be forked");
        self.path = to;
        let context = self.open().await;
        self.check(&context);
    }

    async fn branch(&mut self, prompt: u16) {
        let Some(folder) = self.folder.filter(|_| !self.is_new()) else { return };
        let prompts = self.model.entries.iter().filter(|(_, _, entry)| is_prompt(entry));
        let prompts: Vec<_> = prompts.map(|(id, ..)| id.clone()).collect();
        let Some(prompt) = prompts.get(usize::from(prompt) % prompts.len().max(1)) else { return };
        let id = SessionId::generate();
        let to = new_log_path(folder, at(), id);
        let branched = branch(&self.path, prompt, &to, &header(id), None).expect("it is a prompt");
        let model = Model { leaf: Some(prompt.clone()), ..self.model.clone() };
        let mut path: Vec<_> = model.path().into_iter().cloned().collect();
        path.pop();
        if path.is_empty() {
            assert_eq!(branched.log, None);
            return;
        }
        self.path = branched.log.expect("something is kept");
        self.model = Model::default();
        for (id, _, entry) in path {
            if !matches!(entry, SessionEntry::Label { .. }) {
                self.model.append(id, entry);
            }
        }
        let context = self.open().await;
        self.check(&context);
    }
}

fn said(text: &str) -> SessionEntry {
    SessionEntry::message(Message::user(text, at()))
}

fn note() -> SessionEntry {
    SessionEntry::CustomMessage {
        custom_type: "note".to_owned(),
        content: vec![Content::text("x")],
        display: true,
        details: None,
        attribution: None,
    }
}

fn compaction(kept: Option<EntryId>) -> SessionEntry {
    SessionEntry::Compaction {
        summary: "summed".to_owned(),
        short_summary: None,
        first_kept_entry_id: kept,
        tokens_before: 1,
        details: None,
        preserve_data: None,
        from_extension: false,
    }
}

fn is_prompt(entry: &SessionEntry) -> bool {
    matches!(entry.model_message(), Some(Message::User(_)))
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

fn take(steps: &[Step], logs: &dyn SessionLogs, folder: Option<&Path>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it starts");
    runtime.block_on(async {
        let path = folder.unwrap_or(Path::new("/memory")).join("first.jsonl");
        let mut tested = Tested { logs, folder, path, log: None, model: Model::default() };
        tested.open().await;
        for step in steps {
            tested.take(step).await;
        }
        tested.reload().await;
    });
}

/// What a session is, in the simplest form: for each entry its parent, and the context by the rules of
/// the format. It knows no code of the engine, only the types of the protocol.
mod model {
    use std::collections::BTreeMap;

    use protocol::{EntryId, SessionEntry, SessionMessage};

    /// The entries of a session and the one that the next one follows.
    #[derive(Clone, Debug, Default)]
    pub(super) struct Model {
        pub(super) entries: Vec<(EntryId, Option<EntryId>, SessionEntry)>,
        pub(super) leaf: Option<EntryId>,
    }

    /// What a context has to be: its messages in words, the model and the thinking level.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(super) struct Expected {
        pub(super) messages: Vec<String>,
        pub(super) model: Option<String>,
        pub(super) thinking: Option<String>,
        pub(super) mode: Option<String>,
    }

    impl Model {
        pub(super) fn append(&mut self, id: EntryId, entry: SessionEntry) {
            self.entries.push((id.clone(), self.leaf.replace(id), entry));
        }

        /// Returns the entries from the root to the leaf.
        pub(super) fn path(&self) -> Vec<&(EntryId, Option<EntryId>, SessionEntry)> {
            let by_id: BTreeMap<_, _> =
                self.entries.iter().map(|entry| (&entry.0, entry)).collect();
            let mut path = Vec::new();
            let mut next = self.leaf.as_ref();
            while let Some(entry) = next.and_then(|id| by_id.get(id)) {
                path.push(*entry);
                next = entry.1.as_ref();
            }
            path.reverse();
            path
        }

        pub(super) fn expected(&self) -> Expected {
            let mut expected = Expected::default();
            let path = self.path();
            let mut summed: Option<(usize, Option<usize>)> = None;
            for (place, (_, _, entry)) in path.iter().enumerate() {
                match entry {
                    SessionEntry::ModelChange { model, role: None } => {
                        expected.model = Some(model.clone());
                    }
                    SessionEntry::ThinkingLevelChange { thinking_level } => {
                        expected.thinking.clone_from(thinking_level);
                    }
                    SessionEntry::ModeChange { mode, .. } => {
                        expected.mode = Some(mode.clone()).filter(|mode| mode != "none");
                    }
                    SessionEntry::Compaction { first_kept_entry_id: kept, .. } => {
                        let before = path[..place].iter();
                        let kept =
                            before.map(|(id, ..)| Some(id)).position(|id| id == kept.as_ref());
                        summed = Some((place, kept));
                    }
                    _ => {}
                }
            }
            // Of several compactions only the last counts, which may keep what an earlier one did not.
            for (place, (_, _, entry)) in path.iter().enumerate() {
                let is_left = summed.is_none_or(|(compaction, kept)| {
                    place > compaction || kept.is_some_and(|kept| place >= kept)
                });
                expected.messages.extend(text(entry).filter(|_| is_left));
            }
            if summed.is_some() {
                expected.messages.insert(0, "sum summed".to_owned());
            }
            expected
        }
    }

    fn text(entry: &SessionEntry) -> Option<String> {
        match entry {
            SessionEntry::Message { message, .. } => Some(word(message)),
            SessionEntry::CustomMessage { custom_type, .. } => {
                Some(format!("custom {custom_type}"))
            }
            SessionEntry::BranchSummary { summary, .. } if !summary.is_empty() => {
                Some(format!("branch {summary}"))
            }
            _ => None,
        }
    }

    /// Returns a message in words.
    pub(super) fn word(message: &SessionMessage) -> String {
        match message {
            SessionMessage::Model(protocol::Message::User(said)) => said.text(),
            SessionMessage::Custom(custom) => format!("custom {}", custom.custom_type),
            SessionMessage::BranchSummary(summary) => format!("branch {}", summary.summary),
            SessionMessage::CompactionSummary(summary) => format!("sum {}", summary.summary),
            other => format!("{other:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_steps_gives_the_context_of_the_model(
        steps in proptest::collection::vec(step(), 1..24),
    ) {
        take(&steps, &MemorySessionLogs::default(), None);
        let folder = tempfile::tempdir().unwrap();
        let blobs = BlobFolder::new(folder.path().join("blobs"));
        let files = SessionLogFiles::new(Faults::default()).with_blobs(blobs);
        take(&steps, &files, Some(&folder.path().join("--app--")));
    }
}
