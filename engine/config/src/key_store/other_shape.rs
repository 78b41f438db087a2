//! A file of keys as pi writes it, which a user may have copied: one key or login per provider.

use serde_json::{Map, Value, json};

use super::DEFAULT_KEY;

/// Returns the document in our shape. One of another program is converted, which the next change makes
/// durable.
pub(super) fn converted(document: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let entries = || document.values().filter_map(Value::as_object);
    let foreign = !document.contains_key("version")
        && !document.is_empty()
        && entries().count() == document.len()
        && entries().all(|entry| entry.get("type").is_some_and(Value::is_string));
    if !foreign {
        return Ok(document);
    }
    let keys = document.iter().map(|(provider, entry)| {
        let text = |name: &str| entry.get(name).and_then(Value::as_str);
        let wrong = || format!("`{provider}` is neither an `api_key` nor an `oauth` login");
        match (text("type"), text("key"), text("access")) {
            (Some("api_key"), Some(key), _) => {
                Ok(json!({ "provider": provider, "name": DEFAULT_KEY, "key": key }))
            }
            (Some("oauth"), _, Some(access)) => Ok(json!({
                "provider": provider, "name": DEFAULT_KEY, "type": "oauth", "access": access,
                "refresh": entry.get("refresh"), "expires": entry.get("expires"),
            })),
            _ => Err(wrong()),
        }
    });
    let keys: Vec<Value> = keys.collect::<Result<_, _>>()?;
    Ok(Map::from_iter([("version".to_owned(), json!(1)), ("keys".to_owned(), json!(keys))]))
}
