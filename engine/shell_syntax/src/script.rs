//! Reads a script as tree-sitter-bash parses it. Every kind of node has to be known here; any other one is
//! an undecidable part, and so is a node that a shell may read in another way.

mod redirection;
mod unseen;

use engine::ports::{ShellPart, ShellSyntax, ShellWord};
use tree_sitter::{Node, Parser};

use crate::word::word;
use crate::wrapper::{Inner, Runs, runs};

/// The largest script that is parsed, in bytes. The kernel takes no argument of more than twice that.
const LARGEST: usize = 64 << 10;

/// How deep substitutions, groups and scripts of other shells may be nested.
const DEEPEST: usize = 40;

/// The syntax of `sh` and `bash`. What only one of them knows is undecidable.
#[derive(Clone, Copy, Debug, Default)]
pub struct BashSyntax;

impl ShellSyntax for BashSyntax {
    fn parts(&self, script: &str) -> Vec<ShellPart> {
        let mut reader = Reader { parts: Vec::new(), scripts: vec![(script.to_owned(), 0)] };
        while let Some((script, level)) = reader.scripts.pop() {
            reader.read(&script, level);
        }
        reader.parts
    }
}

/// The parts so far, and the scripts that are to be read, each with its level.
struct Reader {
    parts: Vec<ShellPart>,
    scripts: Vec<(String, usize)>,
}

impl Reader {
    fn undecidable(&mut self, reason: &'static str) {
        let part = ShellPart::Undecidable(reason);
        if !self.parts.contains(&part) {
            self.parts.push(part);
        }
    }

    fn read(&mut self, source: &str, level: usize) {
        if level > DEEPEST {
            return self.undecidable("it is nested too deeply");
        }
        if source.len() > LARGEST {
            return self.undecidable("it is longer than 64 KiB");
        }
        if source.contains('\0') {
            return self.undecidable("it has a NUL in it");
        }
        let mut parser = Parser::new();
        let is_known = parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_ok();
        let Some(tree) = is_known.then(|| parser.parse(source, None)).flatten() else {
            return self.undecidable("it cannot be parsed");
        };
        let root = tree.root_node();
        if root.has_error() {
            self.undecidable("its syntax is not that of a shell");
        }
        if let Some(reason) = unseen::reason(root, source) {
            self.undecidable(reason);
        }
        let mut script = Script { source, reader: self, open: vec![(root, level)] };
        while let Some((node, level)) = script.open.pop() {
            if level > DEEPEST {
                script.reader.undecidable("it is nested too deeply");
            } else {
                script.node(node, level);
            }
        }
    }

    /// Adds a command, and what it runs besides itself.
    fn command(&mut self, command: Inner, level: usize) {
        let mut open = vec![(command, level)];
        while let Some((Inner { mut variables, words }, level)) = open.pop() {
            if level > DEEPEST {
                self.undecidable("it is nested too deeply");
                continue;
            }
            let Some((name, arguments)) = words.split_first() else { continue };
            let Some(name) = name.literal() else {
                self.undecidable("the name of a command is computed");
                continue;
            };
            match runs(name, arguments) {
                Runs::Itself => self.parts.push(ShellPart::Command { variables, words }),
                Runs::Unknown(reason) => {
                    self.parts.push(ShellPart::Command { variables, words });
                    self.undecidable(reason);
                }
                Runs::Script(script) => {
                    // What is assigned for the shell is assigned for its commands.
                    self.parts.extend(variables.into_iter().map(ShellPart::Assignment));
                    self.parts.push(ShellPart::Wrapper(words));
                    self.scripts.push((script, level + 1));
                }
                Runs::Other(inner) => {
                    self.parts.push(ShellPart::Wrapper(words));
                    variables.extend(inner.variables);
                    open.push((Inner { variables, words: inner.words }, level + 1));
                }
                Runs::Beside(inner, doubt) => {
                    self.parts.push(ShellPart::Command { variables, words });
                    if let Some(reason) = doubt {
                        self.undecidable(reason);
                    }
                    open.extend(inner.into_iter().rev().map(|inner| (inner, level + 1)));
                }
            }
        }
    }
}

/// One script, and its nodes that are to be read.
struct Script<'s, 't> {
    source: &'s str,
    reader: &'s mut Reader,
    open: Vec<(Node<'t>, usize)>,
}

impl<'s, 't> Script<'s, 't> {
    fn node(&mut self, node: Node<'t>, level: usize) {
        match node.kind() {
            "program"
            | "list"
            | "pipeline"
            | "negated_command"
            | "if_statement"
            | "elif_clause"
            | "else_clause"
            | "while_statement"
            | "case_statement"
            | "case_item"
            | "variable_assignments" => self.open_children(node, level),
            "for_statement" => {
                let name = node.child_by_field_name("variable").map(|name| self.text(name));
                self.reader.parts.extend(name.filter(|name| !is_private(name)).map(assigned));
                self.open_children(node, level);
            }
            "do_group" | "subshell" => self.open_children(node, level + 1),
            "compound_statement" if !self.text(node).starts_with("((") => {
                self.open_children(node, level + 1);
            }
            "function_definition" if !self.text(node).starts_with("function") => {
                self.open_children(node, level + 1);
            }
            "command" => self.command(node, Vec::new(), level),
            "redirected_statement" => self.redirected(node, level),
            "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {
                if !self.redirect(node, level).is_empty() {
                    self.reader.undecidable("a word follows a redirection");
                }
            }
            "variable_assignment" => {
                let name = self.assignment(node, level);
                self.reader.parts.push(ShellPart::Assignment(name));
            }
            "declaration_command" | "unset_command" => self.declaration(node, level),
            "test_command" => self.test(node, level),
            "comment" => self.comment(node),
            kind if is_word(kind) => self.substitutions(node, level),
            _ => {
                self.reader.undecidable("it has a part that not every shell knows");
                self.open_children(node, level + 1);
            }
        }
    }

    fn text(&self, node: Node<'_>) -> &'s str {
        &self.source[node.byte_range()]
    }

    /// Has the named children read next, in their order.
    fn open_children(&mut self, node: Node<'t>, level: usize) {
        let mut cursor = node.walk();
        let children: Vec<_> = node.named_children(&mut cursor).collect();
        self.open.extend(children.into_iter().rev().map(|child| (child, level)));
    }

    /// Has the scripts of substitutions read next that are in a word.
    fn substitutions(&mut self, node: Node<'t>, level: usize) {
        let mut inside = vec![node];
        while let Some(node) = inside.pop() {
            let text = self.text(node);
            match node.kind() {
                "command_substitution" | "process_substitution" => {
                    // A shell removes these backslashes before it reads the commands.
                    if text.starts_with('`') && text.contains('\\') {
                        self.reader.undecidable("it has backslashes between backticks");
                    }
                    self.open_children(node, level + 1);
                    continue;
                }
                "arithmetic_expansion" if text.contains(|c: char| c.is_ascii_alphabetic()) => {
                    self.reader.undecidable("it computes with variables");
                }
                "expansion" if text.contains(['@', '[']) => {
                    self.reader.undecidable("it has an expansion that not every shell knows");
                }
                "subscript" | "ERROR" => {
                    self.reader.undecidable("its syntax is not that of a shell")
                }
                "comment" => self.comment(node),
                _ => {}
            }
            let mut cursor = node.walk();
            inside.extend(node.named_children(&mut cursor));
        }
    }

    /// A `#` in a word begins no comment.
    fn comment(&mut self, node: Node<'_>) {
        let mut before = &self.source[..node.start_byte()];
        while let Some(joined) = before.strip_suffix("\\\n") {
            before = joined;
        }
        let is_after = |last: char| last.is_ascii_whitespace() || ";&|()".contains(last);
        if !before.is_empty() && !before.ends_with(is_after) {
            self.reader.undecidable("it may have a comment in a word");
        }
    }

    /// Reads a simple command; `more` are words of it that stand behind a redirection.
    fn command(&mut self, node: Node<'t>, more: Vec<ShellWord>, level: usize) {
        let mut cursor = node.walk();
        let children: Vec<_> = node.children(&mut cursor).collect();
        let (mut variables, mut words, mut raw) = (Vec::new(), Vec::new(), String::new());
        let mut end = node.start_byte();
        for child in children {
            let gap = self.source[end..child.start_byte()].replace("\\\n", "");
            if !gap.chars().all(|letter| letter == ' ' || letter == '\t') {
                self.reader.undecidable("what separates its words is not known");
            }
            end = child.end_byte();
            let is_part = matches!(
                child.kind(),
                "variable_assignment"
                    | "file_redirect"
                    | "herestring_redirect"
                    | "subshell"
                    | "comment"
            );
            if (is_part || !gap.is_empty()) && !raw.is_empty() {
                words.push(word(&std::mem::take(&mut raw)));
            }
            match child.kind() {
                "variable_assignment" => variables.push(self.assignment(child, level)),
                "file_redirect" | "herestring_redirect" => {
                    words.extend(self.redirect(child, level))
                }
                "subshell" => self.node(child, level),
                "comment" => self.comment(child),
                _ => {
                    self.substitutions(child, level);
                    raw.push_str(&self.source[child.byte_range()]);
                    continue;
                }
            }
            if child.kind() == "subshell" {
                self.reader.undecidable("it has a part that not every shell knows");
            }
        }
        if !raw.is_empty() {
            words.push(word(&raw));
        }
        words.extend(more);
        self.reader.command(Inner { variables, words }, level);
    }

    fn redirected(&mut self, node: Node<'t>, level: usize) {
        let mut cursor = node.walk();
        let children: Vec<_> = node.named_children(&mut cursor).collect();
        let (redirects, bodies): (Vec<_>, Vec<_>) = children
            .into_iter()
            .filter(|child| child.kind() != "comment")
            .partition(|child| child.kind().ends_with("_redirect"));
        let more: Vec<_> =
            redirects.into_iter().flat_map(|redirect| self.redirect(redirect, level)).collect();
        match bodies.as_slice() {
            [body] if body.kind() == "command" => self.command(*body, more, level),
            bodies => {
                if !more.is_empty() {
                    self.reader.undecidable("a word follows a redirection");
                }
                self.open.extend(bodies.iter().rev().map(|body| (*body, level)));
            }
        }
    }

    /// Reads an assignment, and returns the name of its variable.
    fn assignment(&mut self, node: Node<'t>, level: usize) -> String {
        let name = node.child_by_field_name("name");
        let is_plain = name.is_some_and(|name| name.kind() == "variable_name");
        let value = node.child_by_field_name("value");
        if !is_plain || value.is_some_and(|value| value.kind() == "array") {
            self.reader.undecidable("it has an array, which not every shell knows");
        }
        self.substitutions(node, level);
        name.map_or_else(String::new, |name| self.text(name).to_owned())
    }

    /// Reads `export`, `readonly`, `local`, `declare` or `unset`.
    fn declaration(&mut self, node: Node<'t>, level: usize) {
        let mut cursor = node.walk();
        let children: Vec<_> = node.children(&mut cursor).collect();
        let words = children.iter().map(|child| word(self.text(*child))).collect();
        for child in children {
            self.substitutions(child, level);
        }
        if self.text(node).contains('[') {
            self.reader.undecidable("it has an array, which not every shell knows");
        }
        self.reader.command(Inner { variables: Vec::new(), words }, level);
    }

    /// Reads `[ … ]`. Where tree-sitter sees an operator, a shell may see a redirection.
    fn test(&mut self, node: Node<'t>, level: usize) {
        let mut inside = vec![node];
        while let Some(node) = inside.pop() {
            let kind = node.kind();
            let is_operator = matches!(
                kind,
                "unary_expression"
                    | "binary_expression"
                    | "test_command"
                    | "test_operator"
                    | "["
                    | "]"
                    | "="
                    | "=="
                    | "!="
                    | "!"
                    | "-"
            );
            if is_word(kind) {
                self.substitutions(node, level);
            } else if is_operator {
                let mut cursor = node.walk();
                inside.extend(node.children(&mut cursor));
            } else {
                self.reader.undecidable("it has a condition that not every shell knows");
                self.open_children(node, level + 1);
            }
        }
        let text = self.text(node);
        let words = vec![
            ShellWord::Literal("[".to_owned()),
            ShellWord::Computed(text.strip_prefix('[').unwrap_or(text).to_owned()),
        ];
        self.reader.command(Inner { variables: Vec::new(), words }, level);
    }
}

/// Returns whether a loop variable is one that no program reads: those are not of lowercase letters only.
fn is_private(name: &str) -> bool {
    name.bytes().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit())
}

fn assigned(name: &str) -> ShellPart {
    ShellPart::Assignment(name.to_owned())
}

/// Returns whether a node of this kind is a word, or a part of one.
fn is_word(kind: &str) -> bool {
    matches!(
        kind,
        "word"
            | "string"
            | "raw_string"
            | "ansi_c_string"
            | "translated_string"
            | "number"
            | "concatenation"
            | "simple_expansion"
            | "expansion"
            | "command_substitution"
            | "process_substitution"
            | "arithmetic_expansion"
            | "brace_expression"
            | "variable_name"
            | "special_variable_name"
            | "regex"
            | "extglob_pattern"
            | "file_descriptor"
            | "command_name"
    )
}

#[cfg(test)]
mod tests;
