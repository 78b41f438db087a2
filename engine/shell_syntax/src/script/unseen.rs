//! Finds what a shell may run although the syntax tree has no node for it.

use tree_sitter::Node;

const SUBSTITUTION: &str = "it has a substitution that the parser does not see";
const QUOTE: &str = "it has a quote where shells differ";

/// Returns why a script may run more than its syntax tree shows, if it may.
pub(super) fn reason(root: Node<'_>, source: &str) -> Option<&'static str> {
    // Where a substitution may begin or end, by the first byte.
    let mut doubtful = beginnings(source);
    let mut open = vec![(root, false)];
    while let Some((node, mut is_quoted)) = open.pop() {
        let range = node.byte_range();
        let text = &source[range.clone()];
        match node.kind() {
            "raw_string" | "comment" => doubtful[range].fill(false),
            "ansi_c_string" if text.contains("\\'") => return Some(QUOTE),
            "ansi_c_string" => doubtful[range].fill(false),
            "command_substitution" | "arithmetic_expansion" => {
                if text.starts_with('`') {
                    doubtful[range.end - 1] = false;
                } else if is_quoted && node.kind() == "arithmetic_expansion" && is_unsure(text) {
                    return Some(QUOTE);
                }
                if !text.is_empty() {
                    doubtful[range.start] = false;
                }
                is_quoted = false;
            }
            "process_substitution" => is_quoted = false,
            "expansion" if is_quoted && is_unsure(text) => return Some(QUOTE),
            "string" | "translated_string" => is_quoted = true,
            "heredoc_body" => {
                if is_literal(node, source) {
                    doubtful[range].fill(false);
                    continue;
                }
                is_quoted = true;
            }
            _ => {}
        }
        let mut cursor = node.walk();
        open.extend(node.children(&mut cursor).map(|child| (child, is_quoted)));
    }
    doubtful.contains(&true).then_some(SUBSTITUTION)
}

/// Returns for each byte whether it is a backtick, or the dollar sign of `$(`, without a backslash before it.
fn beginnings(source: &str) -> Vec<bool> {
    let bytes = source.as_bytes();
    let mut is_escaped = false;
    let is_beginning =
        |at: usize| bytes[at] == b'`' || (bytes[at] == b'$' && bytes.get(at + 1) == Some(&b'('));
    let escaped = |at: usize| {
        let was = is_escaped;
        is_escaped = bytes[at] == b'\\' && !was;
        was
    };
    let escaped: Vec<bool> = (0..bytes.len()).map(escaped).collect();
    (0..bytes.len()).map(|at| is_beginning(at) && !escaped[at]).collect()
}

/// Returns whether shells may see another end of an expansion in double quotes.
fn is_unsure(expansion: &str) -> bool {
    expansion.contains(['\'', '"', '\\'])
}

/// Returns whether nothing is expanded in the body of a here-document.
fn is_literal(body: Node<'_>, source: &str) -> bool {
    let Some(redirect) = body.parent() else { return false };
    let mut cursor = redirect.walk();
    redirect
        .children(&mut cursor)
        .filter(|child| child.kind() == "heredoc_start")
        .any(|start| source[start.byte_range()].contains(['\'', '"', '\\']))
}
