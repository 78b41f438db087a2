//! An answer in pieces of any size has the same parts.

use std::sync::LazyLock;

use super::*;
use crate::view::markdown::markdown;

fn text(parts: &[(Part, Gap)]) -> Vec<String> {
    let text = |part: &Part| match part {
        Part::Markdown { source, number } => {
            let number = number.map(|number| format!("{number}|")).unwrap_or_default();
            format!("{number}{}", source.trim_end())
        }
        Part::Code(spans) => {
            let line: String = spans.iter().map(|span| span.content.as_ref()).collect();
            format!("code {line}")
        }
    };
    parts.iter().map(|(part, _)| text(part)).collect()
}

/// Feeds `source` in pieces of so many characters, and returns all parts.
fn streamed(source: &str, size: usize) -> Vec<String> {
    static SYNTAXES: LazyLock<Syntaxes> = LazyLock::new(Syntaxes::default);
    let (mut stream, syntaxes) = (AnswerStream::new(), &*SYNTAXES);
    let mut parts = Vec::new();
    let letters: Vec<char> = source.chars().collect();
    for piece in letters.chunks(size) {
        stream.push(&piece.iter().collect::<String>());
        parts.extend(stream.take_complete(syntaxes));
    }
    parts.extend(stream.finish(syntaxes));
    text(&parts)
}

#[test]
fn however_an_answer_arrives_its_parts_are_the_same() {
    let source = "Hello\nthere.\n\n# Title\ntext\n\n1. a\n1. b\n   more\n1. c\n\n```rust\nlet x;\n\n\
                  ``\n```\nafter\n\n---\n\n| a |\n|---|\n| b |\n\n~~~\nopen";
    let whole = streamed(source, 10_000);
    assert_eq!(
        whole,
        [
            "Hello\nthere.",
            "# Title",
            "text",
            "1. a",
            "2|1. b\n   more",
            "3|1. c",
            "code let x;",
            "code ",
            "code ``",
            "after",
            "---",
            "| a |\n|---|\n| b |",
            "code open",
        ]
        .map(str::to_owned)
    );
    for size in test_limit::sample(1..12, 3) {
        assert_eq!(streamed(source, size), whole, "in pieces of {size}");
    }
}

#[test]
fn a_block_without_end_is_split_between_words_and_loses_nothing() {
    let source = "word ".repeat(20_000);
    let parts = streamed(&source, 1_000);
    assert!(parts.len() > 5 && parts.iter().all(|part| part.len() <= LONGEST));
    assert!(parts.iter().all(|part| part.split(' ').all(|word| word == "word")));
    assert_eq!(parts.iter().map(|part| part.split(' ').count()).sum::<usize>(), 20_000);
}

#[test]
fn full_rows_of_a_paragraph_are_complete_and_no_word_is_lost_or_changed() {
    let source = "It is so - 1. first # and > then + more. Some *soft words in between* follow, \
                  and 12) more ```code``` of it - with words, words, words\nand words.\n\nEnd.";
    let whole: Vec<_> = markdown(source, None, 10_000, &Syntaxes::default())
        .iter()
        .flat_map(|line| line.to_string().split(' ').map(str::to_owned).collect::<Vec<_>>())
        .filter(|word| !word.is_empty())
        .collect();
    for columns in 8..40 {
        let (mut stream, syntaxes) = (AnswerStream::new(), Syntaxes::default());
        let mut parts = Vec::new();
        for letter in source.chars() {
            stream.push(&letter.to_string());
            parts.extend(stream.take_complete(&syntaxes));
            parts.extend(stream.take_full_rows(columns, &syntaxes));
        }
        parts.extend(stream.finish(&syntaxes));
        let lines: Vec<String> = parts
            .iter()
            .flat_map(|(part, _)| match part {
                Part::Markdown { source, .. } => markdown(source, None, columns, &syntaxes),
                Part::Code(_) => panic!("there is no code"),
            })
            .map(|line| line.to_string())
            .collect();
        let words = lines.iter().flat_map(|line| line.split(' '));
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        assert_eq!(words, whole, "in {columns} columns: {lines:#?}");
        assert!(parts.len() > 4 || columns > 30, "{parts:?}");
        let gaps = parts.iter().filter(|(_, gap)| *gap == Gap::Before).count();
        assert_eq!(gaps, 2, "{parts:?}");
    }
}

#[test]
fn what_is_not_complete_is_there_to_be_displayed() {
    let (mut stream, syntaxes) = (AnswerStream::new(), Syntaxes::default());
    stream.push("One.\n\nTwo *mo");
    assert_eq!(text(&stream.take_complete(&syntaxes)), ["One."]);
    assert_eq!(text(&stream.unfinished().into_iter().collect::<Vec<_>>()), ["Two *mo"]);
}
