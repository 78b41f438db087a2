//! What a well-behaved server answers.

use serde_json::{Value, json};

/// The revisions of MCP that a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revision {
    /// One with `initialize`. The server answers with it, whatever the client wants.
    Initialize(&'static str),
    /// The newest, without `initialize`.
    Newest,
}

/// The answers of a server with a few tools, a resource and a prompt.
#[derive(Clone, Copy, Debug)]
pub struct Answers {
    /// The revision that it speaks.
    pub revision: Revision,
    /// The number of changes of the list of tools. Each adds a tool.
    pub changes: usize,
}

impl Answers {
    /// Returns the answers of a server that speaks `revision`.
    #[must_use]
    pub fn new(revision: Revision) -> Self {
        Self { revision, changes: 0 }
    }

    /// Returns the message that answers a request; `None` for a notification, an answer, and a call of `wait`.
    #[must_use]
    pub fn answer(&self, request: &Value) -> Option<Value> {
        let (id, method) = (request.get("id")?, request["method"].as_str()?);
        let params = &request["params"];
        let result = match method {
            "initialize" => self.initialized()?,
            "server/discover" if self.revision == Revision::Newest => discovered(),
            "ping" => json!({}),
            "tools/list" => json!({"tools": self.tools()}),
            "tools/call" => called(params)?,
            "resources/list" => {
                json!({"resources": [{"uri": "x:a", "name": "a", "mimeType": "text/plain"}]})
            }
            "resources/templates/list" => {
                json!({"resourceTemplates": [{"uriTemplate": "x:{name}", "name": "any"}]})
            }
            "resources/read" => json!({"contents": [{"uri": params["uri"], "text": "in a"}]}),
            "prompts/list" => json!({"prompts": [{
                "name": "review", "arguments": [{"name": "path", "required": true}],
            }]}),
            "prompts/get" => json!({"messages": [{
                "role": "user",
                "content": {"type": "text", "text": format!("Review {}.", params["arguments"]["path"])},
            }]}),
            _ => {
                let error = json!({"code": -32601, "message": format!("no method {method}")});
                return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
        };
        let result = self.with_type(result);
        Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    /// Adds what the newest revision wants in each result.
    fn with_type(&self, mut result: Value) -> Value {
        if self.revision == Revision::Newest {
            result["resultType"] = json!("complete");
        }
        result
    }

    fn initialized(&self) -> Option<Value> {
        let Revision::Initialize(revision) = self.revision else {
            return Some(json!({"unexpected": true}));
        };
        Some(json!({
            "protocolVersion": revision,
            "capabilities": capabilities(),
            "serverInfo": {"name": "stand-in", "version": "1.0"},
            "instructions": "Use it\u{1b}[31m well.",
        }))
    }

    fn tools(&self) -> Vec<Value> {
        let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
        let mut tools: Vec<_> =
            ["echo", "fail", "wait", "steps", "die"].into_iter().map(tool).collect();
        tools[0]["description"] = json!("Returns its text.");
        tools[0]["annotations"] = json!({"readOnlyHint": true});
        tools.extend((0..self.changes).map(|number| tool(&format!("added_{number}"))));
        tools
    }
}

fn capabilities() -> Value {
    json!({"tools": {"listChanged": true}, "resources": {}, "prompts": {}, "logging": {}})
}

fn discovered() -> Value {
    json!({
        "supportedVersions": ["2026-07-28"],
        "capabilities": capabilities(),
        "serverInfo": {"name": "stand-in", "version": "1.0"},
        "ttlMs": 0,
        "cacheScope": "private",
    })
}

/// Returns the result of a call of a tool that needs no more than its arguments.
fn called(params: &Value) -> Option<Value> {
    let text = match params["name"].as_str() {
        Some("wait") => return None,
        Some("echo" | "steps") => params["arguments"]["text"].as_str().unwrap_or("nothing"),
        _ => "it failed",
    };
    let is_error = params["name"] == "fail";
    Some(json!({"content": [{"type": "text", "text": text}], "isError": is_error}))
}
