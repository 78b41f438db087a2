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
        let (mut words, mut delimiter) = (Vec::new(), String::new());
        for child in children {
            match child.kind() {
                "heredoc_start" => {
                    let text = self.text(child);
                    let plain = text.trim_matches('\'');
                    let plain = if plain == text { text.trim_matches('"') } else { plain };
                    let plain = if plain == text { text.trim_start_matches('\\') } else { plain };
                    delimiter = plain.to_owned();
                    if !plain.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) {
                        self.reader.undecidable("the end of a here-document is not known");
                    }
                }
                "heredoc_body" => {
                    let mut lines = self.text(child).lines();
                    if lines.any(|line| line.trim_start_matches('\t') == delimiter) {
                        self.reader.undecidable("the end of a here-document is not known");
                    }
                    self.substitutions(child, level);
                }
                "heredoc_end" | "file_descriptor" => {}
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
}
