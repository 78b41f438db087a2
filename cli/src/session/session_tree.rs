//! The entries of a session as a tree of lines, from which a person chooses where to go on.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{
    AssistantMessage, EntryId, Message, Part, SessionEntry, SessionMessage, StopReason, ToolResult,
};
use store::LoadedSession;

use crate::render::one_line;
use crate::view::TreeRow;

/// The most letters of what an entry says.
const LETTERS: usize = 300;

/// The most branches inside of each other that are indented.
const DEEPEST: usize = 8;

/// Returns the entries of a session that people choose from: prompts, answers with a text, summaries,
/// what the user ran, and the entry from which the conversation goes on.
pub(super) fn tree_rows(session: &mut LoadedSession) -> Vec<TreeRow> {
    let entries: Vec<Option<Entry>> =
        (0..session.tree.nodes().len()).map(|place| entry_at(session, place)).collect();
    let path = session.tree.path();
    // A move to another entry is written as one that follows it.
    let is_place = |place: &&usize| !matches!(entries[**place], Some(Entry::Leaf));
    let leaf = path.iter().rev().find(is_place).copied();
    let is_listed = |place: usize| match &entries[place] {
        Some(Entry::Listed(..)) => true,
        Some(Entry::Detail(_)) => Some(place) == leaf,
        Some(Entry::Leaf) | None => false,
    };
    let own: BTreeSet<usize> = path.iter().copied().collect();
    let here = path.iter().rev().find(|place| is_listed(**place)).copied();
    let listed = Listed::of(session, is_listed, leaf);
    let mut rows = Vec::new();
    listed.walk(|place, graph, is_below_leaf| {
        let node = &session.tree.nodes()[place];
        let (text, is_prompt) = match &entries[place] {
            Some(Entry::Listed(text, is_prompt)) => (text.clone(), *is_prompt),
            Some(Entry::Detail(text)) => (text.clone(), false),
            Some(Entry::Leaf) | None => (String::new(), false),
        };
        let label = session.tree.labels().get(&node.id);
        let label = label.map(|label| format!("[{}] ", one_line(label))).unwrap_or_default();
        let is_leaf = Some(place) == here;
        let mark = if is_prompt { "> " } else { "" };
        rows.push(TreeRow {
            entry: node.id.clone(),
            graph: format!("{}{graph}{mark}", if is_leaf { "* " } else { "  " }),
            text: format!("{label}{text}"),
            is_leaf,
            is_own_prompt: is_prompt && own.contains(&place),
            leaves_messages: !is_below_leaf,
        });
    });
    rows
}

/// What a list of entries displays of one.
enum Entry {
    /// An entry that is listed: what it says, and whether it is a prompt.
    Listed(String, bool),
    /// One that is listed only if the conversation goes on from it.
    Detail(String),
    /// A move to the entry before it.
    Leaf,
}

fn entry_at(session: &mut LoadedSession, place: usize) -> Option<Entry> {
    let listed = |text: &str| Some(Entry::Listed(begin_of(text), false));
    match session.entry(place, None)? {
        SessionEntry::Leaf {} => Some(Entry::Leaf),
        SessionEntry::Compaction { summary, short_summary, .. } => {
            let summary = short_summary.as_ref().unwrap_or(summary);
            listed(&format!("compaction: {summary}"))
        }
        SessionEntry::BranchSummary { summary, .. } => {
            listed(&format!("summary of another branch: {summary}"))
        }
        SessionEntry::Message { message, .. } => match message {
            SessionMessage::Model(Message::User(said)) if said.synthetic => None,
            SessionMessage::Model(Message::User(said)) => {
                Some(Entry::Listed(begin_of(&said.text()), true))
            }
            SessionMessage::Model(Message::Assistant(answer)) => Some(answer_entry(answer)),
            SessionMessage::Model(Message::ToolResult(ToolResult { tool_name, .. })) => {
                Some(Entry::Detail(format!("result of {}", one_line(tool_name))))
            }
            SessionMessage::BashExecution(ran) => listed(&format!("! {}", ran.command)),
            _other => None,
        },
        _other => None,
    }
}

fn answer_entry(answer: &AssistantMessage) -> Entry {
    let text = answer.text();
    let text = match answer.stop_reason {
        StopReason::Aborted => format!("{text} (stopped)"),
        StopReason::Error => format!("{text} (failed)"),
        StopReason::Stop | StopReason::Length | StopReason::ToolUse => text,
    };
    let text = begin_of(text.trim());
    if !text.is_empty() {
        return Entry::Listed(text, false);
    }
    let calls = answer.content.iter().filter_map(|part| match part {
        Part::ToolCall(call) => Some(one_line(&call.name)),
        _other => None,
    });
    Entry::Detail(format!("calls {}", calls.collect::<Vec<_>>().join(", ")))
}

/// Returns the begin of a text in one line.
fn begin_of(text: &str) -> String {
    let words = text.split_whitespace().flat_map(|word| [" ", word]).skip(1);
    let begin: String = words.flat_map(str::chars).take(LETTERS).collect();
    one_line(&begin)
}

/// The listed entries as a tree: each one below the nearest one before it.
struct Listed {
    roots: Vec<usize>,
    children: BTreeMap<usize, Vec<usize>>,
    /// Those behind the leaf.
    below_leaf: BTreeSet<usize>,
}

impl Listed {
    fn of(session: &LoadedSession, is_listed: impl Fn(usize) -> bool, leaf: Option<usize>) -> Self {
        let shape = session.tree.shape();
        let mut listed =
            Self { roots: Vec::new(), children: BTreeMap::new(), below_leaf: BTreeSet::new() };
        // The place of an entry, of the listed one before it, and whether that is behind the leaf.
        let mut next: Vec<(usize, Option<usize>, bool)> =
            shape.roots.iter().rev().map(|root| (*root, None, leaf.is_none())).collect();
        while let Some((place, before, below)) = next.pop() {
            let below = below || Some(place) == leaf;
            let mut before = before;
            if is_listed(place) {
                match before {
                    Some(before) => listed.children.entry(before).or_default().push(place),
                    None => listed.roots.push(place),
                }
                if below {
                    listed.below_leaf.insert(place);
                }
                before = Some(place);
            }
            let children = shape.children[place].iter().rev();
            next.extend(children.map(|child| (*child, before, below)));
        }
        listed
    }

    /// Calls `with` with each entry in the order of the lines, with what leads to it, and whether it
    /// is behind the leaf. One after another, entries are not indented; branches are.
    fn walk(&self, mut with: impl FnMut(usize, &str, bool)) {
        let mut next = Vec::new();
        self.push(&self.roots, "", 0, &mut next);
        while let Some((place, first, rest, depth)) = next.pop() {
            with(place, &first, self.below_leaf.contains(&place));
            let children = self.children.get(&place).map_or(&[][..], Vec::as_slice);
            self.push(children, &rest, depth, &mut next);
        }
    }

    /// Adds the branches that begin behind an entry, the first one last.
    fn push(
        &self,
        branches: &[usize],
        graph: &str,
        depth: usize,
        next: &mut Vec<(usize, String, String, usize)>,
    ) {
        let is_indented = branches.len() > 1 && depth < DEEPEST;
        for (at, place) in branches.iter().enumerate().rev() {
            let is_last = at + 1 == branches.len();
            let (first, rest) = match (is_indented, is_last) {
                (false, _) => (graph.to_owned(), graph.to_owned()),
                (true, false) => (format!("{graph}├─ "), format!("{graph}│  ")),
                (true, true) => (format!("{graph}└─ "), format!("{graph}   ")),
            };
            next.push((*place, first, rest, depth + usize::from(is_indented)));
        }
    }
}

/// Returns the prompt of a session whose id begins so; `None` if there is none, or several.
pub(super) fn prompt_named(session: &mut LoadedSession, begin: &str) -> Option<EntryId> {
    let mut found = (0..session.tree.nodes().len()).filter(|place| {
        let id = session.tree.nodes()[*place].id.as_str();
        let begins = id.get(..begin.len()).is_some_and(|it| it.eq_ignore_ascii_case(begin));
        begins && matches!(entry_at(session, *place), Some(Entry::Listed(_, true)))
    });
    let (first, second) = (found.next(), found.next());
    let place = first.filter(|_| second.is_none() && !begin.is_empty())?;
    Some(session.tree.nodes()[place].id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(lines: &[&str]) -> LoadedSession {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let header = r#"{"type":"session","version":3,"id":"s","cwd":"/x"}"#;
        std::fs::write(&path, format!("{header}\n{}\n", lines.join("\n"))).unwrap();
        LoadedSession::read(&path).unwrap().unwrap()
    }

    fn said(id: &str, parent: &str, role: &str, text: &str) -> String {
        let parent = if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
        let more = match role {
            "assistant" => {
                r#","api":"","provider":"","model":"","stopReason":"stop","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0}"#
            }
            _ => "",
        };
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-02T03:04:05.678Z","message":{{"role":"{role}","content":[{{"type":"text","text":"{text}"}}],"timestamp":0{more}}}}}"#
        )
    }

    fn lines(rows: &[TreeRow]) -> Vec<String> {
        rows.iter().map(|row| format!("{}{}", row.graph, row.text)).collect()
    }

    #[test]
    fn branches_are_indented_and_the_leaf_is_marked() {
        let entries = [
            r#"{"type":"model_change","id":"m","parentId":null,"model":"a/b"}"#.to_owned(),
            said("a1", "m", "user", "hello\\n  you"),
            said("b1", "a1", "assistant", "Hello."),
            said("c1", "b1", "user", "one"),
            said("d1", "c1", "assistant", "One."),
            said("c2", "b1", "user", "two"),
            said("d2", "c2", "assistant", "Two."),
            r#"{"type":"label","id":"l","parentId":"d2","targetId":"b1","label":"start"}"#.into(),
            r#"{"type":"leaf","id":"x","parentId":"d1"}"#.to_owned(),
        ];
        let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
        let rows = tree_rows(&mut load(&entries));
        assert_eq!(
            lines(&rows),
            [
                "  > hello you",
                "  [start] Hello.",
                "  ├─ > one",
                "* │  One.",
                "  └─ > two",
                "     Two.",
            ]
        );
        let own: Vec<_> = rows.iter().filter(|row| row.is_own_prompt).collect();
        assert_eq!(own.iter().map(|row| &*row.text).collect::<Vec<_>>(), ["hello you", "one"]);
        let stays: Vec<_> = rows.iter().filter(|row| !row.leaves_messages).collect();
        assert_eq!(stays.len(), 1, "only the leaf leaves nothing");
        let mut session = load(&entries);
        assert_eq!(prompt_named(&mut session, "C2"), Some(EntryId::new("c2")));
        assert_eq!(prompt_named(&mut session, "c"), None, "two of them");
        assert_eq!(prompt_named(&mut session, "b1"), None, "an answer");
        assert_eq!(prompt_named(&mut session, ""), None);
        // Before the leaf, everything else is left; behind it, nothing.
        let rows = tree_rows(&mut load(
            &[&entries[..4], &[r#"{"type":"leaf","id":"x","parentId":"b1"}"#]].concat(),
        ));
        let left: Vec<_> = rows.iter().map(|row| row.leaves_messages).collect();
        assert_eq!(lines(&rows), ["  > hello you", "* Hello.", "  > one"]);
        assert_eq!(left, [true, false, false]);
    }

    #[test]
    fn a_hostile_tree_is_listed_without_harm() {
        let deep: Vec<String> = (0..3_000)
            .flat_map(|at| {
                let parent = if at == 0 { String::new() } else { format!("n{}", at - 1) };
                [
                    said(&format!("n{at}"), &parent, "user", "a\\u001b[2J\\u202e"),
                    said(&format!("o{at}"), &parent, "user", "b"),
                ]
            })
            .chain([said("p1", "p2", "user", "c"), said("p2", "p1", "user", "d")])
            .collect();
        let deep: Vec<&str> = deep.iter().map(String::as_str).collect();
        let rows = tree_rows(&mut load(&deep));
        assert_eq!(rows.len(), 6_002);
        for row in &rows {
            let line = format!("{}{}", row.graph, row.text);
            assert!(!line.chars().any(protocol::is_unseen), "{line:?}");
            assert!(row.graph.chars().count() <= 2 + 3 * DEEPEST + 2, "{line:?}");
        }
    }
}
