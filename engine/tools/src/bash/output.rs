//! The end of a command's output, as a model reads it.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::Path;

use crate::limits::{OUTPUT_BYTES, OUTPUT_LINES, tail};
use crate::plain::plain;

/// How much of the end of the file is looked at: colours take room and are not shown.
const TAIL: u64 = 4 * OUTPUT_BYTES as u64;

/// Up to which size the lines of a file are counted.
const COUNTED: u64 = 64 << 20;

/// What a command printed.
pub(super) struct Output {
    /// The end of it.
    pub(super) text: String,
    /// What is to be known of the rest.
    pub(super) notice: Option<String>,
    /// Whether there is a rest.
    pub(super) is_cut: bool,
}

/// Returns the end of what was kept in `file`, of which `dropped` bytes were not kept.
pub(super) fn output(file: &Path, dropped: u64) -> Output {
    match read(file) {
        Ok(output) if output.text.is_empty() => Output { text: "(no output)".into(), ..output },
        Ok(output) if dropped > 0 => {
            let kept = format!("{dropped} bytes after this were not kept");
            let notice = output.notice.map_or(kept.clone(), |notice| format!("{notice}. {kept}"));
            Output { notice: Some(notice), is_cut: true, ..output }
        }
        Ok(output) => output,
        Err(error) => {
            let text = format!("(the output cannot be read: {error})");
            Output { text, notice: None, is_cut: true }
        }
    }
}

fn read(path: &Path) -> io::Result<Output> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    let begin = size.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    Read::by_ref(&mut file).take(TAIL).read_to_end(&mut bytes)?;
    // What is not a whole line at the beginning may be a part of a character or of a sequence.
    let from = match bytes.iter().position(|byte| *byte == b'\n') {
        Some(end) if begin > 0 => end + 1,
        _ => 0,
    };
    let all = plain(&String::from_utf8_lossy(&bytes[from..]));
    let all = all.trim_end();
    let text = last_lines(all);
    if begin == 0 && text.len() == all.len() {
        return Ok(Output { text: text.to_owned(), notice: None, is_cut: false });
    }
    let shown = text.lines().count();
    let lines = match (begin, size) {
        (0, _) => format!("{shown} of {} lines", all.lines().count()),
        (_, ..=COUNTED) => format!("{shown} of {} lines", count_lines(&mut file)?),
        (_, more) => format!("{shown} lines of {} MB", more >> 20),
    };
    let notice = format!("Showing last {lines}. Full output: {}", path.display());
    Ok(Output { text: text.to_owned(), notice: Some(notice), is_cut: true })
}

/// As many of the last lines as are shown. Of a line that is too long alone, its end.
fn last_lines(text: &str) -> &str {
    let by_bytes = tail(text, OUTPUT_BYTES);
    let is_cut = by_bytes.len() < text.len();
    let begins_line = !is_cut || text[..text.len() - by_bytes.len()].ends_with('\n');
    let whole = match by_bytes.find('\n') {
        Some(end) if !begins_line => &by_bytes[end + 1..],
        _ => by_bytes,
    };
    let mut breaks = whole.rmatch_indices('\n');
    match breaks.nth(OUTPUT_LINES - 1) {
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
