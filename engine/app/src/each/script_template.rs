//! Shell scripts with placeholders, parsed once and filled for each task.

use protocol::Item;

use super::items::is_plain;
use super::shell_quoting::{Reference, ShellParser, UnsafePlacement};
use super::yield_placeholder::{TextKind, is_yield, misplaced};
use crate::error::Error;

/// A shell script with placeholders.
#[derive(Clone, Debug)]
pub(super) struct ScriptTemplate {
    parts: Vec<ScriptPart>,
}

#[derive(Clone, Debug)]
enum ScriptPart {
    Text(String),
    Place { what: Placeholder, written: Result<String, UnsafePlacement> },
}

/// A placeholder of a script or a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placeholder {
    Index,
    Item,
    Stem,
    Dir,
    Items,
}

const PLACEHOLDERS: [(&str, Placeholder); 5] = [
    ("item", Placeholder::Item),
    ("index", Placeholder::Index),
    ("item.stem", Placeholder::Stem),
    ("item.dir", Placeholder::Dir),
    ("items", Placeholder::Items),
];

/// How many items a task has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemsPerTask {
    /// One item.
    One,
    /// A chunk of items. The placeholder `{{items}}` stands for all of them.
    Chunk,
}

impl ScriptTemplate {
    /// Parses a script.
    ///
    /// # Errors
    /// A placeholder is unknown, stands for one item where a task gets a chunk, or cannot be
    /// replaced safely at its position.
    pub(super) fn read(script: &str, portion: ItemsPerTask) -> Result<Self, Error> {
        let (mut parts, mut shell) = (Vec::new(), ShellParser::new());
        let mut rest = script;
        while let Some((before, name, after)) = next_placeholder(rest) {
            let Some(what) = Placeholder::of(name) else {
                if is_yield(name) {
                    return Err(misplaced(name, TextKind::Script));
                }
                return Err(unknown_placeholder(
                    name,
                    "write {''{ where the shell is to see two braces",
                ));
            };
            what.check_items(name, portion)?;
            shell.read(before);
            let written = shell.substitute(what.reference());
            if let (Placeholder::Items, Err(reason)) = (what, &written) {
                return Err(cannot_place(name, reason));
            }
            parts.push(ScriptPart::Text(before.to_owned()));
            parts.push(ScriptPart::Place { what, written });
            rest = after;
        }
        parts.push(ScriptPart::Text(rest.to_owned()));
        Ok(Self { parts })
    }

    /// Returns whether the script has `{{items}}`.
    pub(super) fn takes_items(&self) -> bool {
        let items =
            |part: &ScriptPart| matches!(part, ScriptPart::Place { what: Placeholder::Items, .. });
        self.parts.iter().any(items)
    }

    /// Fills the script for the task number `index`, counted from 1.
    ///
    /// # Errors
    /// An item cannot be put safely where its placeholder is.
    pub(super) fn fill(&self, index: usize, item: Option<&Item>) -> Result<String, Error> {
        let mut script = String::new();
        for part in &self.parts {
            match part {
                ScriptPart::Text(text) => script.push_str(text),
                ScriptPart::Place { what, written } => {
                    let value = what.value(index, item);
                    match (value.filter(|value| is_plain(value)), written) {
                        (Some(plain), _) => script.push_str(&plain),
                        (None, Ok(written)) => script.push_str(written),
                        (None, Err(reason)) => {
                            let item = item.map(|item| item.item.as_str()).unwrap_or_default();
                            return Err(cannot_place("item", reason)
                                .because(format!("`{item}` is not a plain name")));
                        }
                    }
                }
            }
        }
        Ok(script)
    }
}

impl Placeholder {
    /// Returns the placeholder of this name.
    pub(super) fn of(name: &str) -> Option<Self> {
        PLACEHOLDERS.iter().find(|(known, _)| *known == name).map(|(_, what)| *what)
    }

    /// Checks that the placeholder can be used with one item or with a chunk, as `portion` says.
    pub(super) fn check_items(self, name: &str, portion: ItemsPerTask) -> Result<(), Error> {
        let single = matches!(self, Self::Item | Self::Stem | Self::Dir);
        if single && portion == ItemsPerTask::Chunk {
            return Err(Error::usage(format!("`{{{{{name}}}}}` has no meaning with --chunk"))
                .because("a task has several items then")
                .hint("{{items}}"));
        }
        Ok(())
    }

    fn reference(self) -> Reference {
        match self {
            Self::Item => Reference::Variable("REGATTA_ITEM"),
            Self::Stem => Reference::Variable("REGATTA_ITEM_STEM"),
            Self::Dir => Reference::Variable("REGATTA_ITEM_DIR"),
            // Unused: `fill` writes the number itself, because a number is always plain.
            Self::Index => Reference::Variable("REGATTA_INDEX"),
            Self::Items => Reference::Parameters,
        }
    }

    /// Returns the value, or `None` for `{{items}}`, which does not have a single value.
    pub(super) fn value(self, index: usize, item: Option<&Item>) -> Option<String> {
        match self {
            Self::Index => Some(index.to_string()),
            Self::Item => item.map(|item| item.item.clone()),
            Self::Stem => item.map(|item| item.stem.clone()),
            Self::Dir => item.map(|item| item.dir.clone()),
            Self::Items => None,
        }
    }
}

/// Checks that a script that is used without items has no placeholders.
///
/// # Errors
/// The script has a placeholder.
pub fn refuse_placeholders(script: &str, instead: &str) -> Result<(), Error> {
    let Some((_, name, _)) = next_placeholder(script) else { return Ok(()) };
    if is_yield(name) {
        return Err(misplaced(name, TextKind::Script));
    }
    if Placeholder::of(name).is_none() {
        return Err(unknown_placeholder(name, "write {''{ where the shell is to see two braces"));
    }
    Err(no_items_error(name, instead))
}

/// Returns the error about a placeholder without items.
pub(super) fn no_items_error(name: &str, instead: &str) -> Error {
    let what = format!("`{{{{{name}}}}}` has no value");
    Error::usage(what).because("there are no items").hint(instead)
}

/// Splits a script at its next placeholder: two braces around a word. Other text in two braces, as
/// in `awk '{{ print $1 }}'`, is not a placeholder.
pub(super) fn next_placeholder(script: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(found) = script[from..].find("{{") {
        let open = from + found;
        let inside = &script[open + 2..];
        // Not searched for the end beyond the word: a text of many braces takes no longer than others.
        let end = inside.find(|c| !(is_word(c) || c == ' ')).unwrap_or(inside.len());
        let name = inside[..end].trim_matches(' ');
        if let Some(after) = inside[end..].strip_prefix("}}")
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(is_word)
        {
            return Some((&script[..open], name, after));
        }
        from = open + 1;
    }
    None
}

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-')
}

/// Returns the error about an unknown placeholder. The hint is the most similar known placeholder,
/// or `otherwise` if none is similar.
pub(super) fn unknown_placeholder(name: &str, otherwise: &str) -> Error {
    let known = PLACEHOLDERS.map(|(known, _)| known);
    let error = Error::usage(format!("`{{{{{name}}}}}` is not a placeholder"))
        .because("they are {{item}}, {{index}}, {{item.stem}}, {{item.dir}} and {{items}}");
    match config::nearest(name, known) {
        Some(near) => error.hint(format!("{{{{{near}}}}}")),
        None => error.hint(otherwise),
    }
}

fn cannot_place(name: &str, reason: &UnsafePlacement) -> Error {
    Error::usage(format!("`{{{{{name}}}}}` cannot be put in safely"))
        .because(reason.to_string())
        .hint(match reason {
            UnsafePlacement::InnerScript => "hand them on: sh -c 'ls \"$@\"' sh {{items}}",
            UnsafePlacement::Arithmetic | UnsafePlacement::Escaped => {
                "move it elsewhere, or use \"$REGATTA_ITEM\""
            }
        })
}

#[cfg(test)]
mod tests;
