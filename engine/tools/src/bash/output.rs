//! A command's output as a model reads it: all of it, or its beginning and its end.

use std::io;
use std::path::Path;

use engine::ports::{Artifact, Artifacts, CommandEnd};

use crate::limits::{HEAD_BYTES, HEAD_LINES, TAIL_BYTES, TAIL_LINES, head, tail};
use crate::plain::plain;

/// How much more than what is shown is looked at: colours take room and are not shown.
const COLOURS: u64 = 4;

/// How much of the beginning and of the end of the file is looked at, where it is longer than both.
const HEAD_LOOKED_AT: u64 = COLOURS * HEAD_BYTES as u64;
const TAIL_LOOKED_AT: u64 = COLOURS * TAIL_BYTES as u64;

/// Up to which size the lines of a file are counted.
const COUNTED: u64 = 64 << 20;
const COUNTED_AT_ONCE: u64 = 1 << 20;

/// What a command printed.
pub(super) struct Output {
    /// It, or both ends of it.
    pub(super) text: String,
    /// What is to be known of the rest.
    pub(super) notice: Option<String>,
    /// Whether there is a rest.
    pub(super) is_cut: bool,
}

/// Returns what a command printed that ended so and whose output is in `artifact`.
pub(super) async fn output(
    artifacts: &dyn Artifacts,
    artifact: &Artifact,
    end: &CommandEnd,
) -> Output {
    match read(artifacts, artifact, end).await {
        Ok(output) if output.text.is_empty() => Output { text: "(no output)".into(), ..output },
        Ok(output) => output,
        Err(error) => {
            let text = format!("(the output cannot be read: {error})");
            Output { text, notice: None, is_cut: true }
        }
    }
}

async fn read(
    artifacts: &dyn Artifacts,
    artifact: &Artifact,
    end: &CommandEnd,
) -> io::Result<Output> {
    let size = artifacts.size(artifact).await?;
    if size > HEAD_LOOKED_AT + TAIL_LOOKED_AT {
        let ends = both_ends(artifacts, artifact, size).await?;
        let total = match (end.dropped, size) {
            (0, ..=COUNTED) => format!("of {} lines", count_lines(artifacts, artifact).await?),
            _ => format!("lines of {} KB", end.written >> 10),
        };
        return Ok(ends.output(&artifact.path, end, &total));
    }
    let all = plain(&String::from_utf8_lossy(&artifacts.read(artifact, 0, size).await?));
    let all = all.trim_end();
    let lines = all.lines().count();
    if all.len() <= HEAD_BYTES + TAIL_BYTES && lines <= HEAD_LINES + TAIL_LINES {
        let notice = (end.dropped > 0).then(|| rest(&artifact.path, end));
        let is_cut = notice.is_some();
        return Ok(Output { text: all.to_owned(), notice, is_cut });
    }
    let ends = Ends { first: first_lines(all).to_owned(), last: last_lines(all).to_owned() };
    Ok(ends.output(&artifact.path, end, &format!("of {lines} lines")))
}

/// What is shown of output that is too long.
struct Ends {
    first: String,
    last: String,
}

impl Ends {
    fn output(self, path: &Path, end: &CommandEnd, total: &str) -> Output {
        let Self { first, last } = self;
        let (above, below) = (first.lines().count(), last.lines().count());
        let rest = rest(path, end);
        let notice = format!("Showing the first {above} and the last {below} {total}. {rest}");
        let text = format!("{first}\n\n[… the middle of the output is left out …]\n\n{last}");
        Output { text, notice: Some(notice), is_cut: true }
    }
}

/// Says where the output is, and how much of it is nowhere.
fn rest(path: &Path, end: &CommandEnd) -> String {
    match end.dropped {
        0 => format!("Full output: {}", path.display()),
        dropped => format!("Output without {dropped} bytes of its middle: {}", path.display()),
    }
}

/// Reads the beginning and the end of a file that is too long to be looked at whole.
async fn both_ends(artifacts: &dyn Artifacts, artifact: &Artifact, size: u64) -> io::Result<Ends> {
    let above = artifacts.read(artifact, 0, HEAD_LOOKED_AT).await?;
    let below = artifacts.read(artifact, size - TAIL_LOOKED_AT, TAIL_LOOKED_AT).await?;
    // What is no whole line where it was cut may be a part of a character or of a sequence.
    let is_break = |byte: &u8| *byte == b'\n';
    let until = above.iter().rposition(is_break).unwrap_or(above.len());
    let from = below.iter().position(is_break).map_or(0, |end| end + 1);
    let above = plain(&String::from_utf8_lossy(&above[..until]));
    let below = plain(&String::from_utf8_lossy(&below[from..]));
    let (first, last) = (first_lines(&above), last_lines(below.trim_end()));
    Ok(Ends { first: first.to_owned(), last: last.to_owned() })
}

/// As many of the first lines as are shown, without the last line break. Of a line that is too
/// long alone, its beginning.
fn first_lines(text: &str) -> &str {
    let by_bytes = head(text, HEAD_BYTES);
    let ends_line = text[by_bytes.len()..].chars().next().is_none_or(|next| next == '\n');
    let whole = match by_bytes.rfind('\n') {
        Some(end) if !ends_line => &by_bytes[..end],
        _ => by_bytes,
    };
    match whole.match_indices('\n').nth(HEAD_LINES - 1) {
        Some((end, _)) => &whole[..end],
        None => whole,
    }
}

/// As many of the last lines as are shown. Of a line that is too long alone, its end.
fn last_lines(text: &str) -> &str {
    let by_bytes = tail(text, TAIL_BYTES);
    let is_cut = by_bytes.len() < text.len();
    let begins_line = !is_cut || text[..text.len() - by_bytes.len()].ends_with('\n');
    let whole = match by_bytes.find('\n') {
        Some(end) if !begins_line => &by_bytes[end + 1..],
        _ => by_bytes,
    };
    match whole.rmatch_indices('\n').nth(TAIL_LINES - 1) {
        Some((end, _)) => &whole[end + 1..],
        None => whole,
    }
}

async fn count_lines(artifacts: &dyn Artifacts, artifact: &Artifact) -> io::Result<u64> {
    let (mut lines, mut last, mut offset) = (0, b'\n', 0);
    loop {
        let bytes = artifacts.read(artifact, offset, COUNTED_AT_ONCE).await?;
        let Some(end) = bytes.last() else { break };
        last = *end;
        offset += bytes.len() as u64;
        lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    }
    Ok(lines + u64::from(last != b'\n'))
}
