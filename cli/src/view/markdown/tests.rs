//! What markdown looks like, and what hostile text cannot do.

use super::*;

fn lines(source: &str, columns: usize) -> Vec<String> {
    let lines = markdown(source, None, columns, &Syntaxes::default());
    lines.iter().map(ToString::to_string).collect()
}

#[test]
fn blocks_are_apart_and_lists_are_indented() {
    let source = "# Title\n\nSome *soft*\ntext with `code`.\n\n- one\n- two has more words\n  1. deep\n\
                  \n> quoted\n\n```sh\nls -l\n```\n\n---\n[a](http://b)";
    assert_eq!(
        lines(source, 14),
        [
            "Title",
            "",
            "Some soft text",
            "with code.",
            "",
            "• one",
            "• two has more",
            "  words",
            "  1. deep",
            "",
            "│ quoted",
            "",
            "  ls -l",
            "",
            "──────────────",
            "",
            "a (http://b)",
        ]
    );
}

#[test]
fn an_item_without_a_text_has_its_marker() {
    assert_eq!(lines("42.", 20), ["42. "]);
    assert_eq!(lines("- a\n-\n- b", 20), ["• a", "• ", "• b"]);
}

#[test]
fn a_table_fits_into_its_width() {
    let source = "| name | what it is |\n|--|--|\n| a | the first letter |\n";
    assert_eq!(
        lines(source, 80),
        ["name │ what it is", "─────┼─────────────────", "a    │ the first letter"]
    );
    for columns in 5..30 {
        for line in lines(source, columns) {
            assert!(width(&line) <= columns.max(5), "{line:?} in {columns}");
        }
    }
}

#[test]
fn a_list_goes_on_with_its_number() {
    let list = markdown("1. a\n1. b\n", Some(7), 20, &Syntaxes::default());
    let list: Vec<_> = list.iter().map(ToString::to_string).collect();
    assert_eq!(list, ["7. a", "8. b"]);
}

#[test]
fn nothing_in_markdown_controls_the_terminal() {
    let hostile = "a\u{1b}[2J\u{202e}b\u{7} `c\u{9b}H` <b\u{1b}]0;x\u{7}>\n\n```\n\u{1b}[1mx\r\n```\n\n\
                   | \u{1b}[A | \u{200b} |\n|--|--|\n\n[\u{1b}c](\u{1b}c)\n";
    for line in lines(hostile, 20) {
        assert!(!line.chars().any(protocol::is_unseen), "{line:?}");
    }
}

#[test]
fn deeply_nested_blocks_are_rendered() {
    let deep = format!("{}x", "> ".repeat(500));
    assert_eq!(lines(&deep, 40).len(), 1);
}
