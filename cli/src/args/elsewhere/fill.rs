//! Fills the places of a suggestion, such as `<RUN>`, with what was typed. A place that nothing was typed
//! for is shown as it stands: `regatta runs retry <RUN>` becomes `regatta runs retry RUN`.

use protocol::RunName;

use crate::render::{shell_word, shell_words};

/// Returns `text` with its places filled. `typed` returns what was typed for a place.
pub(super) fn filled(text: &str, typed: impl Fn(&str) -> Option<String>) -> String {
    let mut parts = text.split('<');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (place, after) = part.split_once('>').unwrap_or((part, ""));
        filled.push_str(&typed(place).unwrap_or_else(|| place.to_owned()));
        filled.push_str(after);
    }
    filled
}

/// Returns what the words of a mistyped command have for a place.
pub(super) fn from_words(place: &str, words: &[&str]) -> Option<String> {
    let rest = words.get(1..).unwrap_or_default();
    match place {
        "WORDS" => Some(shell_words(words)),
        "LINE" => Some(shell_word(&shell_words(words))),
        "RUN" | "RUN/TASK" => {
            rest.iter().find(|word| may_be_target(word)).map(|word| shell_word(word))
        }
        _ if rest.is_empty() || rest.iter().any(|word| word.starts_with('-')) => None,
        _ => Some(shell_word(&rest.join(" "))),
    }
}

/// Returns what the value of a mistyped option has for a place.
pub(super) fn from_value(place: &str, value: &str) -> Option<String> {
    let is_number = |text: &str| {
        let all = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
        all && text.starts_with(|c: char| c.is_ascii_digit())
    };
    match place {
        "NAME" => value.split('=').next().map(shell_word),
        "NAME=VALUE" => Some(match value.split_once('=') {
            Some((name, value)) if !is_secret(name) => format!("{name}={}", shell_word(value)),
            Some((name, _)) => format!("{name}=VALUE"),
            None => format!("{value}=VALUE"),
        }),
        "RUN" => may_be_target(value).then(|| shell_word(value)),
        place if place == "N" || is_number(place) => is_number(value).then(|| value.to_owned()),
        _ => Some(shell_word(value)),
    }
}

/// Returns whether no message quotes the value of a variable with this name.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| name.contains(word))
}

/// Returns whether a word looks like a run or a task of one: `@`, `r7k3f`, the beginning `r7`, or one of
/// these with a task behind it. A word without a digit that has vowels is taken for a word.
pub(in crate::args) fn may_be_target(word: &str) -> bool {
    let run = word.split('/').next().unwrap_or_default();
    let has_digit = run.contains(|c: char| c.is_ascii_digit());
    let is_name = has_digit || !run.contains(['a', 'e', 'y']);
    // The beginning of a name is one as soon as it is long enough.
    let is_run = |run: &str| run.parse::<RunName>().is_ok();
    run == "@" || is_name && is_run(run) || has_digit && is_run(&format!("{run:0<5}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_what_was_typed_for_it_or_stays() {
        let of_words = |text: &str, words: &[&str]| filled(text, |place| from_words(place, words));
        assert_eq!(of_words("show <RUN>, or <RUN/TASK>", &["ls", "-l"]), "show RUN, or RUN/TASK");
        assert_eq!(of_words("diff <RUN/TASK>", &["patch", "-p1", "@/a b"]), "diff '@/a b'");
        assert_eq!(
            of_words("--exec <LINE>", &["make", "a b", "-j4"]),
            r"--exec 'make '\''a b'\'' -j4'"
        );
        assert_eq!(of_words("-p <PROMPT>", &["ask", "why", "so"]), "-p 'why so'");
        assert_eq!(of_words("-p <PROMPT>", &["ask", "-p", "why"]), "-p PROMPT");
        for (text, value, expected) in [
            ("--jobs <N>", "3", "--jobs 3"),
            ("--jobs <N>", "fix it", "--jobs N"),
            ("wall=<20m>", "90", "wall=90"),
            ("wall=<20m>", "soon", "wall=20m"),
            ("--repo <DIR>", "a b", "--repo 'a b'"),
            ("--pass-env <NAME>, with <NAME=VALUE>", "A=b c", "--pass-env A, with A='b c'"),
            ("--pass-env <NAME>, with <NAME=VALUE>", "A", "--pass-env A, with A=VALUE"),
            ("<NAME=VALUE> regatta", "MY_API_KEY=sk-1", "MY_API_KEY=VALUE regatta"),
        ] {
            assert_eq!(filled(text, |place| from_value(place, value)), expected);
        }
    }

    #[test]
    fn a_run_is_told_from_a_word() {
        for run in ["@", "@/auth", "r7k3f", "R7K3F", "r1", "r7k/auth", "rkmwp", "r7k3f/src/a.rs"] {
            assert!(may_be_target(run), "{run}");
        }
        for word in ["", "r", "rm", "retry", "rsync", "research", "auth", "main", "5", "run1", "@a"]
        {
            assert!(!may_be_target(word), "{word}");
        }
    }
}
