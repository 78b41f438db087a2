//! Which tools of its servers a session has, by which names, and which of them the model is shown.

use std::collections::BTreeSet;
use std::sync::Arc;

use protocol::is_unseen;
use serde_json::{Value, json};

use super::tool_names::tool_name;
use crate::ports::{McpDefinition, McpOffer, McpTool};

/// The name of the tool that finds tools which the model is not shown.
pub const FIND_TOOLS: &str = "find_tools";

/// The maximum number of bytes of a description, and of the instructions of a server.
const MAX_DESCRIPTION: usize = 2 << 10;

/// A server with what it offers.
pub struct ServerTools {
    /// The server.
    pub definition: Arc<McpDefinition>,
    /// What it offers, now or when it was last used.
    pub offer: Arc<McpOffer>,
}

/// A tool of a server in a session.
#[derive(Clone, Debug, PartialEq)]
pub struct OfferedTool {
    /// The name by which the model calls it.
    pub name: String,
    /// The position of its server.
    pub server: usize,
    /// The tool.
    pub tool: McpTool,
    /// Whether the model is shown it.
    pub declared: Declared,
    /// The description for the model.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Arc<Value>,
}

/// Whether a model is shown a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// It is.
    Yes,
    /// It finds the tool by a search, or knows its name.
    Deferred,
}

/// How much of the tools of servers a request has. The rest is deferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeferLimits {
    /// The maximum number of tools.
    pub tools: usize,
    /// The maximum number of bytes of their names, descriptions and schemas.
    pub bytes: usize,
}

impl Default for DeferLimits {
    fn default() -> Self {
        Self { tools: 60, bytes: 24 << 10 }
    }
}

/// Returns the tools of `servers`, in their order. What does not fit into `limits` is deferred, unless it is among
/// the names that were `found`. No name is one of `taken`.
#[must_use]
pub fn offered(
    servers: &[ServerTools],
    taken: &BTreeSet<String>,
    found: &BTreeSet<String>,
    limits: DeferLimits,
) -> Vec<OfferedTool> {
    let mut taken = taken.clone();
    taken.insert(FIND_TOOLS.to_owned());
    let (mut offered, mut tools, mut bytes, mut is_full) = (Vec::new(), 0, 0, false);
    for (server, ServerTools { definition, offer }) in servers.iter().enumerate() {
        let mut instructions = offer.instructions.as_deref();
        let wanted = offer.tools.iter().filter(|tool| definition.tools.offers(&tool.name));
        for tool in wanted {
            let name = tool_name(&definition.name, &tool.name, &taken);
            taken.insert(name.clone());
            // The first tool says what the server says about all of them.
            let description = description(definition, tool, instructions.take());
            let schema = Arc::new(object_schema(&tool.input_schema));
            let size = name.len() + description.len() + schema.to_string().len();
            is_full |= tools == limits.tools || bytes + size > limits.bytes;
            let declared = match is_full && !found.contains(&name) {
                true => Declared::Deferred,
                false => Declared::Yes,
            };
            if !is_full {
                tools += 1;
                bytes += size;
            }
            let tool = tool.clone();
            offered.push(OfferedTool { name, server, tool, declared, description, schema });
        }
    }
    offered
}

/// Returns the description of a tool for the model, with the instructions of its server behind it.
#[must_use]
pub fn description(
    definition: &McpDefinition,
    tool: &McpTool,
    instructions: Option<&str>,
) -> String {
    let server = &definition.name;
    let said = [tool.description.as_str(), tool.title.as_deref().unwrap_or_default()];
    let said = said.into_iter().map(bounded).find(|text| !text.is_empty());
    let said = said.unwrap_or_else(|| format!("MCP tool from {server}"));
    match instructions.map(bounded).filter(|text| !text.is_empty()) {
        Some(instructions) => {
            format!("{said}\n\nWhat the server {server} says about its tools: {instructions}")
        }
        None => said,
    }
}

/// Returns the beginning of a text of a server, without characters that cannot be seen.
fn bounded(text: &str) -> String {
    let text = text.trim();
    let end = text.floor_char_boundary(MAX_DESCRIPTION);
    let is_shown = |letter: &char| matches!(letter, '\n' | '\t') || !is_unseen(*letter);
    let mut bounded: String = text[..end].chars().filter(is_shown).collect();
    if end < text.len() {
        bounded.push('…');
    }
    bounded
}

/// Returns the schema as the server wrote it, or one of any object if it is none.
fn object_schema(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) if !fields.is_empty() => schema.clone(),
        _ => json!({ "type": "object" }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_definition::test_definition;
    use super::*;

    fn server(name: &str, tools: &[&str], instructions: Option<&str>) -> ServerTools {
        let tool = |name: &&str| McpTool {
            name: (*name).to_owned(),
            title: None,
            description: format!("Does {name}."),
            input_schema: json!({ "$schema": "x", "$defs": {}, "type": "object" }),
            read_only: false,
            idempotent: false,
        };
        let tools = tools.iter().map(tool).collect();
        let instructions = instructions.map(str::to_owned);
        let definition = Arc::new(test_definition(name));
        ServerTools { definition, offer: Arc::new(McpOffer { tools, instructions }) }
    }

    fn names(offered: &[OfferedTool], declared: Declared) -> Vec<&str> {
        let wanted = offered.iter().filter(|tool| tool.declared == declared);
        wanted.map(|tool| tool.name.as_str()).collect()
    }

    #[test]
    fn tools_beyond_the_limits_are_deferred_until_they_are_found() {
        let servers = [server("a", &["x", "y"], None), server("b", &["x", "y"], None)];
        let limits = DeferLimits { tools: 3, ..DeferLimits::default() };
        let none = BTreeSet::new();
        let all = offered(&servers, &none, &none, limits);
        assert_eq!(names(&all, Declared::Yes), ["mcp__a_x", "mcp__a_y", "mcp__b_x"]);
        assert_eq!(names(&all, Declared::Deferred), ["mcp__b_y"]);
        let found = BTreeSet::from(["mcp__b_y".to_owned()]);
        let all = offered(&servers, &none, &found, limits);
        assert_eq!(names(&all, Declared::Yes).len(), 4);
        let few = DeferLimits { bytes: 150, ..DeferLimits::default() };
        let all = offered(&servers, &none, &none, few);
        assert_eq!(names(&all, Declared::Yes), ["mcp__a_x", "mcp__a_y"]);
        assert_eq!(*all[0].schema, servers[0].offer.tools[0].input_schema, "it is unchanged");
    }

    #[test]
    fn a_tool_takes_no_name_of_another_and_filtered_tools_are_left_out() {
        let mut filtered = test_definition("a");
        filtered.tools.deny.insert("y".to_owned());
        let servers = ServerTools {
            definition: Arc::new(filtered),
            offer: server("a", &["x", "X", "y"], None).offer,
        };
        let taken = BTreeSet::from(["mcp__a_x".to_owned()]);
        let all = offered(&[servers], &taken, &BTreeSet::new(), DeferLimits::default());
        let names = names(&all, Declared::Yes);
        assert_eq!(names.len(), 2);
        assert!(names.iter().all(|name| name.starts_with("mcp__a_x_")), "{names:?}");
        assert_ne!(names[0], names[1]);
    }

    #[test]
    fn what_a_server_says_is_bounded_printable_and_said_once() {
        let long = "é".repeat(MAX_DESCRIPTION);
        let servers = [server("a", &["x", "y"], Some(&format!("Use\u{1b}[31m x first. {long}")))];
        let none = BTreeSet::new();
        let all = offered(&servers, &none, &none, DeferLimits::default());
        let expected = "Does x.\n\nWhat the server a says about its tools: Use[31m x first. éé";
        assert!(all[0].description.starts_with(expected), "{}", all[0].description);
        assert!(all[0].description.len() < MAX_DESCRIPTION + 100);
        assert_eq!(all[1].description, "Does y.");
    }
}
