use protocol::{
    AssistantMessage, Content, Message, Part, StopReason, ToolCall, ToolResult, Usage, UserMessage,
};
use serde_json::{Value, json};

use super::super::terminal::{ColorEnv, OutputOptions, TermCapability, Terminal};
use super::super::{Size, printable};
use super::*;
use crate::args::{ColorWhen, Globals};

fn at(second: i64) -> Timestamp {
    Timestamp::from_millisecond(1_767_323_045_678 + 1_000 * second)
}

fn view(stdout: Option<fn() -> Size>, color: ColorWhen) -> View {
    let terminal = Terminal {
        stdout,
        stderr: None,
        capability: TermCapability::Able,
        color_env: ColorEnv::Silent,
    };
    let options = OutputOptions { color, ..OutputOptions::from(&Globals::default()) };
    View { zone: jiff::tz::TimeZone::UTC, ..View::of(options, terminal) }
}

fn user(text: &str) -> Message {
    Message::User(UserMessage::new(vec![Content::text(text)], at(0)))
}

fn answer(content: Vec<Part>, stop_reason: StopReason) -> Message {
    Message::Assistant(AssistantMessage {
        content,
        api: "offline".to_owned(),
        provider: "offline".to_owned(),
        model: "a".to_owned(),
        usage: Usage::ZERO,
        stop_reason,
        error_message: None,
        timestamp: at(0),
    })
}

fn call(id: &str, name: &str, arguments: Value) -> Part {
    let arguments = arguments.as_object().unwrap().clone();
    Part::ToolCall(ToolCall {
        id: id.into(),
        name: name.into(),
        arguments,
        malformed: None,
        thought_signature: None,
    })
}

fn result(id: &str, name: &str, text: &str, details: Option<Value>) -> Message {
    Message::ToolResult(ToolResult {
        tool_call_id: id.into(),
        tool_name: name.into(),
        content: vec![Content::text(text)],
        details,
        is_error: text.starts_with("cannot"),
        pruned_at: None,
        timestamp: at(0),
    })
}

fn told(messages: Vec<Message>, view: &View) -> String {
    let entries = messages.into_iter().map(SessionEntry::message);
    let entries: Vec<_> = [init()].into_iter().chain(entries).collect();
    let timed: Vec<_> = (0..).map(at).zip(&entries).collect();
    transcript(&timed, view).join("\n")
}

fn init() -> SessionEntry {
    SessionEntry::SessionInit {
        system_prompt: "be brief".to_owned(),
        task: "Move src/a.rs.".to_owned(),
        tools: vec!["read".to_owned()],
        output_schema: None,
    }
}

/// A session that reads, edits, runs a command, yields badly, is reminded and yields well.
fn session() -> Vec<Message> {
    let diff = "@@ -1 +1,2 @@\n-old\n+new\n+\tmore\n";
    let output: String = (1..=20).map(|number| format!("line {number}\n")).collect();
    vec![
        user("Move src/a.rs.\n\n<context>\nBe careful.\n</context>"),
        answer(
            vec![
                Part::thinking("Where is it?\n"),
                Part::text("Let me look."),
                call("1", "read", json!({ "path": "src/a.rs" })),
                call("2", "read", json!({ "path": "src/none.rs" })),
            ],
            StopReason::ToolUse,
        ),
        result("1", "read", "1:old\n2:\n3:c\n4:d\n5:e\n6:f", None),
        result("2", "read", "cannot read src/none.rs: it is not there", None),
        answer(
            vec![
                call("3", "edit", json!({ "path": "src/a.rs", "edits": [] })),
                call("4", "bash", json!({ "command": "\ncargo check -p auth\ncargo test" })),
                call("5", "odd tool", json!({ "depth": 2 })),
            ],
            StopReason::ToolUse,
        ),
        result("3", "edit", "Edited", Some(json!({ "diff": diff, "firstChangedLine": 1 }))),
        result("4", "bash", &output, None),
        result("5", "odd tool", "cannot: there is no such tool", None),
        answer(
            vec![call("6", "yield", json!({ "result": { "data": { "files": "a" } } }))],
            StopReason::ToolUse,
        ),
        result("6", "yield", "received", None),
        user("Reminder 1 of 3: /files: is no list."),
        answer(
            vec![call("7", "yield", json!({ "result": { "data": { "files": ["a"] } } }))],
            StopReason::ToolUse,
        ),
    ]
}

const TOLD: &str = "prompt  03:04:06
  Move src/a.rs.

  <context>
  Be careful.
  </context>

thinks  03:04:07
  Where is it?

says  03:04:07
  Let me look.

● read src/a.rs
    1:old
    2:
    3:c
    4:d
    … 2 more lines
● read src/none.rs
    cannot read src/none.rs: it is not there
● edit src/a.rs
    @@ -1 +1,2 @@
    -old
    +new
    +\tmore
● bash cargo check -p auth … 1 more line
    … 8 more lines
    line 9
    line 10
    line 11
    line 12
    line 13
    line 14
    line 15
    line 16
    line 17
    line 18
    line 19
    line 20
● odd tool {\"depth\":2}
    cannot: there is no such tool
● yield
    {
      \"files\": \"a\"
    }

reminder  03:04:16
  Reminder 1 of 3: /files: is no list.

● yield
    {
      \"files\": [
        \"a\"
      ]
    }
    no result yet";

#[test]
fn a_session_reads_as_a_person_would_tell_it() {
    assert_eq!(told(session(), &view(None, ColorWhen::Auto)), TOLD);
}

#[test]
fn colours_say_what_is_thought_what_changed_and_what_failed() {
    let terminal: Option<fn() -> Size> = Some(|| Size { columns: 80, rows: 24 });
    let text = told(session(), &view(terminal, ColorWhen::Auto));
    for painted in [
        "\u{1b}[1mthinks\u{1b}[0m",
        "  \u{1b}[2mWhere is it?\u{1b}[0m",
        "\u{1b}[31m● read src/none.rs\u{1b}[0m",
        "    \u{1b}[31m-old\u{1b}[0m",
        "    \u{1b}[32m+new\u{1b}[0m",
        "  \u{1b}[33mReminder 1 of 3: /files: is no list.\u{1b}[0m",
    ] {
        assert!(text.contains(painted), "{painted:?} in {text}");
    }
    assert_eq!(told(session(), &view(terminal, ColorWhen::Never)), TOLD);
}

#[test]
fn a_session_that_has_only_begun_has_its_prompt() {
    assert_eq!(
        told(Vec::new(), &view(None, ColorWhen::Auto)),
        "prompt  03:04:05\n  Move src/a.rs."
    );
}

#[test]
fn what_a_model_could_not_say_or_call_is_told_too() {
    let broken = |stop_reason, error_message: Option<&str>| {
        let Message::Assistant(answer) = answer(Vec::new(), stop_reason) else { unreachable!() };
        let error_message = error_message.map(str::to_owned);
        Message::Assistant(AssistantMessage { error_message, ..answer })
    };
    let malformed = ToolCall {
        id: "1".into(),
        name: "write".into(),
        arguments: serde_json::Map::new(),
        malformed: Some("{\"path\": \"a".into()),
        thought_signature: None,
    };
    let gives_up = call("2", "yield", json!({ "error": "there is no such file" }));
    let messages = vec![
        user("Do it."),
        broken(StopReason::Error, Some("the connection was lost")),
        broken(StopReason::Aborted, None),
        answer(vec![Part::ToolCall(malformed)], StopReason::Length),
        answer(vec![gives_up], StopReason::ToolUse),
    ];
    assert_eq!(
        told(messages, &view(None, ColorWhen::Auto)),
        "prompt  03:04:06
  Do it.

its answer is incomplete  03:04:07
  the connection was lost

its answer is incomplete  03:04:08
  it was stopped

● write {\"path\": \"a
    no result yet

its answer is incomplete  03:04:09
  it was too long and was cut off

● yield
    it gives up: there is no such file
    no result yet"
    );
}

#[test]
fn whatever_models_and_tools_say_a_terminal_obeys_none_of_it() {
    let hostile = "a\u{1b}[2Jb\u{1b}]0;title\u{7}c\u{202e}d\u{9b}31m\r\n\u{8}e";
    let messages = vec![
        user(hostile),
        answer(
            vec![
                Part::thinking(hostile),
                Part::text(hostile),
                call("1", hostile, json!({ "path": hostile })),
                call("2", "bash", json!({ "odd\u{1b}[2J": hostile })),
                call("3", "edit", json!({ "command": hostile })),
                call("4", "yield", json!({ hostile: { "data": hostile } })),
            ],
            StopReason::ToolUse,
        ),
        result("1", hostile, hostile, None),
        result("2", "bash", &format!("cannot{hostile}"), None),
        result("3", "edit", "", Some(json!({ "diff": hostile }))),
        user(hostile),
    ];
    let narrow: fn() -> Size = || Size { columns: 10, rows: 5 };
    for stdout in [None, Some(narrow)] {
        let text = told(messages.clone(), &view(stdout, ColorWhen::Never));
        let obeyed = |letter: char| letter != '\n' && printable::harmless(letter) != letter;
        assert!(!text.contains(obeyed), "{text:?}");
    }
}

#[test]
fn what_is_left_out_is_counted() {
    let text = "a\nb\nc\n\n";
    assert_eq!(excerpt(text, Excerpt::First(3)), ["a", "b", "c"]);
    assert_eq!(excerpt(text, Excerpt::First(1)), ["a", "… 2 more lines"]);
    assert_eq!(excerpt(text, Excerpt::Last(2)), ["… 1 more line", "b", "c"]);
    assert_eq!(excerpt("", Excerpt::Last(2)), Vec::<String>::new());
}

#[test]
fn a_line_obeys_nobody_and_keeps_its_tabs() {
    assert_eq!(visible_line("a\tb\u{1b}[2J\u{7}\r\n"), "a\tb␇");
    assert_eq!(visible_line("10%\r20%"), "10%␍20%");
    assert!(excerpt(&"x".repeat(9_000), Excerpt::First(1))[0].chars().count() <= WIDEST);
}
