//! The title of a session, which stands in its header.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

use engine::fault::Faults;
use protocol::TitleSource;
use serde_json::json;
use serde_json::value::RawValue;

use super::error::LogCause;
use super::line::{First, VERSION, clean, parse_first};
use super::loaded::{Keep, Loaded, load};
use super::open::lock_at_once;
use super::rewrite::{back_up, replace};

/// What became of a title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Titled {
    /// It is in the file.
    Done,
    /// The user has chosen another one, which a program does not replace, or nothing is left of it.
    Kept,
}

/// Gives the session at `path` a title. The file is replaced as a whole; no session may have it open.
/// Control characters are left out, and spaces joined.
///
/// # Errors
/// The file is not a session of this version, somebody has it open, or it cannot be written.
pub fn set_title(
    path: &Path,
    title: &str,
    source: TitleSource,
    faults: &Faults,
) -> Result<Titled, engine::ports::SessionLogError> {
    let set = write_title(path, title, source, faults);
    set.map_err(|cause| cause.to_error("name", path))
}

fn write_title(
    path: &Path,
    title: &str,
    source: TitleSource,
    faults: &Faults,
) -> Result<Titled, LogCause> {
    let file = OpenOptions::new().read(true).append(true).open(path)?;
    let file = lock_at_once(file, path)?;
    let Loaded::Session(session) = load(&*file, Keep::Lines)? else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a session").into());
    };
    if session.header.version > VERSION {
        return Err(LogCause::Newer(session.header.version));
    }
    let title = tidy(title);
    let of_user = session.header.title_source == Some(TitleSource::User);
    if title.is_empty() || (of_user && source == TitleSource::Auto) {
        return Ok(Titled::Kept);
    }
    let old = fs::read(path)?;
    let mut new = Vec::with_capacity(old.len() + title.len());
    let mut lines = old.split_inclusive(|byte| *byte == b'\n');
    for line in &mut lines {
        // A title before the header has a fixed width, for a program that writes over it.
        if let First::Header(_) = parse_first(line) {
            new.extend(titled(line, &title, source)?);
            break;
        }
        new.extend(line);
    }
    lines.for_each(|line| new.extend(line));
    if session.damaged > 0 {
        back_up(path)?;
    }
    replace(path, &new, faults)?;
    Ok(Titled::Done)
}

/// Returns a header with another title. Every byte of its other fields stays.
fn titled(header: &[u8], title: &str, source: TitleSource) -> Result<Vec<u8>, serde_json::Error> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_slice(clean(header))?;
    // A header is an object, because it was parsed as one.
    let end = header.iter().rposition(|byte| *byte == b'}').unwrap_or(header.len());
    let mut changes = Vec::new();
    for (key, value) in [("titleSource", json!(source)), ("title", json!(title))] {
        changes.push(match fields.get(key) {
            Some(old) => {
                let begin = old.get().as_ptr().addr() - header.as_ptr().addr();
                (begin..begin + old.get().len(), value.to_string())
            }
            None => (end..end, format!(",\"{key}\":{value}")),
        });
    }
    // From the last one on, so that the places of the others stay.
    changes.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
    let mut line = header.to_vec();
    for (place, text) in changes {
        line.splice(place, text.into_bytes());
    }
    Ok(line)
}

/// Returns a title in one line.
fn tidy(title: &str) -> String {
    let visible = title.chars().map(|char| if char.is_control() { ' ' } else { char });
    visible.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
