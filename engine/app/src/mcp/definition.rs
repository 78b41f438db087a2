//! The definition of a server as a value without secrets: what trust and `regatta mcp enable` are bound to.

use std::collections::BTreeMap;

use config::Secret;
use config::mcp::{ServerAddress, ServerEntry, ServerScope, UrlKind};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::text::shell_words;

/// Returns everything that the entry of a server says. In the place of each value that may be a secret is its digest,
/// or the reference to a variable that it consists of.
pub(super) fn definition(entry: &ServerEntry) -> Value {
    let mut value = match &entry.address {
        ServerAddress::Program { command, arguments, environment, folder } => json!({
            "command": command,
            "args": arguments,
            "env": values(environment),
            "cwd": folder,
        }),
        ServerAddress::Url { kind, url, headers } => json!({
            "type": match kind {
                UrlKind::Http => "http",
                UrlKind::Sse => "sse",
            },
            "url": shown_url(url),
            "urlDigest": digest(url.as_bytes()),
            "headers": values(headers),
        }),
    };
    let more = json!({
        "required": entry.is_required,
        "startupTimeout": entry.startup_timeout.map(|it| it.as_millis().to_string()),
        "timeout": entry.timeout.map(|it| it.as_millis().to_string()),
        "protocol": entry.protocol,
        "workspace": entry.scope == ServerScope::Workspace,
        "concurrency": entry.concurrency,
        "allow": entry.allowed_tools,
        "deny": entry.denied_tools,
        "trustReadOnlyHint": entry.trusts_read_only_hints,
    });
    if let (Value::Object(all), Value::Object(more)) = (&mut value, more) {
        all.extend(more);
        all.retain(|_, value| !matches!(value, Value::Null | Value::Bool(false)));
        all.retain(|_, value| !is_empty(value));
    }
    value
}

/// Returns the digest of a definition.
pub(super) fn definition_digest(entry: &ServerEntry) -> String {
    digest(definition(entry).to_string().as_bytes())
}

/// Returns the lines that describe a definition: what would run or be reached, and which variables go there.
#[must_use]
pub fn definition_lines(definition: &Value) -> Vec<String> {
    let text = |key: &str| definition.get(key).and_then(Value::as_str);
    let mut lines = Vec::new();
    if let Some(command) = text("command") {
        let arguments = definition.get("args").and_then(Value::as_array);
        let arguments = arguments.into_iter().flatten().filter_map(Value::as_str);
        let words: Vec<_> = std::iter::once(command).chain(arguments).collect();
        lines.push(format!("$ {}", shell_words(&words)));
    }
    lines.extend(text("url").map(str::to_owned));
    lines.extend(text("cwd").map(|folder| format!("in {folder}")));
    for (key, what) in [("env", "variables"), ("headers", "headers")] {
        let members = definition.get(key).and_then(Value::as_object);
        let named = members.into_iter().flatten().map(|(name, value)| {
            let value = value.as_str().filter(|value| value.contains("${"));
            format!("{name}={}", value.unwrap_or("…"))
        });
        let named: Vec<_> = named.collect();
        if !named.is_empty() {
            lines.push(format!("{what}: {}", named.join(", ")));
        }
    }
    lines
}

/// Returns a URL without what may be a secret in it: a password, a query, a fragment.
pub(super) fn shown_url(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let more = if end < url.len() { "?…" } else { "" };
    let (scheme, rest) = url[..end].split_once("://").unwrap_or(("", &url[..end]));
    let authority = rest.find('/').unwrap_or(rest.len());
    let host = match rest[..authority].rfind('@') {
        Some(at) => format!("…@{}", &rest[at + 1..]),
        None => rest.to_owned(),
    };
    let separator = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{separator}{host}{more}")
}

/// Returns a digest in hexadecimal.
pub(super) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn values(values: &BTreeMap<String, Secret>) -> Map<String, Value> {
    let shown = |(name, value): (&String, &Secret)| {
        let text = value.expose();
        let shown = if is_reference(text) { text.to_owned() } else { digest(text.as_bytes()) };
        (name.clone(), Value::from(shown))
    };
    values.iter().map(shown).collect()
}

/// Returns whether a value consists of a reference to a variable, perhaps behind the word `Bearer`.
fn is_reference(text: &str) -> bool {
    let text = text.strip_prefix("Bearer ").unwrap_or(text);
    let name = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let name = name.map(|name| name.strip_suffix(":-").unwrap_or(name));
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    name.is_some_and(|name| !name.is_empty() && name.chars().all(is_of_name))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_secrets() {
        for (url, shown) in [
            ("https://host/mcp", "https://host/mcp"),
            ("https://me:pass@host/mcp?key=1#x", "https://…@host/mcp?…"),
            ("https://host?key=1", "https://host?…"),
            ("https://host/a@b", "https://host/a@b"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(shown_url(url), shown);
        }
    }

    #[test]
    fn a_value_is_shown_only_where_it_is_the_name_of_a_variable() {
        let values = |text: &str| {
            let all = BTreeMap::from([("A".to_owned(), Secret::new(text))]);
            let shown = json!({ "command": "x y", "args": ["-z"], "env": values(&all) });
            definition_lines(&shown)
        };
        assert_eq!(values("${TOKEN}"), ["$ 'x y' -z", "variables: A=${TOKEN}"]);
        assert_eq!(values("Bearer ${T:-}")[1], "variables: A=Bearer ${T:-}");
        for secret in ["sk-1", "${T:-secret}", "x${T}", "!pass"] {
            assert_eq!(values(secret)[1], "variables: A=…", "{secret}");
        }
    }
}
