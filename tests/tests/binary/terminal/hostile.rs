//! Text that would control the terminal changes no line but its own.

use serde_json::json;

use super::kit::PacedModel;
use crate::binary::sandbox;

/// Each would move, hide, colour or reorder something.
const HOSTILE: &[&str] = &[
    "\u{1b}[2J\u{1b}[H",
    "\u{1b}[5A",
    "\u{1b}]0;title\u{7}",
    "\u{1b}[?1049h",
    "\u{9b}3A",
    "\r",
    "\u{8}\u{8}",
    "\u{7}",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{feff}",
    "e\u{301}\u{302}\u{303}",
    "👩\u{200d}🚀",
    "日本語",
    "🇩🇪",
    "\u{1b}c",
    "\u{1b}P q\u{1b}\\",
    "\u{b}",
    "\u{c}",
    "\u{85}",
    "\u{2028}",
    "\u{e0041}",
    "\t",
    "ﷺ",
];

#[test]
fn hostile_text_of_a_model_a_tool_and_the_user_changes_no_line_but_its_own() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut screen = model.session(&place).on_a_keyboard(50, 80);
    screen.until("the status line", |text| text.contains("loopback/loop"));
    screen.press("\u{1b}[200~before \u{1b}[2J\u{202e}\u{7} after\u{1b}[201~\r");
    let mut exchange = model.next();
    let line = |at: usize, text: &str| format!("a{at} {text} z{at}\n\n");
    for (at, text) in HOSTILE.iter().enumerate() {
        exchange.say(&line(at, text));
    }
    let command = HOSTILE.iter().map(|text| format!("t {text} ")).collect::<String>();
    exchange.call("bash", &json!({ "command": format!("printf '%s\\n' \"{command}\"") }));
    model.next().answer("The end.");
    screen.until("the end", |text| text.contains("The end.") && !text.contains("works"));
    let all = screen.all_lines();
    for (at, text) in HOSTILE.iter().enumerate() {
        let of_it = |line: &&String| {
            line.starts_with(&format!("a{at} ")) || line.ends_with(&format!(" z{at}"))
        };
        let count = all.iter().filter(of_it).count();
        assert!((1..=2).contains(&count), "{text:?}: {count} in {all:#?}");
        let first = all.iter().position(|line| line.starts_with(&format!("a{at} ")));
        if at > 0 {
            let before = all.iter().position(|line| line.ends_with(&format!(" z{}", at - 1)));
            assert!(before < first, "{text:?} moved a line: {all:#?}");
        }
    }
    assert_eq!(all.iter().filter(|line| line.contains("The end.")).count(), 1, "{all:#?}");
    let bytes = screen.bytes();
    for forbidden in ["\u{1b}[2J", "\u{1b}]", "\u{7}", "\u{202e}", "[?1049h", "\u{9b}"] {
        assert!(!bytes.contains(forbidden), "{forbidden:?}");
    }
    screen.press("\u{4}");
    assert_eq!(screen.wait().code(), Some(0));
}
