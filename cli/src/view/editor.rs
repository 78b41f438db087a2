//! The input: a text with a cursor, in which a long paste is one mark.

use crossterm::event::{KeyCode, KeyModifiers};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui_textarea::{CursorMove, TextArea};

use super::wrap::wrapped;
use crate::render::{count, one_line};

/// A paste with more lines or bytes than this becomes a mark.
const PASTE_LINES: usize = 5;
const PASTE_BYTES: usize = 1_000;

/// The longest input, in bytes. What is pasted beyond it is left out.
const LONGEST: usize = 16 << 20;

const CURSOR: Style = Style::new().add_modifier(Modifier::REVERSED);

/// The text that is being typed.
pub(super) struct Editor {
    area: TextArea<'static>,
    /// The texts for which marks stand, by their marks.
    pastes: Vec<(String, String)>,
}

/// A movement or a change of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    Backspace,
    Delete,
    DeleteWord,
    DeleteToBegin,
    DeleteToEnd,
    DeleteNextWord,
    Yank,
    Undo,
    Left,
    Right,
    WordLeft,
    WordRight,
    Begin,
    End,
    Up,
    Down,
}

impl Editor {
    pub(super) fn new() -> Self {
        Self { area: TextArea::default(), pastes: Vec::new() }
    }

    /// Returns whether nothing was typed.
    pub(super) fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Returns the text, with the pastes in the place of their marks.
    pub(super) fn text(&self) -> String {
        let typed = self.area.lines().join("\n");
        let (mut text, mut rest) = (String::new(), typed.as_str());
        let mut pastes: Vec<_> = self.pastes.iter().collect();
        let first = |rest: &str, pastes: &[&(String, String)]| {
            let found =
                pastes.iter().enumerate().map(|(number, (mark, _))| (rest.find(mark), number));
            found.filter_map(|(at, number)| Some((at?, number))).min()
        };
        while let Some((at, number)) = first(rest, &pastes) {
            let (mark, paste) = pastes.remove(number);
            text.push_str(&rest[..at]);
            text.push_str(paste);
            rest = &rest[at + mark.len()..];
        }
        text + rest
    }

    /// Returns the pastes for which marks stand.
    pub(super) fn long_pastes(&self) -> impl Iterator<Item = &str> {
        self.pastes.iter().map(|(_, paste)| paste.as_str())
    }

    /// Returns whether the text begins with a paste for which a mark stands.
    pub(super) fn begins_with_long_paste(&self) -> bool {
        let first = self.area.lines().first().map_or("", String::as_str);
        self.pastes.iter().any(|(mark, _)| first.starts_with(mark))
    }

    /// Returns the text before the cursor in its line.
    pub(super) fn before_cursor(&self) -> String {
        let cursor = self.area.cursor();
        let line = self.area.lines().get(cursor.0).map_or("", String::as_str);
        line.chars().take(cursor.1).collect()
    }

    /// Returns the line of the cursor, from 0.
    pub(super) fn row(&self) -> usize {
        self.area.cursor().0
    }

    /// Returns whether the cursor is in the last line.
    pub(super) fn is_in_last_row(&self) -> bool {
        self.row() + 1 == self.area.lines().len()
    }

    /// Replaces the text. The cursor is at its end.
    pub(super) fn set(&mut self, text: &str) {
        self.area = TextArea::new(text.split('\n').map(str::to_owned).collect());
        self.pastes.clear();
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
    }

    /// Returns the text and clears it.
    pub(super) fn take(&mut self) -> String {
        let text = self.text();
        *self = Self::new();
        text
    }

    /// Inserts a character.
    pub(super) fn insert(&mut self, letter: char) {
        self.area.insert_char(letter);
    }

    /// Inserts a line break.
    pub(super) fn insert_line_break(&mut self) {
        self.area.insert_newline();
    }

    /// Replaces the last `letters` characters before the cursor.
    pub(super) fn complete(&mut self, letters: usize, text: &str) {
        for _ in 0..letters {
            self.area.delete_char();
        }
        self.area.insert_str(text);
    }

    /// Inserts a paste, or a mark if it is long.
    pub(super) fn paste(&mut self, text: &str) {
        let mut text = text.replace("\r\n", "\n").replace('\r', "\n");
        let end = (0..=LONGEST.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
        let lines = text.lines().count();
        if lines <= PASTE_LINES && text.len() <= PASTE_BYTES {
            self.area.insert_str(text);
            return;
        }
        let mark = format!("[paste {}: {}]", self.pastes.len() + 1, count(lines, "line"));
        self.area.insert_str(&mark);
        self.pastes.push((mark, text));
    }

    pub(super) fn edit(&mut self, edit: Edit) {
        let area = &mut self.area;
        match edit {
            Edit::Backspace => self.backspace(),
            Edit::Delete => drop(area.delete_next_char()),
            Edit::DeleteWord => drop(area.delete_word()),
            Edit::DeleteToBegin => drop(area.delete_line_by_head()),
            Edit::DeleteToEnd => drop(area.delete_line_by_end()),
            Edit::DeleteNextWord => drop(area.delete_next_word()),
            Edit::Yank => drop(area.paste()),
            Edit::Undo => drop(area.undo()),
            Edit::Left => area.move_cursor(CursorMove::Back),
            Edit::Right => area.move_cursor(CursorMove::Forward),
            Edit::WordLeft => area.move_cursor(CursorMove::WordBack),
            Edit::WordRight => area.move_cursor(CursorMove::WordForward),
            Edit::Begin => area.move_cursor(CursorMove::Head),
            Edit::End => area.move_cursor(CursorMove::End),
            Edit::Up => area.move_cursor(CursorMove::Up),
            Edit::Down => area.move_cursor(CursorMove::Down),
        }
    }

    /// Deletes the character before the cursor, or the mark that ends there.
    fn backspace(&mut self) {
        let before = self.before_cursor();
        let mark = self.pastes.iter().find(|(mark, _)| before.ends_with(mark));
        for _ in 0..mark.map_or(1, |(mark, _)| mark.chars().count()) {
            self.area.delete_char();
        }
    }

    /// Returns the lines of the text with its cursor, at most `rows` of them, those around the cursor.
    pub(super) fn lines(&self, columns: usize, rows: usize) -> Vec<Line<'static>> {
        let cursor = self.area.cursor();
        let (mut lines, mut cursor_line) = (Vec::new(), 0);
        for (row, text) in self.area.lines().iter().enumerate() {
            let mark = if row == 0 { "> " } else { "  " };
            let first = [Span::raw(mark)];
            let spans = if row == cursor.0 {
                let letters: Vec<char> = text.chars().collect();
                let part = |part: &[char]| one_line(&part.iter().collect::<String>());
                let at = cursor.1.min(letters.len());
                let under = letters.get(at).map_or_else(|| " ".to_owned(), |it| part(&[*it]));
                let after = part(letters.get(at + 1..).unwrap_or_default());
                vec![
                    Span::raw(part(&letters[..at])),
                    Span::styled(if under.is_empty() { " ".to_owned() } else { under }, CURSOR),
                    Span::raw(after),
                ]
            } else {
                vec![Span::raw(one_line(text))]
            };
            let wrapped = wrapped(&spans, columns, &first, &[Span::raw("  ")]);
            let is_cursor = |line: &Line<'_>| line.spans.iter().any(|span| span.style == CURSOR);
            if let Some(at) = wrapped.iter().position(is_cursor) {
                cursor_line = lines.len() + at;
            }
            lines.extend(wrapped);
        }
        let skipped = (cursor_line + 1).saturating_sub(rows);
        lines.into_iter().skip(skipped).take(rows.max(1)).collect()
    }
}

/// Returns the change of the input that a key stands for.
pub(super) fn edit_of(code: KeyCode, modifiers: KeyModifiers) -> Option<Edit> {
    let control = modifiers.contains(KeyModifiers::CONTROL);
    let alt = modifiers.contains(KeyModifiers::ALT);
    Some(match (code, control, alt) {
        (KeyCode::Backspace, false, false) | (KeyCode::Char('h'), true, _) => Edit::Backspace,
        (KeyCode::Delete, ..) | (KeyCode::Char('d'), true, _) => Edit::Delete,
        (KeyCode::Backspace, ..) | (KeyCode::Char('w'), true, _) => Edit::DeleteWord,
        (KeyCode::Char('d'), _, true) => Edit::DeleteNextWord,
        (KeyCode::Char('u'), true, _) => Edit::DeleteToBegin,
        (KeyCode::Char('k'), true, _) => Edit::DeleteToEnd,
        (KeyCode::Char('y'), true, _) => Edit::Yank,
        (KeyCode::Char('_' | '-' | '7'), true, _) => Edit::Undo,
        (KeyCode::Left, false, false) | (KeyCode::Char('b'), true, _) => Edit::Left,
        (KeyCode::Right, false, false) | (KeyCode::Char('f'), true, _) => Edit::Right,
        (KeyCode::Left, ..) | (KeyCode::Char('b'), _, true) => Edit::WordLeft,
        (KeyCode::Right, ..) | (KeyCode::Char('f'), _, true) => Edit::WordRight,
        (KeyCode::Home, ..) | (KeyCode::Char('a'), true, _) => Edit::Begin,
        (KeyCode::End, ..) | (KeyCode::Char('e'), true, _) => Edit::End,
        (KeyCode::Up, false, false) => Edit::Up,
        (KeyCode::Down, ..) => Edit::Down,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_paste_is_one_mark_and_whole_when_it_is_taken() {
        let mut editor = Editor::new();
        let long = "line\r\n".repeat(42);
        editor.insert('a');
        editor.paste(&long);
        assert_eq!(editor.lines(80, 5)[0].to_string(), "> a[paste 1: 42 lines] ");
        assert_eq!(editor.text(), format!("a{}", "line\n".repeat(42)));
        editor.edit(Edit::Backspace);
        assert_eq!(editor.text(), "a");
        editor.paste("b\rc");
        assert_eq!(editor.take(), "ab\nc");
        assert!(editor.is_empty());
    }

    #[test]
    fn a_mark_in_a_paste_is_text_and_the_order_of_marks_is_free() {
        let mut editor = Editor::new();
        let pastes = ["1\n[paste 2: 6 lines]\n3\n4\n5\n6", "a\nb\nc\nd\ne\nf"];
        pastes.iter().for_each(|paste| editor.paste(paste));
        assert_eq!(editor.text(), pastes.concat());
        assert!(editor.begins_with_long_paste());
        editor.area = TextArea::new(vec!["x[paste 2: 6 lines][paste 1: 6 lines]".to_owned()]);
        assert_eq!(editor.text(), format!("x{}{}", pastes[1], pastes[0]));
        assert!(!editor.begins_with_long_paste());
        assert_eq!(editor.long_pastes().collect::<Vec<_>>(), pastes);
    }

    #[test]
    fn the_lines_around_the_cursor_are_displayed() {
        let mut editor = Editor::new();
        editor.set("one\ntwo\nthree");
        let text = |editor: &Editor, rows| -> Vec<String> {
            editor.lines(20, rows).iter().map(ToString::to_string).collect()
        };
        assert_eq!(text(&editor, 2), ["  two", "  three "]);
        editor.edit(Edit::Up);
        editor.edit(Edit::Up);
        assert_eq!(text(&editor, 1), ["> one "]);
        assert!(editor.row() == 0 && !editor.is_in_last_row());
    }

    #[test]
    fn what_is_pasted_controls_nothing() {
        let mut editor = Editor::new();
        editor.paste("a\u{1b}[2J\u{202e}\u{7}b");
        let line = editor.lines(80, 1)[0].to_string();
        assert!(!line.chars().any(protocol::is_unseen), "{line:?}");
    }
}
