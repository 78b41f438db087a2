//! Prompts with placeholders, parsed once and filled for each task. The values are plain text: no
//! shell reads them.

use protocol::Item;

use super::script_template::{
    ItemsPerTask, Placeholder, next_placeholder, no_items_error, unknown_placeholder,
};
use super::yield_placeholder::{TextKind, is_yield, misplaced};
use crate::error::Error;

/// A prompt with placeholders. A backslash before a placeholder makes it plain text.
#[derive(Clone, Debug)]
pub(super) struct PromptTemplate {
    pieces: Vec<PromptPiece<Placeholder>>,
}

/// A piece of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PromptPiece<P> {
    Text(String),
    /// A placeholder, and how it was written.
    Place {
        what: P,
        written: String,
    },
}

/// The hint for a user who wants two literal braces instead of a placeholder.
pub(super) const LITERAL: &str = "write \\{{ where two braces are meant";

impl PromptTemplate {
    /// Parses a prompt.
    ///
    /// # Errors
    /// A placeholder is unknown, or stands for one item where a task gets a chunk.
    pub(super) fn read(prompt: &str, portion: ItemsPerTask) -> Result<Self, Error> {
        let known = |name: &str| {
            if is_yield(name) {
                return Err(misplaced(name, TextKind::Prompt));
            }
            let what = Placeholder::of(name).ok_or_else(|| unknown_placeholder(name, LITERAL))?;
            what.check_items(name, portion)?;
            Ok(Some(what))
        };
        Ok(Self { pieces: split(prompt, |_any| true, known)? })
    }

    /// Fills the prompt for the task number `index`, counted from 1, with these items.
    pub(super) fn fill(&self, index: usize, items: &[Item]) -> String {
        let mut prompt = String::new();
        for piece in &self.pieces {
            match piece {
                PromptPiece::Text(text) => prompt.push_str(text),
                PromptPiece::Place { what, .. } => match what.value(index, items.first()) {
                    Some(value) => prompt.push_str(&value),
                    None => {
                        let all: Vec<_> = items.iter().map(|item| item.item.as_str()).collect();
                        prompt.push_str(&all.join("\n"));
                    }
                },
            }
        }
        prompt
    }
}

/// Returns the text of a prompt that is used without items. Words in two braces stay unchanged if
/// they are not placeholders.
///
/// # Errors
/// The prompt has a placeholder.
pub fn without_items(prompt: &str) -> Result<String, Error> {
    let ours = |name: &str| is_yield(name) || Placeholder::of(name).is_some();
    let pieces = split::<Placeholder>(prompt, ours, |name| {
        if is_yield(name) {
            return Err(misplaced(name, TextKind::Prompt));
        }
        match ours(name) {
            true => Err(no_items_error(name, "regatta run --each SPEC TASK").hint(LITERAL)),
            false => Ok(None),
        }
    })?;
    let text = |piece| match piece {
        PromptPiece::Text(text) => text,
        PromptPiece::Place { .. } => String::new(),
    };
    Ok(pieces.into_iter().map(text).collect())
}

/// Splits a prompt at its placeholders, which `known` recognizes; the rest is text. A backslash
/// before a word in braces is removed if the word is `escapable`.
pub(super) fn split<P>(
    prompt: &str,
    escapable: impl Fn(&str) -> bool,
    known: impl Fn(&str) -> Result<Option<P>, Error>,
) -> Result<Vec<PromptPiece<P>>, Error> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = prompt;
    while let Some((before, name, after)) = next_placeholder(rest) {
        let whole = &rest[before.len()..rest.len() - after.len()];
        rest = after;
        let literal = before.strip_suffix('\\').filter(|_| escapable(name));
        match literal {
            Some(before) => text.extend([before, whole]),
            None => match known(name)? {
                Some(what) => {
                    text.push_str(before);
                    pieces.push(PromptPiece::Text(std::mem::take(&mut text)));
                    pieces.push(PromptPiece::Place { what, written: whole.to_owned() });
                }
                None => text.extend([before, whole]),
            },
        }
    }
    text.push_str(rest);
    pieces.push(PromptPiece::Text(text));
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::super::items::{ItemKind, item_with_parts};
    use super::*;

    fn items(all: &[&str]) -> Vec<Item> {
        all.iter().map(|item| item_with_parts((*item).to_owned(), ItemKind::Path)).collect()
    }

    fn filled(prompt: &str, item: &str) -> String {
        PromptTemplate::read(prompt, ItemsPerTask::One).unwrap().fill(7, &items(&[item]))
    }

    #[test]
    fn an_item_is_put_in_as_it_is() {
        let prompt = "Port {{item}} ({{ item.stem }} in {{item.dir}}), number {{index}}.";
        assert_eq!(filled(prompt, "src/a b.c"), "Port src/a b.c (a b in src), number 7.");
        assert_eq!(filled("Fix \"{{item}}\"", "$(x)';"), "Fix \"$(x)';\"");
        assert_eq!(filled("{{item}}", "{{index}}"), "{{index}}", "what is put in is not read");
    }

    #[test]
    fn the_items_of_a_chunk_stand_one_per_line() {
        let chunk = PromptTemplate::read("Port:\n{{items}}\nDone.", ItemsPerTask::Chunk).unwrap();
        assert_eq!(chunk.fill(1, &items(&["a b", "-c"])), "Port:\na b\n./-c\nDone.");
        let error =
            PromptTemplate::read("Port {{item}}", ItemsPerTask::Chunk).unwrap_err().to_string();
        assert!(error.contains("has no meaning with --chunk"), "{error}");
        assert_eq!(filled("All: {{items}}", "a"), "All: a");
    }

    #[test]
    fn an_unknown_placeholder_is_refused_and_a_backslash_makes_it_a_word() {
        let error =
            PromptTemplate::read("Port {{itme}}", ItemsPerTask::One).unwrap_err().to_string();
        assert!(error.starts_with("error: `{{itme}}` is not a placeholder\n"), "{error}");
        let error =
            PromptTemplate::read("Port {{user}}", ItemsPerTask::One).unwrap_err().to_string();
        assert!(error.ends_with("try: write \\{{ where two braces are meant"), "{error}");
        assert_eq!(filled("Write \\{{item}} for {{item}}", "a"), "Write {{item}} for a");
        assert_eq!(filled("Write \\{{user}} for {{item}}", "a"), "Write {{user}} for a");
        assert_eq!(filled("{{}} {{ .x }} {", "a"), "{{}} {{ .x }} {");
    }

    #[test]
    fn without_items_only_a_placeholder_of_ours_is_refused() {
        let own = "Say {{user}} and {{ x | y }} \\d, not \\{{item}}";
        assert_eq!(without_items(own).unwrap(), "Say {{user}} and {{ x | y }} \\d, not {{item}}");
        let error = without_items("Port {{item}}").unwrap_err().to_string();
        assert!(error.starts_with("error: `{{item}}` has no value\n"), "{error}");
        let yielded = "{{tasks.a.yield}}";
        let of_items = PromptTemplate::read(yielded, ItemsPerTask::One).unwrap_err();
        for error in [without_items(yielded).unwrap_err(), of_items] {
            let said = error.to_string();
            assert!(said.starts_with("error: `{{tasks.a.yield}}` has no value\n"), "{said}");
            assert!(said.contains("plan"), "{said}");
        }
    }
}
