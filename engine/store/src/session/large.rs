//! Large content of entries: in the file strings are cut and images replaced by references; what is
//! whole is kept as blobs, and put back when the entry is read.

use std::io;

use serde_json::{Map, Value, json};

use super::blobs::{BlobFolder, REFERENCE};

/// The longest string that is written, in characters.
pub(super) const MAX_CHARS: usize = 500_000;

/// The end of a string that was cut.
pub(super) const NOTICE: &str = "\n\n[Session persistence truncated large content]";

/// The shortest data of an image that is kept as a blob, in characters.
const MIN_IMAGE: usize = 1024;

/// The field of an entry that says which of its strings are whole in a blob: a JSON pointer and the
/// reference for each. Other programs skip it.
const FIELD: &str = "blobs";

/// Cuts the strings of an entry that are too long for a file, and replaces its images. The session
/// itself keeps both. Without a place for blobs, strings are cut and images stay.
///
/// # Errors
/// A blob cannot be written.
pub(super) fn reduce(entry: &mut Map<String, Value>, blobs: Option<&BlobFolder>) -> io::Result<()> {
    let mut references = Map::new();
    for (key, value) in entry.iter_mut() {
        reduce_value(value, &pointer("", key), blobs, &mut references)?;
    }
    if !references.is_empty() {
        entry.insert(FIELD.to_owned(), Value::Object(references));
    }
    Ok(())
}

fn reduce_value(
    value: &mut Value,
    at: &str,
    blobs: Option<&BlobFolder>,
    references: &mut Map<String, Value>,
) -> io::Result<()> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        Value::String(text) => {
            let Some(cut) = cut(text, at) else { return Ok(()) };
            if let Some(blobs) = blobs {
                references.insert(at.to_owned(), blobs.put(text)?.into());
            }
            *text = cut;
            Ok(())
        }
        Value::Array(values) => values.iter_mut().enumerate().try_for_each(|(place, value)| {
            reduce_value(value, &format!("{at}/{place}"), blobs, references)
        }),
        Value::Object(fields) => {
            if let (Some(blobs), Some(data)) = (blobs, image_data(fields))
                && data.len() >= MIN_IMAGE
                && !data.starts_with(REFERENCE)
            {
                *data = blobs.put(data)?;
            }
            if let (Some(blobs), Some(url)) = (blobs, image_url(fields))
                && url.len() >= MIN_IMAGE
                && url.starts_with("data:")
            {
                *url = blobs.put(url)?;
            }
            for (key, value) in fields.iter_mut() {
                reduce_value(value, &pointer(at, key), blobs, references)?;
            }
            count_lines(fields);
            Ok(())
        }
    }
}

/// Returns a string as it stands in a file, if it is too long. A signature would be worth nothing
/// if it were cut.
fn cut(text: &str, at: &str) -> Option<String> {
    if text.len() <= MAX_CHARS || text.chars().nth(MAX_CHARS).is_none() {
        return None;
    }
    if at.ends_with("Signature") {
        return Some(String::new());
    }
    let kept = MAX_CHARS - NOTICE.len();
    let (end, _) = text.char_indices().nth(kept)?;
    Some(format!("{}{NOTICE}", &text[..end]))
}

/// Returns the data of an image: a block of a message, or an attachment.
fn image_data(fields: &mut Map<String, Value>) -> Option<&mut String> {
    if fields.get("type")? != "image" {
        return None;
    }
    let key = if fields.contains_key("fileName") { "content" } else { "data" };
    if let Value::String(data) = fields.get_mut(key)? { Some(data) } else { None }
}

/// Returns the address of an image, which may hold the image itself: `"image_url": URL`, or
/// `"image_url": { "url": URL }`.
fn image_url(fields: &mut Map<String, Value>) -> Option<&mut String> {
    match fields.get_mut("image_url")? {
        Value::String(url) => Some(url),
        Value::Object(fields) => match fields.get_mut("url")? {
            Value::String(url) => Some(url),
            _other => None,
        },
        _other => None,
    }
}

/// Lets the number of lines beside a content say what is there.
fn count_lines(fields: &mut Map<String, Value>) {
    if let Some(Value::String(content)) = fields.get("content")
        && content.ends_with(NOTICE)
        && fields.contains_key("lineCount")
    {
        let lines = content.lines().count();
        fields.insert("lineCount".to_owned(), json!(lines));
    }
}

fn pointer(at: &str, key: &str) -> String {
    format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// Returns whether a line may refer to blobs.
pub(super) fn may_refer(line: &str) -> bool {
    line.contains(REFERENCE)
}

/// Puts back what an entry has in blobs. Returns what is missing.
pub(super) fn restore(entry: &mut Map<String, Value>, blobs: Option<&BlobFolder>) -> Vec<String> {
    let mut missing = Vec::new();
    let get = |reference: &str| blobs.and_then(|blobs| blobs.get(reference));
    let references = entry.remove(FIELD);
    let mut whole = Value::Object(std::mem::take(entry));
    for (at, reference) in references.as_ref().and_then(Value::as_object).into_iter().flatten() {
        let reference = reference.as_str().unwrap_or_default();
        match (whole.pointer_mut(at), get(reference)) {
            (Some(Value::String(text)), Some(blob)) if is_cut(text, &blob) => *text = blob,
            _ => missing.push(format!("the end of the text at `{at}` ({reference})")),
        }
    }
    restore_images(&mut whole, &get, &mut missing);
    if let Value::Object(fields) = whole {
        *entry = fields;
    }
    missing
}

/// Returns whether a text is what a file has in place of `whole`.
fn is_cut(text: &str, whole: &str) -> bool {
    text.is_empty() || text.strip_suffix(NOTICE).is_some_and(|begin| whole.starts_with(begin))
}

fn restore_images(
    value: &mut Value,
    get: &impl Fn(&str) -> Option<String>,
    missing: &mut Vec<String>,
) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        Value::Array(values) => {
            values.iter_mut().for_each(|value| restore_images(value, get, missing));
        }
        Value::Object(fields) => {
            let reference = image_data(fields).filter(|data| data.starts_with(REFERENCE));
            if let Some(data) = reference {
                if let Some(blob) = get(data) {
                    *data = blob;
                } else {
                    let text = format!("[an image is missing: {data}]");
                    missing.push(format!("an image ({data})"));
                    // A model gets the gap, not data that is none.
                    *value = json!({ "type": "text", "text": text });
                }
                return;
            }
            if let Some(url) = image_url(fields).filter(|url| url.starts_with(REFERENCE)) {
                match get(url) {
                    Some(blob) => *url = blob,
                    None => missing.push(format!("an image ({url})")),
                }
            }
            fields.values_mut().for_each(|value| restore_images(value, get, missing));
        }
    }
}

#[cfg(test)]
mod tests;
