//! Files of this program and of others load, give the context that they always gave, are not changed
//! by being opened, and are a prefix of what they become.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use engine::fault::{FaultHooks, Faults};
use engine::ports::{OpenedLog, SessionHeader, SessionLogs as _};
use protocol::{Message, SessionMessage};

use super::*;
use crate::session::SessionLogFiles;

/// A session file of the tests: what it holds, and what it is when it is opened.
struct Fixture {
    name: &'static str,
    text: &'static str,
    model: &'static str,
    thinking: Option<&'static str>,
    /// The messages in short.
    messages: &'static str,
}

const TURNS: &str = "user:Please use tools. answer toolResult toolResult answer bash \
                     user:use tools twice, please answer toolResult toolResult answer \
                     user:Say something. answer";

fn fixtures() -> Vec<Fixture> {
    vec![
        Fixture {
            name: "omp-18.2-branch",
            text: include_str!("../../../tests/sessions/omp-18.2-branch.jsonl"),
            model: "mock/mock-two",
            thinking: None,
            messages: "user:On the fork. answer",
        },
        Fixture {
            name: "pi-0.73-compaction",
            text: include_str!("../../../tests/sessions/pi-0.73-compaction.jsonl"),
            model: "mock/mock-two",
            thinking: Some("off"),
            messages: "user:After compaction. answer",
        },
        Fixture {
            name: "version-0",
            text: include_str!("../../../tests/sessions/version-0.jsonl"),
            model: "mock/old",
            thinking: None,
            messages: "user:Hello. answer",
        },
        Fixture {
            name: "version-1",
            text: include_str!("../../../tests/sessions/version-1.jsonl"),
            model: "mock/one",
            thinking: None,
            messages: "sum:What was said first. user:Second. custom:note",
        },
        Fixture {
            name: "version-2",
            text: include_str!("../../../tests/sessions/version-2.jsonl"),
            model: "mock/two",
            thinking: None,
            messages: "user:First. custom:note",
        },
        Fixture {
            name: "every-entry",
            text: include_str!("../../../tests/sessions/every-entry.jsonl"),
            model: "mock/three",
            thinking: Some("high"),
            messages: "sum:Summed. user:Kept. answer toolResult bash bash python developer files \
                       custom:note unknown custom:note branch:Left behind. user:Last.",
        },
    ]
}

impl Fixture {
    /// Returns the messages that the file has, in short.
    fn expected(&self) -> String {
        match self.name {
            "omp-18.2-branch" => format!("{TURNS} {}", self.messages),
            "pi-0.73-compaction" => {
                format!("sum:Done with it: naïve 😀. {TURNS} {}", self.messages)
            }
            _ => self.messages.to_owned(),
        }
    }

    fn is_of_this_version(&self) -> bool {
        !self.name.starts_with("version-")
    }
}

fn short(context: &SessionContext) -> String {
    let words = context.messages.iter().map(|message| match &message.message {
        SessionMessage::Model(Message::User(said)) => format!("user:{}", said.text()),
        SessionMessage::Model(Message::Assistant(_)) => "answer".to_owned(),
        SessionMessage::Model(Message::ToolResult(_)) => "toolResult".to_owned(),
        SessionMessage::BashExecution(_) => "bash".to_owned(),
        SessionMessage::PythonExecution(_) => "python".to_owned(),
        SessionMessage::Developer(_) => "developer".to_owned(),
        SessionMessage::FileMention(_) => "files".to_owned(),
        SessionMessage::Custom(custom) => format!("custom:{}", custom.custom_type),
        SessionMessage::BranchSummary(summary) => format!("branch:{}", summary.summary),
        SessionMessage::CompactionSummary(summary) => format!("sum:{}", summary.summary),
        SessionMessage::Unknown(_) => "unknown".to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

struct Place {
    folder: tempfile::TempDir,
    logs: SessionLogFiles,
}

impl Place {
    fn new(text: &[u8]) -> Self {
        Self::with_faults(text, "")
    }

    fn with_faults(text: &[u8], plan: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Self {
            folder,
            logs: SessionLogFiles::new(Faults::read(plan, FaultHooks::default()).unwrap()),
        };
        fs::create_dir(place.path().parent().unwrap()).unwrap();
        fs::write(place.path(), text).unwrap();
        place
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("--app--/a.jsonl")
    }

    fn header() -> SessionHeader {
        let id = protocol::SessionId::generate();
        SessionHeader { id, cwd: "/app".into(), at: at(), parent: None }
    }

    async fn open(&self) -> Result<OpenedLog, engine::ports::SessionLogError> {
        self.logs.open(&self.path(), Self::header()).await
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.path()).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path().parent().unwrap()).unwrap().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn at() -> Timestamp {
    Timestamp::from_millisecond(1_767_323_045_678)
}

fn said(text: &str) -> SessionEntry {
    SessionEntry::message(Message::user(text, at()))
}

#[test]
async fn every_fixture_gives_its_context_and_its_model_and_goes_on() {
    for fixture in fixtures() {
        let name = fixture.name;
        let place = Place::new(fixture.text.as_bytes());
        let mut read = LoadedSession::read(&place.path()).unwrap().unwrap();
        let context = read.context(None);
        assert_eq!(short(&context), fixture.expected(), "{name}");
        assert_eq!(context.model(), Some(fixture.model), "{name}");
        assert_eq!(context.thinking_level.as_deref(), fixture.thinking, "{name}");
        assert_eq!(read.damage, [], "{name}");
        assert_eq!(place.bytes(), fixture.text.as_bytes(), "{name}: it was only read");

        let mut opened = place.open().await.unwrap();
        assert_eq!((&opened.context, opened.session), (&context, read.header.session()), "{name}");
        let bytes = place.bytes();
        if fixture.is_of_this_version() {
            assert_eq!(bytes, fixture.text.as_bytes(), "{name}: it was not changed");
            assert_eq!(place.names(), ["a.jsonl"], "{name}");
        } else {
            assert_eq!(place.names(), ["a.jsonl", "a.jsonl.bak"], "{name}");
            let old = fs::read(place.path().with_extension("jsonl.bak")).unwrap();
            assert_eq!(old, fixture.text.as_bytes(), "{name}");
        }
        opened.log.append(at(), said("On.")).await.unwrap();
        drop(opened);
        let longer = place.bytes();
        assert!(longer.starts_with(&bytes) && longer.len() > bytes.len(), "{name}");
        let again = place.open().await.unwrap();
        assert_eq!(short(&again.context), format!("{} user:On.", fixture.expected()), "{name}");
        assert_eq!(place.bytes(), longer, "{name}: it was rewritten once");
    }
}

#[test]
fn a_message_that_is_parsed_at_once_is_what_its_line_says() {
    let input = "{\"type\":\"message\",\"id\":\"0000000a\",\"parentId\":null,\"timestamp\":\
                 \"2026-01-02T03:04:05.678Z\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\
                 \"hologram\"},{\"text\":\"a\\n\",\"type\":\"text\"}],\"timestamp\":1.5},\"inputId\":\
                 \"01890a5d-ac96-774b-bcce-b302099a8057\",\"more\":1}\n";
    let mut at_once = 0;
    for text in fixtures().iter().map(|fixture| fixture.text.to_owned() + "\n" + input) {
        let read = |keep| match load(text.as_bytes(), keep).unwrap() {
            Loaded::Session(session) => *session,
            Loaded::Empty | Loaded::Other => panic!("{text}"),
        };
        let (mut lines, mut entries) = (read(Keep::Lines), read(Keep::Entries));
        at_once +=
            entries.tree.nodes().iter().filter(|it| matches!(it.body, Body::Read(_))).count();
        for place in 0..lines.tree.nodes().len() {
            let (line, entry) = (&lines.tree.nodes()[place], &entries.tree.nodes()[place]);
            assert_eq!((&line.id, &line.parent, line.at), (&entry.id, &entry.parent, entry.at));
            assert_eq!(lines.entry(place, None), entries.entry(place, None));
        }
        assert_eq!(lines.damage, entries.damage);
    }
    assert!(at_once > 30, "{at_once} messages were parsed at once");
}

#[test]
fn a_copy_of_every_fixture_has_the_bytes_of_its_entries() {
    for fixture in fixtures().into_iter().filter(Fixture::is_of_this_version) {
        let place = Place::new(fixture.text.as_bytes());
        let copy = place.folder.path().join("--app--/b.jsonl");
        crate::session::fork(&place.path(), &copy, &Place::header()).unwrap();
        let text = fs::read_to_string(&copy).unwrap();
        let (_header, entries) = text.split_once('\n').unwrap();
        let mut lines = fixture.text.split_inclusive('\n');
        let _header = lines.find(|line| line.contains("\"type\":\"session\"")).unwrap();
        assert_eq!(entries, lines.collect::<String>(), "{}", fixture.name);
        let mut read = LoadedSession::read(&copy).unwrap().unwrap();
        assert_eq!(short(&read.context(None)), fixture.expected(), "{}", fixture.name);
    }
}

#[test]
fn the_fixture_of_every_entry_has_every_type() {
    let text = include_str!("../../../tests/sessions/every-entry.jsonl");
    let place = Place::new(text.as_bytes());
    let lines = crate::session::read_session(&place.path()).unwrap();
    let found: std::collections::BTreeSet<_> =
        lines.iter().map(|line| type_of(&line.entry)).collect();
    // Each type that `type_of` names.
    assert_eq!(found.len(), 17, "{found:?}");
}

fn type_of(entry: &SessionEntry) -> &'static str {
    match entry {
        SessionEntry::SessionInit { .. } => "session_init",
        SessionEntry::ModelChange { .. } => "model_change",
        SessionEntry::ThinkingLevelChange { .. } => "thinking_level_change",
        SessionEntry::ServiceTierChange { .. } => "service_tier_change",
        SessionEntry::Message { .. } => "message",
        SessionEntry::CustomMessage { .. } => "custom_message",
        SessionEntry::Custom { .. } => "custom",
        SessionEntry::Compaction { .. } => "compaction",
        SessionEntry::BranchSummary { .. } => "branch_summary",
        SessionEntry::Label { .. } => "label",
        SessionEntry::ModeChange { .. } => "mode_change",
        SessionEntry::TtsrInjection { .. } => "ttsr_injection",
        SessionEntry::McpToolSelection { .. } => "mcp_tool_selection",
        SessionEntry::SessionInfo { .. } => "session_info",
        SessionEntry::TitleChange { .. } => "title_change",
        SessionEntry::Leaf {} => "leaf",
        SessionEntry::Unknown(_) => "unknown",
    }
}

#[test]
async fn the_state_of_every_type_of_entry_is_in_the_context() {
    let text = include_str!("../../../tests/sessions/every-entry.jsonl");
    let place = Place::new(text.as_bytes());
    let context = place.open().await.unwrap().context;
    assert_eq!(context.models["smol"], "mock/small");
    assert_eq!(context.service_tier.as_deref(), Some("flex"));
    assert_eq!(context.injected_rules, ["rule".to_owned()].into());
    assert_eq!(context.mode.unwrap().name, "plan");
    assert_eq!(context.mcp_tools, Some(vec!["t".to_owned()]));
    let read = LoadedSession::read(&place.path()).unwrap().unwrap();
    let labels: Vec<_> = read.tree.labels().values().cloned().collect();
    assert_eq!(labels, ["here"]);
    assert_eq!(read.header.title.as_deref(), Some("every entry"));
}

#[test]
async fn a_file_that_cannot_be_rewritten_stays_as_it_is_and_can_be_opened_later() {
    let text = include_str!("../../../tests/sessions/version-1.jsonl");
    for point in ["session.rewrite.write", "session.rewrite.rename"] {
        let place = Place::with_faults(text.as_bytes(), &format!("full@{point}"));
        let error = place.open().await.err().unwrap();
        assert_eq!(error.class, protocol::FailureClass::Resources, "{point}");
        assert_eq!(place.bytes(), text.as_bytes(), "{point}");
        assert_eq!(place.names(), ["a.jsonl", "a.jsonl.bak"], "{point}");
        // The next one is not hindered by what is left.
        let opened = place.open().await.unwrap();
        assert_eq!(opened.context.messages.len(), 3, "{point}");
    }
}

/// A file with three prompts and an entry that nobody knows.
fn plain() -> Arc<str> {
    let line = |id: u8, parent: &str, text: &str| {
        format!(
            "{{\"type\":\"message\",\"id\":\"0000000{id}\",\"parentId\":{parent},\"timestamp\":\
             \"2026-01-02T03:04:05.678Z\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\",\
             \"timestamp\":5}}}}\n"
        )
    };
    let header = "{\"type\":\"session\",\"version\":3,\"id\":\"a\",\"cwd\":\"/\"}\n".to_owned();
    let lines = line(1, "null", "one") + &line(2, "\"00000001\"", "two");
    (header + &lines + &line(3, "\"00000002\"", "three")).into()
}

/// Returns what the prompts of a file say after it was opened and gone on with, and the damage.
async fn opened(bytes: &[u8]) -> Option<(Vec<String>, Vec<u64>)> {
    let place = Place::new(bytes);
    let mut opened = place.open().await.ok()?;
    let damage = opened.damage.iter().map(|damage| damage.line).collect();
    opened.log.append(at(), said("next")).await.unwrap();
    drop(opened);
    let after = place.open().await.unwrap();
    let file = place.bytes();
    let last = file[..file.len() - 1].rsplit(|byte| *byte == b'\n').next().unwrap();
    assert!(serde_json::from_slice::<Value>(last).is_ok(), "the next entry has its own line");
    let texts = after.context.messages.iter().filter_map(|message| match &message.message {
        SessionMessage::Model(Message::User(said)) => Some(said.text()),
        _other => None,
    });
    Some((texts.collect(), damage))
}

#[test]
async fn a_file_that_is_cut_in_its_last_record_loses_no_other() {
    let text = plain();
    let whole = text.as_bytes();
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let ends = [last, whole.len() - 1, whole.len()];
    for cut in test_limit::sample(last..whole.len() - 1, 20).into_iter().chain(ends) {
        let expected: &[&str] = if cut >= whole.len() - 1 {
            &["one", "two", "three", "next"]
        } else {
            &["one", "two", "next"]
        };
        let (texts, damage) = opened(&whole[..cut]).await.unwrap();
        assert_eq!(
            (&texts[..], &damage[..]),
            (&expected.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()[..], &[][..]),
            "cut at {cut}"
        );
    }
}

#[test]
async fn nuls_and_line_breaks_of_other_systems_cost_no_record() {
    let text = plain();
    let all = ["one", "two", "three", "next"].map(str::to_owned).to_vec();
    let crlf = text.replace('\n', "\r\n");
    assert_eq!(opened(crlf.as_bytes()).await.unwrap(), (all.clone(), vec![]));
    let nuls = "\0".repeat(4096);
    let torn = format!("{text}{nuls}");
    assert_eq!(opened(torn.as_bytes()).await.unwrap(), (all.clone(), vec![]));
    // A program that did not mind them has written on in the same line.
    let inside = text.replacen(
        "{\"type\":\"message\",\"id\":\"00000002\"",
        &format!("{nuls}{{\"type\":\"message\",\"id\":\"00000002\""),
        1,
    );
    assert_eq!(opened(inside.as_bytes()).await.unwrap(), (all.clone(), vec![]));
    let line = text.replacen('\n', &format!("\n{nuls}\n"), 1);
    assert_eq!(opened(line.as_bytes()).await.unwrap(), (all, vec![2]));
}

#[test]
async fn a_damaged_line_costs_that_line_and_is_told_with_its_number() {
    let text = plain();
    for (bad, line, left) in [
        (text.replacen("\"content\":\"two\"", "\"content\":\"two", 1), 3, "one three next"),
        (text.replacen("\"content\":\"two\"", "\"content\":7", 1), 3, "one three next"),
        (text.replacen("\"id\":\"00000002\",", "", 1), 3, "one three next"),
    ] {
        let (texts, damage) = opened(bad.as_bytes()).await.unwrap();
        assert_eq!((texts.join(" "), damage), (left.to_owned(), vec![line]), "{bad}");
    }
}

/// Checks that each line of a file is an entry, or is reported with its number, or is its torn end.
fn expect_damage(bytes: &[u8], session: &LoadedSession, round: usize) {
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    for (at, line) in lines.iter().enumerate().skip(1) {
        let is_blank = line.iter().all(|byte| *byte == 0 || byte.is_ascii_whitespace());
        if is_blank || at == lines.len() - 1 {
            continue; // what the last line feed does not end is torn
        }
        let without = line.trim_ascii();
        let from = without.iter().position(|byte| *byte != 0).unwrap_or(0);
        let to = without.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let entry = serde_json::from_slice::<Value>(&without[from..to]).unwrap_or_default();
        let id = entry["id"].as_str().map(EntryId::new);
        let is_entry = id.is_some_and(|id| session.tree.place(&id).is_some());
        let is_told = session.damage.iter().any(|damage| damage.line == at as u64 + 1);
        assert!(
            is_entry || is_told,
            "round {round}: line {} is lost and not told: {:?}",
            at + 1,
            String::from_utf8_lossy(line)
        );
    }
}

#[test]
async fn a_thousand_random_changes_of_a_file_cost_what_they_hit_and_nothing_else() {
    let text = plain();
    let (mut seed, begin) = (7_u64, text.find('\n').unwrap() + 1);
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    };
    for round in 0..test_limit::by_depth(100, 1_000) {
        let mut bytes = text.as_bytes().to_vec();
        let place = begin + random(bytes.len() - begin);
        match random(4) {
            0 => bytes[place] ^= 1 << random(8),
            1 => bytes[place] = 0,
            2 => drop(bytes.splice(place..place, vec![0; 1 + random(64)])),
            _ => bytes.truncate(place),
        }
        let loaded = load(&bytes[..], Keep::Entries).unwrap();
        let Loaded::Session(mut session) = loaded else { panic!("round {round}: {bytes:?}") };
        session.context(None);
        // Each line that is as it was is an entry.
        let lines = text.lines().skip(1);
        let kept: Vec<_> = lines
            .filter(|line| bytes.split(|byte| *byte == b'\n').any(|there| there == line.as_bytes()))
            .map(|line| {
                serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned()
            })
            .collect();
        for id in &kept {
            let place = session.tree.place(&EntryId::new(id.clone()));
            assert!(place.is_some(), "round {round}: {id} is lost");
        }
        expect_damage(&bytes, &session, round);
        if round % 4 == 0 {
            let (texts, _damage) = opened(&bytes).await.unwrap();
            assert_eq!(texts.last().map(String::as_str), Some("next"), "round {round}");
        }
    }
}

#[test]
async fn a_cycle_of_parents_is_gone_through_once() {
    let text = plain().replacen("\"parentId\":null", "\"parentId\":\"00000003\"", 1);
    let (texts, damage) = opened(text.as_bytes()).await.unwrap();
    assert_eq!((texts.join(" ").as_str(), damage), ("one two three next", vec![]));
}
