//! What a terminal shows after each update, judged by a terminal emulator.

use std::num::NonZeroU16;

use ratatui::text::Span;
use vt100::Parser;

use super::*;

const SIZE: Size = Size { columns: 20, rows: 5 };

fn terminal() -> Parser {
    Parser::new(NonZeroU16::new(5).unwrap(), NonZeroU16::new(20).unwrap(), 100)
}

fn rows(terminal: &Parser) -> Vec<String> {
    terminal.screen().rows(0, 20).map(|row| row.trim_end().to_owned()).collect()
}

fn lines(text: &[&str]) -> Vec<Line<'static>> {
    text.iter().map(|text| Line::raw((*text).to_owned())).collect()
}

fn update(screen: &mut Screen, terminal: &mut Parser, finished: &[&str], live: &[&str]) {
    let written = screen.update(&lines(finished), &lines(live), SIZE);
    terminal.process(written.unwrap_or_default().as_bytes());
}

#[test]
fn finished_lines_are_printed_once_and_the_live_part_is_below_them() {
    let (mut screen, mut terminal) = (Screen::new(Palette::Plain), terminal());
    update(&mut screen, &mut terminal, &[], &["live", "> "]);
    assert_eq!(rows(&terminal), ["live", ">", "", "", ""]);
    update(&mut screen, &mut terminal, &["one", "two"], &["live 2", "> a"]);
    assert_eq!(rows(&terminal), ["one", "two", "live 2", "> a", ""]);
    update(&mut screen, &mut terminal, &[], &["live 3", "> ab"]);
    assert_eq!(rows(&terminal), ["one", "two", "live 3", "> ab", ""]);
    update(&mut screen, &mut terminal, &["three", "four"], &["x", "y", "> "]);
    assert_eq!(rows(&terminal), ["three", "four", "x", "y", ">"]);
    update(&mut screen, &mut terminal, &[], &["> "]);
    assert_eq!(rows(&terminal), ["three", "four", ">", "", ""]);
    terminal.screen_mut().set_scrollback(100);
    assert_eq!(rows(&terminal)[..2], ["one", "two"]);
}

#[test]
fn the_cursor_is_at_the_beginning_of_the_live_part() {
    let (mut screen, mut terminal) = (Screen::new(Palette::Plain), terminal());
    for (finished, live, row) in [(2, 3, 2), (4, 1, 4), (0, 5, 0), (0, 2, 0), (1, 2, 1)] {
        update(&mut screen, &mut terminal, &vec!["f"; finished], &vec!["l"; live]);
        assert_eq!(terminal.screen().cursor_position(), (row, 0), "{finished} {live}");
    }
}

#[test]
fn a_live_line_that_is_too_wide_or_too_low_stays_out_of_the_scrollback() {
    let (mut screen, mut terminal) = (Screen::new(Palette::Plain), terminal());
    let wide = "日本語".repeat(20);
    update(&mut screen, &mut terminal, &["f"], &[&wide, "b", "c", "d", "e", "g", "h"]);
    update(&mut screen, &mut terminal, &[], &["b"]);
    terminal.screen_mut().set_scrollback(100);
    assert_eq!(rows(&terminal)[..3], ["f", "b", ""]);
}

#[test]
fn a_terminal_that_became_lower_loses_no_finished_line() {
    let (mut screen, mut terminal) = (Screen::new(Palette::Plain), terminal());
    update(&mut screen, &mut terminal, &["one", "two"], &["a", "b", "c"]);
    terminal.screen_mut().set_size(NonZeroU16::new(3).unwrap(), NonZeroU16::new(20).unwrap());
    for live in ["d", "e"] {
        update(&mut screen, &mut terminal, &[], &["a", "b", live]);
    }
    update(&mut screen, &mut terminal, &["three"], &["a"]);
    terminal.screen_mut().set_scrollback(100);
    assert_eq!(rows(&terminal)[..3], ["one", "two", "three"]);
}

#[test]
fn nothing_is_written_when_nothing_changed() {
    let mut screen = Screen::new(Palette::Plain);
    assert!(screen.update(&[], &lines(&["a"]), SIZE).is_some());
    assert_eq!(screen.update(&[], &lines(&["a"]), SIZE), None);
    let other = Size { columns: 21, rows: 5 };
    assert!(screen.update(&[], &lines(&["a"]), other).is_some());
}

#[test]
fn styles_are_written_with_colours_only() {
    let line = Line::from(vec![
        Span::styled("a", Style::new().fg(Color::Red).add_modifier(Modifier::BOLD)),
        Span::styled("b", Modifier::REVERSED),
    ]);
    assert_eq!(Screen::new(Palette::Plain).line(&line), "a\u{1b}[0;7mb\u{1b}[0m");
    let colour = Screen::new(Palette::Colour).line(&line);
    assert_eq!(colour, "\u{1b}[0;1;31ma\u{1b}[0;7mb\u{1b}[0m");
}
