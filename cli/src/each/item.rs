//! One item and its parts.

use protocol::Item;

/// How an item came to be, and so what may be done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    /// It names a file, or may: no program shall take it for an option.
    Path,
    /// Someone typed it for this run; it stays as it is.
    Word,
}

/// Makes items.
pub(crate) struct Thing;

impl Thing {
    /// Returns an item with its parts.
    pub(crate) fn of(text: String, naming: Naming) -> Item {
        let whole = text.trim_end_matches('/');
        let (dir, name) = match whole.rsplit_once('/') {
            Some(("", name)) => ("/", name),
            Some((dir, name)) => (dir, name),
            None => (".", whole),
        };
        let stem = match name.rsplit_once('.') {
            Some((stem, _)) if !stem.is_empty() => stem,
            _ => name,
        };
        let (stem, dir) = (guarded(stem.to_owned(), naming), guarded(dir.to_owned(), naming));
        Item { item: guarded(text, naming), stem, dir }
    }
}

/// Puts `./` before what a program would take for an option.
fn guarded(text: String, naming: Naming) -> String {
    if naming == Naming::Path && text.starts_with('-') { format!("./{text}") } else { text }
}

/// Returns whether a text can stand in a script, in every kind of quotes, and be only itself.
pub(super) fn is_plain(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./,:=@%+-".contains(&byte);
    !text.is_empty() && text.bytes().all(plain)
}

/// Returns a text as people read it in a list: one line, and not a long one.
pub(crate) fn one_line(text: &str) -> String {
    const LONGEST: usize = 120;
    let mut line: String = text
        .trim()
        .chars()
        .take(LONGEST)
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    if text.trim().chars().nth(LONGEST).is_some() {
        line.push('…');
    }
    line
}

/// Returns the first line of a text that says something, as people read it in a list.
pub(crate) fn first_line(text: &str) -> String {
    one_line(text.trim().lines().next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str, naming: Naming) -> (String, String, String) {
        let Item { item, stem, dir } = Thing::of(text.to_owned(), naming);
        (item, stem, dir)
    }

    #[test]
    fn an_item_has_a_stem_and_a_folder() {
        let parts = |text| parts(text, Naming::Path);
        let owned = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(parts("src/a/mod.rs"), owned("src/a/mod.rs", "mod", "src/a"));
        assert_eq!(parts("a.tar.gz"), owned("a.tar.gz", "a.tar", "."));
        assert_eq!(parts(".bashrc"), owned(".bashrc", ".bashrc", "."));
        assert_eq!(parts("src/"), owned("src/", "src", "."));
        assert_eq!(parts("/etc"), owned("/etc", "etc", "/"));
        assert_eq!(parts("/"), owned("/", "", "."));
        assert_eq!(parts("fix the tests"), owned("fix the tests", "fix the tests", "."));
    }

    #[test]
    fn no_part_of_a_path_looks_like_an_option_but_a_word_stays_as_typed() {
        assert_eq!(parts("-rf.c", Naming::Path).0, "./-rf.c");
        assert_eq!(parts("-d/-rf.c", Naming::Path).1, "./-rf");
        assert_eq!(parts("-d/-rf.c", Naming::Path).2, "./-d");
        assert_eq!(parts("-5", Naming::Word).0, "-5");
    }

    #[test]
    fn only_what_every_shell_reads_as_itself_is_plain() {
        assert!(is_plain("src/a_b-c.d,e:f=g@h%i+j/0"));
        for odd in ["", "a b", "a'b", "a\"b", "$a", "`a`", "a\nb", "a\\b", "*", "~a", "ä", "a;b"] {
            assert!(!is_plain(odd), "{odd}");
        }
    }

    #[test]
    fn a_line_in_a_list_is_one_line_and_not_a_long_one() {
        assert_eq!(one_line(" a\nb\u{1b}[2J "), "a b [2J");
        assert_eq!(one_line(&"ä".repeat(300)).chars().count(), 121);
        assert_eq!(first_line("\n\n Fix it. \nAll of it."), "Fix it.");
        assert_eq!(first_line(" "), "");
    }
}
