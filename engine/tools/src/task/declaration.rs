//! The declaration of the tool `task` for a model: at most 2.5 KB with the agents that it can give tasks to.

use std::sync::Arc;

use engine::ports::{SpawnOffer, ToolSpec};
use protocol::{is_unseen, quote_within};
use serde_json::{Value, json};

use super::shares::share;
use crate::display::head;

/// The maximum number of bytes of the declaration.
const MOST: usize = 2_500;

/// The bytes of what is around the list of agents: the members of the declaration, and escapes in texts.
const AROUND: usize = 60;

/// The maximum number of characters of the name of an agent.
const LONGEST_NAME: usize = 48;

/// The description before the list of agents.
pub(super) const DESCRIPTION: &str = "Gives tasks to subagents that work side by side, and returns their results. \
    They see nothing of this conversation: context and assignment say all they need. For independent parts of \
    larger work, or searches of which you need only the answer. Long results are cut: read agent://NAME, or a \
    part of JSON, agent://NAME?q=/json/pointer.";

/// What the description says of where subagents work.
const SHARED: &str = " They share your tree: no two may change one file.";
const ISOLATED: &str = " They share your tree: no two may change one file, unless isolated: each in a copy, whose changes \
    are merged into yours.";

/// Returns the declaration with the agents that are offered.
pub(super) fn declared(usual: &ToolSpec, offer: &SpawnOffer) -> ToolSpec {
    let parameters = parameters(&usual.parameters, offer);
    let place = if offer.isolated { ISOLATED } else { SHARED };
    let mut description = format!("{}{place}", usual.description);
    let others = usual.name.len() + description.len() + parameters.to_string().len() + AROUND;
    description.push_str(&agents(&offer.agents, MOST.saturating_sub(others)));
    ToolSpec { description: description.into(), parameters: Arc::new(parameters), ..usual.clone() }
}

/// Returns the schema with what a task has to have, and without what is refused.
fn parameters(usual: &Value, offer: &SpawnOffer) -> Value {
    let mut schema = usual.clone();
    strict(&mut schema, &["tasks"]);
    if let Some(items) = schema.pointer_mut("/properties/tasks/items") {
        strict(items, &["id", "assignment"]);
    }
    for properties in ["/properties", "/properties/tasks/items/properties"] {
        let Some(Value::Object(properties)) = schema.pointer_mut(properties) else { continue };
        if !offer.isolated {
            properties.remove("isolated");
            properties.remove("apply");
        }
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            property.remove("additionalProperties");
        }
    }
    schema
}

/// Makes the schema of an object refuse members that it does not name.
fn strict(schema: &mut Value, required: &[&str]) {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("additionalProperties".to_owned(), json!(false));
        schema.insert("required".to_owned(), json!(required));
        schema.remove("description");
    }
}

/// Returns the list of agents in at most so many bytes: descriptions share the room, and if there is none for all
/// names, the list ends with how many more there are.
fn agents(agents: &[(String, String)], room: usize) -> String {
    let mut list = "\nAgents:".to_owned();
    let named =
        agents.iter().map(|(name, what)| (quote_within(name, LONGEST_NAME), one_line(what)));
    let named: Vec<_> = named.collect();
    let names: usize = named.iter().map(|(name, _)| name.len() + LINE).sum();
    let Some(room_of_texts) = room.checked_sub(list.len() + names) else {
        let mut used = list.len();
        for (at, (name, _)) in named.iter().enumerate() {
            used += name.len() + LINE;
            if used + MORE > room {
                return format!("{list}\n- and {} more", named.len() - at);
            }
            list.push_str(&format!("\n- {name}"));
        }
        return list;
    };
    let most = share(named.iter().map(|(_, what)| what.len()), room_of_texts);
    for (name, what) in &named {
        let what = shortened(what, most);
        let what = if what.is_empty() { what } else { format!(": {what}") };
        list.push_str(&format!("\n- {name}{what}"));
    }
    list
}

/// The bytes of a line of the list beside the name and the description, with an escaped line break.
const LINE: usize = "\\n- : ".len();

/// The bytes of the line that says how many more agents there are.
const MORE: usize = "\\n- and 1000 more".len();

/// Returns a text in one line, without characters that have to be escaped.
fn one_line(text: &str) -> String {
    let letters = text.chars().map(|letter| match letter {
        '"' => '\'',
        '\\' => '/',
        unseen if unseen.is_whitespace() || is_unseen(unseen) => ' ',
        letter => letter,
    });
    let text: String = letters.collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the first words of a text in at most so many bytes.
fn shortened(text: &str, most: usize) -> String {
    const CUT: char = '…';
    if text.len() <= most {
        return text.to_owned();
    }
    let begun = head(text, most.saturating_sub(CUT.len_utf8()));
    match begun.rsplit_once(' ') {
        Some((words, _)) => format!("{words}{CUT}"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::spec;
    use crate::task::Task;

    fn told(offer: &SpawnOffer) -> (ToolSpec, usize) {
        let spec = declared(&spec::<Task>(), offer);
        let all = json!({
            "name": spec.name, "description": &*spec.description, "parameters": &*spec.parameters,
        });
        let bytes = all.to_string().len();
        (spec, bytes)
    }

    #[test]
    fn a_declaration_has_at_most_2500_bytes_whatever_agents_there_are() {
        let agent = |name: &str, what: &str| (name.to_owned(), what.to_owned());
        let many = |count: usize, bytes: usize| {
            let agents =
                (0..count).map(|at| agent(&format!("agent-{at}"), &"word ".repeat(bytes / 5)));
            agents.collect::<Vec<_>>()
        };
        let few = vec![agent("task", "Does any task."), agent("explore", "Reads,\n\"searches\".")];
        for (agents, ends) in [
            (Vec::new(), "\nAgents:"),
            (few, "\n- task: Does any task.\n- explore: Reads, 'searches'."),
            (many(6, 2_000), "word…"),
            (many(2_000, 200), " more"),
            (vec![agent("long", &"x".repeat(9_999))], "\n- long"),
            (vec![agent(&"é".repeat(5_000), &"\\\"\u{1b}".repeat(900))], " /'…"),
        ] {
            let (count, first) = (agents.len(), agents.first().cloned());
            let (spec, bytes) = told(&SpawnOffer { agents, isolated: true });
            assert!(bytes <= MOST, "{count} agents {first:?}: {bytes} bytes\n{}", spec.description);
            assert!(spec.description.ends_with(ends), "{count} agents: {}", spec.description);
        }
        let (spec, bytes) = told(&SpawnOffer { agents: many(6, 2_000), isolated: true });
        let all = (0..6).all(|at| spec.description.contains(&format!("- agent-{at}: word word")));
        assert!(all && bytes > MOST - 400, "all share the room: {bytes} {}", spec.description);
    }

    #[test]
    fn copies_are_only_declared_where_there_are_some() {
        let names = |schema: &Value, at: &str| {
            let names = schema.pointer(at).and_then(Value::as_object).unwrap().keys();
            names.cloned().collect::<Vec<_>>()
        };
        let item = "/properties/tasks/items/properties";
        let (spec, _) = told(&SpawnOffer { agents: Vec::new(), isolated: true });
        assert!(
            spec.description.contains("unless isolated: each in a copy"),
            "{}",
            spec.description
        );
        let all = ["agent", "context", "schema", "isolated", "fail_fast", "tasks"];
        assert_eq!(names(&spec.parameters, "/properties"), all);
        let of_item = [
            "id",
            "description",
            "assignment",
            "agent",
            "schema",
            "isolated",
            "apply",
            "depends_on",
        ];
        assert_eq!(names(&spec.parameters, item), of_item);
        let (spec, _) = told(&SpawnOffer { agents: Vec::new(), isolated: false });
        assert!(!spec.description.contains("isolated"), "{}", spec.description);
        let none =
            |names: Vec<String>| !names.iter().any(|name| ["isolated", "apply"].contains(&&**name));
        assert!(
            none(names(&spec.parameters, "/properties")) && none(names(&spec.parameters, item))
        );
        assert_eq!(spec.parameters["required"], json!(["tasks"]));
        assert_eq!(
            spec.parameters.pointer("/properties/tasks/items/required"),
            Some(&json!(["id", "assignment"]))
        );
        let text = spec.parameters.to_string();
        assert!(!text.contains("additionalProperties\":true"), "{text}");
    }
}
