//! From a plan's bytes to a plan that makes sense.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::bounded::{read_all, read_file};
use super::place::Text;
use super::{Plan, check, file::PlanFile, keys};
use crate::error::{Error, ErrorKind};

/// How many bytes a plan may have.
const LONGEST: u64 = 10_000_000;

/// Where a plan comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlanSource {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Standard,
}

impl PlanSource {
    /// Reads what stands after `--plan`.
    pub(crate) fn of(path: &Path) -> Self {
        if path == Path::new("-") { Self::Standard } else { Self::File(path.to_owned()) }
    }

    fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Standard => "standard input".to_owned(),
        }
    }

    /// The folder that the paths in the plan start from.
    fn folder(&self) -> &Path {
        match self {
            Self::File(path) => path.parent().unwrap_or(Path::new("")),
            Self::Standard => Path::new(""),
        }
    }
}

/// Reads a plan.
///
/// # Errors
/// What cannot be read, or the first thing that makes no sense, with its line and column.
pub(crate) fn read(source: &PlanSource, standard: &mut dyn Read) -> Result<Plan, Error> {
    let name = source.name();
    let what = format!("cannot read the plan {name}");
    let bytes = match source {
        PlanSource::Standard => read_all(standard, LONGEST, &what)?,
        PlanSource::File(path) => read_file(path, LONGEST, &what)?,
    };
    let whole = String::from_utf8(bytes).map_err(|error| {
        let line =
            error.as_bytes()[..error.utf8_error().valid_up_to()].split(|b| *b == b'\n').count();
        Error::new(ErrorKind::Plan, what.clone()).because(format!("line {line} is not UTF-8"))
    })?;
    let text = Text { name: &name, whole: &whole };
    keys::check(text)?;
    let file: PlanFile = toml::from_str(&whole).map_err(|error| text.unread(&error))?;
    check::check(text, source.folder(), file)
}

#[cfg(test)]
mod tests;
