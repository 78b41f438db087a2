//! Git's wildcards: `*`, `?`, `[a-z]`, and `**` between slashes, with the same meaning as in git's
//! `wildmatch` and `dir.c`. For every pattern, the time of a match is at most proportional to the
//! length of the pattern times the length of the text.

/// A parsed wildcard pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Glob {
    tokens: Vec<Token>,
    case: Case,
}

/// Whether upper and lower case are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    /// Upper and lower case are distinguished.
    Exact,
    /// Upper and lower case are equal.
    Folded,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// This byte.
    Byte(u8),
    /// One of these bytes.
    Class(Box<[bool; 256]>),
    /// Any run of bytes without a slash.
    Star,
    /// Any number of whole folders, each with its slash.
    Folders,
    /// Any run of bytes.
    AnyPath,
    /// Matches no text. Stands for a malformed part of a pattern.
    Never,
}

impl Glob {
    /// Parses a pattern.
    pub(super) fn new(pattern: &[u8], case: Case) -> Self {
        let mut tokens = Vec::new();
        let mut at = 0;
        while at < pattern.len() {
            let (token, next) = match pattern[at] {
                b'*' => star(pattern, at),
                b'?' => (not_slash(|_| true), at + 1),
                b'[' => class(pattern, at + 1, case).unwrap_or((Token::Never, pattern.len())),
                b'\\' => match pattern.get(at + 1) {
                    // Git does not fold the case of an escaped byte.
                    Some(byte) => (Token::Byte(*byte), at + 2),
                    None => (Token::Never, at + 1),
                },
                byte => (Token::Byte(fold(byte, case)), at + 1),
            };
            tokens.push(token);
            at = next;
        }
        Self { tokens, case }
    }

    /// Returns whether the pattern is malformed, so that it matches no text.
    pub(super) fn is_malformed(&self) -> bool {
        self.tokens.contains(&Token::Never)
    }

    /// Returns whether the whole of `text` matches.
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        // Entry `n` says whether the tokens so far can match the first `n` bytes of the text.
        let mut reached = vec![false; text.len() + 1];
        reached[0] = true;
        for token in &self.tokens {
            reached = self.advance(token, text, &reached);
        }
        reached[text.len()]
    }

    fn advance(&self, token: &Token, text: &[u8], reached: &[bool]) -> Vec<bool> {
        let mut next = vec![false; reached.len()];
        let mut open = false;
        for (length, reached) in reached.iter().enumerate() {
            let before = length.checked_sub(1).map(|before| text[before]);
            match token {
                Token::Star => {
                    open = *reached || open && before != Some(b'/');
                    next[length] = open;
                }
                Token::AnyPath => {
                    open |= *reached;
                    next[length] = open;
                }
                Token::Folders => {
                    next[length] = *reached || open && before == Some(b'/');
                    open |= *reached;
                }
                Token::Byte(_) | Token::Class(_) | Token::Never => {
                    let takes = text.get(length).is_some_and(|byte| self.takes(token, *byte));
                    if *reached && takes {
                        next[length + 1] = true;
                    }
                }
            }
        }
        next
    }

    fn takes(&self, token: &Token, byte: u8) -> bool {
        let byte = fold(byte, self.case);
        match token {
            Token::Byte(wanted) => *wanted == byte,
            Token::Class(members) => members[usize::from(byte)],
            Token::Star | Token::Folders | Token::AnyPath | Token::Never => false,
        }
    }
}

fn fold(byte: u8, case: Case) -> u8 {
    match case {
        Case::Exact => byte,
        Case::Folded => byte.to_ascii_lowercase(),
    }
}

/// Reads a run of stars. Two or more stars also match slashes if they are a whole path component.
/// Git compares a beginning without wildcards separately, so stars that directly follow such a
/// beginning count as the start of a component.
fn star(pattern: &[u8], at: usize) -> (Token, usize) {
    let stars = pattern[at..].iter().take_while(|byte| **byte == b'*').count();
    let (before, rest) = (&pattern[..at], &pattern[at + stars..]);
    let is_literal = !before.iter().any(|byte| matches!(byte, b'*' | b'?' | b'[' | b'\\'));
    if stars < 2 || !(is_literal || before.ends_with(b"/")) {
        return (Token::Star, at + stars);
    }
    match rest {
        [] | [b'\\', b'/', ..] => (Token::AnyPath, at + stars),
        [b'/', ..] => (Token::Folders, at + stars + 1),
        _ => (Token::Star, at + stars),
    }
}

/// Returns the class of every byte for which `fits` is true, except for the slash.
fn not_slash(fits: impl Fn(u8) -> bool) -> Token {
    let mut members = Box::new([false; 256]);
    for byte in 0..=255u8 {
        members[usize::from(byte)] = byte != b'/' && fits(byte);
    }
    Token::Class(members)
}

/// Reads a class after its `[`. Returns `None` if the class is malformed. A pattern with such a
/// class matches nothing.
fn class(pattern: &[u8], start: usize, case: Case) -> Option<(Token, usize)> {
    let mut members = [false; 256];
    let mut at = start;
    let negated = matches!(pattern.get(at)?, b'!' | b'^');
    at += usize::from(negated);
    let first = at;
    loop {
        let byte = *pattern.get(at)?;
        if byte == b']' && at > first {
            break;
        }
        if byte == b'[' && pattern.get(at + 1) == Some(&b':') {
            let rest = &pattern[at + 2..];
            let end = rest.iter().position(|byte| *byte == b']')?;
            if let Some(name) = rest[..end].strip_suffix(b":") {
                let fits = named(name, case)?;
                (0..=255u8).filter(fits).for_each(|byte| members[usize::from(byte)] = true);
                at += end + 3;
                continue;
            }
        }
        let (low, next) = single(pattern, at)?;
        // In git the start of a range is a member even if the range is empty.
        members[usize::from(low)] = true;
        at = next;
        if pattern.get(next) == Some(&b'-') && *pattern.get(next + 1)? != b']' {
            let (high, next) = single(pattern, next + 1)?;
            for byte in low..=high {
                // Git folds the case of ranges, but not of single bytes.
                members[usize::from(fold(byte, case))] = true;
                members[usize::from(byte)] = true;
            }
            at = next;
        }
    }
    Some((not_slash(|byte| members[usize::from(byte)] != negated), at + 1))
}

/// Reads one byte of a class, which a backslash may precede.
fn single(pattern: &[u8], at: usize) -> Option<(u8, usize)> {
    match *pattern.get(at)? {
        b'\\' => Some((*pattern.get(at + 1)?, at + 2)),
        byte => Some((byte, at + 1)),
    }
}

/// Returns the test for a named class such as `[:alpha:]`, as defined in git's own `ctype.h`.
fn named(name: &[u8], case: Case) -> Option<fn(&u8) -> bool> {
    Some(match name {
        b"alnum" => u8::is_ascii_alphanumeric,
        b"alpha" => u8::is_ascii_alphabetic,
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        b"cntrl" => u8::is_ascii_control,
        b"digit" => u8::is_ascii_digit,
        b"graph" => u8::is_ascii_graphic,
        b"lower" => u8::is_ascii_lowercase,
        b"print" => |byte| byte.is_ascii_graphic() || *byte == b' ',
        b"punct" => u8::is_ascii_punctuation,
        b"space" => |byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'),
        b"upper" if case == Case::Folded => u8::is_ascii_alphabetic,
        b"upper" => u8::is_ascii_uppercase,
        b"xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_as_gits_do() {
        for (pattern, yes, no) in [
            ("*.o", &["x.o", ".o"][..], &["x.oo", "a/x.o"][..]),
            ("a?c", &["abc"], &["ac", "a/c"]),
            ("[a-c]x", &["bx"], &["dx", "-x"]),
            ("[!a-c]x", &["dx"], &["ax", "/x"]),
            ("[]-]", &["]", "-"], &["a"]),
            ("[[:digit:]_]", &["7", "_"], &["a"]),
            ("[\\]]", &["]"], &["\\"]),
            ("a/**/z", &["a/z", "a/b/z", "a/b/c/z"], &["az", "a/bz"]),
            ("**/z", &["z", "a/z", "a/b/z"], &["az"]),
            ("a/**", &["a/b", "a/b/c"], &["a"]),
            ("a**z", &["abz", "az"], &["a/z"]),
            ("a/***/z", &["a/z", "a/b/c/z"], &["az"]),
            ("a**/z", &["az", "abc/d/z"], &["bz"]),
            ("[a-\\]]", &["a"], &["]", "b", "-", "\\"]),
            ("[A-\\]]", &["A", "[", "]"], &["a", "-"]),
            ("\\*", &["*"], &["a"]),
            ("[ab", &[], &["[ab", "a"]),
            ("a\\", &[], &["a", "a\\"]),
        ] {
            let glob = Glob::new(pattern.as_bytes(), Case::Exact);
            for text in yes {
                assert!(glob.matches(text.as_bytes()), "{pattern} must match {text}");
            }
            assert_eq!(glob.is_malformed(), yes.is_empty(), "{pattern}");
            for text in no {
                assert!(!glob.matches(text.as_bytes()), "{pattern} must not match {text}");
            }
        }
        assert!(Glob::new(b"A[A-B]?", Case::Folded).matches(b"abC"));
    }

    #[test]
    fn a_hostile_pattern_takes_no_longer_than_its_size() {
        let glob = Glob::new("a*".repeat(500).as_bytes(), Case::Exact);
        assert!(!glob.matches("a".repeat(499).as_bytes()));
        assert!(glob.matches("a".repeat(4000).as_bytes()));
    }
}
