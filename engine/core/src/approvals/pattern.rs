//! Matches words and paths with the patterns of rules: `*` in a word is any text, a word `*` any words, and
//! `**` any folders.

use std::path::Path;

use crate::ports::ShellWord;

/// Whether a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Match {
    No,
    /// It depends on what is computed when the command runs.
    Maybe,
    Yes,
}

/// Which names of a command a pattern is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// The name as it is written: `/tmp/cargo` is not `cargo`.
    Written,
    /// Also the last part of a path: `/bin/rm` is `rm`, too.
    Base,
}

/// Matches the words of a command.
pub(super) fn command(pattern: &[String], words: &[ShellWord], names: Names) -> Match {
    let written = matched(pattern, words);
    let base = match words.split_first() {
        Some((ShellWord::Literal(name), rest)) if names == Names::Base && name.contains('/') => {
            let base = name.rsplit('/').next().unwrap_or(name).to_owned();
            let words: Vec<_> =
                std::iter::once(ShellWord::Literal(base)).chain(rest.iter().cloned()).collect();
            matched(pattern, &words)
        }
        _ => Match::No,
    };
    written.max(base)
}

fn matched(pattern: &[String], words: &[ShellWord]) -> Match {
    let fits = |token: &str, word: &ShellWord| word.literal().is_some_and(|it| wildcard(token, it));
    if sequence(pattern, words, "*", fits, |_computed| false) {
        Match::Yes
    } else if sequence(pattern, words, "*", fits, |word| word.literal().is_none()) {
        Match::Maybe
    } else {
        Match::No
    }
}

/// Returns whether `tokens` match all of `items`. A token `star` matches any number of them, and an item that
/// `stretches` stands for any number of tokens.
fn sequence<T>(
    tokens: &[String],
    items: &[T],
    star: &str,
    fits: impl Fn(&str, &T) -> bool,
    stretches: impl Fn(&T) -> bool,
) -> bool {
    // `after[at]`: whether the tokens behind the current one match the items from `at` on.
    let mut after: Vec<bool> = vec![false; items.len() + 1];
    after[items.len()] = true;
    for at in (0..items.len()).rev() {
        after[at] = after[at + 1] && stretches(&items[at]);
    }
    for token in tokens.iter().rev() {
        let mut now = vec![false; items.len() + 1];
        now[items.len()] = token == star && after[items.len()];
        for at in (0..items.len()).rev() {
            let item = &items[at];
            now[at] = (token == star && (after[at] || now[at + 1]))
                || (fits(token, item) && after[at + 1])
                || (stretches(item) && (after[at] || now[at + 1]));
        }
        after = now;
    }
    after[0]
}

/// Returns whether a glob matches a path below the working tree, or a folder that contains it. A glob without
/// `/` is the name of a file or folder anywhere.
pub(super) fn path(glob: &str, path: &Path) -> bool {
    let mut tokens: Vec<String> = glob.split('/').map(str::to_owned).collect();
    if tokens.len() == 1 {
        tokens.insert(0, "**".to_owned());
    }
    // Whatever is below a match matches.
    if tokens.last().is_some_and(|last| last != "**") {
        tokens.push("**".to_owned());
    }
    let names: Vec<_> = path.iter().map(|name| name.to_string_lossy()).collect();
    !names.is_empty()
        && sequence(&tokens, &names, "**", |token, name| wildcard(token, name), |_| false)
}

/// Returns whether a pattern with `*` and `?` matches a text.
fn wildcard(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut here) = (0, 0);
    // The last `*`, and where the text went on behind what it matched.
    let mut star: Option<(usize, usize)> = None;
    while here < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, here));
                at += 1;
            }
            Some(letter) if *letter == '?' || *letter == text[here] => {
                at += 1;
                here += 1;
            }
            _ => match star {
                Some((before, matched)) => {
                    star = Some((before, matched + 1));
                    at = before + 1;
                    here = matched + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_matches_paths_and_what_is_below_them() {
        for (glob, matching, others) in [
            ("docs/**", &["docs", "docs/a", "docs/a/b"][..], &["doc/a", "a/docs/b"][..]),
            ("docs", &["docs", "docs/a", "a/docs/b"], &["docs2", "a"]),
            ("*.md", &["a.md", "b/a.md", "b/a.md/c"], &["a.mdx", "md"]),
            ("src/*.rs", &["src/a.rs"], &["src/b/a.rs", "a/src/a.rs"]),
            ("src/**/*.rs", &["src/a.rs", "src/b/c/a.rs"], &["src/a.md"]),
            (".env", &[".env", "a/.env"], &[".env2", "a.env"]),
            ("a?c", &["abc"], &["ac", "abbc"]),
            ("**/x/**", &["x/a", "b/x/a"], &["x2/a"]),
            ("[id].ts", &["[id].ts"], &["i.ts"]),
        ] {
            for it in matching {
                assert!(path(glob, Path::new(it)), "{glob} {it}");
            }
            for it in others {
                assert!(!path(glob, Path::new(it)), "{glob} {it}");
            }
        }
        assert!(!path("**", Path::new("")));
    }

    #[test]
    fn a_pattern_matches_words_and_what_is_computed_may_match() {
        let of = |pattern: &str, line: &str, names| {
            let pattern: Vec<_> = pattern.split(' ').map(str::to_owned).collect();
            let words: Vec<_> = line
                .split(' ')
                .map(|word| match word.strip_prefix('$') {
                    Some(_) => ShellWord::Computed(word.to_owned()),
                    None => ShellWord::Literal(word.to_owned()),
                })
                .collect();
            command(&pattern, &words, names)
        };
        for (pattern, line, expected) in [
            ("cargo test *", "cargo test", Match::Yes),
            ("cargo test *", "cargo test -p a", Match::Yes),
            ("cargo test *", "cargo test $x", Match::Yes),
            ("cargo test *", "cargo build", Match::No),
            ("cargo test *", "cargo $x", Match::Maybe),
            ("cargo test *", "cargo $x test", Match::Maybe),
            ("cargo test", "cargo test a", Match::No),
            ("cargo test", "cargo test $x", Match::Maybe),
            ("git * main", "git push origin main", Match::Yes),
            ("git * main", "git push origin", Match::No),
            ("git push --force *", "git push $x", Match::Maybe),
            ("npm run test*", "npm run test:unit", Match::Yes),
            ("* --version", "rustc --version", Match::Yes),
            ("rm *", "/bin/rm a", Match::No),
        ] {
            assert_eq!(of(pattern, line, Names::Written), expected, "{pattern}: {line}");
        }
        assert_eq!(of("rm *", "/bin/rm a", Names::Base), Match::Yes);
        let stars = "*a".repeat(100);
        assert!(!wildcard(&stars, &"a".repeat(99)));
    }
}
