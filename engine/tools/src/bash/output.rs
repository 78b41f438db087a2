//! The output of a command as it is shown to a model: all of it, or its beginning and its end,
//! without escape sequences.

use std::io;

use engine::ports::{Artifact, Artifacts, CommandEnd, SHORT_OUTPUT_BYTES, SHORT_OUTPUT_LINES};

use crate::display::{HEAD_BYTES, HEAD_LINES, TAIL_BYTES, TAIL_LINES, head, tail};
use crate::plain_text::PlainText;

/// The ratio of the bytes that are read to those that are shown. Escape sequences are read, but
/// not shown.
const ESCAPES: u64 = 4;

/// How many bytes of the beginning and of the end are read of a file that is not read whole.
const HEAD_READ: u64 = ESCAPES * HEAD_BYTES as u64;
const TAIL_READ: u64 = ESCAPES * TAIL_BYTES as u64;

/// The size of the largest file whose lines are counted, and of one read, in bytes.
const COUNTED: u64 = 64 << 20;
const COUNTED_AT_ONCE: u64 = 64 << 10;

// What is kept in memory is shown whole.
const _: () = assert!(3 * SHORT_OUTPUT_BYTES <= HEAD_BYTES + TAIL_BYTES);
const _: () = assert!(SHORT_OUTPUT_LINES < HEAD_LINES + TAIL_LINES);

/// The output of a command, as it is shown.
pub(super) struct Output {
    /// The whole output, or both ends of it.
    pub(super) text: String,
    /// Notices, such as where the rest of the output is.
    pub(super) notices: Vec<String>,
    /// Whether a part is left out.
    pub(super) is_cut: bool,
}

/// Returns the output of a command that ended with `end`, from memory or from the file `artifact`.
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
            Output { text, notices: Vec::new(), is_cut: true }
        }
    }
}

async fn read(
    artifacts: &dyn Artifacts,
    artifact: &Artifact,
    end: &CommandEnd,
) -> io::Result<Output> {
    if let Some(short) = &end.output {
        // It fits, because its bytes and lines are few: each byte that is not text takes three.
        let text = PlainText::of(short).trim_end().to_owned();
        // Where the limit of output is 0, nothing is kept anywhere.
        let notice = (end.dropped > 0).then(|| format!("{} bytes were not kept", end.dropped));
        let is_cut = notice.is_some();
        return Ok(Output { text, notices: Vec::from_iter(notice), is_cut });
    }
    let size = artifacts.size(artifact).await?;
    if size > HEAD_READ + TAIL_READ {
        let ends = both_ends(artifacts, artifact, size).await?;
        let total = match (end.dropped, size) {
            (0, ..=COUNTED) => format!("of {} lines", count_lines(artifacts, artifact).await?),
            _ => format!("lines of {} KB", end.written >> 10),
        };
        return Ok(ends.output(artifact, end, &total));
    }
    let all = PlainText::of(&artifacts.read(artifact, 0, size).await?);
    let all = all.trim_end();
    let lines = all.lines().count();
    if all.len() <= HEAD_BYTES + TAIL_BYTES && lines <= HEAD_LINES + TAIL_LINES {
        let notice = (end.dropped > 0).then(|| full_output_notice(artifact, end));
        let is_cut = notice.is_some();
        return Ok(Output { text: all.to_owned(), notices: Vec::from_iter(notice), is_cut });
    }
    let ends = HeadAndTail { first: first_lines(all).to_owned(), last: last_lines(all).to_owned() };
    Ok(ends.output(artifact, end, &format!("of {lines} lines")))
}

/// The parts of long output that are shown.
struct HeadAndTail {
    first: String,
    last: String,
}

impl HeadAndTail {
    fn output(self, artifact: &Artifact, end: &CommandEnd, total: &str) -> Output {
        let Self { first, last } = self;
        let (above, below) = (first.lines().count(), last.lines().count());
        let rest = full_output_notice(artifact, end);
        let notice = format!("Showing the first {above} and the last {below} {total}. {rest}");
        let text = format!("{first}\n\n[… the middle of the output is left out …]\n\n{last}");
        Output { text, notices: vec![notice], is_cut: true }
    }
}

/// Returns a notice that names the artifact with the full output, and the number of dropped bytes.
fn full_output_notice(artifact: &Artifact, end: &CommandEnd) -> String {
    match end.dropped {
        0 => format!("Full output: {}", artifact.uri()),
        dropped => format!("Output without {dropped} bytes of its middle: {}", artifact.uri()),
    }
}

/// Reads the beginning and the end of a file that is too long to be read whole.
async fn both_ends(
    artifacts: &dyn Artifacts,
    artifact: &Artifact,
    size: u64,
) -> io::Result<HeadAndTail> {
    let above = artifacts.read(artifact, 0, HEAD_READ).await?;
    let below = artifacts.read(artifact, size - TAIL_READ, TAIL_READ).await?;
    // Incomplete lines are dropped: they may begin or end inside a character or an escape sequence.
    let is_break = |byte: &u8| *byte == b'\n';
    let until = above.iter().rposition(is_break).unwrap_or(above.len());
    let from = below.iter().position(is_break).map_or(0, |end| end + 1);
    let above = PlainText::of(&above[..until]);
    let below = PlainText::of(&below[from..]);
    let (first, last) = (first_lines(&above), last_lines(below.trim_end()));
    Ok(HeadAndTail { first: first.to_owned(), last: last.to_owned() })
}

/// Returns the first lines that are shown, without the last line break. If the first line alone is
/// too long, returns the beginning of that line.
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

/// Returns the last lines that are shown. If the last line alone is too long, returns its end.
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
