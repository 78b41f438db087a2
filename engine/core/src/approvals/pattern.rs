//! Matches words and paths with the patterns of rules: `*` in a word is any text, a word `*` any words, and
//! `**` any folders.

use std::path::Path;

use super::git;
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
    let mut words: Vec<&ShellWord> = words.iter().collect();
    let written = matched(pattern, &words);
    let Some(name) = words.first().and_then(|word| word.literal()) else { return written };
    if names == Names::Written {
        return written;
    }
    let base = ShellWord::Literal(name.rsplit('/').next().unwrap_or(name).to_owned());
    words[0] = &base;
    let mut best = written.max(matched(pattern, &words));
    if base.literal() == Some("git") {
        let (options, is_certain) = git::options(&words[1..]);
        words.drain(1..=options);
        let found = matched(pattern, &words);
        // What stands behind an unknown option may be the subcommand.
        let is_about_git = pattern.len() > 1 && wildcard(&pattern[0], "git");
        best = best.max(match is_certain {
            true => found,
            false if is_about_git => Match::Maybe,
            false => Match::No,
        });
    }
    best
}

fn matched(pattern: &[String], words: &[&ShellWord]) -> Match {
    let fits = |token: &String, word: &&ShellWord| {
        word.literal().is_some_and(|text| token == "*" || wildcard(token, text))
    };
    let is_star = |token: &String| token == "*";
    let is_computed = |word: &&ShellWord| word.literal().is_none();
    if sequence(pattern, words, is_star, fits) {
        return Match::Yes;
    }
    // A computed word stands for any number of words.
    let may = if !words.iter().any(is_computed) {
        false
    } else if pattern.iter().any(is_star) {
        // Where both have a gap, only what is before the first gaps and behind the last ones can differ.
        let is_open =
            |(token, word): &(&String, &&ShellWord)| !is_star(token) && !is_computed(word);
        let agree = |(token, word): (&String, &&ShellWord)| fits(token, word);
        pattern.iter().zip(words).take_while(is_open).all(agree)
            && pattern.iter().rev().zip(words.iter().rev()).take_while(is_open).all(agree)
    } else {
        sequence(words, pattern, is_computed, |word, token| fits(token, word))
    };
    if may { Match::Maybe } else { Match::No }
}

/// Returns whether `tokens` match all of `items`, where a star matches any number of them.
fn sequence<A, B>(
    tokens: &[A],
    items: &[B],
    is_star: impl Fn(&A) -> bool,
    fits: impl Fn(&A, &B) -> bool,
) -> bool {
    let (mut at, mut here) = (0, 0);
    // Where the tokens go on behind the last star, and the items behind what it matched.
    let mut star: Option<(usize, usize)> = None;
    while here < items.len() {
        match tokens.get(at) {
            Some(token) if is_star(token) => {
                at += 1;
                star = Some((at, here));
            }
            Some(token) if fits(token, &items[here]) => {
                at += 1;
                here += 1;
            }
            _ => match star {
                Some((behind, matched)) => {
                    star = Some((behind, matched + 1));
                    at = behind;
                    here = matched + 1;
                }
                None => return false,
            },
        }
    }
    tokens[at..].iter().all(is_star)
}

/// Returns whether one of the names of a path is one of those of a glob. Without it, a path of which only the
/// end is known cannot be meant by the glob.
pub(super) fn shares_name(glob: &str, path: &str) -> bool {
    let is_name = |token: &&str| !matches!(*token, "" | "." | "**");
    let mut tokens = glob.split('/').filter(is_name).peekable();
    tokens.peek().is_none() || tokens.any(|token| path.split('/').any(|name| wildcard(token, name)))
}

/// Returns whether a glob matches a path below the working tree, or a folder that contains it. A glob without
/// `/` is the name of a file or folder anywhere; with `./`, at the root.
pub(super) fn path(glob: &str, path: &Path) -> bool {
    let anchored = glob.strip_prefix("./");
    let mut tokens: Vec<String> = anchored.unwrap_or(glob).split('/').map(str::to_owned).collect();
    if tokens.len() == 1 && anchored.is_none() {
        tokens.insert(0, "**".to_owned());
    }
    // Whatever is below a match matches.
    if tokens.last().is_some_and(|last| last != "**") {
        tokens.push("**".to_owned());
    }
    let names: Vec<_> = path.iter().map(|name| name.to_string_lossy()).collect();
    !names.is_empty()
        && sequence(&tokens, &names, |token| token == "**", |token, name| wildcard(token, name))
}

/// Returns whether a pattern with `*` matches the name of a tool. Other programs write the name of a server's
/// tool as `mcp__Web__fetch`: the case does not count, and neither does the number of `_`.
#[must_use]
pub fn tool(pattern: &str, name: &str) -> bool {
    wildcard(&tool_name(pattern), &tool_name(name))
}

fn tool_name(name: &str) -> String {
    let mut same = String::new();
    for letter in name.chars() {
        let is_kept = letter.is_ascii_alphanumeric() || letter == '*';
        let letter = if is_kept { letter.to_ascii_lowercase() } else { '_' };
        if letter != '_' || !same.ends_with('_') {
            same.push(letter);
        }
    }
    same
}

/// Returns whether a pattern with `*` and `?` matches a text.
fn wildcard(pattern: &str, text: &str) -> bool {
    let first = |text: &str| text.chars().next();
    let (mut at, mut here) = (0, 0);
    // Where the pattern goes on behind the last `*`, and the text behind what it matched.
    let mut star: Option<(usize, usize)> = None;
    while let Some(letter) = first(&text[here..]) {
        match first(&pattern[at..]) {
            Some('*') => {
                at += 1;
                star = Some((at, here));
            }
            Some(expected) if expected == '?' || expected == letter => {
                at += expected.len_utf8();
                here += letter.len_utf8();
            }
            _ => match star {
                Some((behind, matched)) => {
                    here = matched + first(&text[matched..]).map_or(1, char::len_utf8);
                    star = Some((behind, here));
                    at = behind;
                }
                None => return false,
            },
        }
    }
    pattern[at..].bytes().all(|letter| letter == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_matches_paths_and_what_is_below_them() {
        for (glob, matching, others) in [
            ("docs/**", &["docs", "docs/a", "docs/a/b"][..], &["doc/a", "a/docs/b"][..]),
            ("docs", &["docs", "docs/a", "a/docs/b"], &["docs2", "a"]),
            ("./docs", &["docs", "docs/a"], &["a/docs", "docs2"]),
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
    fn a_pattern_matches_the_names_of_tools_as_other_programs_write_them() {
        for (pattern, name, expected) in [
            ("mcp__web__fetch", "mcp__web_fetch", true),
            ("mcp__Web-Search__fetch", "mcp__web_search_fetch", true),
            ("mcp__github_*", "mcp__github_create_issue", true),
            ("mcp__github_*", "mcp__gitlab_create_issue", false),
            ("mcp__web", "mcp__web_fetch", false),
            ("ls", "LS", true),
            ("grep", "find", false),
        ] {
            assert_eq!(tool(pattern, name), expected, "{pattern} {name}");
        }
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
            ("cargo * x", "cargo $a x y", Match::No),
            ("a b c", "a $x c", Match::Maybe),
            ("a b c", "a $x d", Match::No),
            ("* a * b", "x a y a b", Match::Yes),
            ("* a * b", "x a y b a", Match::No),
            ("rm *", "/bin/rm a", Match::No),
            ("git push *", "git -C . push", Match::No),
        ] {
            assert_eq!(of(pattern, line, Names::Written), expected, "{pattern}: {line}");
        }
        for (pattern, line, expected) in [
            ("rm *", "/bin/rm a", Match::Yes),
            ("git push *", "git -C . push", Match::Yes),
            ("git push *", "/usr/bin/git -c a.b=c --no-pager push origin", Match::Yes),
            ("git push *", "git --git-dir=x --work-tree y push", Match::Yes),
            ("git push *", "git -C push status", Match::No),
            ("git push *", "git --unknown push", Match::Maybe),
            ("git push *", "git -C $x status", Match::Maybe),
            ("git push *", "git -c alias.x=push x", Match::Maybe),
            ("git push *", "git -C", Match::No),
            ("rm *", "git --unknown push", Match::No),
            ("git *", "git -C . status", Match::Yes),
        ] {
            assert_eq!(of(pattern, line, Names::Base), expected, "{pattern}: {line}");
        }
        let stars = "*a".repeat(100);
        assert!(!wildcard(&stars, &"a".repeat(99)));
    }

    #[test]
    fn a_rule_with_many_stars_is_matched_in_one_pass_over_a_long_command() {
        let pattern: Vec<_> = ["*", "a"].repeat(250).into_iter().map(str::to_owned).collect();
        let mut words = vec![ShellWord::Literal("a".to_owned()); 30_000];
        words.push(ShellWord::Literal("b".to_owned()));
        let compared = std::cell::Cell::new(0);
        let is_star = |token: &String| token == "*";
        let fits = |token: &String, word: &ShellWord| {
            compared.set(compared.get() + 1);
            word.literal() == Some(token)
        };
        assert!(!sequence(&pattern, &words, is_star, fits));
        assert!(compared.get() < 100_000, "{}", compared.get());
    }
}
