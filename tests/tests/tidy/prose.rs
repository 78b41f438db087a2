//! Words that make a sentence hard to read, and that users must not meet: a passive without an actor
//! ("is told" for reported or printed), subjects that name no one, and "is no X".

use proc_macro2::{TokenStream, TokenTree};

use super::workspace::{root, sources, text};

const AVOIDED: [&str; 5] = ["is told", "are told", "nobody", "somebody", "whoever"];

/// "is no X" is "is not an X", but for these words before or behind it.
const IS_NO: &str = "is no";
const BEFORE_IS_NO: [&str; 1] = ["there"];
const BEHIND_IS_NO: [&str; 3] = ["longer", "more", "one"];

/// Returns the words of the list that a text has, in any case, as whole words.
fn avoided(text: &str) -> Vec<&'static str> {
    let letters = |letter: char| if letter.is_alphanumeric() { letter } else { ' ' };
    let plain: String = text.to_lowercase().chars().map(letters).collect();
    let words: Vec<_> = plain.split_whitespace().collect();
    let text = format!(" {} ", words.join(" "));
    let is_no = words.windows(4).any(|four| {
        four[1..3] == ["is", "no"]
            && !BEFORE_IS_NO.contains(&four[0])
            && !BEHIND_IS_NO.contains(&four[3])
    });
    let found = AVOIDED.into_iter().filter(|word| text.contains(&format!(" {word} ")));
    found.chain(is_no.then_some(IS_NO)).collect()
}

/// Returns a page without its code: blocks between fences, and words between backticks.
fn without_code(page: &str) -> String {
    let blocks = page.split("```").step_by(2);
    blocks.flat_map(|block| block.split('`').step_by(2)).collect::<Vec<_>>().join(" ")
}

/// Returns the pages of the workspace, each with its path.
fn pages() -> Vec<(String, String)> {
    let docs = std::fs::read_dir(root().join("docs")).expect("there are docs");
    let names = docs.map(|entry| entry.expect("docs can be listed").file_name());
    let docs = names.map(|name| format!("docs/{}", name.to_string_lossy()));
    let docs = docs.filter(|path| path.ends_with(".md"));
    let above = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(str::to_owned);
    let paths = docs.chain(above);
    paths.map(|path| (path.clone(), text(&path).expect("a page can be read"))).collect()
}

#[test]
fn no_page_has_a_word_that_is_avoided() {
    let pages = pages();
    assert!(pages.len() >= 25, "{} pages", pages.len());
    let paragraphs = pages
        .iter()
        .flat_map(|(path, page)| page.split("\n\n").map(move |paragraph| (path, paragraph)));
    let found = paragraphs.filter_map(|(path, paragraph)| {
        let found = avoided(&without_code(paragraph));
        (!found.is_empty()).then(|| format!("{path}: {found:?} in {paragraph}"))
    });
    assert_eq!(found.collect::<Vec<_>>(), Vec::<String>::new());
}

/// Whether the comments of items are text for users.
#[derive(Clone, Copy, PartialEq)]
enum Docs {
    Read,
    Skipped,
}

/// Finds the literals below `tokens`, but not in tests.
fn literals(tokens: TokenStream, docs: Docs, found: &mut Vec<String>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(sign) if sign.as_char() == '#' => {
                tokens.next_if(|next| next.to_string() == "!");
                let attribute = tokens.peek().map(ToString::to_string).unwrap_or_default();
                let attribute = attribute.replace(' ', "");
                if attribute == "[cfg(test)]" {
                    let is_end = |token: &TokenTree| token.to_string().ends_with(['}', ';']);
                    tokens.by_ref().find(is_end);
                } else if attribute.starts_with("[doc=") && docs == Docs::Skipped {
                    // A comment of an item is an attribute `#[doc = "…"]`.
                    tokens.next();
                }
            }
            TokenTree::Group(group) => literals(group.stream(), docs, found),
            TokenTree::Literal(literal) => found.push(literal.to_string()),
            TokenTree::Punct(_) | TokenTree::Ident(_) => {}
        }
    }
}

#[test]
fn no_message_has_a_word_that_is_avoided() {
    let sources = sources();
    let code = sources.iter().filter(|source| !source.is_test());
    let found = code.flat_map(|source| {
        // The comments of arguments are the text of `--help`.
        let is_help = source.path.starts_with("cli/src/args");
        let docs = if is_help { Docs::Read } else { Docs::Skipped };
        let tokens = source.text.parse().expect("a source is Rust");
        let mut texts = Vec::new();
        literals(tokens, docs, &mut texts);
        let wrong = texts.into_iter().filter(|text| !avoided(text).is_empty());
        wrong.map(|text| format!("{}: {text}", source.path.display())).collect::<Vec<_>>()
    });
    assert_eq!(found.collect::<Vec<_>>(), Vec::<String>::new());
}

/// Finds the first text of each call of `hint` below `tokens`.
fn hints(tokens: TokenStream, found: &mut Vec<String>) {
    let mut is_hint = false;
    for token in tokens {
        if let TokenTree::Group(group) = &token {
            if is_hint {
                let mut texts = Vec::new();
                literals(group.stream(), Docs::Skipped, &mut texts);
                found.extend(texts.into_iter().next());
            }
            hints(group.stream(), found);
        }
        is_hint = matches!(&token, TokenTree::Ident(name) if name == "hint");
    }
}

/// Returns whether a hint begins with a command that has a comma behind it. What is in parentheses or quotes
/// does not count.
fn has_comma_behind(hint: &str) -> bool {
    let hint = hint.trim_matches('"');
    let outside = hint.split('(').map(|part| part.rsplit(')').next().unwrap_or_default());
    let outside: String = outside.collect();
    let outside: String = outside.split(['`', '\'']).step_by(2).collect();
    let is_command = ["regatta ", "--", "git "].iter().any(|start| hint.starts_with(start));
    is_command && (outside.contains(", ") || outside.contains("; "))
}

#[test]
fn a_command_to_type_can_be_copied_without_a_comma() {
    let sources = sources();
    let code = sources.iter().filter(|source| !source.is_test());
    let found = code.flat_map(|source| {
        let mut texts = Vec::new();
        hints(source.text.parse().expect("a source is Rust"), &mut texts);
        let wrong = texts.into_iter().filter(|text| has_comma_behind(text));
        wrong.map(|text| format!("{}: {text}", source.path.display())).collect::<Vec<_>>()
    });
    assert_eq!(found.collect::<Vec<_>>(), Vec::<String>::new());
    assert!(has_comma_behind("regatta -p x, which asks a model"));
    assert!(has_comma_behind("--verify CMD, or leave it out"));
    assert!(!has_comma_behind("regatta --tools a,b 'x, y' (prints c, d)"));
}

#[test]
fn words_are_found_whole_outside_of_code() {
    assert_eq!(avoided("Nobody is told."), ["is told", "nobody"]);
    assert_eq!(avoided("what is\ntold"), ["is told"]);
    assert!(avoided("whosoever tells").is_empty());
    assert_eq!(avoided("A link is no file."), ["is no"]);
    assert!(avoided("There is no file, and it is no longer used.").is_empty());
    let mut found = Vec::new();
    let code = "/// A doc.\nfn f() { g(format!(\"one {}\", \"two\"), 'x') } #[cfg(test)] fn g() { \"test\" }";
    literals(code.parse().expect("it is Rust"), Docs::Skipped, &mut found);
    assert_eq!(found, ["\"one {}\"", "\"two\"", "'x'"]);
    assert_eq!(without_code("a `nobody` b\n```\nwhoever\n```\nc").split_whitespace().count(), 3);
}
