//! The lists of a server, page by page, within bounds.

use engine::ports::{McpError, McpErrorKind, McpPrompt, McpResource, McpTool};
use rmcp::model::{
    ClientRequest, ErrorCode, ListPromptsRequest, ListResourceTemplatesRequest,
    ListResourcesRequest, ListToolsRequest, PaginatedRequestParams, Prompt, Resource,
    ResourceTemplate, ServerResult, Tool,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::bounds::{ENTRIES, PAGES, SCHEMA_DEPTH};
use crate::printable;
use crate::requests::{Requests, Terms};

/// The longest description and the longest other text of an entry, in characters.
const DESCRIPTION: usize = 16 << 10;
const TEXT: usize = 500;

/// One page of a list, and where the next one begins.
type Page<T> = (Vec<T>, Option<String>);

/// A list of a server.
struct List<T> {
    /// The name of its entries in an answer.
    key: &'static str,
    request: fn(PaginatedRequestParams) -> ClientRequest,
    /// Takes a page from an answer.
    page: fn(ServerResult) -> Option<Page<T>>,
}

impl Requests {
    /// Lists the tools. A tool that cannot be offered is left out, and reported.
    pub(crate) async fn list_tools(&self, terms: &Terms) -> Result<Vec<McpTool>, McpError> {
        let list = List {
            key: "tools",
            request: |page| ListToolsRequest::with_param(page).into(),
            page: |answer| match answer {
                ServerResult::ListToolsResult(list) => Some((list.tools, list.next_cursor)),
                other => lenient_page("tools", other),
            },
        };
        let tools: Vec<Tool> = self.all(&list, terms).await?;
        Ok(tools
            .into_iter()
            .filter_map(|it| tool(it).map_err(|why| self.client.report(&why)).ok())
            .collect())
    }

    /// Lists the resources, and then the templates of resources.
    pub(crate) async fn list_resources(&self, terms: &Terms) -> Result<Vec<McpResource>, McpError> {
        let list = List {
            key: "resources",
            request: |page| ListResourcesRequest::with_param(page).into(),
            page: |answer| match answer {
                ServerResult::ListResourcesResult(list) => Some((list.resources, list.next_cursor)),
                other => lenient_page("resources", other),
            },
        };
        let templates = List {
            key: "resourceTemplates",
            request: |page| ListResourceTemplatesRequest::with_param(page).into(),
            page: |answer| match answer {
                ServerResult::ListResourceTemplatesResult(list) => {
                    Some((list.resource_templates, list.next_cursor))
                }
                other => lenient_page("resourceTemplates", other),
            },
        };
        let resources: Vec<Resource> = self.all(&list, terms).await?;
        let templates: Vec<ResourceTemplate> = self.all(&templates, terms).await?;
        let resources = resources.into_iter().map(|it| {
            resource(it.uri, &it.name, it.description.as_deref(), it.mime_type.as_deref())
        });
        let templates = templates.into_iter().map(|it| {
            resource(it.uri_template, &it.name, it.description.as_deref(), it.mime_type.as_deref())
        });
        Ok(resources.chain(templates).collect())
    }

    /// Lists the prompts. A prompt that cannot be asked for is left out.
    pub(crate) async fn list_prompts(&self, terms: &Terms) -> Result<Vec<McpPrompt>, McpError> {
        let list = List {
            key: "prompts",
            request: |page| ListPromptsRequest::with_param(page).into(),
            page: |answer| match answer {
                ServerResult::ListPromptsResult(list) => Some((list.prompts, list.next_cursor)),
                other => lenient_page("prompts", other),
            },
        };
        let prompts: Vec<Prompt> = self.all(&list, terms).await?;
        let named = prompts.into_iter().filter(|it| printable::is_name(&it.name));
        Ok(named.map(prompt).collect())
    }

    /// Returns all entries of a list; none if the server does not know the list.
    async fn all<T: DeserializeOwned>(
        &self,
        list: &List<T>,
        terms: &Terms,
    ) -> Result<Vec<T>, McpError> {
        let unknown = McpErrorKind::Answered(i64::from(ErrorCode::METHOD_NOT_FOUND.0));
        let wrong = |what: &str| {
            let what = format!("{what} of {}", list.key);
            self.subject.error(McpErrorKind::NoAnswer, what)
        };
        let mut entries = Vec::new();
        let mut cursor: Option<String> = None;
        for _page in 0..PAGES {
            let request = PaginatedRequestParams::default().with_cursor(cursor.clone());
            let answer = match self.send((list.request)(request), terms).await {
                Err(error) if error.kind == unknown && cursor.is_none() => return Ok(entries),
                answer => answer?,
            };
            let (more, next) = (list.page)(answer)
                .ok_or_else(|| wrong("gave a wrong answer to a request for the list"))?;
            entries.extend(more);
            if entries.len() > ENTRIES {
                return Err(wrong("has more than 10,000 entries in its list"));
            }
            match next {
                None => return Ok(entries),
                Some(next) if cursor.as_ref() == Some(&next) => {
                    return Err(wrong("repeats a page of its list"));
                }
                Some(next) => cursor = Some(next),
            }
        }
        Err(wrong("has endless pages in its list"))
    }
}

/// Returns the entries of a page that are as the protocol has them, of an answer that is not.
fn lenient_page<T: DeserializeOwned>(key: &str, answer: ServerResult) -> Option<Page<T>> {
    let ServerResult::CustomResult(mut custom) = answer else { return None };
    let Value::Array(entries) = custom.0.get_mut(key)?.take() else { return None };
    let next = custom.0["nextCursor"].as_str().map(str::to_owned);
    let known = entries.into_iter().filter_map(|entry| serde_json::from_value(entry).ok());
    Some((known.collect(), next))
}

/// Returns a tool, or why it cannot be offered.
fn tool(tool: Tool) -> Result<McpTool, String> {
    if !printable::is_name(&tool.name) {
        return Err(format!("tool `{}` is left out: its name cannot be used", tool.name));
    }
    let input_schema = Value::Object((*tool.input_schema).clone());
    if depth(&input_schema) > SCHEMA_DEPTH {
        return Err(format!("tool `{}` is left out: its schema is nested too deeply", tool.name));
    }
    let hints = tool.annotations.unwrap_or_default();
    let title = tool.title.or(hints.title).map(|title| printable::line(&title, TEXT));
    let description = tool.description.as_deref().or(title.as_deref()).unwrap_or_default();
    Ok(McpTool {
        name: tool.name.clone().into_owned(),
        description: printable::block(description, DESCRIPTION),
        title,
        input_schema,
        read_only: hints.read_only_hint == Some(true),
        idempotent: hints.idempotent_hint == Some(true),
    })
}

fn resource(
    uri: String,
    name: &str,
    description: Option<&str>,
    mime_type: Option<&str>,
) -> McpResource {
    McpResource {
        uri,
        name: printable::line(name, TEXT),
        description: description.map(|text| printable::line(text, TEXT)),
        mime_type: mime_type.map(|text| printable::line(text, TEXT)),
    }
}

fn prompt(prompt: Prompt) -> McpPrompt {
    let arguments = prompt.arguments.unwrap_or_default().into_iter();
    McpPrompt {
        name: prompt.name,
        description: prompt.description.map(|text| printable::line(&text, TEXT)),
        arguments: arguments.map(|it| (it.name, it.required.unwrap_or_default())).collect(),
    }
}

/// Returns how deeply a value is nested.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_has_its_schema_as_it_is_and_its_texts_without_escapes() {
        let schema =
            json!({"type": "object", "$schema": "x", "$defs": {"b": {}, "a": {}}, "z": 1, "a": 2});
        let listed = json!({
            "name": "read", "title": "Read \u{1b}[31ma file", "description": "a\nb\u{1b}[0m",
            "inputSchema": schema, "annotations": {"readOnlyHint": true, "idempotentHint": false},
        });
        let tool = tool(serde_json::from_value(listed).unwrap()).unwrap();
        let expected = McpTool {
            name: "read".to_owned(),
            title: Some("Read a file".to_owned()),
            description: "a\nb".to_owned(),
            input_schema: schema.clone(),
            read_only: true,
            idempotent: false,
        };
        assert_eq!(tool, expected);
        assert_eq!(tool.input_schema.to_string(), schema.to_string(), "also its order");
    }

    #[test]
    fn a_tool_that_cannot_be_offered_says_why() {
        let mut deep = json!({});
        for _level in 0..SCHEMA_DEPTH {
            deep = json!({"properties": deep});
        }
        for (name, schema, expected) in [
            ("a\u{1b}[31m", json!({}), "its name cannot be used"),
            ("", json!({}), "its name cannot be used"),
            ("deep", deep, "its schema is nested too deeply"),
        ] {
            let listed = json!({"name": name, "inputSchema": schema});
            let why = tool(serde_json::from_value(listed).unwrap()).unwrap_err();
            assert!(why.ends_with(expected), "{why}");
        }
    }

    #[test]
    fn of_a_page_with_malformed_entries_the_others_are_kept() {
        let page =
            json!({"tools": [{"name": "a"}, {"name": "b", "inputSchema": {}}], "nextCursor": "2"});
        let answer: ServerResult = serde_json::from_value(page).unwrap();
        let (tools, next) = lenient_page::<Tool>("tools", answer).unwrap();
        let names: Vec<_> = tools.iter().map(|tool| &tool.name[..]).collect();
        assert_eq!((names, next.as_deref()), (vec!["b"], Some("2")));
        let other: ServerResult = serde_json::from_value(json!({"x": 1})).unwrap();
        assert!(lenient_page::<Tool>("tools", other).is_none());
    }
}
