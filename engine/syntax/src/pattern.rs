//! A pattern of code, and what is to be in its place.

use std::collections::BTreeSet;

use ast_grep_core::{AstGrep, Pattern};
use ast_grep_language::SupportLang;
use engine::ports::{SyntaxError, SyntaxMatch, SyntaxPattern};

use crate::parse::parse;

/// A pattern of one language.
pub(crate) struct CodePattern {
    language: SupportLang,
    pattern: Pattern,
    rewrite: Option<String>,
}

impl CodePattern {
    pub(crate) fn new(
        (language, name): (SupportLang, &str),
        text: &str,
        rewrite: Option<&str>,
    ) -> Result<Self, SyntaxError> {
        // What is too deep to be matched is refused before it becomes a pattern.
        parse(language, text).map_err(|error| SyntaxError(format!("the pattern: {error}")))?;
        let pattern = Pattern::try_new(text.trim(), language).map_err(|error| {
            SyntaxError(format!("the pattern is not one piece of {name}: {error}"))
        })?;
        if pattern.has_error() {
            let wrong = format!(
                "the pattern is not valid {name}; it has to be a whole expression, statement or item"
            );
            return Err(SyntaxError(wrong));
        }
        let known = pattern.defined_vars();
        let unknown = rewrite.into_iter().flat_map(variables).find(|name| !known.contains(name));
        if let Some(unknown) = unknown {
            return Err(SyntaxError(format!(
                "the rewrite has ${unknown}, which the pattern lacks"
            )));
        }
        Ok(Self { language, pattern, rewrite: rewrite.map(str::to_owned) })
    }
}

/// Returns the names of the variables in a rewrite.
fn variables(rewrite: &str) -> BTreeSet<&str> {
    let names = rewrite.split('$').skip(1).map(|rest| {
        let is_part =
            |letter: char| letter == '_' || letter.is_ascii_uppercase() || letter.is_ascii_digit();
        &rest[..rest.find(|letter| !is_part(letter)).unwrap_or(rest.len())]
    });
    let is_name =
        |name: &&str| name.starts_with(|first: char| first == '_' || first.is_ascii_uppercase());
    names.filter(is_name).collect()
}

impl SyntaxPattern for CodePattern {
    fn find(&self, text: &str, most: usize) -> Result<Vec<SyntaxMatch>, SyntaxError> {
        let parsed = AstGrep::doc(parse(self.language, text)?);
        let (root, mut end) = (parsed.root(), 0);
        let mut found = Vec::new();
        for matched in root.find_all(&self.pattern) {
            if found.len() == most {
                break;
            }
            match &self.rewrite {
                None => {
                    let range = matched.range();
                    found.push(SyntaxMatch { range, replacement: None });
                }
                Some(rewrite) => {
                    let edit = matched.make_edit(&self.pattern, &rewrite.as_str());
                    let range = edit.position..edit.position + edit.deleted_length;
                    if range.start < end {
                        continue;
                    }
                    end = range.end;
                    let replacement = String::from_utf8(edit.inserted_text);
                    let replacement = replacement
                        .map_err(|_| SyntaxError("the rewrite would not be UTF-8".to_owned()))?;
                    found.push(SyntaxMatch { range, replacement: Some(replacement) });
                }
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use engine::ports::Syntax as _;

    use crate::Grammars;

    /// Returns a text after the rewrite of all that matches.
    fn rewritten(language: &str, text: &str, pattern: &str, rewrite: &str) -> String {
        let pattern = Grammars.pattern(language, pattern, Some(rewrite)).unwrap();
        let mut after = text.to_owned();
        for found in pattern.find(text, 100).unwrap().into_iter().rev() {
            after.replace_range(found.range, &found.replacement.unwrap());
        }
        after
    }

    #[test]
    fn code_is_rewritten_by_its_syntax_in_each_language() {
        let cases = [
            (
                "rust",
                "fn f() { a.unwrap( ); /* a.unwrap() */ }",
                "$A.unwrap()",
                "$A?",
                "fn f() { a?; /* a.unwrap() */ }",
            ),
            ("python", "print(f(1,\n  2))", "f($$$ARGS)", "g($$$ARGS)", "print(g(1,\n  2))"),
            (
                "javascript",
                "var a = 1; x = '\u{e9} var a = 1'",
                "var $A = $B",
                "let $A = $B",
                "let a = 1; x = '\u{e9} var a = 1'",
            ),
            ("typescript", "foo(a as T)", "$A as T", "<T>$A", "foo(<T>a)"),
            ("tsx", "<A b={f(1)}/>", "f($X)", "g($X)", "<A b={g(1)}/>"),
            (
                "go",
                "func f() { a := g(1) }",
                "$A := $B",
                "var $A = $B",
                "func f() { var a = g(1) }",
            ),
            ("rust", "fn f() { f(f(1)); }", "f($X)", "g($X)", "fn f() { g(f(1)); }"),
        ];
        for (language, text, pattern, rewrite, after) in cases {
            assert_eq!(rewritten(language, text, pattern, rewrite), after, "{language} {pattern}");
        }
        let found = Grammars.pattern("rust", "f($X)", None).unwrap().find("fn f() { f(f(1)); }", 9);
        let ranges: Vec<_> = found.unwrap().into_iter().map(|found| found.range).collect();
        assert_eq!(ranges, [9..16, 11..15], "without a rewrite, each match counts");
    }

    #[test]
    fn what_is_wrong_with_a_pattern_is_said_and_hostile_texts_have_an_end() {
        let wrong = |language, pattern: &str, rewrite| {
            Grammars.pattern(language, pattern, rewrite).err().map(|error| error.to_string())
        };
        let cases = [
            ("cobol", "x", None, "the languages are go, javascript"),
            ("rust", "fn f(", None, "not valid rust"),
            ("rust", "", None, "not one piece of rust"),
            ("rust", "a; b", None, "not one piece of rust"),
            ("rust", "$A.unwrap()", Some("$B?"), "the rewrite has $B, which the pattern lacks"),
        ];
        for (language, pattern, rewrite, why) in cases {
            let said = wrong(language, pattern, rewrite).unwrap_or_default();
            assert!(said.contains(why), "{pattern}: {said}");
        }
        assert!(wrong("rust", &"(".repeat(5_000), None).is_some());
        let pattern = Grammars.pattern("javascript", "$A + $A", None).unwrap();
        for hostile in [
            "(".repeat(200_000),
            "[".repeat(99_999) + &"]".repeat(99_999),
            "\0\u{202e}".repeat(999),
            "`${".repeat(50_000),
        ] {
            let _refused_or_none = pattern.find(&hostile, 10);
        }
        let deep = format!("{}1{}", "(".repeat(3_000), ")".repeat(3_000));
        assert_eq!(pattern.find(&deep, 1).unwrap_err().to_string(), "it is nested too deeply");
    }
}
