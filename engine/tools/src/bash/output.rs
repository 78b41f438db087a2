//! A command's output as a model reads it: all of it, or its beginning and its end.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::Path;

use engine::ports::CommandEnd;

use crate::limits::{HEAD_BYTES, HEAD_LINES, TAIL_BYTES, TAIL_LINES, head, tail};
use crate::plain::plain;

/// How much more than what is shown is looked at: colours take room and are not shown.
const COLOURS: u64 = 4;

/// How much of the beginning and of the end of the file is looked at, where it is longer than both.
const HEAD_LOOKED_AT: u64 = COLOURS * HEAD_BYTES as u64;
const TAIL_LOOKED_AT: u64 = COLOURS * TAIL_BYTES as u64;

/// Up to which size the lines of a file are counted.
const COUNTED: u64 = 64 << 20;

/// What a command printed.
pub(super) struct Output {
    /// It, or both ends of it.
    pub(super) text: String,
    /// What is to be known of the rest.
    pub(super) notice: Option<String>,
    /// Whether there is a rest.
    pub(super) is_cut: bool,
}

/// Returns what a command printed that ended so and whose output is in `file`.
pub(super) fn output(file: &Path, end: &CommandEnd) -> Output {
    match read(file, end) {
        Ok(output) if output.text.is_empty() => Output { text: "(no output)".into(), ..output },
        Ok(output) => output,
        Err(error) => {
            let text = format!("(the output cannot be read: {error})");
            Output { text, notice: None, is_cut: true }
        }
    }
}

fn read(path: &Path, end: &CommandEnd) -> io::Result<Output> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    if size > HEAD_LOOKED_AT + TAIL_LOOKED_AT {
        let ends = both_ends(&mut file, size)?;
        let total = match (end.dropped, size) {
            (0, ..=COUNTED) => format!("of {} lines", count_lines(&mut file)?),
            _ => format!("lines of {} KB", end.written >> 10),
        };
        return Ok(ends.output(path, end, &total));
    }
    let all = plain(&String::from_utf8_lossy(&read_at(&mut file, 0, size)?));
    let all = all.trim_end();
    let lines = all.lines().count();
    if all.len() <= HEAD_BYTES + TAIL_BYTES && lines <= HEAD_LINES + TAIL_LINES {
        let notice = (end.dropped > 0).then(|| rest(path, end));
        let is_cut = notice.is_some();
        return Ok(Output { text: all.to_owned(), notice, is_cut });
    }
    let ends = Ends { first: first_lines(all).to_owned(), last: last_lines(all).to_owned() };
    Ok(ends.output(path, end, &format!("of {lines} lines")))
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
fn both_ends(file: &mut File, size: u64) -> io::Result<Ends> {
    let above = read_at(file, 0, HEAD_LOOKED_AT)?;
    let below = read_at(file, size - TAIL_LOOKED_AT, TAIL_LOOKED_AT)?;
    // What is no whole line where it was cut may be a part of a character or of a sequence.
    let is_break = |byte: &u8| *byte == b'\n';
    let until = above.iter().rposition(is_break).unwrap_or(above.len());
    let from = below.iter().position(is_break).map_or(0, |end| end + 1);
    let above = plain(&String::from_utf8_lossy(&above[..until]));
    let below = plain(&String::from_utf8_lossy(&below[from..]));
    let (first, last) = (first_lines(&above), last_lines(below.trim_end()));
    Ok(Ends { first: first.to_owned(), last: last.to_owned() })
}

fn read_at(file: &mut File, offset: u64, count: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
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

fn count_lines(file: &mut File) -> io::Result<u64> {
    file.seek(SeekFrom::Start(0))?;
    let (mut lines, mut last) = (0, b'\n');
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        lines += buffer[..count].iter().filter(|byte| **byte == b'\n').count() as u64;
        last = buffer[count - 1];
    }
    Ok(lines + u64::from(last != b'\n'))
}
