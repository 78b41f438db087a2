//! What is written to the terminal: finished lines once, and the live part below them.
//!
//! The cursor of the terminal is always at the beginning of the live part, and hidden. When the
//! terminal gets another width and breaks lines anew, the cursor stays at that place, so that the
//! live part can be erased wherever its lines went. The live part is written without line breaks of
//! the terminal's own, and no line of it ever scrolls: nothing of it gets into the scrollback.

use std::fmt::Write as _;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;

use crate::render::{Palette, Size};

/// Begins and ends a synchronized update, which terminals show at once.
const BEGIN: &str = "\u{1b}[?2026h";
const END: &str = "\u{1b}[?2026l";

/// Does not break lines, and breaks them.
const NO_WRAP: &str = "\u{1b}[?7l";
const WRAP: &str = "\u{1b}[?7h";

/// Erases from the beginning of the line of the cursor to the end of the screen. Not at once: tmux
/// keeps what is erased from the first column of the first line in its scrollback.
const ERASE: &str = "\r\u{1b}[K\u{1b}[1C\u{1b}[J\r";

/// The live part that is on the screen.
pub(super) struct Screen {
    palette: Palette,
    /// Its rows as they were written, and the size of the terminal at that time.
    drawn: Option<(Size, Vec<String>)>,
}

impl Screen {
    pub(super) fn new(palette: Palette) -> Self {
        Self { palette, drawn: None }
    }

    /// Returns what is written to print `finished` and to show `live` below it; nothing if the
    /// terminal shows that already.
    pub(super) fn update(
        &mut self,
        finished: &[Line<'_>],
        live: &[Line<'_>],
        size: Size,
    ) -> Option<String> {
        let rows = self.rows(live, size);
        let body = match &self.drawn {
            Some((old_size, old)) if finished.is_empty() && *old_size == size => {
                if *old == rows {
                    return None;
                }
                (old.len() == rows.len()).then(|| changed_rows(old, &rows))
            }
            _ => None,
        };
        let body = body.unwrap_or_else(|| self.all(finished, &rows));
        self.drawn = Some((size, rows));
        Some(format!("{BEGIN}{NO_WRAP}{body}{WRAP}{END}"))
    }

    /// Returns what is written to remove the live part, after `finished` lines are printed.
    pub(super) fn clear(&mut self, finished: &[Line<'_>]) -> String {
        self.drawn = None;
        format!("{BEGIN}{}{END}", self.all(finished, &[]))
    }

    /// Forgets what is on the screen, because something else has written there.
    pub(super) fn forget(&mut self) {
        self.drawn = None;
    }

    fn all(&self, finished: &[Line<'_>], rows: &[String]) -> String {
        let mut out = ERASE.to_owned();
        if !finished.is_empty() {
            out.push_str(WRAP);
            for line in finished {
                out.push_str(&self.line(line));
                out.push_str("\r\n");
            }
            out.push_str(NO_WRAP);
        }
        // Empty lines make room. What they scroll off are finished lines.
        let below = rows.len().saturating_sub(1);
        if below > 0 {
            let _infallible = write!(out, "{}\u{1b}[{below}A", "\n".repeat(below));
        }
        for (at, row) in rows.iter().enumerate() {
            if at > 0 {
                out.push_str("\u{1b}[1B");
            }
            let _infallible = write!(out, "\r{row}");
        }
        if below > 0 {
            let _infallible = write!(out, "\u{1b}[{below}A");
        }
        if !rows.is_empty() {
            out.push('\r');
        }
        out
    }

    /// Returns a finished line as it is written.
    fn line(&self, line: &Line<'_>) -> String {
        let spans = line.spans.iter();
        self.styled(spans.map(|span| (span.content.as_ref(), line.style.patch(span.style))))
    }

    /// Returns the rows of the live part as they are written, none wider than the terminal.
    fn rows(&self, live: &[Line<'_>], size: Size) -> Vec<String> {
        let number = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
        let area = Rect::new(0, 0, number(size.columns), number(live.len().min(size.rows)));
        let mut buffer = Buffer::empty(area);
        for (y, line) in (0..area.height).zip(live) {
            buffer.set_line(0, y, line, area.width);
        }
        (0..area.height).map(|y| self.row(&buffer, y)).collect()
    }

    fn row(&self, buffer: &Buffer, y: u16) -> String {
        let cells: Vec<_> = (0..buffer.area.width).map(|x| &buffer[(x, y)]).collect();
        let is_blank = |style: Style| {
            style.bg.is_none_or(|it| it == Color::Reset) && !has(style, Modifier::REVERSED)
        };
        let end = cells.iter().rposition(|cell| cell.symbol() != " " || !is_blank(cell.style()));
        let cells = &cells[..end.map_or(0, |end| end + 1)];
        // The cell behind a wide character has nothing of its own.
        let mut written = Vec::new();
        let mut skip = 0;
        for cell in cells {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            skip = crate::render::width(cell.symbol()).saturating_sub(1);
            written.push((cell.symbol(), cell.style()));
        }
        self.styled(written.into_iter())
    }

    fn styled<'a>(&self, parts: impl Iterator<Item = (&'a str, Style)>) -> String {
        let (mut out, mut now) = (String::new(), String::new());
        for (text, style) in parts {
            let code = code(style, self.palette);
            if code != now {
                let _infallible = write!(out, "\u{1b}[0{code}m");
                now = code;
            }
            out.push_str(text);
        }
        if !now.is_empty() {
            out.push_str("\u{1b}[0m");
        }
        out
    }
}

fn changed_rows(old: &[String], new: &[String]) -> String {
    let mut out = String::new();
    for (at, row) in new.iter().enumerate().filter(|(at, row)| old[*at] != **row) {
        let (down, up) = match at {
            0 => (String::new(), String::new()),
            // A terminal that has become lower in the meantime makes room for the row. The way up
            // is then as long as the way down.
            at => ("\n".repeat(at), format!("\u{1b}[{at}A")),
        };
        let _infallible = write!(out, "{down}\r{row}\u{1b}[K\r{up}");
    }
    out
}

fn has(style: Style, modifier: Modifier) -> bool {
    style.add_modifier.contains(modifier)
}

/// Returns the parameters of a style behind those that reset it.
fn code(style: Style, palette: Palette) -> String {
    let mut code = String::new();
    let modifiers = [
        (Modifier::BOLD, ";1"),
        (Modifier::DIM, ";2"),
        (Modifier::ITALIC, ";3"),
        (Modifier::UNDERLINED, ";4"),
        (Modifier::REVERSED, ";7"),
        (Modifier::CROSSED_OUT, ";9"),
    ];
    // The cursor is visible without colours, too.
    let kept = modifiers.into_iter().filter(|(modifier, _)| {
        has(style, *modifier) && (palette == Palette::Colour || *modifier == Modifier::REVERSED)
    });
    kept.for_each(|(_, number)| code.push_str(number));
    if let (Palette::Colour, Some(colour)) = (palette, style.fg) {
        code.push_str(match colour {
            Color::Red => ";31",
            Color::Green => ";32",
            Color::Yellow => ";33",
            Color::Blue => ";34",
            Color::Magenta => ";35",
            Color::Cyan => ";36",
            Color::DarkGray => ";90",
            _ => "",
        });
    }
    code
}

#[cfg(test)]
mod tests;
