//! The progress lines of a command: found in its output, limited in rate, and made printable.

use std::time::Duration;

use engine::ports::CUT_LINE;
use protocol::{Escapes, is_unseen};
use tokio::time::Instant;

/// The most bytes kept of the last line, which is the result of a command.
pub(crate) const RESULT_LIMIT: usize = 500_000;

/// The last line of a stream that is not blank. Of one that is longer than its limit, only the
/// beginning is kept.
#[derive(Debug)]
pub(crate) struct LastLine {
    limit: usize,
    open: Vec<u8>,
    last: Option<Vec<u8>>,
}

impl LastLine {
    /// Returns the last line of a stream, of which at most `limit` bytes are kept.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, open: Vec::new(), last: None }
    }

    /// Adds the next bytes of the stream.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let newest = newest_ended(&mut self.open, bytes, self.limit + 1, |byte| byte == b'\n');
        if newest.is_some() {
            self.last = newest;
        }
    }

    /// Returns the line without its line break. Text after the last line break is a line. A line
    /// of which only the beginning was kept ends with [`CUT_LINE`], so that it is not taken for a
    /// whole one.
    pub(crate) fn finish(mut self) -> Option<String> {
        self.feed(b"\n");
        self.last.map(|line| match line.get(..self.limit) {
            Some(kept) if line.len() > self.limit => {
                // The cut may have gone through a character.
                let kept = String::from_utf8_lossy(kept);
                format!("{}{CUT_LINE}", kept.trim_end_matches(char::REPLACEMENT_CHARACTER))
            }
            Some(_) | None => {
                let line = line.strip_suffix(b"\r").unwrap_or(&line);
                String::from_utf8_lossy(line).into_owned()
            }
        })
    }
}

/// The newest line of a stream, for display. A carriage return ends a line, too: progress bars use it
/// to overwrite themselves.
#[derive(Debug, Default)]
pub(crate) struct NewestLine {
    open: Vec<u8>,
}

impl NewestLine {
    /// Adds the next bytes of the stream, and returns the newest line that ends in them.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        newest_ended(&mut self.open, bytes, LINE_LIMIT, |byte| byte == b'\n' || byte == b'\r')
    }

    /// Returns the text after the last line break, if there is any.
    pub(crate) fn finish(&mut self) -> Option<Vec<u8>> {
        let rest = std::mem::take(&mut self.open);
        (!is_blank(&rest)).then_some(rest)
    }
}

/// Adds `bytes` to the unfinished line `open`, and returns the newest line that ends in them and is
/// not blank. The text after the last break becomes the unfinished line.
///
/// The search starts at the end, because the caller uses only the newest line.
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

/// The time between two lines: six a second, and one more when the command has ended.
const INTERVAL: Duration = Duration::from_millis(167);

/// Limits the rate of lines: passes the first at once, then the newest after each interval.
#[derive(Debug, Default)]
pub(crate) struct RateLimit {
    /// When the last line was passed.
    passed_at: Option<Instant>,
    pending: Option<Vec<u8>>,
}

impl RateLimit {
    /// Adds a newer line, and returns it if it may pass now.
    pub(crate) fn offer(&mut self, line: Vec<u8>, now: Instant) -> Option<Vec<u8>> {
        self.pending = Some(line);
        self.take(now)
    }

    /// Returns when the pending line may pass, if there is one.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.pending.as_ref()?;
        self.passed_at.map(|at| at + INTERVAL)
    }

    /// Returns the pending line if it may pass now.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Vec<u8>> {
        if self.due().is_some_and(|due| now < due) {
            return None;
        }
        let line = self.pending.take()?;
        self.passed_at = Some(now);
        Some(line)
    }

    /// Returns the pending line at the end of the stream.
    pub(crate) fn finish(self) -> Option<Vec<u8>> {
        self.pending
    }
}

/// The most bytes of a line that are shown.
pub(crate) const LINE_LIMIT: usize = 4 << 10;

/// Returns `line` without escape sequences, control characters and bidirectional marks. Bytes that
/// are not UTF-8 are replaced.
pub(crate) fn printable(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut shown = String::with_capacity(text.len().min(LINE_LIMIT));
    let mut escapes = Escapes::default();
    let seen = text.chars().filter_map(|letter| escapes.step(letter));
    let spaced = seen.map(|letter| if letter == '\t' { ' ' } else { letter });
    for letter in spaced.filter(|letter| !is_unseen(*letter)) {
        if shown.len() + letter.len_utf8() > LINE_LIMIT {
            break;
        }
        shown.push(letter);
    }
    shown.truncate(shown.trim_end().len());
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(chunks: &[&[u8]]) -> Option<String> {
        let mut line = LastLine::new(RESULT_LIMIT);
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
        let mut line = LastLine::new(RESULT_LIMIT);
        for _ in 0..40 {
            line.feed(&[b'x'; 64 << 10]);
        }
        assert!(line.open.capacity() <= 2 * RESULT_LIMIT, "{}", line.open.capacity());
        let line = line.finish().unwrap();
        assert_eq!(line.len(), RESULT_LIMIT + CUT_LINE.len());
        assert!(line.ends_with(CUT_LINE), "a part is never taken for the whole");
        let end = line.trim_start_matches('x');
        assert!(end.contains("regatta logs") && end.contains("output.log"), "it names the whole");
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

    #[test]
    fn at_most_seven_lines_are_told_in_a_second() {
        let (mut pace, start) = (RateLimit::default(), Instant::now());
        let mut told = 0;
        for millisecond in 0..1000 {
            let now = start + Duration::from_millis(millisecond);
            told += usize::from(pace.offer(b"x".to_vec(), now).is_some());
        }
        told += usize::from(pace.finish().is_some());
        assert_eq!(told, 7);
    }

    #[test]
    fn the_newest_line_is_told_when_the_pace_allows() {
        let (mut pace, start) = (RateLimit::default(), Instant::now());
        assert_eq!(pace.due(), None);
        assert_eq!(pace.offer(b"1".to_vec(), start), Some(b"1".to_vec()));
        assert_eq!(pace.due(), None);
        assert_eq!(pace.offer(b"2".to_vec(), start), None);
        assert_eq!(pace.offer(b"3".to_vec(), start), None);
        assert_eq!(pace.due(), Some(start + INTERVAL));
        assert_eq!(pace.take(start + INTERVAL), Some(b"3".to_vec()));
        assert_eq!(pace.take(start + INTERVAL * 2), None);
        assert_eq!(pace.finish(), None);
    }

    #[test]
    fn plain_text_stays_as_it_is() {
        assert_eq!(printable("   Compiling café 日本 👩‍🚀".as_bytes()), "   Compiling café 日本 👩‍🚀");
    }

    #[test]
    fn escape_sequences_are_taken_out_whole() {
        assert_eq!(printable(b"\x1b[1;31merror\x1b[0m: no\x1b[2K\x1b(B"), "error: no");
        assert_eq!(printable(b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1bP1;2|q\x1b\\c"), "abc");
        assert_eq!(printable("\u{9b}31mred\u{9d}52;c;x\u{9c}!".as_bytes()), "red!");
    }

    #[test]
    fn a_sequence_that_never_ends_swallows_the_rest_of_the_line_only() {
        assert_eq!(printable(b"a\x1b]0;no end"), "a");
        assert_eq!(printable(b"a\x1b"), "a");
        assert_eq!(printable(b"a\x1b[12;"), "a");
    }

    #[test]
    fn controls_and_marks_that_reorder_text_are_taken_out() {
        assert_eq!(printable(b"a\x00\x08b\x07\x7f\tc  \r\n"), "ab c");
        let hostile = "user\u{202e}gpj.exe\u{2066}x\u{2069}\u{200b}\u{feff}\u{e0041}\u{2028}";
        assert_eq!(printable(hostile.as_bytes()), "usergpj.exex");
    }

    #[test]
    fn bytes_that_are_not_text_are_shown_as_such() {
        assert_eq!(printable(b"a\xff\x9b31mb"), "a\u{fffd}\u{fffd}31mb");
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let shown = printable("é".repeat(LINE_LIMIT).as_bytes());
        assert_eq!(shown, "é".repeat(LINE_LIMIT / 2));
    }

    #[test]
    fn no_sequence_of_bytes_leaves_a_control_character() {
        let interesting = [0x1b, b'[', b']', b'm', 0x07, b'\\', 0xc2, 0x9b, 0x9c, b'a', 0, b'P'];
        let mut line = Vec::new();
        for number in 0..20_000_usize {
            line.clear();
            let mut rest = number;
            while rest > 0 {
                line.push(interesting[rest % interesting.len()]);
                rest /= interesting.len();
            }
            let shown = printable(&line);
            assert!(!shown.chars().any(char::is_control), "{line:?} became {shown:?}");
        }
    }
}
