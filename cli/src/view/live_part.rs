//! The live part of the view: what is not finished, the input and the status line.

use std::time::Duration;

use protocol::{QueueKind, TASK_TOOL};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use super::answer_stream::Gap;
use super::calls::{call_line, command_line};
use super::entry::part_lines;
use super::highlight::Syntaxes;
use super::markdown::DIM;
use super::question::question_lines;
use super::state::{Status, ViewState};
use super::todos::todo_lines;
use super::wrap::{span, wrapped};
use crate::render::{Size, cut, duration, one_line, usage_text};

/// Returns the lines of the live part, which fit on a terminal of this size.
pub(super) fn live_part(
    view: &ViewState,
    size: Size,
    now: Duration,
    syntaxes: &Syntaxes,
) -> Vec<Line<'static>> {
    let columns = size.columns;
    let status = status_line(view, columns, now);
    let editor_rows = (size.rows / 2).clamp(1, 12);
    let editor = match &view.picker {
        Some(picker) => picker.lines(size),
        None => view.editor.lines(columns, editor_rows),
    };
    let room = size.rows.saturating_sub(editor.len() + 1);
    let mut below = Vec::new();
    if let Some(question) = view.question() {
        below.extend(question_lines(question, Size { columns, rows: room }));
    }
    let hint = view.hint.iter().map(|hint| span(hint, Style::new().fg(Color::Yellow)));
    below.extend(hint.flat_map(|hint| wrapped(&[hint], columns, &[], &[])));
    if let Some(query) = view.history.query() {
        below.push(fitted(&format!("search: {query}"), Style::new().fg(Color::Yellow), columns));
    }
    below.extend(completion_lines(view, columns));
    below.truncate(room);
    let todos = todo_lines(&view.todos, columns).into_iter().take((room - below.len()) / 2);
    below.splice(0..0, todos);
    let queued = queue_lines(view, columns);
    let mut calls = call_lines(view, columns);
    // What waits and runs has at most a half of the room, the answer has the rest.
    let half = room.saturating_sub(below.len()) / 2 + 1;
    let rows = half.saturating_sub(calls.len() + queued.len()).max(half / 2);
    calls.extend(view.subagents.lines(Size { columns, rows }, now));
    let unfinished = unfinished_lines(view, columns, syntaxes);
    let mut lines = last(unfinished, room.saturating_sub(below.len()).max(1));
    let others = [calls, queued].concat();
    let kept = others.len().min(half);
    let answer_room = room.saturating_sub(below.len() + kept);
    lines = last(lines, answer_room);
    lines.extend(others.into_iter().take(kept));
    if lines.len() + below.len() < room && size.rows >= 8 {
        lines.push(Line::default());
    }
    lines.extend(below);
    lines.extend(editor);
    lines.push(status);
    let most = lines.len().min(size.rows);
    last(lines, most)
}

/// Returns what the session waits for, with the time that is left if that is known. A wait whose
/// time is over is none.
fn wait(status: &Status, now: Duration) -> Option<String> {
    let wait = status.wait.as_ref()?;
    let Some(until) = wait.until else { return Some(wait.what.clone()) };
    let left = until.checked_sub(now).filter(|left| !left.is_zero())?;
    let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
    Some(format!("{}, in {}", wait.what, whole_seconds(seconds)))
}

fn whole_seconds(seconds: u64) -> String {
    if seconds < 60 { format!("{seconds}s") } else { duration(seconds * 1000) }
}

fn last(lines: Vec<Line<'static>>, most: usize) -> Vec<Line<'static>> {
    let skipped = lines.len().saturating_sub(most);
    lines.into_iter().skip(skipped).collect()
}

fn fitted(text: &str, style: Style, columns: usize) -> Line<'static> {
    Line::from(Span::styled(cut(&one_line(text), columns), style))
}

/// Returns the lines of the answer that is arriving, or the last line of what the model thinks.
fn unfinished_lines(view: &ViewState, columns: usize, syntaxes: &Syntaxes) -> Vec<Line<'static>> {
    if let Some((part, gap)) = view.answer.unfinished() {
        let mut lines = match gap {
            Gap::Before => vec![Line::default()],
            Gap::None => Vec::new(),
        };
        lines.extend(part_lines(&part, columns, syntaxes));
        return lines;
    }
    let Some(thinking) = &view.thoughts.now else { return Vec::new() };
    let line = thinking.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    vec![Line::default(), fitted(&format!("thinks: {line}"), DIM, columns)]
}

fn call_lines(view: &ViewState, columns: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default(); view.calls.len().min(1)];
    for running in &view.calls {
        lines.push(call_line(&running.call, columns));
        // The tree of the subagents says more.
        let is_told = running.call.name == TASK_TOOL && view.subagents.are_displayed();
        let latest = running.latest.iter().filter(|_| !is_told);
        lines.extend(latest.map(|line| fitted(&format!("  {line}"), DIM, columns)));
    }
    if let Some(running) = view.command.as_ref().filter(|command| command.runs()) {
        lines.push(Line::default());
        lines.push(command_line(running.command.mark(), &running.command.script, columns));
        let latest = running.latest.iter();
        lines.extend(latest.map(|line| fitted(&format!("  {line}"), DIM, columns)));
    }
    lines
}

/// Returns the candidates for what is typed, with the chosen one marked.
fn completion_lines(view: &ViewState, columns: usize) -> Vec<Line<'static>> {
    let Some(completion) = &view.completion else { return Vec::new() };
    let (candidates, chosen) = completion.displayed();
    let line = |(at, candidate): (usize, &String)| {
        let (mark, style) = if at == chosen { ("▸ ", Style::new()) } else { ("  ", DIM) };
        fitted(&format!("{mark}{candidate}"), style, columns)
    };
    candidates.iter().enumerate().map(line).collect()
}

fn queue_lines(view: &ViewState, columns: usize) -> Vec<Line<'static>> {
    let line = |kind: QueueKind, text: &str| {
        let mark = match kind {
            QueueKind::Prompt => "sends",
            QueueKind::Steering => "next",
            QueueKind::FollowUp => "then",
        };
        fitted(&format!("{mark}: {text}"), DIM, columns)
    };
    let queued = view.queue.iter().map(|queued| line(queued.kind, &queued.text));
    let held = view.command.iter().flat_map(|command| &command.held);
    queued.chain(held.map(|held| line(QueueKind::Prompt, &held.text))).collect()
}

/// Returns the status line: the parts that fit, the most important ones first.
fn status_line(view: &ViewState, columns: usize, now: Duration) -> Line<'static> {
    let Status { model, thinking, context_window, context, usage, .. } = &view.status;
    let mut parts = Vec::new();
    let wait = wait(&view.status, now);
    let seconds_since = |since| whole_seconds(now.saturating_sub(since).as_secs());
    if let Some(work) = &view.work {
        let what = match (wait, view.calls.len()) {
            (Some(what), _) => format!("{what} ·"),
            (None, 0) => "works".to_owned(),
            (None, _) => "runs".to_owned(),
        };
        parts.push(format!("{what} {}", seconds_since(work.since)));
    } else if let Some(command) = view.command.as_ref().filter(|command| command.runs()) {
        parts.push(format!("runs {}", seconds_since(command.since)));
    } else if let Some(what) = wait {
        parts.push(what);
    }
    parts.extend(view.name.clone());
    parts.extend(view.isolation.is_isolated().then(|| "isolated".to_owned()));
    parts.push(model.clone());
    parts.extend(thinking.map(|level| format!("thinking {}", level.as_str())));
    parts.push(match context_window {
        Some(window) if *window > 0 => format!("{}% context", context.saturating_mul(100) / window),
        _ => "context unknown".to_owned(),
    });
    parts.push(usage_text(*usage));
    let mut text = String::new();
    for part in parts {
        let more = if text.is_empty() { part } else { format!("{text} · {part}") };
        if !text.is_empty() && crate::render::width(&more) > columns {
            break;
        }
        text = more;
    }
    Line::from(span(&cut(&one_line(&text), columns), DIM))
}

#[cfg(test)]
pub(in crate::view) fn live_text(view: &ViewState) -> String {
    let size = Size { columns: 80, rows: 24 };
    let lines = live_part(view, size, Duration::ZERO, &Syntaxes::default());
    lines.iter().map(|line| line.to_string() + "\n").collect()
}

#[cfg(test)]
mod tests;
