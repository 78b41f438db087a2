//! Patterns of rules that can match nothing.

use crate::quote_within;

/// Returns why a pattern matches no command, and what to write in its place; `None` if it may match one.
pub(crate) fn never_a_command(pattern: &str) -> Option<(&'static str, String)> {
    let rule = |pattern: &str| format!("`bash({})`", quote_within(pattern.trim(), 60));
    if pattern.contains(['"', '\'']) {
        let plain = pattern.replace(['"', '\''], "");
        return Some(("the words of a command are compared without their quotes", rule(&plain)));
    }
    let words: Vec<&str> = pattern.split_whitespace().collect();
    let joins = |word: &str| {
        matches!(word, "|" | "|&" | "&")
            || word.contains("&&")
            || word.contains("||")
            // A `;` by itself may end the command of `find -exec`.
            || (word.len() > 1 && word.ends_with(';') && !word.ends_with("\\;"))
    };
    if words.iter().any(|word| joins(word)) {
        let split = words.iter().flat_map(|word| match *word {
            "|" | "|&" | "&" => vec!["\0".to_owned()],
            word if joins(word) => {
                let apart = word.replace("&&", " \0 ").replace("||", " \0 ").replace(';', " \0 ");
                apart.split_whitespace().map(str::to_owned).collect()
            }
            word => vec![word.to_owned()],
        });
        let split = split.collect::<Vec<_>>().join(" ");
        let parts = split.split('\0').map(str::trim).filter(|part| !matches!(*part, "" | "*"));
        let rules: Vec<_> = parts.map(rule).collect();
        let instead = if rules.is_empty() { "`bash`".to_owned() } else { rules.join(", ") };
        return Some(("each command of a line is compared by itself", instead));
    }
    let redirects = |word: &str| {
        let is_number = |letter: char| letter.is_ascii_digit() || letter == '&';
        let operator = word.trim_start_matches(is_number);
        let is_mark_up = operator.len() > 2 && operator.ends_with('>');
        operator.starts_with(['>', '<']) && !is_mark_up
    };
    if let Some(at) = words.iter().position(|word| redirects(word)) {
        let instead = match words[..at].join(" ") {
            command if command.is_empty() => "`edit(FILE)`".to_owned(),
            command => format!("{}, and `edit(FILE)` or `read(FILE)` for the file", rule(&command)),
        };
        return Some(("what a command redirects is compared by itself", instead));
    }
    let (first, rest) = words.split_first()?;
    let is_variable = first.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    });
    is_variable.then(|| {
        let instead =
            if rest.is_empty() { "`bash(COMMAND)`".to_owned() } else { rule(&rest.join(" ")) };
        ("a variable before a command is not compared", instead)
    })
}

/// Returns why a glob matches no path, and what to write in its place; `None` if it may match one.
pub(crate) fn never_a_path(tool: &str, pattern: &str) -> Option<(&'static str, String)> {
    if pattern.starts_with('!') {
        let instead = "what it is about in `allow`, `ask` or `deny`".to_owned();
        return Some(("a rule has no exceptions", instead));
    }
    let plain = pattern.replace('\\', "/");
    let names = plain.split('/').filter(|name| !matches!(*name, "" | "."));
    let names = names.collect::<Vec<_>>().join("/");
    let instead = match names.as_str() {
        "" => format!("`{tool}`"),
        names => format!("`{tool}({})`", quote_within(names, 60)),
    };
    if pattern.contains('\\') {
        return Some(("the names of a path stand apart by `/`, and `\\` escapes nothing", instead));
    }
    let below = pattern.strip_prefix("./").unwrap_or(pattern).trim_end_matches('/');
    let is_odd = |name: &str| matches!(name, "" | ".");
    (!pattern.starts_with('/') && !below.is_empty() && below.split('/').any(is_odd))
        .then_some(("no path has an empty name or `.` in it", instead))
}
