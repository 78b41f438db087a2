//! Other forms of the arguments whose intention is clear: those of other agents' tools of this name, one task in
//! place of a list, and texts that were escaped twice.

use serde_json::{Map, Value, json};

use super::arguments::LONGEST_ID;
use crate::builtin::rename;

/// The parts of a task that may stand beside the others in place of a list.
const OF_ONE_TASK: &[&str] = &["id", "description", "assignment", "apply", "depends_on"];

/// Arguments that are left out if they say no.
const SAY_NOTHING: &[&str] = &[
    "background",
    "async",
    "run_in_background",
    "resume",
    "best_of",
    "proofs",
    "model",
    "isolation",
    "max_turns",
];

/// How often JSON may be a text in a text.
const LAYERS: usize = 3;

/// Changes the arguments to the declared form.
pub(super) fn reshape(arguments: &mut Map<String, Value>) {
    rename(arguments, "tasks", &["items", "subtasks"]);
    if arguments.get("task").is_some_and(|task| task.is_array() || task.is_object()) {
        rename(arguments, "tasks", &["task"]);
    }
    rename(arguments, "fail_fast", &["failFast"]);
    plain(arguments);
    match arguments.remove("tasks") {
        None => one_task(arguments),
        Some(tasks) => {
            let tasks = match list(tasks) {
                Value::Array(tasks) => tasks.into_iter().map(task).collect(),
                // What is not a list is refused.
                other => other,
            };
            arguments.insert("tasks".to_owned(), tasks);
        }
    }
    if let Some(context) = arguments.get_mut("context") {
        unescape(context);
    }
}

/// Makes a list of one task of its parts, if there are any.
fn one_task(arguments: &mut Map<String, Value>) {
    let agent = arguments.contains_key("agent");
    let is_other = named_as_elsewhere(arguments);
    let mut parts = Map::new();
    for name in OF_ONE_TASK {
        if let Some(part) = arguments.remove(*name) {
            parts.insert((*name).to_owned(), part);
        }
    }
    if !parts.is_empty() && (agent || is_other || parts.contains_key("assignment")) {
        add_id(&mut parts);
        arguments.insert("tasks".to_owned(), json!([task(Value::Object(parts))]));
    } else {
        arguments.extend(parts);
    }
}

/// Returns a task in the declared form.
fn task(mut value: Value) -> Value {
    if let Value::String(text) = &value
        && let Some(object @ Value::Object(_)) = json_in(text)
    {
        value = object;
    }
    if let Value::Object(parts) = &mut value {
        plain(parts);
        if named_as_elsewhere(parts) {
            add_id(parts);
        }
        if let Some(assignment) = parts.get_mut("assignment") {
            unescape(assignment);
        }
    }
    value
}

/// Gives the parts the names that they have here, except for the assignment, and leaves out what says nothing.
fn plain(parts: &mut Map<String, Value>) {
    rename(parts, "agent", &["subagent_type", "agent_type", "subagentType", "agentType"]);
    rename(parts, "id", &["name"]);
    rename(parts, "depends_on", &["dependsOn", "dependencies"]);
    if parts.get("isolation").and_then(Value::as_str) == Some("worktree") {
        parts.remove("isolation");
        parts.entry("isolated").or_insert(json!(true));
    }
    parts.retain(|name, value| {
        let is_no = matches!(value, Value::Null | Value::Bool(false));
        !(is_no && SAY_NOTHING.contains(&name.as_str()))
    });
}

/// Gives the assignment its name, and returns whether it had another one, as it has where tasks have no ids.
fn named_as_elsewhere(parts: &mut Map<String, Value>) -> bool {
    let had = parts.contains_key("assignment");
    rename(parts, "assignment", &["prompt", "task", "instructions"]);
    !had && parts.contains_key("assignment")
}

/// Adds an id to a task without one, made of what describes it.
fn add_id(parts: &mut Map<String, Value>) {
    let text = |name: &str| parts.get(name).and_then(Value::as_str).unwrap_or_default();
    if !text("id").trim().is_empty() {
        return;
    }
    let described = camel_case(text("description"));
    let id = if described.is_empty() { camel_case(text("assignment")) } else { described };
    let id = if id.is_empty() { "Task".to_owned() } else { id };
    parts.insert("id".to_owned(), Value::String(id));
}

/// Returns the words of a text in one, each with a capital: as many as have room in an id.
fn camel_case(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    let mut all = String::new();
    for word in words.filter(|word| !word.is_empty()) {
        let (first, rest) = word.split_at(1);
        let room = LONGEST_ID - all.len();
        if word.len() > room && !all.is_empty() {
            break;
        }
        let word = first.to_ascii_uppercase() + rest;
        all.push_str(&word[..word.len().min(room)]);
    }
    all
}

/// Returns the list that a text or a single task is.
fn list(tasks: Value) -> Value {
    match tasks {
        Value::String(text) => match json_in(&text) {
            Some(Value::Object(task)) => json!([task]),
            Some(list) => list,
            None => Value::String(text),
        },
        Value::Object(task) => json!([task]),
        other => other,
    }
}

/// Returns the object or list that a text is, also one that was escaped again.
fn json_in(text: &str) -> Option<Value> {
    let mut text = text.trim().to_owned();
    for _ in 0..LAYERS {
        text = match serde_json::from_str(&text) {
            Ok(Value::String(inner)) => inner,
            Ok(value @ (Value::Array(_) | Value::Object(_))) => return Some(value),
            Ok(_) => return None,
            Err(_) => unescaped(&text)?,
        };
    }
    None
}

/// Returns a text without one layer of escapes; `None` if it has none, or was not escaped as a whole.
fn unescaped(text: &str) -> Option<String> {
    if !text.contains('\\') {
        return None;
    }
    serde_json::from_str(&format!("\"{text}\"")).ok()
}

/// Replaces a text that was escaped twice: one line, in which line breaks or quotes are escaped throughout.
fn unescape(value: &mut Value) {
    let Value::String(text) = value else { return };
    let is_escaped = !text.contains('\n')
        && (text.contains("\\n\\n") || text.matches("\\n").count() > 2 || text.contains("\\\""));
    if let Some(plain) = is_escaped.then(|| unescaped(text)).flatten() {
        *text = plain;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reshaped(arguments: Value) -> Value {
        let Value::Object(mut arguments) = arguments else {
            unreachable!("arguments are an object")
        };
        reshape(&mut arguments);
        Value::Object(arguments)
    }

    #[test]
    fn one_task_stands_for_a_list_of_it() {
        let expected = json!({
            "agent": "explore",
            "tasks": [{ "id": "FindTheLogin", "description": "Find the login!", "assignment": "Where is it?" }],
        });
        let of_claude = json!({
            "description": "Find the login!", "prompt": "Where is it?", "subagent_type": "explore",
            "run_in_background": false, "model": null,
        });
        assert_eq!(reshaped(of_claude), expected);
        for name in ["assignment", "prompt", "task", "instructions"] {
            let mut one = json!({ "id": "A", "context": "c", "depends_on": [] });
            one[name] = json!("x");
            let expected = json!({
                "context": "c", "tasks": [{ "id": "A", "assignment": "x", "depends_on": [] }],
            });
            assert_eq!(reshaped(one), expected, "{name}");
        }
        for unclear in [json!({}), json!({ "context": "x" }), json!({ "description": "x" })] {
            assert_eq!(reshaped(unclear.clone()), unclear, "what is no task stays as it is");
        }
        let op = json!({ "op": "status", "id": "task_1" });
        assert_eq!(reshaped(op.clone()), op);
    }

    #[test]
    fn a_list_of_tasks_is_understood_in_other_words_and_as_text() {
        let tasks = json!([{ "id": "A", "assignment": "x", "agent": "plan" }]);
        let text = tasks.to_string();
        for (what, given) in [
            ("another name of the list", json!({ "items": tasks })),
            ("a single one", json!({ "tasks": tasks[0] })),
            ("a single one by another name", json!({ "task": tasks[0] })),
            (
                "names",
                json!({ "tasks": [{ "name": "A", "prompt": "x", "subagent_type": "plan" }] }),
            ),
            ("text", json!({ "tasks": text })),
            ("escaped text", json!({ "tasks": text.replace('"', "\\\"") })),
            ("text in text", json!({ "tasks": Value::from(text.clone()).to_string() })),
            ("text of one", json!({ "tasks": tasks[0].to_string() })),
            ("texts", json!({ "tasks": [tasks[0].to_string()] })),
        ] {
            assert_eq!(reshaped(given), json!({ "tasks": tasks }), "{what}");
        }
        for other in [json!({ "tasks": "do it" }), json!({ "tasks": 7 }), json!({ "tasks": [7] })] {
            assert_eq!(reshaped(other.clone()), other);
        }
        let without = json!({ "tasks": [{ "description": "Do it", "assignment": "x" }] });
        assert_eq!(reshaped(without.clone()), without, "an id that is left out is not made up");
        let isolated = json!({ "tasks": [{ "prompt": "do it", "isolation": "worktree" }] });
        let expected =
            json!({ "tasks": [{ "id": "DoIt", "assignment": "do it", "isolated": true }] });
        assert_eq!(reshaped(isolated), expected);
    }

    #[test]
    fn a_text_that_was_escaped_twice_is_taken_for_what_it_was() {
        for (text, expected) in [
            (r"# Goal\n\nDo it.", "# Goal\n\nDo it."),
            (r#"Say \"x\" in a.rs"#, "Say \"x\" in a.rs"),
            (r"Split at \n", r"Split at \n"),
            (r"the regex \d+\n\n", r"the regex \d+\n\n"),
            (r#"Replace "\n\n" by "\n""#, r#"Replace "\n\n" by "\n""#),
            ("one\ntwo \\n\\n", "one\ntwo \\n\\n"),
        ] {
            let given = json!({ "context": text, "tasks": [{ "id": "A", "assignment": text }] });
            let wanted =
                json!({ "context": expected, "tasks": [{ "id": "A", "assignment": expected }] });
            assert_eq!(reshaped(given), wanted);
        }
    }

    #[test]
    fn an_id_is_made_of_as_many_words_as_have_room() {
        let long = "x".repeat(60);
        for (text, expected) in [
            ("fix the login", "FixTheLogin"),
            ("  fix: auth/session.rs (2x) ", "FixAuthSessionRs2x"),
            ("überall été", "BerallT"),
            ("日本", ""),
            (&*long, &*format!("X{}", "x".repeat(47))),
            (&*format!("fix {long} now"), "Fix"),
        ] {
            assert_eq!(camel_case(text), expected, "{text}");
        }
    }
}
