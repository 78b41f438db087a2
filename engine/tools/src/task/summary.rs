//! What a model reads when its subagents have ended: how each has, and as much of each result as has room.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use engine::ports::{AGENT_SCHEME, SpawnReport, SubagentReport, SubagentStatus};
use protocol::quote_within;

use super::shares::{beginning, share};
use crate::display::head;

/// The maximum number of bytes of the text.
const MOST: usize = 100_000;

/// The maximum number of bytes that are shown of one result.
const PREVIEW: usize = 5_000;

/// The fewest bytes that are worth a preview.
const SHORTEST: usize = 40;

/// The maximum number of bytes of an error: the first with which there is room for all.
const ERRORS: [usize; 3] = [2_000, 300, 60];

/// The maximum number of characters of a name and a command, and how many of a list are named.
const NAME: usize = 200;
const COMMAND: usize = 300;
const NAMED: usize = 10;

/// Words by which what is around a result could be imitated in it.
const TAGS: &[&str] =
    &["</result", "</preview", "</agent", "</error", "</task-summary", "<task-summary", "<agent "];

/// Returns the text for the model.
pub(super) fn summary(report: &SpawnReport) -> String {
    let mut text = format!("<task-summary>\n<header>{}</header>\n", header(report));
    for note in report.notes.iter().take(NAMED) {
        text.push_str(&format!(
            "<note>{}</note>\n",
            head(&quote_within(note, ERRORS[0]), ERRORS[0])
        ));
    }
    let end = "</task-summary>";
    let room = MOST - text.len() - end.len();
    let framed = ERRORS.iter().find_map(|most| {
        let frames = report.subagents.iter().map(|subagent| Frame::of(subagent, *most));
        let frames: Vec<_> = frames.collect();
        let around = frames.iter().map(Frame::len).sum();
        Some((room.checked_sub(around)?, frames))
    });
    match framed {
        Some((room, frames)) => {
            let shown = frames.iter().map(|frame| frame.result.len().min(PREVIEW));
            let most = share(shown, room).min(PREVIEW);
            frames.iter().for_each(|frame| frame.write(most, &mut text));
        }
        None => write_names(report, room, &mut text),
    }
    text + end
}

/// Returns how many have succeeded, and how long that took.
fn header(report: &SpawnReport) -> String {
    let all = report.subagents.len();
    let count = |status: fn(&SubagentStatus) -> bool| {
        report.subagents.iter().filter(|subagent| status(&subagent.status)).count()
    };
    let others = [
        (count(|status| *status == SubagentStatus::Cancelled), "cancelled"),
        (count(|status| matches!(status, SubagentStatus::Kept { .. })), "kept"),
        (count(|status| matches!(status, SubagentStatus::MergeFailed { .. })), "merge failed"),
    ];
    let others = others.iter().filter(|(count, _)| *count > 0);
    let others: Vec<_> = others.map(|(count, what)| format!("{count} {what}")).collect();
    let others =
        if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
    format!("{}/{all} succeeded{others} [{}]", succeeded(report), duration(report.ms))
}

/// Returns how many of the subagents have succeeded.
fn succeeded(report: &SpawnReport) -> usize {
    let is_success = |subagent: &&SubagentReport| match subagent.status {
        SubagentStatus::Completed | SubagentStatus::Kept { .. } => true,
        SubagentStatus::MergeFailed { .. } | SubagentStatus::Failed | SubagentStatus::Cancelled => {
            false
        }
    };
    report.subagents.iter().filter(is_success).count()
}

fn duration(ms: u64) -> String {
    let tenths = ms / 100;
    match tenths {
        0..600 => format!("{}.{}s", tenths / 10, tenths % 10),
        _ => format!("{}m{:02}s", tenths / 600, tenths / 10 % 60),
    }
}

/// What is said about one subagent, and its result.
struct Frame<'a> {
    begin: String,
    name: String,
    result: Cow<'a, str>,
    is_cut: bool,
}

/// The line before the result if it is whole, and if it is not; and the lines after it.
const WHOLE: (&str, &str) = ("<result>\n", "\n</result>\n");
const END: &str = "</agent>\n";

impl<'a> Frame<'a> {
    fn of(subagent: &'a SubagentReport, most_of_error: usize) -> Self {
        let name = attribute(&subagent.name);
        let mut begin = format!("<agent id=\"{name}\" agent=\"{}\">\n", attribute(&subagent.agent));
        begin.push_str(&format!("<status>{}</status>\n", subagent.status.name()));
        if let Some(changes) = &subagent.changes {
            let files = if changes.files == 1 { "file" } else { "files" };
            begin.push_str(&format!(
                "<changes>{} {files}, +{} −{} lines</changes>\n",
                changes.files, changes.added, changes.removed
            ));
        }
        if let Some(note) = note(subagent) {
            begin.push_str(&format!("<note>{note}</note>\n"));
        }
        if !subagent.error.trim().is_empty() {
            let error = subagent.error.trim();
            let error = harmless(beginning(error, most_of_error));
            begin.push_str(&format!("<error>{error}</error>\n"));
        }
        // Of a longer one, the rest is never shown.
        let result = subagent.output.trim();
        let (is_cut, result) = (result.len() > PREVIEW, harmless(beginning(result, PREVIEW)));
        if !result.is_empty() {
            let (lines, size) = (subagent.output.lines().count(), size(subagent.output.len()));
            begin.push_str(&format!("<meta lines=\"{lines}\" size=\"{size}\"/>\n"));
        }
        Self { begin, name, result, is_cut }
    }

    /// Returns the most bytes that are written beside the result.
    fn len(&self) -> usize {
        let (begin, end) = self.preview();
        self.begin.len() + begin.len().max(WHOLE.0.len()) + end.len().max(WHOLE.1.len()) + END.len()
    }

    fn preview(&self) -> (String, &'static str) {
        (format!("<preview full-path=\"{AGENT_SCHEME}{}\">\n", self.name), "\n</preview>\n")
    }

    /// Writes the frame with at most so many bytes of the result.
    fn write(&self, most: usize, text: &mut String) {
        text.push_str(&self.begin);
        if !self.result.is_empty() && !self.is_cut && self.result.len() <= most {
            text.extend([WHOLE.0, &self.result, WHOLE.1]);
        } else if !self.result.is_empty() {
            let (begin, end) = self.preview();
            let shown = if most < SHORTEST { "" } else { beginning(&self.result, most) };
            text.extend([&*begin, shown, end]);
        }
        text.push_str(END);
    }
}

/// Returns what to do about work that has not landed.
fn note(subagent: &SubagentReport) -> Option<String> {
    let patch = subagent
        .patch
        .as_deref()
        .map(|patch| format!(" As a patch, they are {}.", quote_within(patch, COMMAND)));
    let command = |what: &str, command: &Option<String>| {
        let command = command.as_deref().map(|it| quote_within(it, COMMAND));
        command.map(|command| format!(" {what}: {command}")).unwrap_or_default()
    };
    let kept = match &subagent.status {
        SubagentStatus::Kept { command: lands } => {
            let lands = command("This lands them", lands);
            format!("Its changes are kept, and are not in your tree.{lands}")
        }
        SubagentStatus::MergeFailed { paths, command: shows } => {
            let named = paths.iter().take(NAMED).map(|path| quote_within(path, NAME));
            let mut named: Vec<_> = named.collect();
            if paths.len() > NAMED {
                named.push(format!("{} more", paths.len() - NAMED));
            }
            format!(
                "Its changes conflict with your tree in {}; they are kept, and are not in it.{}",
                named.join(", "),
                command("This shows the conflicts", shows)
            )
        }
        SubagentStatus::Failed | SubagentStatus::Cancelled if patch.is_some() => {
            "Its changes are kept, and are not in your tree.".to_owned()
        }
        SubagentStatus::Completed | SubagentStatus::Failed | SubagentStatus::Cancelled => {
            return None;
        }
    };
    Some(kept + &patch.unwrap_or_default())
}

/// Writes only how each has ended, as many as have room: of so many, not even that has room for all.
fn write_names(report: &SpawnReport, room: usize, text: &mut String) {
    let most = text.len() + room;
    for (at, subagent) in report.subagents.iter().enumerate() {
        let name = attribute(&subagent.name);
        let line = format!("<agent id=\"{name}\" status=\"{}\"/>\n", subagent.status.name());
        let rest = report.subagents.len() - at;
        let more = format!("<note>and {rest} more, named alike</note>\n");
        if text.len() + line.len() + more.len() > most {
            return text.push_str(&more);
        }
        text.push_str(&line);
    }
}

/// Returns a text for the value of an attribute.
fn attribute(text: &str) -> String {
    quote_within(text, NAME).replace(['"', '<', '>'], "'")
}

/// Returns a result in which nothing looks like what is around it. In JSON the text means the same.
fn harmless(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    if !TAGS.iter().any(|tag| text.contains(tag)) {
        return Cow::Borrowed(text);
    }
    let mut changed = text.to_owned();
    for tag in TAGS {
        let other = match tag.strip_prefix("</") {
            Some(name) => format!("<\\/{name}"),
            None => format!("\\u003c{}", &tag[1..]),
        };
        changed = changed.replace(tag, &other);
    }
    Cow::Owned(changed)
}

fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        _ => format!("{}.{} KB", bytes / 1_000, bytes % 1_000 / 100),
    }
}
