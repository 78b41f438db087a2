//! Finds lines in a stream of bytes without keeping the stream.

use crate::printable::LINE_LIMIT;

/// How many bytes of the line that counts as a command's result are kept.
const RESULT_LIMIT: usize = 500_000;

/// The last line that is not blank. A line longer than 500,000 bytes is cut there.
#[derive(Debug, Default)]
pub(crate) struct LastLine {
    open: Vec<u8>,
    last: Option<Vec<u8>>,
}

impl LastLine {
    /// Takes the next bytes of the stream.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let newest = newest_ended(&mut self.open, bytes, RESULT_LIMIT, |byte| byte == b'\n');
        if newest.is_some() {
            self.last = newest;
        }
    }

    /// Returns the line, without its line break. What comes after the last line break is a line.
    pub(crate) fn finish(mut self) -> Option<String> {
        self.feed(b"\n");
        self.last.map(|line| {
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            String::from_utf8_lossy(line).into_owned()
        })
    }
}

/// The newest line of a stream, for showing. A carriage return ends a line too: that is how
/// progress bars write over themselves.
#[derive(Debug, Default)]
pub(crate) struct NewestLine {
    open: Vec<u8>,
}

impl NewestLine {
    /// Takes the next bytes of the stream and returns the newest line that ends in them.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        newest_ended(&mut self.open, bytes, LINE_LIMIT, |byte| byte == b'\n' || byte == b'\r')
    }

    /// Returns what comes after the last line break, if anything.
    pub(crate) fn finish(&mut self) -> Option<Vec<u8>> {
        let rest = std::mem::take(&mut self.open);
        (!is_blank(&rest)).then_some(rest)
    }
}

/// Takes `bytes`, which go on with the line `open`, and returns the newest line that ends in them
/// and is not blank. What comes after the last break is open then.
///
/// It looks from the end, for of a flood of short lines all but the newest are of no use.
fn newest_ended(
    open: &mut Vec<u8>,
    bytes: &[u8],
    limit: usize,
    is_break: impl Fn(u8) -> bool,
) -> Option<Vec<u8>> {
    let last_break = |bytes: &[u8]| bytes.iter().rposition(|&byte| is_break(byte));
    let Some(end) = last_break(bytes) else {
        extend(open, bytes, limit);
        return None;
    };
    let mut before = &bytes[..end];
    let newest = loop {
        let Some(at) = last_break(before) else {
            extend(open, before, limit);
            break std::mem::take(open);
        };
        let line = &before[at + 1..];
        if !is_blank(line) {
            open.clear();
            break line[..line.len().min(limit)].to_vec();
        }
        before = &before[..at];
    };
    extend(open, &bytes[end + 1..], limit);
    (!is_blank(&newest)).then_some(newest)
}

fn extend(line: &mut Vec<u8>, bytes: &[u8], limit: usize) {
    let room = limit.saturating_sub(line.len());
    line.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(chunks: &[&[u8]]) -> Option<String> {
        let mut line = LastLine::default();
        for chunk in chunks {
            line.feed(chunk);
        }
        line.finish()
    }

    #[test]
    fn the_last_line_that_is_not_blank_counts() {
        assert_eq!(last(&[b"one\ntwo\n", b"\n  \t\n"]), Some("two".to_owned()));
        assert_eq!(last(&[b"one\r\ntw", b"o\r\n"]), Some("two".to_owned()));
        assert_eq!(last(&[b"one\ntwo"]), Some("two".to_owned()));
        assert_eq!(last(&[b"one\n  "]), Some("one".to_owned()));
        assert_eq!(last(&[b"\n\n", b" "]), None);
        assert_eq!(last(&[]), None);
    }

    #[test]
    fn of_many_lines_at_once_the_newest_that_is_not_blank_counts() {
        let mut flood = b"y\n".repeat(30_000);
        assert_eq!(last(&[b"x", &flood]), Some("y".to_owned()));
        flood.extend(b"\n \n\t\n\n");
        assert_eq!(last(&[&flood, b"\n"]), Some("y".to_owned()));
        assert_eq!(last(&[b"one", b" \n\n  \n", b"\n"]), Some("one ".to_owned()));
        assert_eq!(last(&[b"one\n", b" ", b" \n\ntwo"]), Some("two".to_owned()));
    }

    #[test]
    fn only_its_line_break_is_taken_from_a_line() {
        assert_eq!(last(&[b"  {\"a\": 1}  \n"]), Some("  {\"a\": 1}  ".to_owned()));
    }

    #[test]
    fn a_line_cut_anywhere_by_the_pipe_is_the_same_line() {
        let whole = b"a\n{\"x\":[1,2]}\n\n";
        for cut in 0..whole.len() {
            let (head, tail) = whole.split_at(cut);
            assert_eq!(last(&[head, tail]), Some("{\"x\":[1,2]}".to_owned()), "cut at {cut}");
        }
    }

    #[test]
    fn an_endless_line_is_cut_at_one_mebibyte() {
        let mut line = LastLine::default();
        for _ in 0..40 {
            line.feed(&[b'x'; 64 << 10]);
        }
        assert!(line.open.capacity() <= 2 * RESULT_LIMIT, "{}", line.open.capacity());
        assert_eq!(line.finish().map(|line| line.len()), Some(RESULT_LIMIT));
    }

    #[test]
    fn the_newest_line_is_the_last_that_ended() {
        let mut newest = NewestLine::default();
        assert_eq!(newest.feed(b"one\ntwo\nthr"), Some(b"two".to_vec()));
        assert_eq!(newest.feed(b"e"), None);
        assert_eq!(newest.feed(b"e\n\n"), Some(b"three".to_vec()));
        assert_eq!(newest.feed(b" 10%\r 20%\r 3"), Some(b" 20%".to_vec()));
        assert_eq!(newest.finish(), Some(b" 3".to_vec()));
        assert_eq!(newest.finish(), None);
    }

    #[test]
    fn an_endless_line_is_shown_cut() {
        let mut newest = NewestLine::default();
        assert_eq!(newest.feed(&[b'x'; 3 * LINE_LIMIT]), None);
        assert_eq!(newest.feed(b"\n"), Some(vec![b'x'; LINE_LIMIT]));
    }
}
