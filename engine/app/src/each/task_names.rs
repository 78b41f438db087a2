//! The names of tasks: slugs of their items, or of the first words of their prompts.

use std::collections::{HashMap, HashSet};

use icu_normalizer::DecomposingNormalizerBorrowed;
use protocol::TaskName;

use super::items::first_line_title;

/// The most characters of the words that name a task, unless the first word alone has more.
const WORDS: usize = 32;

/// Returns the name of a task that has nothing else to be named by.
pub fn numbered(number: usize) -> TaskName {
    TaskName::nearest(&format!("t{number}"))
}

/// A prompt, and the name that `NAME=prompt` gives its task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPrompt {
    /// The name, if the user has chosen one.
    pub name: Option<TaskName>,
    /// The prompt.
    pub prompt: String,
}

impl NamedPrompt {
    /// Parses a prompt of the command line. Only lower-case letters, digits and `-` before a `=` are a
    /// name, and none where a digit, another `=` or a URL follows, so that `DEBUG=1 fails`, `n=2 is wrong`,
    /// `a == b` and `url=https://a.b fails` are prompts.
    pub fn parse(text: &str) -> Self {
        let is_url =
            |rest: &str| rest.split_whitespace().next().is_some_and(|word| word.contains("://"));
        let is_value = |rest: &str| {
            rest.starts_with(|first: char| first == '=' || first.is_ascii_digit()) || is_url(rest)
        };
        let named = text.split_once('=').filter(|(_, rest)| !is_value(rest));
        let named = named.and_then(|(name, rest)| Some((chosen_name(name).ok()?, rest)));
        match named {
            Some((name, rest)) => Self { name: Some(name), prompt: rest.to_owned() },
            None => Self { name: None, prompt: text.to_owned() },
        }
    }
}

/// Parses the name that the command line gives a task, in `NAME=prompt` or `--name NAME`.
///
/// # Errors
/// Returns the rule.
pub fn chosen_name(name: &str) -> Result<TaskName, String> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let found = name.chars().all(allowed).then(|| name.parse().ok()).flatten();
    found.ok_or_else(|| {
        let near = TaskName::nearest(&first_words(name).replace('_', "-"));
        format!("a NAME has lower-case letters, digits and `-`, at most 48, such as `{near}`")
    })
}

/// Generates the names of tasks. No two differ only in case.
#[derive(Default)]
pub struct NameAllocator {
    taken: HashSet<String>,
    /// The last number used after each prefix. The search for a free number continues from it.
    last: HashMap<String, usize>,
}

/// How many characters of a name are its prefix. A number may replace the end of a long name.
const BEGINNING: usize = 40;

impl NameAllocator {
    /// Returns an allocator that gives none of these names.
    pub fn without<'a>(names: impl IntoIterator<Item = &'a TaskName>) -> Self {
        Self { taken: names.into_iter().map(TaskName::folded).collect(), last: HashMap::new() }
    }

    /// Returns a free name that is made of the first words of `text`.
    pub fn of_words(&mut self, text: &str) -> TaskName {
        self.nearest(&first_words(text))
    }

    /// Returns a free name that is made of a path. A long path loses folders at its beginning, because its
    /// end says more.
    pub fn of_path(&mut self, path: &str) -> TaskName {
        let plain = in_plain_letters(path);
        let mut end = plain.as_str();
        while end.len() > TaskName::SEGMENT
            && let Some((_, below)) = end.split_once('/')
        {
            end = below;
        }
        self.nearest(end)
    }

    /// Returns the nearest free name to `text`.
    fn nearest(&mut self, text: &str) -> TaskName {
        let name = TaskName::nearest(text);
        let folded = name.folded();
        if self.taken.insert(folded.clone()) {
            return name;
        }
        let beginning = folded.get(..BEGINNING).unwrap_or(&folded).to_owned();
        let last = self.last.entry(beginning).or_insert(1);
        loop {
            *last += 1;
            let numbered = name.numbered(*last);
            if self.taken.insert(numbered.folded()) {
                return numbered;
            }
        }
    }
}

/// Returns text with its Latin letters as those of ASCII: `Übung` becomes `Ubung`.
fn in_plain_letters(text: &str) -> String {
    let is_accent = |c: &char| ('\u{300}'..='\u{36f}').contains(c);
    let apart = DecomposingNormalizerBorrowed::new_nfkd();
    let mut plain = String::new();
    for letter in apart.normalize(text).chars().filter(|c| !is_accent(c)) {
        match letter {
            // These have no decomposition.
            'ß' | 'ẞ' => plain.push_str("ss"),
            'æ' | 'Æ' => plain.push_str("ae"),
            'œ' | 'Œ' => plain.push_str("oe"),
            'þ' | 'Þ' => plain.push_str("th"),
            'ø' | 'Ø' => plain.push('o'),
            'ł' | 'Ł' => plain.push('l'),
            'đ' | 'ð' | 'Đ' | 'Ð' => plain.push('d'),
            'ı' => plain.push('i'),
            other => plain.push(other),
        }
    }
    plain
}

/// Returns the first words of the first line in lower case, joined by `-`.
fn first_words(text: &str) -> String {
    let line = in_plain_letters(&first_line_title(text).to_lowercase());
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = line.split(|c| !in_word(c)).filter(|word| !word.is_empty());
    let mut name = String::new();
    for word in words {
        if !name.is_empty() {
            if name.len() + 1 + word.len() > WORDS {
                break;
            }
            name.push('-');
        }
        name.push_str(word);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slugs(texts: &[&str]) -> Vec<String> {
        let mut names = NameAllocator::default();
        texts.iter().map(|text| names.of_path(text).to_string()).collect()
    }

    #[test]
    fn a_name_is_the_slug_of_its_item_and_collisions_are_numbered() {
        assert_eq!(
            slugs(&["src/a.rs", "src-a.rs", "SRC/A.rs"]),
            ["src-a-rs", "src-a-rs-2", "SRC-A-rs-3"]
        );
        assert_eq!(slugs(&["a", "a", "a-2", "a"]), ["a", "a-2", "a-2-2", "a-3"]);
        assert_eq!(slugs(&["a b", "a/b", "A-B"]), ["a-b", "a-b-2", "A-B-3"]);
        assert_eq!(slugs(&["...", "日本", "-"]), ["task", "task-2", "task-3"]);
        assert_eq!(slugs(&["ünï.txt", "Ünï.txt", "Øl/Łódź"]), ["uni-txt", "Uni-txt-2", "ol-lodz"]);
    }

    #[test]
    fn a_long_path_names_its_task_by_its_last_folders() {
        let folders = "packages/second/src/generated/client/version/".to_owned();
        let paths = ["index.ts", "index.js"].map(|file| folders.clone() + file);
        let names = [
            "second-src-generated-client-version-index-ts",
            "second-src-generated-client-version-index-js",
        ];
        assert_eq!(slugs(&[&paths[0], &paths[1]]), names);
        let file = "x".repeat(60);
        assert_eq!(slugs(&[&format!("src/{file}")]), ["x".repeat(48)]);
    }

    #[test]
    fn a_prompt_names_its_task_by_its_first_words_and_equal_ones_are_numbered() {
        let reserved = "fix-it".parse().unwrap();
        let mut names = NameAllocator::without([&reserved]);
        for (prompt, name) in [
            ("Write tests for lib", "write-tests-for-lib"),
            ("write tests for LIB!", "write-tests-for-lib-2"),
            ("Fix it.", "fix-it-2"),
            ("Move every timeout in src/ into src/timeouts.rs.", "move-every-timeout-in-src-into"),
            ("\n # The parser\nMake it faster.", "the-parser"),
            ("Describe parse_plan", "describe-parse_plan"),
            ("supercalifragilisticexpialidocious-and-more", "supercalifragilisticexpialidocious"),
            (&"x".repeat(60), &"x".repeat(48)),
            ("Übungen für die Straße", "ubungen-fur-die-strasse"),
            ("Corrige l’événement à Łódź", "corrige-l-evenement-a-lodz"),
            ("初めまして", "task"),
            ("_", "task-2"),
            ("исправь", "task-3"),
        ] {
            assert_eq!(names.of_words(prompt).as_str(), name, "{prompt}");
        }
    }

    #[test]
    fn a_name_before_the_prompt_has_lower_case_letters_digits_and_hyphens_only() {
        for (text, name, prompt) in [
            ("auth=Write tests.", Some("auth"), "Write tests."),
            ("auth-2=a=b", Some("auth-2"), "a=b"),
            ("2=", Some("2"), ""),
            ("DEBUG=1 fails", None, "DEBUG=1 fails"),
            ("x==1 fails", None, "x==1 fails"),
            ("n=2 is wrong here", None, "n=2 is wrong here"),
            ("timeout=30s is too short", None, "timeout=30s is too short"),
            ("mode=fast breaks it", Some("mode"), "fast breaks it"),
            ("url=https://a.b is bad", None, "url=https://a.b is bad"),
            ("docs=see https://a.b", Some("docs"), "see https://a.b"),
            ("n= 2 tests fail", Some("n"), " 2 tests fail"),
            ("a b=c", None, "a b=c"),
            ("a_b=c", None, "a_b=c"),
            ("-a=b", None, "-a=b"),
            ("=b", None, "=b"),
            (" a=b", None, " a=b"),
            ("no name", None, "no name"),
        ] {
            let read = NamedPrompt::parse(text);
            let found = (read.name.as_ref().map(TaskName::as_str), read.prompt.as_str());
            assert_eq!(found, (name, prompt), "{text}");
        }
    }

    #[test]
    fn the_rule_of_a_name_is_one_line_with_a_name_that_keeps_it() {
        for (given, near) in
            [("Foo", "foo"), ("foo.bar", "foo-bar"), ("foo_bar", "foo-bar"), ("Foo Bär", "foo-bar")]
        {
            let rule = "a NAME has lower-case letters, digits and `-`, at most 48, such as";
            assert_eq!(chosen_name(given), Err(format!("{rule} `{near}`")), "{given}");
            assert_eq!(chosen_name(near).map(String::from), Ok(near.to_owned()));
        }
    }

    #[test]
    fn a_hundred_thousand_items_get_names_at_once() {
        let mut names = NameAllocator::default();
        let long = "x".repeat(60);
        let all: HashSet<_> = (0..100_000)
            .map(|n| match n % 3 {
                0 => names.nearest("the same").folded(),
                1 => names.nearest(&long).folded(),
                _ => names.nearest(&format!("{}{}", &long[..44], n / 6)).folded(),
            })
            .collect();
        assert_eq!(all.len(), 100_000);
    }
}
