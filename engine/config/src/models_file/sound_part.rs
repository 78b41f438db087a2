//! What is sound of a file of models with a syntax error: an error in one provider leaves the others
//! alone, as far as the indentation tells where each begins.

use std::collections::BTreeMap;

use super::is_provider_name;
use crate::mistake::Mistake;
use crate::yaml::{self, Node, Value};

/// The sound part of a file.
pub(super) struct SoundPart {
    /// The file without the providers that cannot be read.
    pub(super) root: Node,
    /// Those providers, each with its error.
    pub(super) unreadable: Vec<(String, Mistake)>,
}

/// Reads a file that is not YAML as a whole, provider by provider. Returns nothing if it cannot be told
/// where each begins, or if the error is elsewhere.
pub(super) fn sound_part(text: &str) -> Option<SoundPart> {
    let lines: Vec<&str> = text.lines().collect();
    let head = lines.iter().position(|line| is_head(line))?;
    let is_next_key = |line: &&str| has_content(line) && !line.starts_with([' ', '\t']);
    let end = lines.iter().skip(head + 1).position(is_next_key);
    let end = end.map_or(lines.len(), |after| head + 1 + after);
    let mut unreadable = Vec::new();
    let mut providers: BTreeMap<String, (Node, Node)> = BTreeMap::new();
    for (name, block, first) in blocks(&lines[..end], head + 1)? {
        let twice = providers.remove(&name).is_some();
        let read = match twice || unreadable.iter().any(|(other, _)| *other == name) {
            true => Err(Mistake::in_line(1, "it is there twice")),
            false => entry(&block),
        };
        match read {
            Ok((mut key, mut node)) => {
                shift(&mut key, first);
                shift(&mut node, first);
                providers.insert(name, (key, node));
            }
            Err(mistake) => {
                let line = mistake.line.saturating_add(first);
                unreadable.push((name, Mistake { line, ..mistake }));
            }
        }
    }
    if unreadable.is_empty() {
        return None;
    }
    // Lines without anything in the place of the providers keep the numbers of the others.
    let rest = lines.iter().enumerate();
    let rest = rest.map(|(at, line)| if (head..end).contains(&at) { "" } else { *line });
    let mut keys = match yaml::read(&rest.collect::<Vec<_>>().join("\n")).ok()?.value {
        Value::Null => Vec::new(),
        Value::Map(keys) => keys,
        Value::Bool(_) | Value::Integer(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => {
            return None;
        }
    };
    let line = u64::try_from(head).ok()?.saturating_add(1);
    let node = |line, value| Node { line, span: 0..0, value };
    let providers = Value::Map(providers.into_values().collect());
    keys.push((node(line, Value::Text("providers".to_owned())), node(line, providers)));
    Some(SoundPart { root: node(1, Value::Map(keys)), unreadable })
}

/// Returns whether a line begins the providers.
fn is_head(line: &str) -> bool {
    line.strip_prefix("providers:").is_some_and(|rest| !has_content(rest))
}

fn has_content(line: &str) -> bool {
    let text = line.trim();
    !text.is_empty() && !text.starts_with('#')
}

/// Returns the text of each provider from the line `from` on, with its name and the number of the lines
/// before it.
fn blocks(lines: &[&str], from: usize) -> Option<Vec<(String, String, u64)>> {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let usual = indent(lines[from..].iter().find(|line| has_content(line))?);
    let mut starts = Vec::new();
    for (at, line) in lines.iter().enumerate().skip(from).filter(|(_, line)| has_content(line)) {
        let is_tab = line.trim_start_matches(' ').starts_with('\t');
        match indent(line) {
            _ if is_tab && !starts.is_empty() => {}
            depth if is_tab || depth == 0 || depth < usual => return None,
            depth if depth == usual => starts.push(at),
            _ => {}
        }
    }
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    let blocks = starts.iter().zip(ends).map(|(&start, end)| {
        let (name, _) = lines[start].split_once(':')?;
        let name = name.trim().trim_matches(['"', '\'']);
        let block = lines[start..end].join("\n");
        is_provider_name(name).then_some((name.to_owned(), block, u64::try_from(start).ok()?))
    });
    blocks.collect()
}

/// Parses the text of one provider.
fn entry(block: &str) -> Result<(Node, Node), Mistake> {
    if let Value::Map(mut entries) = yaml::read(block)?.value
        && entries.len() == 1
        && let Some(entry) = entries.pop()
    {
        return Ok(entry);
    }
    Err(Mistake::in_line(1, "it is not a mapping"))
}

/// Adds the number of the lines before it to the lines of a node. Its bytes stay those of its part of the text.
fn shift(node: &mut Node, by: u64) {
    node.line = node.line.saturating_add(by);
    match &mut node.value {
        Value::List(nodes) => nodes.iter_mut().for_each(|node| shift(node, by)),
        Value::Map(entries) => entries.iter_mut().for_each(|(key, node)| {
            shift(key, by);
            shift(node, by);
        }),
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Number(_) | Value::Text(_) => {}
    }
}
