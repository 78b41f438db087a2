//! Reads redirections: what they read and write, and the words behind them.

use engine::ports::{ShellPart, ShellWord};
use tree_sitter::Node;

use super::{Script, is_word};
use crate::word::word;

impl<'t> Script<'_, 't> {
    /// Reads a redirection. Returns the words behind it, which are arguments of its command.
    pub(super) fn redirect(&mut self, node: Node<'t>, level: usize) -> Vec<ShellWord> {
        match node.kind() {
            "file_redirect" => self.file_redirect(node, level),
            "heredoc_redirect" => self.heredoc(node, level),
            _ => {
                self.reader.parts.push(ShellPart::Stream);
                self.substitutions(node, level);
                Vec::new()
            }
        }
    }

    fn file_redirect(&mut self, node: Node<'t>, level: usize) -> Vec<ShellWord> {
        let mut cursor = node.walk();
        let children: Vec<_> = node.children(&mut cursor).collect();
        let (mut operator, mut words) = ("", Vec::new());
        for child in children {
            if !child.is_named() {
                operator = child.kind();
            } else if child.kind() != "file_descriptor" {
                self.substitutions(child, level);
                words.push(word(self.text(child)));
            }
        }
        let more = words.split_off(words.len().min(1));
        let part = match (operator, words.pop()) {
            ("<&-" | ">&-", target) => {
                if target.is_some() || !more.is_empty() {
                    self.reader.undecidable("a word follows a redirection");
                }
                ShellPart::Stream
            }
            (operator, Some(target)) => {
                let is_stream = target.literal().is_some_and(|text| match operator {
                    ">&" | "<&" => text == "-" || text.bytes().all(|digit| digit.is_ascii_digit()),
                    _ => matches!(text, "/dev/null" | "/dev/stdout" | "/dev/stderr"),
                });
                match operator {
                    _ if is_stream => ShellPart::Stream,
                    "<" => ShellPart::Input(target),
                    ">" | ">>" | "&>" | "&>>" | ">|" | ">&" => ShellPart::Output(target),
                    _ => ShellPart::Undecidable("its redirection is not known"),
                }
            }
            (_, None) => ShellPart::Undecidable("its redirection is not known"),
        };
        self.reader.parts.push(part);
        more
    }

    fn heredoc(&mut self, node: Node<'t>, level: usize) -> Vec<ShellWord> {
        self.reader.parts.push(ShellPart::Stream);
        let mut cursor = node.walk();
        let children: Vec<_> = node.named_children(&mut cursor).collect();
        if !self.has_certain_end(node) {
            self.reader.undecidable("the end of a here-document is not known");
        }
        let mut words = Vec::new();
        for child in children {
            match child.kind() {
                "heredoc_body" => self.substitutions(child, level),
                "heredoc_start" | "heredoc_end" | "file_descriptor" => {}
                "file_redirect" | "herestring_redirect" => {
                    words.extend(self.redirect(child, level))
                }
                kind if is_word(kind) => {
                    self.substitutions(child, level);
                    words.push(word(self.text(child)));
                }
                _ => self.open.push((child, level)),
            }
        }
        words
    }

    /// Returns whether every shell ends a here-document where the syntax tree does: at the first line that is
    /// exactly its delimiter.
    fn has_certain_end(&self, redirect: Node<'t>) -> bool {
        let mut cursor = redirect.walk();
        let children: Vec<_> = redirect.children(&mut cursor).collect();
        let child = |kind: &str| children.iter().find(|child| child.kind() == kind).copied();
        let (Some(start), Some(end)) = (child("heredoc_start"), child("heredoc_end")) else {
            return false;
        };
        let has_tabs = child("<<-").is_some();
        let (Some(delimiter), true) =
            (delimiter(self.text(start)), has_tabs || child("<<").is_some())
        else {
            return false;
        };
        let is_quoted = self.text(start) != delimiter;
        let behind = &self.source[start.end_byte()..];
        let Some((rest, lines)) = behind.split_once('\n') else { return false };
        // What stands behind the delimiter in its line must not go on in the next one.
        let is_apart =
            rest.is_empty() || rest.starts_with([' ', '\t', ';', '|', '&', '<', '>', ')']);
        let is_simple = ['\'', '"'].iter().all(|quote| rest.matches(*quote).count() % 2 == 0)
            && !rest.contains(['(', '`', '\\', '#'])
            && !rest.contains("<<");
        let mut at = self.source.len() - lines.len();
        for line in lines.split('\n') {
            let text = if has_tabs { line.trim_start_matches('\t') } else { line };
            if text == delimiter {
                let found = at + line.len() - text.len()..at + line.len();
                let taken = self.text(end).trim_matches(['\t', '\n']);
                let is_there = taken == delimiter
                    && end.start_byte() <= found.start
                    && found.end <= end.end_byte();
                return is_apart && is_simple && is_there;
            }
            // The shell joins the next line to this one.
            if !is_quoted && line.ends_with('\\') {
                return false;
            }
            at += line.len() + 1;
        }
        false
    }
}

/// Returns the delimiter of a here-document without its quotes, if it is a simple one.
fn delimiter(start: &str) -> Option<&str> {
    let inside = |quote: char| start.strip_prefix(quote)?.strip_suffix(quote);
    let plain = inside('\'').or_else(|| inside('"')).or_else(|| start.strip_prefix('\\'));
    let plain = plain.unwrap_or(start);
    let is_plain = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
    (!plain.is_empty() && plain.bytes().all(is_plain)).then_some(plain)
}
