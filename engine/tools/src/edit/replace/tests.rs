use proptest::prelude::*;

use super::*;

fn edited(text: &str, old: &str, new: &str) -> Result<String, String> {
    let edit = TextEdit::new(old, new, Wanted::Only);
    replaced(text, &[edit]).map(|after| after.text).map_err(|mismatch| mismatch.to_string())
}

#[test]
fn places_that_overlap_are_several() {
    let refused = edited("aaa", "aa", "b").unwrap_err();
    assert!(refused.starts_with("oldText has 2 occurrences, on lines 1, 1;"), "{refused}");
}

#[test]
fn a_text_that_would_be_larger_than_files_that_are_written_is_refused_before_it_is_made() {
    let most = "1".repeat(1 << 20);
    for old in ["a", "a\u{a0}"] {
        let edit = TextEdit::new(old, &most, Wanted::All);
        let refused = replaced(&"a \n".repeat(90_000), &[edit]).unwrap_err().to_string();
        assert_eq!(refused, "the file would have more than 16777216 bytes", "{old:?}");
    }
}

#[test]
fn counting_has_an_end() {
    let refused = edited(&"a\n".repeat(1000), "a", "b").unwrap_err();
    assert!(refused.contains("at least 100 occurrences, on lines 1, 2, 3, 4, 5, …;"), "{refused}");
}

#[test]
fn a_piece_may_begin_and_end_at_a_line_end() {
    assert_eq!(edited("a\r\nb\r\nc", "\nb\n", "\n").unwrap(), "a\r\nc");
    assert_eq!(edited("a\r\nb\r\n", "a\n", "").unwrap(), "b\r\n");
    assert_eq!(edited("a\r\nb", "\nb", "").unwrap(), "a");
    assert_eq!(edited("日本\r\n語", "本\n語", "x").unwrap(), "日x");
}

#[test]
fn a_mark_at_the_beginning_is_no_part_of_the_first_line() {
    assert_eq!(edited("\u{feff}a", "a", "b").unwrap(), "\u{feff}b");
}

/// Texts with line ends of both kinds.
fn text() -> impl Strategy<Value = String> {
    let mark = prop_oneof![Just(""), Just("\u{feff}")];
    let piece = prop_oneof![Just("a"), Just("b"), Just("é"), Just("\n"), Just("\r\n"), Just(" ")];
    let body = proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat());
    (mark, body).prop_map(|(mark, body)| format!("{mark}{body}"))
}

fn with_lf(text: &str) -> String {
    text.trim_start_matches('\u{feff}').replace("\r\n", "\n")
}

proptest! {
    #[test]
    fn an_edit_is_a_replacement_of_text_with_line_feeds_and_touches_nothing_else(
        text in text(), from in 0_usize..30, length in 1_usize..6, new in "[ab\n]{0,5}",
    ) {
        let flat = with_lf(&text);
        let old: String = flat.chars().skip(from).take(length).collect();
        let count = (0..flat.len())
            .filter(|at| !old.is_empty() && flat.get(*at..).is_some_and(|rest| rest.starts_with(&old)))
            .count();
        match edited(&text, &old, &new) {
            // It has been found with other blanks.
            Ok(_) if count == 0 => prop_assert!(old.contains(' ')),
            Ok(after) => {
                prop_assert_eq!(count, 1);
                prop_assert_eq!(with_lf(&after), flat.replacen(&old, &new, 1));
                let at = flat.find(&old).unwrap();
                let (before, behind) = (&flat[..at], &flat[at + old.len()..]);
                // What is before and behind is there with its own line ends.
                let begin = (0..=text.len())
                    .filter(|end| text.is_char_boundary(*end))
                    .find(|end| with_lf(&text[..*end]) == before && !text[..*end].ends_with('\r'))
                    .unwrap();
                let mark = if text.starts_with('\u{feff}') { 3 } else { 0 };
                prop_assert_eq!(&text[..begin.max(mark)], &after[..begin.max(mark)]);
                let end = (0..=text.len())
                    .rev()
                    .filter(|begin| text.is_char_boundary(*begin))
                    .find(|begin| with_lf(&text[*begin..]) == behind)
                    .unwrap();
                prop_assert!(after.ends_with(&text[end..]));
            }
            Err(_) => {
                prop_assert!(count != 1 || flat.replacen(&old, &new, 1) == flat);
            }
        }
    }

    #[test]
    fn several_pieces_are_all_replaced_wherever_they_stand(
        lines in proptest::collection::vec(0..1000_u32, 1..20), crlf in any::<bool>(),
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        let mut lines = lines;
        lines.sort_unstable();
        lines.dedup();
        let text: String = lines.iter().map(|line| format!("<{line}>{end}")).collect();
        let pieces: Vec<_> = lines
            .iter()
            .rev()
            .map(|line| (format!("<{line}>\n"), format!("[{line}]\n\n")))
            .map(|(old, new)| TextEdit::new(&old, &new, Wanted::Only))
            .collect();
        let expected: String = lines.iter().map(|line| format!("[{line}]{end}{end}")).collect();
        prop_assert_eq!(replaced(&text, &pieces).unwrap().text, expected);
    }
}

/// A text without blanks except line ends, as a person compares two texts.
fn without_blanks(text: &str) -> String {
    text.chars().filter(|letter| *letter == '\n' || !letter.is_whitespace()).collect()
}

proptest! {
    #[test]
    fn a_piece_with_other_blanks_is_replaced_where_the_same_letters_are(
        lines in proptest::collection::vec((0_usize..4, "[a-z]{1,3}"), 1..12),
        from in 0_usize..12, length in 1_usize..4, shift in 0_usize..3,
    ) {
        // Each line is there once, and has two parts with blanks between.
        let all: Vec<String> = (0..).zip(&lines)
            .map(|(number, (indent, word))| format!("{}{word}{number} +  {number}", "  ".repeat(*indent)))
            .collect();
        let text = all.join("\n");
        let taken = &all[from.min(all.len() - 1)..(from + length).min(all.len()).max(from.min(all.len() - 1) + 1)];
        // All of it is less deep by the same, or deeper, and the blanks between are others.
        let old: Vec<String> = taken.iter()
            .map(|line| format!("{}{}", "  ".repeat(shift + 1), line.replace(" + ", "\t+")))
            .collect();
        let new: Vec<String> = old.iter().map(|line| line.replace('+', "-")).collect();
        let after = replaced(&text, &[TextEdit::new(&old.join("\n"), &new.join("\n"), Wanted::Only)]).unwrap();
        prop_assert_eq!(after.inexact.len(), 1);
        let expected = text.replace(&taken.join("\n"), &taken.join("\n").replace('+', "-"));
        prop_assert_eq!(without_blanks(&after.text), without_blanks(&expected));
        let indents = |text: &str| -> Vec<usize> {
            text.lines().map(|line| line.len() - line.trim_start().len()).collect()
        };
        prop_assert_eq!(indents(&after.text), indents(&text), "each line keeps its indentation");
    }
}
