//! Parses a script as the shell does, as far as is needed to know which quotes surround a placeholder.
//!
//! An item with special characters is never written into a script. The script contains the name of
//! a variable instead, and the shell never runs the value of a variable. So if this parser makes a
//! mistake, for instance in a here-document, the shell may split an item or not expand its
//! variable, but it cannot run the item.

use std::mem::take;

/// A parser at a position of a script.
#[derive(Clone, Debug)]
pub(super) struct ShellParser {
    /// The script and the open substitutions, innermost last.
    levels: Vec<Level>,
    escaped: bool,
    dollar: bool,
    opened: bool,
}

#[derive(Clone, Debug)]
struct Level {
    kind: Kind,
    quote: Quote,
    parentheses: usize,
    words: Words,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Script,
    Parentheses,
    Backticks,
    Arithmetic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quote {
    None,
    Single,
    Double,
    Comment,
}

/// The state of a simple command. It tells which word is a script for another shell, as in `sh -c`.
#[derive(Clone, Debug, Default)]
struct Words {
    word: Option<String>,
    names_shell: Seen,
    takes_script: Seen,
    evaluates: Seen,
    inner: Option<Box<ShellParser>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Seen {
    #[default]
    No,
    Yes,
}

/// What replaces a placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// One variable, as one word.
    Variable(&'static str),
    /// All positional parameters, each as one word.
    Parameters,
}

/// The reason why a placeholder cannot be replaced safely at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum UnsafePlacement {
    #[error("it is in arithmetic, where a shell may read a value as a program")]
    Arithmetic,
    #[error("it comes after a backslash")]
    Escaped,
    #[error("it is in a script for another shell, which has other parameters")]
    InnerScript,
}

const SHELLS: [&str; 11] =
    ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "busybox", "su", "rbash"];

impl ShellParser {
    /// Returns a parser at the beginning of a script.
    pub(super) fn new() -> Self {
        let levels = vec![Level::new(Kind::Script)];
        Self { levels, escaped: false, dollar: false, opened: false }
    }

    /// Advances over `text`.
    pub(super) fn read(&mut self, text: &str) {
        text.chars().for_each(|letter| self.step(letter));
    }

    /// Returns `reference` quoted for this position, so that the shell does not split its values.
    /// Advances as if the parser had read a name.
    pub(super) fn substitute(&mut self, reference: Reference) -> Result<String, UnsafePlacement> {
        if self.escaped {
            self.escaped = false;
            return Err(UnsafePlacement::Escaped);
        }
        if self.levels.iter().any(|level| level.kind == Kind::Arithmetic) {
            return Err(UnsafePlacement::Arithmetic);
        }
        let level = self.level();
        if level.quote == Quote::None {
            level.words.begin();
        }
        let quote = level.quote;
        let written = match &mut level.words.inner {
            Some(_) if reference == Reference::Parameters => Err(UnsafePlacement::InnerScript),
            Some(inner) => inner.substitute(reference).map(|inner| escaped(&inner, quote)),
            None => Ok(quoted(reference, quote)),
        };
        if level.words.inner.is_none() {
            level.words.letter('x');
        }
        (self.dollar, self.opened) = (false, false);
        written
    }

    fn level(&mut self) -> &mut Level {
        self.levels.last_mut().expect("the script's own level is never closed")
    }

    fn step(&mut self, letter: char) {
        let (dollar, opened) = (take(&mut self.dollar), take(&mut self.opened));
        if take(&mut self.escaped) {
            if letter != '\n' {
                self.level().words.letter(letter);
            }
            return;
        }
        match (self.level().quote, letter) {
            (Quote::Comment, '\n') => {
                let level = self.level();
                level.quote = Quote::None;
                level.words.end_command();
            }
            (Quote::Comment, _) => {}
            (Quote::Single, '\'') | (Quote::Double, '"') => self.level().quote = Quote::None,
            (Quote::Single, _) => self.level().words.letter(letter),
            (Quote::None | Quote::Double, '\\') => self.escaped = true,
            (Quote::None | Quote::Double, '`') => self.backtick(),
            (Quote::None | Quote::Double, '(') if dollar => {
                self.levels.push(Level::new(Kind::Parentheses));
                self.opened = true;
            }
            (Quote::Double, _) => self.level().words.letter(letter),
            (Quote::None, '(') if opened => {
                let level = self.level();
                (level.kind, level.parentheses) = (Kind::Arithmetic, 1);
            }
            (Quote::None, _) => self.bare(letter),
        }
        self.dollar = letter == '$' && matches!(self.level().quote, Quote::None | Quote::Double);
    }

    /// Reads a character outside of quotes.
    fn bare(&mut self, letter: char) {
        let level = self.level();
        match letter {
            '\'' | '"' => {
                level.words.begin();
                level.quote = if letter == '"' { Quote::Double } else { Quote::Single };
            }
            '#' if level.words.word.is_none() => level.quote = Quote::Comment,
            ' ' | '\t' | '<' | '>' => level.words.end(),
            '\n' | ';' | '&' | '|' => level.words.end_command(),
            '(' => {
                level.parentheses += 1;
                level.words.end_command();
            }
            ')' => self.close(),
            _ => {
                level.words.begin();
                level.words.letter(letter);
            }
        }
    }

    fn close(&mut self) {
        let level = self.level();
        if level.parentheses > 0 {
            level.parentheses -= 1;
            level.words.end_command();
        } else if matches!(level.kind, Kind::Parentheses | Kind::Arithmetic) {
            self.levels.pop();
            self.after_substitution();
        }
    }

    fn backtick(&mut self) {
        let level = self.level();
        if level.kind == Kind::Backticks && level.quote == Quote::None {
            self.levels.pop();
            self.after_substitution();
        } else {
            self.levels.push(Level::new(Kind::Backticks));
        }
    }

    /// Begins a word after a substitution, because the substitution is part of a word.
    fn after_substitution(&mut self) {
        let level = self.level();
        if level.quote == Quote::None {
            level.words.begin();
        }
    }
}

impl Level {
    fn new(kind: Kind) -> Self {
        Self { kind, quote: Quote::None, parentheses: 0, words: Words::default() }
    }
}

impl Words {
    /// Begins a word, unless one has begun.
    fn begin(&mut self) {
        if self.word.is_some() {
            return;
        }
        self.word = Some(String::new());
        let script = self.names_shell == Seen::Yes && self.takes_script == Seen::Yes;
        if script && self.inner.is_none() {
            self.inner = Some(Box::new(ShellParser::new()));
        }
    }

    /// Reads a literal character.
    fn letter(&mut self, letter: char) {
        match (&mut self.inner, &mut self.word) {
            (Some(inner), _) => inner.step(letter),
            (None, Some(word)) => word.push(letter),
            (None, None) => self.word = Some(letter.to_string()),
        }
    }

    fn end(&mut self) {
        let Some(word) = self.word.take() else { return };
        match &mut self.inner {
            Some(inner) if self.evaluates == Seen::Yes => inner.step(' '),
            Some(_) => *self = Self::default(),
            None => self.learn(&word),
        }
    }

    fn learn(&mut self, word: &str) {
        let name = word.rsplit('/').next().unwrap_or_default();
        if SHELLS.contains(&name) {
            self.names_shell = Seen::Yes;
        }
        let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        let takes_script = letters.is_some_and(|letters| letters.contains('c'));
        self.takes_script = if takes_script { Seen::Yes } else { Seen::No };
        if matches!(word, "eval" | "trap") {
            self.evaluates = Seen::Yes;
            self.inner = Some(Box::new(ShellParser::new()));
        }
    }

    fn end_command(&mut self) {
        *self = Self::default();
    }
}

/// Returns a reference whose value is not split inside these quotes.
fn quoted(reference: Reference, quote: Quote) -> String {
    let bare = match reference {
        Reference::Variable(name) => format!("${{{name}}}"),
        Reference::Parameters => "$@".to_owned(),
    };
    match quote {
        Quote::None | Quote::Comment => format!("\"{bare}\""),
        Quote::Double => bare,
        Quote::Single => format!("'\"{bare}\"'"),
    }
}

/// Escapes a part of a script for another shell, so that it can stand inside these quotes.
fn escaped(script: &str, quote: Quote) -> String {
    match quote {
        Quote::Single => script.replace('\'', "'\\''"),
        Quote::None | Quote::Double | Quote::Comment => script
            .chars()
            .flat_map(|letter| {
                let special = match quote {
                    Quote::Double => matches!(letter, '"' | '$' | '\\' | '`'),
                    _ => !letter.is_ascii_alphanumeric(),
                };
                special.then_some('\\').into_iter().chain([letter])
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests;
