//! Git's wildcards: `*`, `?`, `[a-z]`, and `**` between slashes. The time a match takes grows with
//! pattern times text, whatever the pattern.

/// A wildcard pattern, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Glob {
    tokens: Vec<Token>,
    case: Case,
}

/// Whether upper and lower case differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    /// They do.
    Exact,
    /// They are the same.
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
    /// Everything.
    Rest,
    /// Nothing matches.
    Never,
}

impl Glob {
    /// Takes a pattern apart.
    pub(super) fn new(pattern: &[u8], case: Case) -> Self {
        let mut tokens = Vec::new();
        let mut at = 0;
        while at < pattern.len() {
            let (token, next) = match pattern[at] {
                b'*' => star(pattern, at),
                b'?' => (not_slash(|_| true), at + 1),
                b'[' => class(pattern, at + 1, case).unwrap_or((Token::Never, pattern.len())),
                b'\\' => match pattern.get(at + 1) {
                    Some(byte) => (Token::Byte(fold(*byte, case)), at + 2),
                    None => (Token::Never, at + 1),
                },
                byte => (Token::Byte(fold(byte, case)), at + 1),
            };
            tokens.push(token);
            at = next;
        }
        Self { tokens, case }
    }

    /// Returns whether the whole of `text` matches.
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        // Which beginnings of the text the tokens so far can match.
        let mut reached = vec![false; text.len() + 1];
        reached[0] = true;
        for token in &self.tokens {
            reached = self.step(token, text, &reached);
        }
        reached[text.len()]
    }

    fn step(&self, token: &Token, text: &[u8], reached: &[bool]) -> Vec<bool> {
        let mut next = vec![false; reached.len()];
        let mut open = false;
        for (place, reached) in reached.iter().enumerate() {
            let before = place.checked_sub(1).map(|before| text[before]);
            match token {
                Token::Star => {
                    open = *reached || open && before != Some(b'/');
                    next[place] = open;
                }
                Token::Rest => {
                    open |= *reached;
                    next[place] = open;
                }
                Token::Folders => {
                    next[place] = *reached || open && before == Some(b'/');
                    open |= *reached;
                }
                Token::Byte(_) | Token::Class(_) | Token::Never => {
                    let takes = text.get(place).is_some_and(|byte| self.takes(token, *byte));
                    if *reached && takes {
                        next[place + 1] = true;
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
            Token::Star | Token::Folders | Token::Rest | Token::Never => false,
        }
    }
}

fn fold(byte: u8, case: Case) -> u8 {
    match case {
        Case::Exact => byte,
        Case::Folded => byte.to_ascii_lowercase(),
    }
}

/// Reads one star, or two that stand between slashes.
fn star(pattern: &[u8], at: usize) -> (Token, usize) {
    let stars = pattern[at..].iter().take_while(|byte| **byte == b'*').count();
    let begins = at == 0 || pattern[at - 1] == b'/';
    match pattern.get(at + stars) {
        None if stars == 2 && begins => (Token::Rest, at + stars),
        Some(b'/') if stars == 2 && begins => (Token::Folders, at + stars + 1),
        _ => (Token::Star, at + stars),
    }
}

/// A class of every byte that fits, but never the slash.
fn not_slash(fits: impl Fn(u8) -> bool) -> Token {
    let mut members = Box::new([false; 256]);
    for byte in 0..=255u8 {
        members[usize::from(byte)] = byte != b'/' && fits(byte);
    }
    Token::Class(members)
}

/// Reads a class after its `[`. Nothing comes back if it never ends.
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
            let end = rest.windows(2).position(|pair| pair == b":]")?;
            let fits = named(&rest[..end])?;
            (0..=255u8).filter(fits).for_each(|byte| members[usize::from(byte)] = true);
            at += end + 4;
            continue;
        }
        let (low, next) = single(pattern, at)?;
        let ranged = pattern.get(next) == Some(&b'-') && *pattern.get(next + 1)? != b']';
        let (high, next) = if ranged { single(pattern, next + 1)? } else { (low, next) };
        (low..=high).for_each(|byte| members[usize::from(byte)] = true);
        at = next;
    }
    let fits = |byte: u8| {
        let found = members[usize::from(byte)]
            || case == Case::Folded && members[usize::from(byte.to_ascii_uppercase())];
        found != negated
    };
    Some((not_slash(fits), at + 1))
}

fn single(pattern: &[u8], at: usize) -> Option<(u8, usize)> {
    match *pattern.get(at)? {
        b'\\' => Some((*pattern.get(at + 1)?, at + 2)),
        byte => Some((byte, at + 1)),
    }
}

fn named(name: &[u8]) -> Option<fn(&u8) -> bool> {
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
        b"space" => |byte| byte.is_ascii_whitespace() || *byte == 0x0b,
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
            ("a/***/z", &["a/b/z"], &["a/z", "a/b/c/z"]),
            ("\\*", &["*"], &["a"]),
            ("[ab", &[], &["[ab", "a"]),
            ("a\\", &[], &["a", "a\\"]),
        ] {
            let glob = Glob::new(pattern.as_bytes(), Case::Exact);
            for text in yes {
                assert!(glob.matches(text.as_bytes()), "{pattern} must match {text}");
            }
            for text in no {
                assert!(!glob.matches(text.as_bytes()), "{pattern} must not match {text}");
            }
        }
        assert!(Glob::new(b"A[B]?", Case::Folded).matches(b"abC"));
    }

    #[test]
    fn a_hostile_pattern_takes_no_longer_than_its_size() {
        let glob = Glob::new("a*".repeat(500).as_bytes(), Case::Exact);
        assert!(!glob.matches("a".repeat(499).as_bytes()));
        assert!(glob.matches("a".repeat(4000).as_bytes()));
    }
}
