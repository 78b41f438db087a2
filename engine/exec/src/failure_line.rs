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

    fn lines(&self) -> impl DoubleEndedIterator<Item = String> {
        self.bytes.split(|byte| matches!(byte, b'\n' | b'\r')).map(printable)
    }

    /// Returns the last line for which `accept` is true.
    fn last(&self, accept: fn(&str) -> bool) -> Option<String> {
        self.lines().rev().find(|line| accept(line))
    }

    /// Returns the last line that says of itself that it is the error, or with which a traceback ends.
    fn last_named(&self) -> Option<String> {
        let (mut found, mut is_traced) = (None, false);
        for line in self.lines() {
            let ends_trace = is_traced && !line.starts_with([' ', '\t']) && has_word(&line);
            is_traced = line.ends_with(TRACEBACK) || is_traced && !ends_trace;
            if ends_trace || names_error(&line) && is_meaningful(&line) {
                found = Some(line);
            }
        }
        found
    }
}

/// Returns the line that says why a command failed, printable and of at most `LONGEST` characters: the
/// last one of standard error, or else of standard output, that says of itself that it is the error; or
/// else the last meaningful line; or else the last that is not blank.
pub(crate) fn failure_line(error: &StreamEnd, output: &StreamEnd) -> Option<String> {
    let last = |accept| error.last(accept).or_else(|| output.last(accept));
    let named = error.last_named().or_else(|| output.last_named());
    let line = named.or_else(|| last(is_meaningful)).or_else(|| last(has_word))?;
    let line = line.strip_prefix(PYTEST).unwrap_or(&line).trim();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => Some(format!("{}…", line[..end].trim_end())),
        None => Some(line.to_owned()),
    }
}

/// The end of the first line of a traceback, of which the first line that is not indented is the error.
const TRACEBACK: &str = "Traceback (most recent call last):";

/// The beginning of a line in which pytest quotes an error.
const PYTEST: &str = "E   ";

/// Returns whether a line begins as the error of a compiler, a program or a test does. `panic` is also
/// the name of a function in backtraces.
fn names_error(line: &str) -> bool {
    let of_npm = line.strip_prefix("npm error").or(line.strip_prefix("npm ERR!"));
    let lower = of_npm.unwrap_or(line).trim_start().to_lowercase();
    let word = lower.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
    let next = lower[word.len()..].chars().next();
    match word {
        "error" => matches!(next, Some(':' | ' ' | '[' | '(')),
        "fatal" => matches!(next, Some(':' | ' ')),
        "panic" => next == Some(':'),
        // What a comparison adds says less than the line before it.
        _ => line.strip_prefix(PYTEST).is_some_and(|it| !it.trim().starts_with(['+', '-', '?'])),
    }
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
        || is_frame(indent, &lower)
        || ADVICE_HAS.iter().any(|advice| lower.contains(advice));
    let is_name = indent > 0 && !text.contains(' ') || of_npm.is_some() && indent > 1;
    let is_part = indent > 0 && text.starts_with(['\'', '"']) || text.starts_with("- ");
    let is_place = text.contains('/') && !text.contains(char::is_whitespace);
    let is_open = text.ends_with([',', ':', '[', '{', '(']);
    // make names the rule that failed after the error of its command.
    let is_rule = lower.starts_with("make") && lower.contains("] error ");
    has_word(text) && !(is_advice || is_name || is_part || is_place || is_open || is_rule)
}

/// Returns whether a line is a part of a backtrace. `text` is in lower case, without its indent.
fn is_frame(indent: usize, text: &str) -> bool {
    let after_digits = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let is_numbered = after_digits.len() < text.len() && after_digits.starts_with(": ");
    let places = ["at ", "from ", "file \"", "thrown in ", "/", "("];
    indent > 0 && (is_numbered || places.iter().any(|place| text.starts_with(place)))
        || text
            .strip_prefix('#')
            .is_some_and(|rest| rest.starts_with(|it: char| it.is_ascii_digit()))
        || text.starts_with("goroutine ")
        || text.starts_with("created by ")
        || text.contains(", called at ")
        || is_go_call(text)
}

/// Returns whether a line is a function of a backtrace of Go: `main.main()`, `main.f(0x1, ...)`.
fn is_go_call(text: &str) -> bool {
    let arguments = text.rsplit_once('(').and_then(|(_name, rest)| rest.strip_suffix(')'));
    let is_frame =
        |it: &str| matches!(it, "" | "...") || it.starts_with("0x") || it.starts_with("{0x");
    text.contains('.') && arguments.is_some_and(is_frame)
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
    fn the_line_that_names_the_error_goes_before_what_comes_after_it() {
        let rust = "thread 'main' panicked at src/main.rs:2:5:\nno key\nstack backtrace:\n   0: \
                    __rustc::rust_begin_unwind\n             at /rustc/1/std/src/panicking.rs:5:5\n  \
                    21: std::rt::lang_start\n             at /rustc/1/std/src/rt.rs:2:5\n  22: main\n\
                    note: Some details are omitted, run with `RUST_BACKTRACE=full`\n";
        let go = "panic: no key\n\ngoroutine 1 [running]:\nmain.open(...)\n\t/app/main.go:7 +0x1d\n\
                  panic({0x45e0a0?, 0x1})\nmain.main()\n\t/app/main.go:3 +0x2\nexit status 2\n";
        let python = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    \
                      open_key()\n    ~~~~^^\nKeyError: 'no key'\n\nDuring handling, another:\n\n\
                      Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    \
                      stop()\nValueError: no key\nclosing the log\n";
        let pytest = "    def test_key():\n>       assert key() == 1\nE       AssertionError: no key\nE    \
                         +  where 0 = key()\n\ntest_a.py:3: AssertionError\n==== 1 failed in 0.1s ====\n";
        let ruby = "a.rb:1:in `key': no key (RuntimeError)\n\tfrom a.rb:3:in `<main>'\n";
        let php = "PHP Fatal error:  Uncaught Exception: no key in /a.php:1\nStack trace:\n#0 {main}\n  \
                   thrown in /a.php on line 1\n";
        let java =
            "Exception in thread \"main\" java.lang.Error: no key\n\tat a.B.main(B.java:3)\n";
        let haskell =
            "a: no key\nCallStack (from HasCallStack):\n  error, called at a.hs:1:8 in main:Main\n";
        let cargo = "error[E0425]: cannot find `x`\n --> a.rs:1:1\n\nwarning: build failed, waiting for \
                     other jobs to finish...\n";
        let git = "fatal: no key\nthe hook has ended\n";
        for (text, line) in [
            (rust, "no key"),
            (go, "panic: no key"),
            (python, "ValueError: no key"),
            (pytest, "AssertionError: no key"),
            (ruby, "a.rb:1:in `key': no key (RuntimeError)"),
            (php, "PHP Fatal error:  Uncaught Exception: no key in /a.php:1"),
            (java, "Exception in thread \"main\" java.lang.Error: no key"),
            (haskell, "a: no key"),
            (cargo, "error[E0425]: cannot find `x`"),
            (git, "fatal: no key"),
        ] {
            assert_eq!(chosen(text, "").as_deref(), Some(line), "{text}");
        }
        let output = "E       AssertionError: no key\n\n1 failed\n";
        assert_eq!(chosen("a warning\n", output).unwrap(), "AssertionError: no key");
        assert_eq!(chosen("errors were found\nno key\n", "").unwrap(), "no key");
        assert_eq!(chosen("one\na.KeyError('no key')\n", "").unwrap(), "a.KeyError('no key')");
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
