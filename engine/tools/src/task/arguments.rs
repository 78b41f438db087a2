//! The arguments of the tool `task`, and their check: what is wrong with them is a normal result, which names all
//! that is wrong.

use std::collections::{BTreeMap, BTreeSet};

use engine::dependencies::in_order;
use engine::ports::{SpawnCall, SpawnItem};
use protocol::{TaskName, quote, quote_within};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The maximum number of tasks of a call.
const MOST: usize = 1_000;

/// The maximum number of characters of an id.
pub(super) const LONGEST_ID: usize = 48;

/// How many ids or indexes an error names.
const NAMED: usize = 20;

/// Which tasks are given to whom.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TaskArguments {
    /// That of tasks that name none; task if left out.
    agent: Option<String>,
    /// What all of them have to know.
    context: Option<String>,
    /// JSON Schema or JTD of the results.
    schema: Option<Map<String, Value>>,
    /// Each works in a copy of the tree.
    isolated: Option<bool>,
    /// The first failure cancels the rest.
    fail_fast: Option<bool>,
    #[serde(default)]
    tasks: Vec<TaskItem>,
    /// What is refused by its name.
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// A task.
#[derive(Debug, Deserialize, JsonSchema)]
struct TaskItem {
    /// Unique, in CamelCase, at most 48 letters and digits.
    #[serde(default)]
    id: String,
    /// Title for the user.
    description: Option<String>,
    /// All that it has to know and do, and when it is done.
    #[serde(default)]
    assignment: String,
    agent: Option<String>,
    schema: Option<Map<String, Value>>,
    isolated: Option<bool>,
    /// false: land nothing of the copy.
    apply: Option<bool>,
    /// Ids of those that have to succeed first.
    #[serde(default)]
    depends_on: Vec<String>,
    /// What is refused by its name.
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// Why no task of a call is started.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid tasks: {}", .0.join(" "))]
pub(super) struct InvalidTasks(Vec<String>);

/// Arguments that other tools of this name have, and what to do without them.
const REFUSED: &[(&str, &str)] = &[
    (
        "op",
        "give a list, {\"tasks\":[{\"id\":\"…\",\"assignment\":\"…\"}]}, and the call returns all results",
    ),
    ("background", "the call returns when all tasks have ended"),
    ("async", "the call returns when all tasks have ended"),
    ("run_in_background", "the call returns when all tasks have ended"),
    ("resume", "start a new task, and say in its assignment what the earlier one has found"),
    ("best_of", "give each task once"),
    ("proofs", "say in the assignment how the work is checked"),
    ("model", "the agent decides which model works"),
];

impl TaskArguments {
    /// Returns the call.
    ///
    /// # Errors
    /// All that is wrong with the tasks.
    pub(super) fn into_call(self) -> Result<SpawnCall, InvalidTasks> {
        let Self { agent, context, schema, isolated, fail_fast, tasks, others } = self;
        let others = others.into_iter().chain(tasks.iter().flat_map(|task| task.others.clone()));
        let others: BTreeMap<_, _> = others.collect();
        let mut wrong: Vec<_> = others.keys().take(NAMED).map(|name| not_there(name)).collect();
        // A call of another tool of this name has no list, which is not to be said besides.
        if wrong.is_empty() {
            wrong = mistakes(&tasks);
        }
        if !wrong.is_empty() {
            return Err(InvalidTasks(wrong));
        }
        Ok(SpawnCall {
            agent: said(agent),
            context: said(context),
            schema: schema.map(Value::Object),
            isolated: isolated.unwrap_or_default(),
            fail_fast: fail_fast.unwrap_or_default(),
            items: tasks.into_iter().map(TaskItem::into_item).collect(),
        })
    }
}

impl TaskItem {
    fn into_item(self) -> SpawnItem {
        let Self { id, description, assignment, agent, schema, isolated, apply, .. } = self;
        SpawnItem {
            id,
            description: said(description),
            assignment,
            agent: said(agent),
            schema: schema.map(Value::Object),
            isolated,
            apply,
            depends_on: self.depends_on,
        }
    }
}

/// Returns a text that says something.
fn said(text: Option<String>) -> Option<String> {
    let text = text.map(|text| text.trim().to_owned());
    text.filter(|text| !text.is_empty())
}

fn not_there(name: &str) -> String {
    match REFUSED.iter().find(|(refused, _)| *refused == name) {
        Some((_, instead)) => format!("`{name}` is not available: {instead}."),
        None => format!("`{}` is not an argument of this tool.", quote_within(name, 40)),
    }
}

/// Returns all that is wrong with the tasks.
fn mistakes(tasks: &[TaskItem]) -> Vec<String> {
    if tasks.is_empty() {
        return vec![
            "There are none. Give at least one: {\"tasks\":[{\"id\":\"…\",\"assignment\":\"…\"}]}."
                .to_owned(),
        ];
    }
    if tasks.len() > MOST {
        return vec![format!("There are {}; one call takes at most {MOST}.", tasks.len())];
    }
    let mut wrong = Vec::new();
    let missing = |is_missing: fn(&TaskItem) -> bool| {
        let indexes = tasks.iter().enumerate().filter(move |(_, task)| is_missing(task));
        indexes.map(|(index, _)| index.to_string())
    };
    let without_id = |task: &TaskItem| task.id.trim().is_empty();
    wrong.extend(list("Missing task ids at indexes", missing(without_id)));
    let mut seen = BTreeSet::new();
    let twice = tasks.iter().filter(|task| !without_id(task));
    let twice = twice.filter(|task| !seen.insert(task.id.to_ascii_lowercase()));
    let twice: BTreeSet<_> = twice.map(|task| quote(&task.id)).collect();
    wrong.extend(list("Duplicate task ids detected (case-insensitive)", twice.into_iter()));
    let unusable = tasks.iter().filter(|task| !without_id(task) && name(&task.id).is_none());
    let unusable = unusable.map(|task| quote_within(&task.id, LONGEST_ID + 12));
    wrong.extend(list(
        "Task ids that are not a letter or digit followed by at most 47 letters, digits, `_` or `-`",
        unusable,
    ));
    let without_assignment = |task: &TaskItem| task.assignment.trim().is_empty();
    wrong.extend(list("Missing assignments at indexes", missing(without_assignment)));
    // Only tasks that have names can be ordered.
    if wrong.is_empty() {
        wrong.extend(order_mistake(tasks));
    }
    wrong
}

/// Returns the name that an id is, which is one segment of that of a task.
fn name(id: &str) -> Option<TaskName> {
    id.parse().ok().filter(|_name| !id.contains('.'))
}

/// Returns why the tasks cannot be ordered, if they cannot.
fn order_mistake(tasks: &[TaskItem]) -> Option<String> {
    let ids: BTreeSet<_> = tasks.iter().map(|task| task.id.to_ascii_lowercase()).collect();
    let unknown = tasks.iter().flat_map(|task| task.depends_on.iter().map(move |on| (task, on)));
    let unknown = unknown.filter(|(_, on)| !ids.contains(&on.to_ascii_lowercase()));
    let unknown = unknown.map(|(task, on)| format!("{} on {}", task.id, quote(on)));
    if let Some(unknown) = list("Tasks depend on tasks that are not in this call", unknown) {
        return Some(unknown);
    }
    let names = tasks.iter().filter_map(|task| {
        Some((name(&task.id)?, task.depends_on.iter().filter_map(|on| name(on)).collect()))
    });
    let names: Vec<(TaskName, Vec<TaskName>)> = names.collect();
    let order: Vec<_> = names.iter().map(|(task, on)| (task, on.as_slice())).collect();
    in_order(&order).err().map(|error| format!("The {error}."))
}

/// Returns a sentence with a list; `None` if nothing is in it.
fn list(what: &str, names: impl Iterator<Item = String>) -> Option<String> {
    let mut names: Vec<_> = names.take(NAMED + 1).collect();
    if names.len() > NAMED {
        names[NAMED] = "…".to_owned();
    }
    (!names.is_empty()).then(|| format!("{what}: {}.", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(arguments: Value) -> Result<SpawnCall, String> {
        let arguments: TaskArguments = serde_json::from_value(arguments).unwrap();
        arguments.into_call().map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn a_call_has_what_its_arguments_say() {
        let item = SpawnItem {
            id: "A".to_owned(),
            description: Some("Do a".to_owned()),
            assignment: "Do it.".to_owned(),
            agent: Some("explore".to_owned()),
            schema: Some(json!({ "type": "object" })),
            isolated: Some(true),
            apply: Some(false),
            depends_on: vec!["b".to_owned()],
        };
        let other = SpawnItem {
            id: "B".to_owned(),
            assignment: "And it.".to_owned(),
            ..SpawnItem::default()
        };
        let expected = SpawnCall {
            agent: Some("task".to_owned()),
            context: Some("All.".to_owned()),
            schema: Some(json!({ "properties": {} })),
            isolated: true,
            fail_fast: true,
            items: vec![item, other],
        };
        let arguments = json!({
            "agent": " task ", "context": "All.", "schema": { "properties": {} }, "isolated": true,
            "fail_fast": true,
            "tasks": [
                {
                    "id": "A", "description": "Do a", "assignment": "Do it.", "agent": "explore",
                    "schema": { "type": "object" }, "isolated": true, "apply": false, "depends_on": ["b"],
                },
                { "id": "B", "assignment": "And it.", "description": " " },
            ],
        });
        assert_eq!(call(arguments), Ok(expected));
    }

    #[test]
    fn tasks_that_cannot_be_started_are_named_with_what_is_wrong() {
        let task = |id: &str| json!({ "id": id, "assignment": "x" });
        let on = |id: &str, on: &[&str]| json!({ "id": id, "assignment": "x", "depends_on": on });
        let long = "x".repeat(49);
        for (tasks, expected) in [
            (json!([]), "There are none. Give at least one:"),
            (
                json!([task("A"), task(" "), { "assignment": "x" }]),
                "Invalid tasks: Missing task ids at indexes: 1, 2.",
            ),
            (
                json!([task("Auth"), task("auth"), task("B"), task("AUTH"), task("")]),
                "Invalid tasks: Missing task ids at indexes: 4. Duplicate task ids detected \
                 (case-insensitive): AUTH, auth.",
            ),
            (json!([task("a.b")]), "or `-`: a.b."),
            (json!([task("../x")]), "or `-`: ../x."),
            (json!([task("_x"), task("é"), task("a b")]), "or `-`: _x, é, a b."),
            (json!([task(&long)]), &format!("or `-`: {long}.")),
            (
                json!([{ "id": "A" }, { "id": "B", "assignment": " \n" }]),
                "Invalid tasks: Missing assignments at indexes: 0, 1.",
            ),
            (
                json!([on("A", &["C", "b"]), task("B")]),
                "Invalid tasks: Tasks depend on tasks that are not in this call: A on C.",
            ),
            (json!([on("A", &["B"]), on("B", &["a"])]), "each other in a circle: A → B → A."),
            (json!([on("A", &["A"])]), "each other in a circle: A → A."),
            (
                Value::from((0..1001).map(|id| task(&format!("T{id}"))).collect::<Vec<_>>()),
                "Invalid tasks: There are 1001; one call takes at most 1000.",
            ),
        ] {
            let wrong = call(json!({ "tasks": tasks })).unwrap_err();
            assert!(wrong.contains(expected), "{wrong}\nshould be: {expected}");
        }
        let most: Vec<_> = (0..1000).map(|id| task(&format!("T{id}"))).collect();
        assert_eq!(call(json!({ "tasks": most })).unwrap().items.len(), 1000);
        let many = vec![json!({}); 500];
        assert!(call(json!({ "tasks": many })).unwrap_err().len() < 400, "not all are listed");
    }

    #[test]
    fn what_other_tools_of_this_name_take_is_refused_by_its_name() {
        let refused = ["async", "background", "best_of", "model", "op", "proofs", "resume", "x"];
        for name in refused {
            for place in ["", "tasks"] {
                let mut arguments = json!({ "tasks": [{ "id": "A", "assignment": "x" }] });
                let part =
                    if place.is_empty() { &mut arguments } else { &mut arguments["tasks"][0] };
                part[name] = json!("start");
                let wrong = call(arguments).unwrap_err();
                let expected = format!("Invalid tasks: `{name}` is not a");
                assert!(wrong.starts_with(&expected), "{wrong}");
                assert_eq!(wrong.matches(". ").count(), 0, "one sentence: {wrong}");
            }
        }
        let op = json!({ "op": "start", "subagent_type": "finder", "prompt": "x" });
        let wrong = call(op).unwrap_err();
        assert!(wrong.contains("`op` is not available: give a list"), "{wrong}");
    }
}
