//! Cuts what is too long to be kept: the file only, never what the session itself goes on with.

use serde_json::Value;

/// The longest string that is written, in characters.
const LONGEST: usize = 500_000;

/// What stands at the end of a string that was cut.
const NOTICE: &str = "\n\n[Session persistence truncated large content]";

/// Cuts every string of `value` that is too long.
pub(super) fn shorten(value: &mut Value) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => cut(text),
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(values) => values.values_mut().for_each(shorten),
    }
}

fn cut(text: &mut String) {
    if text.len() <= LONGEST || text.chars().nth(LONGEST).is_none() {
        return;
    }
    let kept = LONGEST - NOTICE.len();
    if let Some((end, _)) = text.char_indices().nth(kept) {
        text.truncate(end);
        text.push_str(NOTICE);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strings_that_are_too_long_are_cut_wherever_they_are_and_only_once() {
        let fits = "ä".repeat(LONGEST);
        let mut value = json!({ "a": [fits, format!("{fits}x")], "b": 1 });
        shorten(&mut value);
        assert_eq!(value["a"][0], fits);
        let cut = value["a"][1].as_str().unwrap();
        assert_eq!(cut.chars().count(), LONGEST);
        assert!(cut.ends_with(&format!("ä{NOTICE}")));
        let once = value.clone();
        shorten(&mut value);
        assert_eq!(value, once);
    }
}
