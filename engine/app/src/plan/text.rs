//! The text of a plan, with errors that name a line and column, and files of limited size.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::Path;

use config::Mistake;
use serde_spanned::Spanned;

use super::node::ValueError;
use super::syntax::PlanSyntax;
use crate::error::{Error, ErrorKind};

/// The keys of a plan with examples of their values, which are written alike in each syntax.
const EXAMPLES: [(&str, &str); 23] = [
    ("version", "1"),
    ("name", "\"docs\""),
    ("jobs", "8"),
    ("model", "\"PROVIDER/ID\""),
    ("fallback", "[\"PROVIDER/ID\"]"),
    ("mcp", "[\"NAME\"]"),
    ("merge", "\"patch\""),
    ("onto", "\"main\""),
    ("land", "\"eager\""),
    ("setup", "[\"npm ci\"]"),
    ("carry", "[\".env\"]"),
    ("union", "[\"src/mod.rs\"]"),
    ("verify", "[\"cargo test\"]"),
    ("wall", "\"20m\""),
    ("output", "\"10MB\""),
    ("turns", "40"),
    ("tokens", "400000"),
    ("cost", "\"2.00 USD\""),
    ("prompt", "\"…\""),
    ("exec", "\"make docs\""),
    ("depends_on", "[\"ID\"]"),
    ("priority", "1"),
    ("must_change", "true"),
];

/// The text of a plan and the name of its file.
#[derive(Clone, Copy)]
pub(super) struct PlanText<'a> {
    pub(super) name: &'a str,
    pub(super) whole: &'a str,
    pub(super) syntax: PlanSyntax,
    /// The key of each value that is not a table, by the place at which the value begins.
    pub(super) keys: &'a BTreeMap<usize, String>,
}

impl PlanText<'_> {
    /// Returns an error with the position of `span` and the key of the value there.
    pub(super) fn error(&self, span: &Range<usize>, what: impl AsRef<str>) -> Error {
        let what = what.as_ref();
        let key = self.keys.get(&span.start).map(|key| format!("`{key}`"));
        let what = match key.filter(|key| !what.contains(key.as_str())) {
            Some(key) => format!("{key}: {what}"),
            None => what.to_owned(),
        };
        self.mistake(&Mistake::at(self.whole, span.start, what))
    }

    /// Returns the error about a mistake in the text.
    pub(super) fn mistake(&self, mistake: &Mistake) -> Error {
        Error::new(ErrorKind::Plan, format!("{}:{mistake}", self.name))
    }

    /// Converts what is wrong with a value. The result does not contain the names of Rust types.
    pub(super) fn value_error(&self, error: &ValueError) -> Error {
        let message = error.message.as_str();
        if message == "missing field `version`" {
            let what = "the plan does not say for which version of the format it is written";
            return self.error(&(0..0), what).hint(self.syntax.entry("version", "1"));
        }
        let message = message
            .replace("invalid type: unit value", "invalid type: nothing")
            .replace("invalid type: sequence", "invalid type: list")
            .replace("invalid type: map", "invalid type: table");
        let typed = message.strip_prefix("invalid type: string ");
        let typed = typed.and_then(|rest| rest.strip_suffix(", expected a sequence"));
        let typed = typed.map(|text| format!("[{text}]"));
        let what = match message.rsplit_once("expected ") {
            Some((before, "i64" | "i32" | "u64" | "u32")) => {
                format!("{before}expected a whole number")
            }
            Some((before, "a sequence")) => format!("{before}expected a list"),
            Some((before, "a map")) => format!("{before}expected a table"),
            Some((before, last)) if last.starts_with("struct ") => {
                format!("{before}expected a table")
            }
            Some(_) | None => message,
        };
        let span = error.span.clone().unwrap_or_default();
        self.with_example(self.error(&span, what), &span, typed)
    }

    /// Adds how the key of the value at `span` is written: with `value`, or with an example.
    fn with_example(&self, error: Error, span: &Range<usize>, value: Option<String>) -> Error {
        let Some(key) = self.keys.get(&span.start) else { return error };
        let entry = match key.as_str() {
            "task" => Some(self.syntax.first_task()),
            "limits" => {
                let wall = format!("{{ {} }}", self.syntax.entry("wall", "\"20m\""));
                Some(self.syntax.entry(key, &wall))
            }
            key => {
                let example = EXAMPLES.iter().find(|(of, _)| *of == key);
                let value = value.or_else(|| example.map(|(_, value)| (*value).to_owned()));
                value.map(|value| self.syntax.entry(key, &value))
            }
        };
        entry.into_iter().fold(error, Error::hint)
    }

    /// Parses a word.
    ///
    /// # Errors
    /// The error of `read`, with the position of the word.
    pub(super) fn parse<T, E: Display>(
        &self,
        word: &Spanned<String>,
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, Error> {
        read(word.get_ref()).map_err(|error| {
            let span = word.span();
            self.with_example(self.error(&span, error.to_string()), &span, None)
        })
    }

    /// Converts the value of `key` to a positive number of type `T`.
    ///
    /// # Errors
    /// The value is not positive, or too large for `T`.
    pub(super) fn positive<T>(&self, key: &str, number: &Spanned<i64>) -> Result<T, Error>
    where
        T: TryFrom<NonZeroU64>,
    {
        let positive = u64::try_from(*number.get_ref()).ok().and_then(NonZeroU64::new);
        let counted = positive.and_then(|positive| T::try_from(positive).ok());
        let what = || format!("`{key}` is a number from 1 on");
        counted.ok_or_else(|| {
            let span = number.span();
            self.with_example(self.error(&span, what()), &span, None)
        })
    }

    /// Returns the values of a list, each checked with `check`.
    pub(super) fn checked(
        &self,
        values: &[Spanned<String>],
        check: impl Fn(&str) -> Result<(), String>,
    ) -> Result<Vec<String>, Error> {
        let checked = values.iter().map(|value| {
            let fault = check(value.get_ref()).err();
            match fault {
                None => Ok(value.get_ref().clone()),
                Some(fault) => Err(self.error(&value.span(), fault)),
            }
        });
        checked.collect()
    }

    /// Returns the line number of `span`, counted from 1.
    pub(super) fn line(&self, span: &Range<usize>) -> u64 {
        Mistake::at(self.whole, span.start, "").line
    }
}

/// Reads a file of at most `most` bytes.
pub(super) fn read_file(path: &Path, most: u64, what: &str) -> Result<Vec<u8>, Error> {
    let mut file = File::open(path)
        .map_err(|error| Error::new(ErrorKind::Plan, what.to_owned()).caused_by(&error))?;
    read_all(&mut file, most, what)
}

/// Reads a stream of at most `most` bytes to its end.
pub(super) fn read_all(from: &mut dyn Read, most: u64, what: &str) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    from.take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::new(ErrorKind::Plan, what.to_owned()).caused_by(&error))?;
    if bytes.len() as u64 > most {
        return Err(Error::new(ErrorKind::Plan, what.to_owned())
            .because(format!("it is longer than {} MB", most / 1_000_000)));
    }
    Ok(bytes)
}
