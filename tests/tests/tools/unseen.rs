//! What controls a terminal, hides or reorders text is harmless in what every tool shows, in names and contents.

use engine::ports::{EndCause, ToolOutcome};
use protocol::is_unseen;
use serde_json::{Value, json};

use super::apply_patch::patch;
use super::commands::Script;
use super::session::{Session, ViewKind, read};

over_both_views! {
    no_tool_shows_what_controls_a_terminal_or_reorders_text,
}

/// Returns texts of characters that are not shown as they are, different in each round.
fn hostile(round: u64) -> String {
    let odd =
        ["\u{1b}[2J", "\u{7}", "\u{9b}31m", "\u{202e}", "\u{2066}", "\u{8}", "\u{7f}", "\u{200b}"];
    let mut state = round.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ test_limit::seed();
    let mut text = String::new();
    for _ in 0..6 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let at = usize::try_from(state >> 33).unwrap() % odd.len();
        text.push_str(odd[at]);
        text.push(char::from(b'a' + u8::try_from(at).unwrap()));
    }
    text
}

async fn no_tool_shows_what_controls_a_terminal_or_reorders_text(kind: ViewKind) {
    for round in 0..test_limit::by_depth(3, 50) {
        let session = Session::new(kind).await;
        let odd = hostile(round);
        let (folder, file) = (format!("d{odd}"), format!("d{odd}/f{odd}.txt"));
        session.put(&file, format!("one {odd}\ntwo\n"));
        session.put("plain.txt", format!("one {odd}\ntwo\n"));
        session.put(format!("book{odd}.ipynb"), notebook(&odd).to_string());
        let printed = [odd.as_bytes(), b"\xff\xfe\x9b\n"].concat();
        *session.commands.script.lock().unwrap() = Script::Print(printed, EndCause::Exited(1));
        let calls = [
            ("read", json!({ "path": "plain.txt" })),
            ("read", json!({ "path": file })),
            ("read", json!({ "path": "." })),
            ("read", json!({ "path": format!("missing{odd}") })),
            ("read", json!({ "path": format!("book{odd}.ipynb") })),
            ("ls", json!({ "path": folder })),
            ("ls", json!({})),
            ("grep", json!({ "pattern": "one" })),
            ("grep", json!({ "pattern": format!("({odd}") })),
            ("find", json!({ "pattern": "*" })),
            ("find", json!({ "pattern": format!("{{{odd}") })),
            ("bash", json!({ "command": format!("echo {odd}") })),
            ("bash", json!({ "command": "true", "cwd": format!("no{odd}") })),
            ("job", json!({ "action": "read", "id": odd })),
            (
                "report_finding",
                json!({ "title": odd, "body": odd, "priority": "P1", "confidence": 1,
                "file_path": file, "line_start": 1, "line_end": 1 }),
            ),
            ("edit", json!({ "path": "plain.txt", "oldText": odd, "newText": format!("{odd}!") })),
            ("edit", json!({ "path": "plain.txt", "oldText": format!("no {odd}"), "newText": "" })),
            ("apply_patch", patch(&format!("*** Update File: plain.txt\n-two\n+{odd}"))),
            ("apply_patch", patch(&format!("*** Update File: plain.txt\n-{odd} no\n+x"))),
            ("apply_patch", patch(&format!("*** Delete File: no{odd}"))),
            ("write", json!({ "path": file, "content": odd })),
            (
                "notebook",
                json!({ "path": format!("book{odd}.ipynb"), "action": "delete", "cell": 0 }),
            ),
            ("yield", json!({ "result": { odd.as_str(): odd } })),
            (odd.as_str(), json!({})),
        ];
        for (tool, arguments) in calls {
            let shown = match session.call(tool, arguments.clone()).await {
                ToolOutcome::Output(output) | ToolOutcome::Failed(output) => read(output).text,
                other => panic!("{tool}: {other:?}"),
            };
            let unseen =
                shown.chars().find(|letter| is_unseen(*letter) && !"\n\t".contains(*letter));
            assert_eq!(unseen, None, "{tool} {arguments}: {shown:?}");
        }
    }
}

fn notebook(text: &str) -> Value {
    let cell = json!({ "cell_type": "code", "id": "a", "metadata": {}, "execution_count": null,
        "outputs": [{ "output_type": "stream", "name": "stdout", "text": [text] }], "source": [text] });
    json!({ "cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 })
}
