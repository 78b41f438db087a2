//! The port that finds and rewrites code by its syntax.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Knows the syntax of languages.
pub trait Syntax: Send + Sync {
    /// Returns the names of the languages.
    fn languages(&self) -> Vec<&'static str>;

    /// Returns the language of a file by its name, if it is one of these.
    fn language_of(&self, path: &Path) -> Option<&'static str>;

    /// Returns a pattern: code of a language, in which `$NAME` stands for a piece of code and `$$$NAME` for
    /// several. `rewrite` is what is to be in place of the code that matches.
    ///
    /// # Errors
    /// The text for the model that says what is wrong.
    fn pattern(
        &self,
        language: &str,
        pattern: &str,
        rewrite: Option<&str>,
    ) -> Result<Arc<dyn SyntaxPattern>, SyntaxError>;
}

/// A pattern of code.
pub trait SyntaxPattern: Send + Sync {
    /// Returns the matches in a text, in their order, at most `most`. With a rewrite, a match within another
    /// one is left out.
    ///
    /// # Errors
    /// The text cannot be parsed within the limits.
    fn find(&self, text: &str, most: usize) -> Result<Vec<SyntaxMatch>, SyntaxError>;
}

/// Code that matches a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxMatch {
    /// The place in the text.
    pub range: Range<usize>,
    /// What is to be there instead, if the pattern has a rewrite.
    pub replacement: Option<String>,
}

/// Why a pattern or a text cannot be used, for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SyntaxError(pub String);
