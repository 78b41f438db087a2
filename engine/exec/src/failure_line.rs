//! Chooses the line of a command's output that says why the command failed.

use crate::lines::printable;

/// How many bytes of the end of a stream are searched for the line.
const SEARCHED: usize = 8 << 10;

/// The maximum length of the line, in characters.
const LONGEST: usize = 240;

/// The end of a stream. Memory is bounded.
#[derive(Debug, Default)]
pub(crate) struct StreamEnd {
    bytes: Vec<u8>,
}

impl StreamEnd {
    /// Adds the next bytes of the stream.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(SEARCHED)..];
        if self.bytes.len() + bytes.len() > 2 * SEARCHED {
            let kept = SEARCHED - bytes.len();
            self.bytes.drain(..self.bytes.len() - kept);
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the last line for which `accept` is true, made printable and cut to `LONGEST`
    /// characters.
    fn last(&self, accept: fn(&str) -> bool) -> Option<String> {
        let mut lines = self.bytes.rsplit(|byte| matches!(byte, b'\n' | b'\r')).map(printable);
        let found = lines.find(|line| accept(line))?;
        let line = found.trim();
        match line.char_indices().nth(LONGEST) {
            Some((end, _)) => Some(format!("{}…", line[..end].trim_end())),
            None => Some(line.to_owned()),
        }
    }
}

/// Returns the last meaningful line of standard error, or else of standard output, or else the last
/// line of either that is not blank.
pub(crate) fn failure_line(error: &StreamEnd, output: &StreamEnd) -> Option<String> {
    let last = |accept| error.last(accept).or_else(|| output.last(accept));
    last(is_meaningful).or_else(|| last(has_word))
}

fn has_word(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

/// The beginnings of lines that programs print around the error itself, in lower case: advice, and
/// frames of a stack.
const ADVICE_BEGINS: [&str; 18] = [
    "note:",
    "= note:",
    "hint:",
    "help:",
    "= help:",
    "tip:",
    "usage:",
    "for more information",
    "the most similar command",
    "try '",
    "try `",
    "run with ",
    "(use ",
    "see also",
    "... ",
    "node.js v",
    "exit status ",
    "info visit ",
];

/// Parts of such lines, in lower case.
const ADVICE_HAS: [&str; 3] =
    ["is not recoverable: exiting now", "a complete log of this run", "/_logs/"];

/// Returns whether a line says more than advice, a frame of a stack, a part of a list, a bracket, a
/// place to read more or the announcement of one would.
fn is_meaningful(line: &str) -> bool {
    let of_npm = line.strip_prefix("npm error").or(line.strip_prefix("npm ERR!"));
    let text = of_npm.unwrap_or(line);
    let (indent, text) = (text.len() - text.trim_start().len(), text.trim());
    let lower = text.to_lowercase();
    let is_advice = ADVICE_BEGINS.iter().any(|advice| lower.starts_with(advice))
        || indent > 0 && lower.starts_with("at ")
        || ADVICE_HAS.iter().any(|advice| lower.contains(advice));
    let is_name = indent > 0 && !text.contains(' ') || of_npm.is_some() && indent > 1;
    let is_part = indent > 0 && text.starts_with(['\'', '"']) || text.starts_with("- ");
    let is_place = text.contains('/') && !text.contains(char::is_whitespace);
    let is_open = text.ends_with([',', ':', '[', '{', '(']);
    // make names the rule that failed after the error of its command.
    let is_rule = lower.starts_with("make") && lower.contains("] error ");
    has_word(text) && !(is_advice || is_name || is_part || is_place || is_open || is_rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(error: &str, output: &str) -> Option<String> {
        let end = |text: &str| {
            let mut end = StreamEnd::default();
            end.feed(text.as_bytes());
            end
        };
        failure_line(&end(error), &end(output))
    }

    #[test]
    fn the_last_meaningful_line_of_the_errors_counts_and_else_of_the_output() {
        let is = |line: &str| Some(line.to_owned());
        assert_eq!(chosen("one\nnot logged in\n\n", "output\n"), is("not logged in"));
        assert_eq!(chosen("", "FAILED tests/a.py\n"), is("FAILED tests/a.py"));
        assert_eq!(chosen("---\n}\n", "why\n"), is("why"));
        assert_eq!(chosen("", "---\n"), None);
        assert_eq!(chosen("", ""), None);
        assert_eq!(chosen("usage: x FILE\n", ""), is("usage: x FILE"), "there is nothing else");
    }

    #[test]
    fn advice_and_frames_after_the_error_are_passed_over() {
        let unknown = "ls: unrecognized option '--x'\nTry 'ls --help' for more information.\n";
        assert_eq!(chosen(unknown, "").unwrap(), "ls: unrecognized option '--x'");
        let panic = "thread 'main' panicked at src/main.rs:2:5:\nno key\nnote: run with `X=1`\n";
        assert_eq!(chosen(panic, "").unwrap(), "no key");
        let clap = "error: no such file\n\nUsage: x\n\nFor more information, try '--help'.\n";
        assert_eq!(chosen(clap, "").unwrap(), "error: no such file");
        let node = "Error: no key\nRequire stack:\n- /a/[eval]\n    at a (b.js:1) {\n  code: 'NO',\n  \
                    stack: [\n    '/a/[eval]'\n  ]\n}\n\nNode.js v20.1.0\n";
        assert_eq!(chosen(node, "").unwrap(), "Error: no key");
        let git = "git: 'foo' is no command.\n\nThe most similar command is\n\thook\n";
        assert_eq!(chosen(git, "").unwrap(), "git: 'foo' is no command.");
        let tar = "tar: a: Cannot open\ntar: Error is not recoverable: exiting now\n";
        assert_eq!(chosen(tar, "").unwrap(), "tar: a: Cannot open");
        let npm = "npm error Missing script\nnpm error\nnpm error To see a list, run:\n\
                   npm error   npm run\nnpm error A complete log of this run is in: /a/_logs/b\n";
        assert_eq!(chosen(npm, "").unwrap(), "npm error Missing script");
        let make = "x.c:1: error: no `y`\nmake[1]: *** [Makefile:2: x.o] Error 1\n";
        assert_eq!(chosen(make, "").unwrap(), "x.c:1: error: no `y`");
        let indented = "Building\n  error: no x\n    at a (b.js:1)\n";
        assert_eq!(chosen(indented, "").unwrap(), "error: no x");
        assert_eq!(chosen("x\n'y' is not a command\n", "").unwrap(), "'y' is not a command");
        assert_eq!(chosen("x\nAt least one file\n", "").unwrap(), "At least one file");
        assert_eq!(chosen("Connecting\nUnauthorized\n", "").unwrap(), "Unauthorized");
        let places = "No key found.\n\nLog in first. See:\n  /docs/login.md\n  https://a.b/c\n";
        assert_eq!(chosen(places, "").unwrap(), "No key found.");
    }

    #[test]
    fn the_line_is_safe_and_bounded() {
        assert_eq!(chosen("10%\r\u{1b}[31mno\u{7} key\u{1b}[0m\r\n", "").unwrap(), "no key");
        let long = chosen(&"é".repeat(20_000), "").unwrap();
        assert_eq!(long.chars().count(), LONGEST + 1);
        let mut end = StreamEnd::default();
        for _ in 0..1000 {
            end.feed(&[b'x'; 999]);
            assert!(end.bytes.len() <= 2 * SEARCHED);
        }
        end.feed(b"\nthe end\n");
        assert_eq!(failure_line(&end, &StreamEnd::default()).unwrap(), "the end");
    }
}
