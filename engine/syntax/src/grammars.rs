//! The languages of the program.

use std::path::Path;
use std::sync::Arc;

use ast_grep_language::SupportLang;
use engine::ports::{Syntax, SyntaxError, SyntaxPattern};

use crate::pattern::CodePattern;

/// The grammars of some languages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grammars;

/// The languages whose grammars are compiled in, with their names and the ends of their files.
const LANGUAGES: &[(SupportLang, &str, &[&str])] = &[
    (SupportLang::Go, "go", &["go"]),
    (SupportLang::JavaScript, "javascript", &["js", "jsx", "mjs", "cjs"]),
    (SupportLang::Python, "python", &["py", "pyi"]),
    (SupportLang::Rust, "rust", &["rs"]),
    (SupportLang::TypeScript, "typescript", &["ts", "mts", "cts"]),
    (SupportLang::Tsx, "tsx", &["tsx"]),
];

impl Syntax for Grammars {
    fn languages(&self) -> Vec<&'static str> {
        LANGUAGES.iter().map(|(_, name, _)| *name).collect()
    }

    fn language_of(&self, path: &Path) -> Option<&'static str> {
        let end = path.extension()?.to_str()?;
        let of = LANGUAGES.iter().find(|(.., ends)| ends.contains(&end));
        of.map(|(_, name, _)| *name)
    }

    fn pattern(
        &self,
        language: &str,
        pattern: &str,
        rewrite: Option<&str>,
    ) -> Result<Arc<dyn SyntaxPattern>, SyntaxError> {
        let known = LANGUAGES.iter().find(|(_, name, _)| *name == language);
        let (language, name, _) = known.ok_or_else(|| {
            SyntaxError(format!("the languages are {}", self.languages().join(", ")))
        })?;
        let pattern = CodePattern::new((*language, name), pattern, rewrite)?;
        Ok(Arc::new(pattern))
    }
}
