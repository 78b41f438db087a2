//! Lists in a conversation: what is on the screen at every size, what filters them, and what is taken.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tests::sandbox::{Sandbox, Screen};

use super::conversation::expect_screen;
use super::kit::{PacedModel, leave};
use crate::binary::models::directory::write_models;
use crate::binary::sandbox;

const ESC: &str = "\u{1b}";
const DOWN: &str = "\u{1b}[B";
const SIZES: [(u16, u16); 3] = [(24, 80), (5, 20), (60, 200)];

/// Writes sessions of the folder in which conversations are: a name or none, the texts that user and
/// model have said in turns, and how many hours ago that was.
fn write_sessions(place: &Sandbox, sessions: &[(Option<&str>, &[&str], u64)]) -> PathBuf {
    let folder = place.folder().join("sessions");
    fs::create_dir_all(&folder).expect("a folder can be made");
    for (at, (name, said, hours)) in sessions.iter().enumerate() {
        let mut lines = vec![json!({
            "type": "session", "version": 3, "id": format!("0000000{at}-0000-7000-8000-000000000000"),
            "timestamp": "2026-01-02T03:04:05.678Z", "cwd": place.folder().join("work"),
        })];
        let mut parent = Value::Null;
        let mut add = |mut entry: Value| {
            let id = format!("{:08x}", lines.len());
            entry["id"] = json!(id);
            entry["parentId"] = std::mem::replace(&mut parent, json!(id));
            entry["timestamp"] = json!("2026-01-02T03:04:05.678Z");
            lines.push(entry);
        };
        for (turn, text) in said.iter().enumerate() {
            let content = json!([{ "type": "text", "text": text }]);
            let message = match turn % 2 {
                0 => json!({ "role": "user", "content": content, "timestamp": 0 }),
                _ => json!({
                    "role": "assistant", "content": content, "timestamp": 0, "api": "", "provider":
                    "loopback", "model": "loop", "stopReason": "stop", "usage": { "input": 1,
                    "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2 },
                }),
            };
            add(json!({ "type": "message", "message": message }));
        }
        name.iter().for_each(|name| add(json!({ "type": "session_info", "name": name })));
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let path = folder.join(format!("2026-01-02T03-04-05-678Z_{at}.jsonl"));
        fs::write(&path, text).expect("it can be written");
        let then = SystemTime::now() - Duration::from_secs(hours * 3_600 + 60);
        let file = fs::File::options().write(true).open(&path).expect("it is there");
        file.set_modified(then).expect("it has a time");
    }
    folder
}

/// Starts a conversation whose sessions are in a folder.
fn start_in(place: &Sandbox, model: &PacedModel, folder: &PathBuf, size: (u16, u16)) -> Screen {
    let session = model.session(place).arg("--session-dir").arg(folder);
    let screen = session.on_a_keyboard(size.0, size.1);
    screen.until("the status line", |text| text.contains("loopback/loop"));
    screen
}

#[test]
fn sessions_are_listed_filtered_and_continued_at_every_size() {
    let idle = "loopback/loop · context unknown · 0 tokens · $0.00";
    for size in SIZES {
        let (place, model) = (sandbox(), PacedModel::start());
        let sessions: [(Option<&str>, &[&str], u64); 3] = [
            (None, &["look at \u{1b}[2Jthe house", "Nice."], 1),
            (Some("garden"), &["look at the garden", "Green.", "and again", "Still green."], 2),
            (None, &["what is the answer to all the questions of the universe?"], 72),
        ];
        let folder = write_sessions(&place, &sessions);
        let mut screen = start_in(&place, &model, &folder, size);
        screen.press("/resume\r");
        let wide = |left: &str, right: &str| {
            let gap = usize::from(size.1) - left.chars().count() - right.chars().count();
            format!("{left}{}{right}", " ".repeat(gap))
        };
        let title = "Continue which session?  1/3 · Enter takes, Esc leaves";
        let listed = match size {
            (5, _) => vec![
                "Continue which sess…".to_owned(),
                "▸ look at the house".to_owned(),
                "  garden".to_owned(),
                ">".to_owned(),
                "loopback/loop".to_owned(),
            ],
            _ => vec![
                title.to_owned(),
                wide("▸ look at the house", "1h ago · 2 messages"),
                wide("  garden", "2h ago · 4 messages"),
                wide(
                    "  what is the answer to all the questions of the universe?",
                    "3d ago · 1 message",
                ),
                ">".to_owned(),
                idle.to_owned(),
            ],
        };
        let listed: Vec<&str> = listed.iter().map(|line| line.trim_end()).collect();
        let expect = |what: &str, lines: &[&str]| expect_screen(&screen, what, lines);
        expect("the list", &listed);
        screen.press("gard");
        match size {
            (5, _) => {
                let lines = ["Continue which sess…", "▸ garden", "> gard", "loopback/loop"];
                expect("what matches", &lines);
            }
            _ => {
                let row = wide("▸ garden", "2h ago · 4 messages");
                expect("what matches", &[title, &row, "> gard", idle]);
            }
        }
        screen.press("x");
        screen.until("nothing", |text| text.contains("nothing matches"));
        screen.press("\u{7f}\r");
        screen.until("the session", |text| text.contains("garden · loopback") || size.0 == 5);
        screen.until("its end", |text| text.contains("Still green.") && text.contains("\n>\n"));
        let all = screen.all_lines().join("\n");
        assert_eq!(all.matches("Still green.").count(), 1, "{all}");
        assert!(size.0 == 5 || all.contains("another session:\n\n> look at the garden"), "{all}");
        screen.press("more\r");
        let exchange = model.next();
        assert_eq!(exchange.prompts(), ["look at the garden", "and again", "more"]);
        exchange.answer("Yes.");
        screen.until("the end of the turn", |text| {
            text.contains("cost unknown\n>") || text.contains("cost unknown\n\n>")
        });
        screen.until("the answer", |_| screen.all_lines().contains(&"Yes.".to_owned()));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3, "no other session was begun");
        screen.press("\u{4}");
        assert_eq!(screen.wait().code(), Some(0));
    }
}

#[test]
fn a_key_goes_through_the_models_of_the_command_line_and_a_list_has_all_that_can_be_used() {
    let (place, model) = (sandbox(), PacedModel::start());
    let models = ["one", "two", "three", "four"].map(|id| format!("{{ id: {id} }}")).join(", ");
    let provider = format!(
        "providers: {{ gate: {{ baseUrl: \"{}\", api: openai-completions, auth: none, \
         models: [{models}] }} }}\n",
        model.url()
    );
    write_models(&place, &provider);
    let folder = place.folder().join("work");
    fs::create_dir_all(&folder).unwrap();
    let scoped = place.regatta(&folder).words("--models gate/t*,gate/one");
    let mut screen = scoped.env("ANTHROPIC_API_KEY", "sk-of-nobody").on_a_keyboard(24, 80);
    let mut used = Vec::new();
    for _ in 0..4 {
        let text = screen.until("the status line", |text| {
            let status = text.lines().last().unwrap_or_default();
            status.starts_with("gate/") && used.last().is_none_or(|last| !status.starts_with(last))
        });
        let status = text.lines().last().unwrap_or_default();
        used.push(format!("{} ", status.split(' ').next().unwrap_or_default()));
        screen.press("\u{10}");
    }
    assert_eq!(used, ["gate/three ", "gate/two ", "gate/one ", "gate/three "]);

    screen.press("/model\r");
    screen.until("the models", |text| text.contains("Use which model?"));
    screen.press("opus");
    screen.until("what matches", |text| {
        let mut rows = text.lines().filter(|line| line.contains("anthropic/")).peekable();
        rows.peek().is_some() && rows.all(|row| row.contains("opus"))
    });
    screen.press("\r");
    screen.until("the model", |text| text.contains("\nanthropic/claude-opus"));
    screen.press("\u{4}");
    assert_eq!(screen.wait().code(), Some(0));
}

#[test]
fn a_session_without_a_name_on_the_command_line_is_chosen_from_the_list() {
    let (place, model) = (sandbox(), PacedModel::start());
    let sessions: [(Option<&str>, &[&str], u64); 2] =
        [(None, &["look at the house", "Nice."], 1), (Some("garden"), &["dig", "Done."], 2)];
    let folder = write_sessions(&place, &sessions);
    let resume = |at: &PathBuf| {
        let session = model.session(&place).arg("--resume").arg("--session-dir").arg(at);
        session.on_a_keyboard(24, 80)
    };
    let mut none = resume(&place.folder().join("nowhere"));
    assert_eq!(none.wait().code(), Some(0), "{}", none.text());
    assert_eq!(none.text(), "No sessions found");
    let mut left = resume(&folder);
    left.until("the list", |text| text.contains("2h ago · 2 messages\n>"));
    let before = left.settings();
    left.press(ESC);
    assert_eq!(left.wait().code(), Some(0), "{}", left.text());
    assert_eq!(left.text(), "No session selected");
    assert_ne!(left.settings(), before, "the terminal is as it was");
    let mut screen = resume(&folder);
    screen.until("the list", |text| text.contains("▸ look at the house"));
    screen.press(&format!("{DOWN}\r"));
    screen.until("the session", |text| text.contains("> dig") && text.contains("garden · loop"));
    leave(&mut screen);
}
