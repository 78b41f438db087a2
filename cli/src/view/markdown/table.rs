//! A table of markdown, in columns that fit into a width.

use pulldown_cmark::Alignment;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::DIM;
use crate::view::wrap::{spans_width, trim_end, wrapped};

const BETWEEN: &str = " │ ";

/// The cells of a table. The first row is its head.
pub(super) struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Vec<Span<'static>>>>,
}

impl Table {
    /// Returns a table without rows. Further columns than those with an alignment begin at the left.
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: Vec::new() }
    }

    /// Begins the next row.
    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Adds a cell to the last row.
    pub(super) fn add_cell(&mut self, cell: Vec<Span<'static>>) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    /// Returns the lines of the table, at most `columns` wide unless it has too many columns for that.
    pub(super) fn lines(self, columns: usize) -> Vec<Line<'static>> {
        let widths = self.widths(columns);
        let mut lines = Vec::new();
        for (at, row) in self.rows.into_iter().enumerate() {
            let row = match at {
                0 => row.into_iter().map(bold).collect(),
                _ => row,
            };
            lines.extend(row_lines(&row, &widths, &self.alignments));
            if at == 0 {
                let rules: Vec<_> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(Line::styled(rules.join("─┼─"), DIM));
            }
        }
        lines
    }

    /// Returns the width of each column: that of its widest cell, or less where there is not enough
    /// room for all.
    fn widths(&self, columns: usize) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| spans_width(cell)).max().unwrap_or(0).max(1)
        };
        let mut widths: Vec<usize> = (0..count).map(widest).collect();
        let room = columns.saturating_sub(3 * count.saturating_sub(1)).max(count);
        // The widest column gives until all fit.
        while widths.iter().sum::<usize>() > room {
            let second = {
                let mut sorted = widths.clone();
                sorted.sort_unstable();
                sorted.dedup();
                sorted.iter().rev().nth(1).copied().unwrap_or(1)
            };
            let over = widths.iter().sum::<usize>() - room;
            let Some(most) = widths.iter_mut().max() else { break };
            if *most <= 1 {
                break;
            }
            *most -= over.min((*most - second.min(*most - 1)).max(1));
        }
        widths
    }
}

fn bold(cell: Vec<Span<'static>>) -> Vec<Span<'static>> {
    let bold = |span: Span<'static>| span.patch_style(Modifier::BOLD);
    cell.into_iter().map(bold).collect()
}

fn row_lines(
    row: &[Vec<Span<'static>>],
    widths: &[usize],
    alignments: &[Alignment],
) -> Vec<Line<'static>> {
    let cells: Vec<_> = widths
        .iter()
        .enumerate()
        .map(|(at, width)| wrapped(row.get(at).map_or(&[], Vec::as_slice), *width, &[], &[]))
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    (0..height)
        .map(|number| {
            let mut spans = Vec::new();
            for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
                if at > 0 {
                    spans.push(Span::styled(BETWEEN, DIM));
                }
                let line = cell.get(number).map(|line| line.spans.clone()).unwrap_or_default();
                let free = width.saturating_sub(spans_width(&line));
                let before = match alignments.get(at) {
                    Some(Alignment::Right) => free,
                    Some(Alignment::Center) => free / 2,
                    Some(Alignment::None | Alignment::Left) | None => 0,
                };
                spans.push(Span::raw(" ".repeat(before)));
                spans.extend(line);
                if at + 1 < widths.len() {
                    spans.push(Span::raw(" ".repeat(free - before)));
                }
            }
            trim_end(&mut spans);
            Line::from(spans)
        })
        .collect()
}
