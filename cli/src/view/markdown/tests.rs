//! What markdown looks like, and what hostile text cannot do.

use test_limit::{by_depth, sample};

use super::*;
use crate::view::answer_stream::AnswerStream;
use crate::view::entry::Entry;

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
    assert_eq!(lines("42.", 20), ["42."]);
    assert_eq!(lines("- a\n-\n- b", 20), ["• a", "•", "• b"]);
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

/// Returns an answer as it is printed when it arrives in pieces.
fn arriving(source: &str, columns: usize, syntaxes: &Syntaxes) -> Vec<String> {
    let mut stream = AnswerStream::new();
    let mut parts = Vec::new();
    for line in source.split_inclusive('\n') {
        stream.push(line);
        parts.extend(stream.take_complete(syntaxes));
    }
    parts.extend(stream.finish(syntaxes));
    let entries = parts.into_iter().map(|(part, gap)| Entry::Answer(part, gap));
    let lines = entries.flat_map(|entry| entry.lines(columns, syntaxes));
    lines.skip(1).map(|line| line.to_string()).collect()
}

/// Returns the screen of an answer, of which no letter is odd and no line too wide.
fn screen(source: &str, columns: usize, syntaxes: &Syntaxes) -> String {
    let lines = arriving(source, columns, syntaxes);
    let is_odd = |letter: char| matches!(letter, '\u{fffd}' | '\u{2400}'..'\u{2440}');
    for line in &lines {
        assert!(width(line) <= columns && !line.contains(is_odd), "{columns}: {line:?}");
    }
    lines.join("\n") + "\n"
}

#[test]
fn code_of_many_languages_looks_as_it_was_written() {
    let (languages, syntaxes) = (include_str!("answers/languages.md"), Syntaxes::default());
    if by_depth(false, true) {
        let whole = screen(languages, 80, &syntaxes);
        assert_eq!(whole, include_str!("answers/languages.80.txt"));
    }
    // The fences are at every second place.
    let parts: Vec<_> = languages.split("```").collect();
    let blocks: Vec<_> = parts.into_iter().skip(1).step_by(2).collect();
    assert_eq!(blocks.len(), 24);
    for block in sample(blocks, 6) {
        let screen = screen(&format!("```{block}```\n"), 80, &syntaxes);
        for line in block.lines().skip(1) {
            let line = format!("  {}", line.replace('\t', "    "));
            assert!(screen.lines().any(|shown| shown == line.trim_end()), "{line:?} in {screen}");
        }
    }
}

#[test]
fn answers_with_code_tables_lists_and_wide_letters_look_as_they_were_written() {
    let (mixed, syntaxes) = (include_str!("answers/mixed.md"), Syntaxes::default());
    let screens =
        [(80, include_str!("answers/mixed.80.txt")), (40, include_str!("answers/mixed.40.txt"))];
    for (columns, expected) in sample(screens, 1) {
        assert_eq!(screen(mixed, columns, &syntaxes), expected);
    }
}
