//! Where in a file something stands.

use std::ops::Range;

use crate::error::{Error, ErrorKind};

/// A text and what its file is called.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    pub(super) name: &'a str,
    pub(super) whole: &'a str,
}

impl Text<'_> {
    /// Returns an error about what stands at `span`.
    pub(super) fn error(&self, span: &Range<usize>, what: impl AsRef<str>) -> Error {
        let (line, column) = self.line_and_column(span.start);
        let place = format!("{}:{line}:{column}", self.name);
        Error::new(ErrorKind::Plan, format!("{place}: {}", what.as_ref()))
    }

    /// Returns the error of a reader of TOML, without words that only programmers know.
    pub(super) fn unread(&self, error: &toml::de::Error) -> Error {
        let message = error.message().trim_end();
        let what = match message.rsplit_once("expected ") {
            Some((before, "i64" | "i32" | "u64" | "u32")) => {
                format!("{before}expected a whole number")
            }
            Some((before, "a sequence")) => format!("{before}expected a list"),
            Some((before, "a map")) => format!("{before}expected a table"),
            Some(_) | None => message.to_owned(),
        };
        self.error(&error.span().unwrap_or_default(), what)
    }

    /// Returns the number of the line in which something stands, counted from 1.
    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        self.line_and_column(span.start).0
    }

    fn line_and_column(&self, offset: usize) -> (usize, usize) {
        let before = self.whole.get(..offset).unwrap_or(self.whole);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }
}
