//! A list in the live part from which the user chooses: what is typed filters it.

use std::cell::Cell;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use protocol::EntryId;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::editor::{Edit, Editor, edit_of};
use super::markdown::DIM;
use crate::render::{Size, cut, one_line, width};

/// The most letters of a row that the filter looks at.
const SEARCHED: usize = 500;

/// What is narrower than this has no second column.
const TWO_COLUMNS: usize = 50;

/// A list from which the user chooses, or a question with a text as its answer.
pub(super) struct Picker<T> {
    title: String,
    rows: Vec<PickerRow<T>>,
    filter: Editor,
    /// The rows that match the filter, in their order.
    found: Vec<usize>,
    /// Which of these is chosen.
    at: usize,
    /// How many rows were displayed last.
    page: Cell<usize>,
    /// The entry to which the text belongs that is asked for; `None` for a list.
    pub(super) asked_for: Option<EntryId>,
}

/// One of the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PickerRow<T> {
    /// What the row is.
    pub(super) text: String,
    /// What else is known, where there is room.
    pub(super) about: String,
    /// What the row stands for.
    pub(super) choice: T,
}

/// What a key was for a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pressed {
    /// The list has handled it.
    Handled,
    /// What is chosen, or was typed, is taken.
    Taken,
    /// The list is left.
    Left,
    /// It is not for the list, but for the terminal: Ctrl-Z and Ctrl-L.
    Other,
}

/// A step in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Movement {
    Previous,
    Next,
    PreviousPage,
    NextPage,
}

impl<T> Picker<T> {
    /// Returns a list. The row at `at` is chosen first.
    pub(super) fn new(title: impl Into<String>, rows: Vec<PickerRow<T>>, at: usize) -> Self {
        let found = (0..rows.len()).collect();
        let at = at.min(rows.len().saturating_sub(1));
        Self {
            title: title.into(),
            rows,
            filter: Editor::new(),
            found,
            at,
            page: Cell::new(1),
            asked_for: None,
        }
    }

    /// Returns a question whose answer is a text.
    pub(super) fn text(title: impl Into<String>, entry: EntryId) -> Self {
        Self { asked_for: Some(entry), ..Self::new(title, Vec::new(), 0) }
    }

    fn is_text(&self) -> bool {
        self.asked_for.is_some()
    }

    /// Returns the title and the first rows as a text.
    pub(super) fn text_of_rows(&self, most: usize) -> String {
        let rows = self.rows.iter().take(most).map(|row| match row.about.as_str() {
            "" => row.text.clone(),
            about => format!("{} ({about})", row.text),
        });
        let rows = rows.map(|row| format!("\n  {}", one_line(&row)));
        std::iter::once(self.title.clone()).chain(rows).collect()
    }

    /// Returns what was typed.
    pub(super) fn typed(&self) -> String {
        self.filter.text()
    }

    /// Returns what is chosen; `None` if nothing matches the filter.
    pub(super) fn chosen(&self) -> Option<&T> {
        self.found.get(self.at).map(|row| &self.rows[*row].choice)
    }

    /// Applies a key.
    pub(super) fn key(&mut self, key: KeyEvent) -> Pressed {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match (key.code, control) {
            (KeyCode::Esc, _) | (KeyCode::Char('c' | 'd'), true) => return Pressed::Left,
            (KeyCode::Char('z' | 'l'), true) => return Pressed::Other,
            (KeyCode::Enter, _) => return Pressed::Taken,
            (KeyCode::Up, _) | (KeyCode::Char('p'), true) => self.step(Movement::Previous),
            (KeyCode::Down | KeyCode::Tab, _) | (KeyCode::Char('n'), true) => {
                self.step(Movement::Next);
            }
            (KeyCode::PageUp, _) => self.step(Movement::PreviousPage),
            (KeyCode::PageDown, _) => self.step(Movement::NextPage),
            (code, _) => match (edit_of(code, key.modifiers), code) {
                (Some(edit), _) => self.edit(edit),
                (None, KeyCode::Char(letter))
                    if (key.modifiers - KeyModifiers::SHIFT).is_empty() =>
                {
                    self.insert(letter);
                }
                (None, _) => {}
            },
        }
        Pressed::Handled
    }

    /// Chooses another row.
    fn step(&mut self, step: Movement) {
        let last = self.found.len().saturating_sub(1);
        self.at = match step {
            Movement::Previous => self.at.checked_sub(1).unwrap_or(last),
            Movement::Next if self.at == last => 0,
            Movement::Next => self.at + 1,
            Movement::PreviousPage => self.at.saturating_sub(self.page.get()),
            Movement::NextPage => (self.at + self.page.get()).min(last),
        };
    }

    /// Inserts a character into the filter.
    fn insert(&mut self, letter: char) {
        self.filter.insert(letter);
        self.filtered();
    }

    /// Inserts a paste into the filter.
    pub(super) fn paste(&mut self, text: &str) {
        self.filter.paste(text);
        self.filtered();
    }

    /// Changes the filter.
    fn edit(&mut self, edit: Edit) {
        self.filter.edit(edit);
        self.filtered();
    }

    /// Looks for the rows that match. The best of them is chosen.
    fn filtered(&mut self) {
        let typed = self.filter.text();
        let chosen = self.found.get(self.at).copied();
        let mut matcher = Matcher::new(Config::DEFAULT);
        // In sentences, letters that are apart match too much.
        let kind = AtomKind::Substring;
        let pattern = Pattern::new(&typed, CaseMatching::Smart, Normalization::Smart, kind);
        let (mut found, mut best, mut buffer) = (Vec::new(), None, Vec::new());
        for (at, row) in self.rows.iter().enumerate() {
            let text: String = row.text.chars().take(SEARCHED).collect();
            let text = format!("{text} {}", row.about);
            let Some(score) = pattern.score(Utf32Str::new(&text, &mut buffer), &mut matcher) else {
                continue;
            };
            if best.is_none_or(|(most, _)| score > most) {
                best = Some((score, found.len()));
            }
            found.push(at);
        }
        let kept = chosen.filter(|_| typed.trim().is_empty());
        let kept = kept.and_then(|chosen| found.iter().position(|at| *at == chosen));
        self.at = kept.or(best.map(|(_, at)| at)).unwrap_or(0);
        self.found = found;
    }

    /// Returns the lines of the list, which leave the last line of the terminal free.
    pub(super) fn lines(&self, size: Size) -> Vec<Line<'static>> {
        let filter_rows = if self.is_text() { (size.rows / 2).clamp(1, 12) } else { 1 };
        let filter = self.filter.lines(size.columns, filter_rows);
        let room = size.rows.saturating_sub(1 + filter.len());
        let title_rows = usize::from(room >= 2);
        let page = (room - title_rows).min((size.rows / 2).max(2)).max(1);
        self.page.set(page);
        let mut lines = Vec::new();
        if title_rows > 0 {
            lines.push(self.title_line(size.columns));
        }
        if !self.is_text() && room > 0 {
            lines.extend(self.row_lines(size.columns, page));
        }
        lines.extend(filter);
        lines
    }

    fn title_line(&self, columns: usize) -> Line<'static> {
        let style = Style::new().fg(Color::Yellow);
        let title = cut(&one_line(&self.title), columns);
        let place = match self.is_text() {
            true => "  Enter takes the text, Esc leaves".to_owned(),
            false => {
                let (at, all) = (self.found.len().min(self.at + 1), self.rows.len());
                format!("  {at}/{all} · Enter takes, Esc leaves")
            }
        };
        let room = columns.saturating_sub(width(&title));
        let place = if room > 6 { cut(&place, room) } else { String::new() };
        Line::from(vec![Span::styled(title, style), Span::styled(place, DIM)])
    }

    fn row_lines(&self, columns: usize, page: usize) -> Vec<Line<'static>> {
        if self.found.is_empty() {
            return vec![Line::styled(cut("  nothing matches", columns), DIM)];
        }
        let begin = self.at.saturating_sub(page / 2);
        let begin = begin.min(self.found.len().saturating_sub(page));
        let visible = self.found.iter().enumerate().skip(begin).take(page);
        visible.map(|(at, row)| self.row_line(at, *row, columns)).collect()
    }

    fn row_line(&self, at: usize, row: usize, columns: usize) -> Line<'static> {
        let row = &self.rows[row];
        let (mark, style) = match at == self.at {
            true => ("▸ ", Style::new().add_modifier(Modifier::BOLD)),
            false => ("  ", Style::new()),
        };
        let room = columns.saturating_sub(width(mark));
        let about = one_line(&row.about);
        let about_width = width(&about) + 2;
        let has_about = !about.is_empty() && columns >= TWO_COLUMNS && about_width < room / 2;
        let text_room = if has_about { room - about_width } else { room };
        let text = cut(&one_line(&row.text), text_room);
        let mut spans = vec![Span::styled(mark, style), Span::styled(text.clone(), style)];
        if has_about {
            let gap = " ".repeat(text_room.saturating_sub(width(&text)) + 2);
            spans.push(Span::styled(format!("{gap}{about}"), DIM));
        }
        Line::from(spans)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picker() -> Picker<usize> {
        let row = |choice: usize| PickerRow {
            text: format!("row {choice} of\u{1b}[2J many"),
            about: format!("{choice} messages"),
            choice,
        };
        Picker::new("Which?", (0..30).map(row).collect(), 3)
    }

    fn texts(picker: &Picker<usize>, columns: usize, rows: usize) -> Vec<String> {
        let lines = picker.lines(Size { columns, rows });
        lines.iter().map(|line| line.to_string().trim_end().to_owned()).collect()
    }

    #[test]
    fn a_list_fits_on_every_terminal_and_the_chosen_row_is_visible() {
        let mut picker = picker();
        assert_eq!(
            texts(&picker, 20, 5),
            ["Which?  4/30 · Ente…", "  row 2 of many", "▸ row 3 of many", ">"]
        );
        assert_eq!(texts(&picker, 9, 3), ["▸ row 3 …", ">"].map(str::to_owned));
        assert_eq!(texts(&picker, 9, 1), [">"]);
        for (columns, rows) in [(80, 24), (200, 60), (1, 1), (3, 2), (20, 4)] {
            for step in [Movement::Next, Movement::NextPage, Movement::NextPage, Movement::Previous]
            {
                let lines = texts(&picker, columns, rows);
                assert!(lines.len() < rows.max(2), "{lines:?}");
                assert!(lines.iter().all(|line| width(line) <= columns.max(3)), "{lines:?}");
                assert!(rows < 3 || lines.iter().any(|it| it.starts_with('▸')), "{lines:?}");
                picker.step(step);
            }
        }
        let wide = texts(&picker, 80, 24);
        assert!(wide[1].ends_with(" messages") && width(&wide[1]) == 80, "{wide:?}");
        assert_eq!(wide.len(), 14);
    }

    #[test]
    fn what_is_typed_filters_and_steps_go_around() {
        let mut picker = picker();
        picker.step(Movement::PreviousPage);
        picker.step(Movement::Previous);
        assert_eq!(picker.chosen(), Some(&1));
        picker.step(Movement::Previous);
        picker.step(Movement::Previous);
        assert_eq!(picker.chosen(), Some(&29));
        picker.step(Movement::Next);
        assert_eq!(picker.chosen(), Some(&0));
        for letter in "row 17".chars() {
            picker.insert(letter);
        }
        assert_eq!(picker.chosen(), Some(&17));
        picker.insert('x');
        assert_eq!(picker.chosen(), None);
        picker.step(Movement::Next);
        picker.step(Movement::NextPage);
        assert_eq!(
            texts(&picker, 60, 10),
            ["Which?  0/30 · Enter takes, Esc leaves", "  nothing matches", "> row 17x"]
        );
        picker.edit(Edit::DeleteToBegin);
        assert_eq!(picker.chosen(), Some(&0));
    }
}
