//! What a session is, in the simplest form: for each entry its parent, and the context by the rules of
//! the format. It knows no code of the engine, only the types of the protocol.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{
    BranchSummary, CompactionSummary, CustomMessage, EntryId, InputId, Message, SessionEntry,
    SessionMessage, StopReason, Timestamp, Usage, UserMessage,
};

/// The purpose of the model that answers.
const DEFAULT_ROLE: &str = "default";

/// The entries of a session and the one that the next one follows.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub(super) nodes: Vec<Node>,
    pub(super) leaf: Option<EntryId>,
}

/// An entry of a session.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) id: EntryId,
    pub(super) parent: Option<EntryId>,
    pub(super) at: Timestamp,
    pub(super) entry: SessionEntry,
}

/// A message of a context: its entry, the id of its input, and what it says.
pub(super) type Told = (EntryId, Option<InputId>, SessionMessage);

/// What a context has to be.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Expected {
    pub(super) messages: Vec<Told>,
    pub(super) models: BTreeMap<String, String>,
    /// The thinking level that an entry says last; `None` if no entry says one.
    pub(super) thinking: Option<Option<String>>,
    pub(super) service_tier: Option<String>,
    /// The name of the mode and its parameters.
    pub(super) mode: Option<(String, Option<String>)>,
    pub(super) rules: BTreeSet<String>,
    pub(super) mcp_tools: Option<Vec<String>>,
    /// The files that the last compaction says were read, and those that were changed.
    pub(super) files: Option<(Vec<String>, Vec<String>)>,
    pub(super) answers: u32,
    pub(super) used: Option<Usage>,
}

/// What a move has to do.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ExpectedMove {
    pub(super) target: Option<EntryId>,
    pub(super) text: Option<String>,
    pub(super) leaf: Option<EntryId>,
    pub(super) left: Vec<Told>,
}

impl Model {
    /// Appends an entry, whose id no other has.
    pub(super) fn append(&mut self, id: EntryId, at: Timestamp, entry: SessionEntry) {
        assert!(self.nodes.iter().all(|node| node.id != id), "the id {id:?} was given before");
        let parent = self.leaf.replace(id.clone());
        self.nodes.push(Node { id, parent, at, entry });
    }

    /// Returns the session that begins anew before a prompt: the path to it, without labels.
    pub(super) fn branch(&self, prompt: &EntryId) -> Self {
        let mut path = self.path_to(Some(prompt));
        path.pop();
        let mut branched = Self::default();
        for node in path {
            if !matches!(node.entry, SessionEntry::Label { .. }) {
                branched.append(node.id.clone(), node.at, node.entry.clone());
            }
        }
        branched
    }

    /// Returns the entries from the root to one of them.
    pub(super) fn path_to(&self, leaf: Option<&EntryId>) -> Vec<&Node> {
        let by_id: BTreeMap<_, _> = self.nodes.iter().map(|node| (&node.id, node)).collect();
        let mut path = Vec::new();
        let mut next = leaf;
        while let Some(node) = next.and_then(|id| by_id.get(id)) {
            path.push(*node);
            next = node.parent.as_ref();
        }
        path.reverse();
        path
    }

    /// Returns the names of entries, wherever in the session they were given.
    pub(super) fn labels(&self) -> BTreeMap<EntryId, String> {
        let mut labels = BTreeMap::new();
        for node in &self.nodes {
            if let SessionEntry::Label { target_id, label } = &node.entry {
                labels.remove(target_id);
                labels.extend(label.clone().map(|label| (target_id.clone(), label)));
            }
        }
        labels
    }

    /// Returns the context at the leaf.
    pub(super) fn expected(&self) -> Expected {
        let path = self.path_to(self.leaf.as_ref());
        let mut expected = Expected::default();
        for node in &path {
            expected.note(&node.entry);
        }
        if !expected.models.contains_key(DEFAULT_ROLE) {
            // The model of a session is the one that answered last, unless an entry says another.
            let mut answers =
                path.iter().rev().filter_map(|node| match node.entry.model_message() {
                    Some(Message::Assistant(it)) => Some(format!("{}/{}", it.provider, it.model)),
                    _other => None,
                });
            let model = answers.next().map(|model| (DEFAULT_ROLE.to_owned(), model));
            expected.models.extend(model);
        }
        expected.messages = messages(&path);
        expected
    }

    /// Returns what a move to an entry does, or before all entries without one.
    pub(super) fn expected_move(&self, chosen: Option<&EntryId>) -> ExpectedMove {
        let path = self.path_to(self.leaf.as_ref());
        let is_move = |node: &&&Node| node.entry == SessionEntry::Leaf {};
        let leaf = path.iter().rev().find(|node| !is_move(node)).map(|node| node.id.clone());
        let node = self.nodes.iter().find(|node| Some(&node.id) == chosen);
        let text = node.and_then(|node| input(&node.entry)).filter(|_| leaf.as_ref() != chosen);
        let target = match (&text, node) {
            (Some(_), Some(node)) => node.parent.clone(),
            _other => chosen.cloned(),
        };
        let stays: BTreeSet<_> =
            self.path_to(target.as_ref()).into_iter().map(|node| &node.id).collect();
        let left = path.iter().filter(|node| !stays.contains(&node.id));
        let left = left.filter_map(|node| summary(node).or_else(|| told(node))).collect();
        ExpectedMove { target, text, leaf, left }
    }
}

impl Expected {
    fn note(&mut self, entry: &SessionEntry) {
        if let Some(used) = entry.usage() {
            self.used = Some(self.used.map_or(used, |sum| sum + used));
        }
        match entry {
            SessionEntry::ModelChange { model, role } => {
                let role = role.clone().unwrap_or_else(|| DEFAULT_ROLE.to_owned());
                self.models.insert(role, model.clone());
            }
            SessionEntry::ThinkingLevelChange { thinking_level } => {
                self.thinking = Some(thinking_level.clone());
            }
            SessionEntry::ServiceTierChange { service_tier } => {
                self.service_tier.clone_from(service_tier);
            }
            SessionEntry::ModeChange { mode, data } => {
                let data = data.as_ref().map(ToString::to_string);
                self.mode = Some((mode.clone(), data)).filter(|_| mode != "none");
            }
            SessionEntry::TtsrInjection { injected_rules } => {
                self.rules.extend(injected_rules.iter().cloned());
            }
            SessionEntry::McpToolSelection { selected_tool_names } => {
                self.mcp_tools = Some(selected_tool_names.clone());
            }
            SessionEntry::Compaction { details, .. } => {
                let list = |key: &str| {
                    let list = details.as_ref().and_then(|details| details[key].as_array());
                    let names = list.into_iter().flatten().filter_map(|name| name.as_str());
                    names.map(str::to_owned).collect()
                };
                self.files = Some((list("readFiles"), list("modifiedFiles")));
            }
            _other => {}
        }
        if let Some(Message::Assistant(answer)) = entry.model_message() {
            let is_whole = !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
            self.answers += u32::from(is_whole);
        }
    }
}

/// Returns the messages of a path. Of several compactions only the last counts, which may keep what
/// an earlier one did not.
fn messages(path: &[&Node]) -> Vec<Told> {
    let mut summed: Option<(usize, Option<usize>)> = None;
    for (place, node) in path.iter().enumerate() {
        if let SessionEntry::Compaction { first_kept_entry_id: kept, .. } = &node.entry {
            let kept = path[..place].iter().position(|before| Some(&before.id) == kept.as_ref());
            summed = Some((place, kept));
        }
    }
    let first = summed.and_then(|(place, _)| summary(path[place]));
    let stays = |place: &usize| {
        summed.is_none_or(|(compaction, kept)| {
            *place > compaction || kept.is_some_and(|kept| *place >= kept)
        })
    };
    let rest = (0..path.len()).filter(stays).filter_map(|place| told(path[place]));
    first.into_iter().chain(rest).collect()
}

/// Returns the message of an entry that is no compaction.
fn told(node: &Node) -> Option<Told> {
    let (input, message) = match node.entry.clone() {
        SessionEntry::Message { message, input_id } => (input_id, message),
        SessionEntry::CustomMessage { custom_type, content, display, details, attribution } => {
            let timestamp = node.at;
            let custom =
                CustomMessage { custom_type, content, display, details, attribution, timestamp };
            (None, SessionMessage::Custom(custom))
        }
        SessionEntry::BranchSummary { from_id, summary, .. } if !summary.is_empty() => {
            let left = BranchSummary { summary, from_id, timestamp: node.at };
            (None, SessionMessage::BranchSummary(left))
        }
        _other => return None,
    };
    Some((node.id.clone(), input, message))
}

/// Returns the message of a compaction.
fn summary(node: &Node) -> Option<Told> {
    let SessionEntry::Compaction { summary, short_summary, tokens_before, .. } = node.entry.clone()
    else {
        return None;
    };
    let timestamp = node.at;
    let summary = CompactionSummary { summary, short_summary, tokens_before, timestamp };
    Some((node.id.clone(), None, SessionMessage::CompactionSummary(summary)))
}

/// Returns the text of an entry that a user may change and say again.
fn input(entry: &SessionEntry) -> Option<String> {
    match entry {
        SessionEntry::CustomMessage { content, .. } => {
            Some(UserMessage::new(content.clone(), Timestamp::from_millisecond(0)).text())
        }
        _other => prompt(entry),
    }
}

/// Returns the text of an entry that is a message of the user.
pub(super) fn prompt(entry: &SessionEntry) -> Option<String> {
    match entry.model_message() {
        Some(Message::User(said)) => Some(said.text()),
        _other => None,
    }
}
