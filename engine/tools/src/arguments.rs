//! Arguments as models spell them.

use engine::ports::{Access, AccessClass, Concurrency};
use serde_json::{Map, Value};

/// Gives `arguments` the name `right` where one of the names `other` stands alone.
pub(crate) fn rename(arguments: &mut Map<String, Value>, right: &str, other: &[&str]) {
    for name in other {
        if arguments.contains_key(right) {
            return;
        }
        if let Some(value) = arguments.remove(*name) {
            arguments.insert(right.to_owned(), value);
        }
    }
}

/// Returns the text of the argument `name`; nothing where it is wrong or left out.
pub(crate) fn text(arguments: &Map<String, Value>, name: &str) -> String {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Returns the access of a call that changes its `path`. A later call of the same answer counts on
/// what this one has written.
pub(crate) fn write_access(arguments: &Map<String, Value>) -> Access {
    let class = AccessClass::Write(vec![text(arguments, "path")]);
    Access { class, concurrency: Concurrency::Exclusive }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn other_names_are_taken_for_the_right_one_and_never_over_it() {
        let mut arguments = json!({ "file": "a", "filename": "b" }).as_object().unwrap().clone();
        rename(&mut arguments, "path", &["file", "filename"]);
        assert_eq!(Value::from(arguments.clone()), json!({ "filename": "b", "path": "a" }));
        rename(&mut arguments, "path", &["filename"]);
        assert_eq!(arguments["path"], "a");
    }
}
