//! A server on the standard streams of this process.

use std::io::{self, BufRead as _, Stdin, Write as _};
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Value, json};

use super::answers::{Answers, Revision};

/// Names the behaviours, for command lines and environment variables.
macro_rules! behaviours {
    ($($(#[$meta:meta])* $variant:ident = $name:literal,)*) => {
        /// How a server behaves.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum StdioBehaviour {
            $($(#[$meta])* $variant,)*
        }

        impl StdioBehaviour {
            /// Returns its name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl FromStr for StdioBehaviour {
            type Err = String;

            fn from_str(name: &str) -> Result<Self, String> {
                match name {
                    $($name => Ok(Self::$variant),)*
                    _ => Err(format!("no behaviour is called {name}")),
                }
            }
        }
    };
}

behaviours! {
    /// It answers as it should.
    Well = "well",
    /// The same, in the newest revision. It answers `initialize` with an error.
    Newest = "newest",
    /// The same, but it ends at `initialize`.
    NewestExits = "newest-exits",
    /// The same, but it answers `initialize` with an empty success.
    NewestEmpty = "newest-empty",
    /// It speaks a revision that does not exist.
    WrongRevision = "wrong-revision",
    /// It answers nothing.
    Silent = "silent",
    /// It ends at once, with a reason.
    Exits = "exits",
    /// It ends when a tool is called.
    ExitsInCall = "exits-in-call",
    /// It writes without end, and no line break.
    Flood = "flood",
    /// It writes 600 KB to its standard error before each answer.
    StderrFlood = "stderr-flood",
    /// It answers under other ids.
    WrongIds = "wrong-ids",
    /// It answers each request twice, and requests that were never made.
    DoubleIds = "double-ids",
    /// Its list of tools has a next page, always.
    EndlessPages = "endless-pages",
    /// Its list of tools has the same next page, always.
    RepeatedPage = "repeated-page",
    /// Its list of tools has too many entries.
    ManyTools = "many-tools",
    /// Its list of tools is nested deeper than JSON is read.
    DeepJson = "deep-json",
    /// The schema of one of its tools is nested too deeply.
    DeepSchema = "deep-schema",
    /// The name of one of its tools moves the cursor.
    AnsiNames = "ansi-names",
    /// It writes lines that are not JSON.
    Noise = "noise",
    /// It ends neither with its standard input nor by SIGTERM.
    Deaf = "deaf",
    /// It starts a process in a session of its own, which holds the standard streams open.
    Grandchild = "grandchild",
    /// It asks and asks, and reads no answer.
    AsksAndAsks = "asks-and-asks",
    /// It answers a call with an error that moves the cursor.
    AnsiError = "ansi-error",
}

/// Serves until standard input ends, or as the behaviour has it.
///
/// # Errors
/// A standard stream is closed early.
pub fn serve_stdio(behaviour: StdioBehaviour) -> io::Result<()> {
    let revision = match behaviour {
        StdioBehaviour::Newest | StdioBehaviour::NewestExits | StdioBehaviour::NewestEmpty => {
            Revision::Newest
        }
        StdioBehaviour::WrongRevision => Revision::Initialize("1999-01-01"),
        _ => Revision::Initialize("2025-06-18"),
    };
    let server = Server {
        behaviour,
        answers: Answers::new(revision),
        input: io::stdin(),
        grandchild: None,
        listener: Value::Null,
    };
    match behaviour {
        StdioBehaviour::Exits => {
            eprint_line("\u{1b}[31mcannot find API_KEY");
            std::process::exit(3);
        }
        StdioBehaviour::Flood => flood(),
        StdioBehaviour::AsksAndAsks => asks_and_asks(),
        StdioBehaviour::Grandchild => {
            let mut sleep = std::process::Command::new("setsid");
            let child = sleep.args(["sleep", "1000"]).spawn()?;
            Server { grandchild: Some(child.id()), ..server }.serve()
        }
        StdioBehaviour::Deaf => {
            server.serve()?;
            loop {
                std::thread::park_timeout(Duration::from_secs(1000));
            }
        }
        _ => server.serve(),
    }
}

struct Server {
    behaviour: StdioBehaviour,
    answers: Answers,
    input: Stdin,
    grandchild: Option<u32>,
    /// The id of the subscription of the client.
    listener: Value,
}

impl Server {
    fn serve(mut self) -> io::Result<()> {
        while let Some(request) = self.next()? {
            self.react(&request)?;
        }
        Ok(())
    }

    /// Reads a message; `None` at the end of standard input.
    fn next(&self) -> io::Result<Option<Value>> {
        let mut line = String::new();
        match self.input.lock().read_line(&mut line)? {
            0 => Ok(None),
            _ => Ok(Some(serde_json::from_str(&line)?)),
        }
    }

    fn react(&mut self, request: &Value) -> io::Result<()> {
        let method = request["method"].as_str().unwrap_or_default();
        match (self.behaviour, method) {
            (StdioBehaviour::Silent, _) => return Ok(()),
            (StdioBehaviour::NewestExits, "initialize") => std::process::exit(1),
            (StdioBehaviour::NewestEmpty, "initialize") => {
                return say(&json!({"jsonrpc": "2.0", "id": request["id"], "result": {}}));
            }
            (StdioBehaviour::Newest, "initialize") => {
                let error = json!({"code": -32601, "message": "no method initialize"});
                return say(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}));
            }
            (StdioBehaviour::ExitsInCall, "tools/call") => {
                eprint_line("it is all over");
                std::process::exit(7);
            }
            (StdioBehaviour::StderrFlood, _) => {
                eprint_line(&"flood\n".repeat(100_000));
            }
            (StdioBehaviour::Noise, _) => {
                println_raw("starting … {not json}\n{not json either\n\n")?
            }
            (StdioBehaviour::AnsiError, "tools/call") => {
                let error = json!({"code": 7, "message": "no\u{1b}[2J way"});
                return say(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}));
            }
            (_, "tools/call") => return self.call(request),
            (_, "subscriptions/listen") if self.answers.revision == Revision::Newest => {
                return self.listen(request);
            }
            (_, "notifications/cancelled") => {
                let data = format!("cancelled {}", request["params"]["requestId"]);
                let params = json!({"level": "info", "data": data});
                return notify("notifications/message", &params);
            }
            _ => {}
        }
        let Some(mut answer) = self.answers.answer(request) else { return Ok(()) };
        self.spoil(method, &mut answer);
        match self.behaviour {
            StdioBehaviour::DoubleIds if method != "initialize" => {
                say(&json!({"jsonrpc": "2.0", "id": 4711, "result": {}}))?;
                say(&answer)?;
                say(&answer)
            }
            _ => say(&answer),
        }
    }

    /// Calls a tool that does more than the others.
    fn call(&mut self, request: &Value) -> io::Result<()> {
        let (params, id) = (&request["params"], &request["id"]);
        let text = match params["name"].as_str() {
            Some("die") => std::process::exit(9),
            Some("steps") => {
                for step in 1..=3 {
                    let token = &params["_meta"]["progressToken"];
                    let progress = json!({
                        "progressToken": token, "progress": step, "total": 3, "message": "st\u{1b}[31mep",
                    });
                    notify("notifications/progress", &progress)?;
                }
                "done".to_owned()
            }
            Some("change") => {
                self.answers.changes += 1;
                let listener = json!({"io.modelcontextprotocol/subscriptionId": self.listener});
                notify("notifications/tools/list_changed", &json!({"_meta": listener}))?;
                "changed".to_owned()
            }
            Some("ask") if self.answers.revision == Revision::Newest => {
                return self.ask_for_input(request);
            }
            Some("ask") => {
                let schema = json!({"type": "object", "properties": {
                    "name": {"type": "string", "default": "ada"},
                }});
                let params = json!({"message": "Who?", "requestedSchema": schema});
                self.ask("elicitation/create", &params)?.to_string()
            }
            Some("roots") => self.ask("roots/list", &json!({}))?.to_string(),
            Some("sample") => {
                let message = json!({"role": "user", "content": {"type": "text", "text": "hi"}});
                let params = json!({"messages": [message], "maxTokens": 1});
                self.ask("sampling/createMessage", &params)?.to_string()
            }
            Some("pids") => {
                let own = std::process::id();
                self.grandchild.map_or(own.to_string(), |child| format!("{own} {child}"))
            }
            Some("where") => std::env::current_dir()?.display().to_string(),
            Some("environment") => {
                let mut names: Vec<_> = std::env::vars_os()
                    .map(|(name, _)| name.to_string_lossy().into_owned())
                    .collect();
                names.sort();
                names.join(" ")
            }
            _ => {
                let Some(mut answer) = self.answers.answer(request) else { return Ok(()) };
                self.spoil("tools/call", &mut answer);
                return say(&answer);
            }
        };
        let mut result = json!({"content": [{"type": "text", "text": text}]});
        if self.answers.revision == Revision::Newest {
            result["resultType"] = json!("complete");
        }
        say(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    /// Answers a call that needs input, as the newest revision has it: the client sends the call again, with the
    /// input and the state of the server.
    fn ask_for_input(&self, request: &Value) -> io::Result<()> {
        let params = &request["params"];
        let result = match params.get("inputResponses") {
            Some(input) => {
                let text = format!("{input} {}", params["requestState"]);
                json!({"resultType": "complete", "content": [{"type": "text", "text": text}]})
            }
            None => {
                let schema = json!({"type": "object", "properties": {
                    "name": {"type": "string", "default": "ada"},
                }});
                let form = json!({"mode": "form", "message": "Who?", "requestedSchema": schema});
                let wanted = json!({"who": {"method": "elicitation/create", "params": form}});
                json!({"resultType": "input_required", "inputRequests": wanted, "requestState": "s1"})
            }
        };
        say(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
    }

    /// Begins a subscription, as the newest revision has it.
    fn listen(&mut self, request: &Value) -> io::Result<()> {
        self.listener = request["id"].clone();
        let meta = json!({"io.modelcontextprotocol/subscriptionId": self.listener});
        let params = json!({"_meta": meta, "notifications": request["params"]["notifications"]});
        notify("notifications/subscriptions/acknowledged", &params)
    }

    /// Asks the client, and returns its result or its error.
    fn ask(&self, method: &str, params: &Value) -> io::Result<Value> {
        say(&json!({"jsonrpc": "2.0", "id": "question", "method": method, "params": params}))?;
        while let Some(message) = self.next()? {
            if message["id"] == "question" {
                return Ok(message.get("result").unwrap_or(&message["error"]).clone());
            }
        }
        Ok(Value::Null)
    }

    /// Makes an answer what the behaviour has it be.
    fn spoil(&self, method: &str, answer: &mut Value) {
        match (self.behaviour, method) {
            (StdioBehaviour::WrongIds, _) => {
                answer["id"] = json!(answer["id"].as_i64().unwrap_or_default() + 1000);
            }
            (StdioBehaviour::EndlessPages, "tools/list") => {
                let cursor = json!(format!("after {}", answer["id"]));
                answer["result"] = json!({"tools": [], "nextCursor": cursor});
            }
            (StdioBehaviour::RepeatedPage, "tools/list") => {
                answer["result"]["nextCursor"] = json!("same");
            }
            (StdioBehaviour::ManyTools, "tools/list") => {
                let tool = answer["result"]["tools"][0].clone();
                answer["result"]["tools"] = Value::Array(vec![tool; 10_001]);
            }
            (StdioBehaviour::DeepJson, "tools/list") => {
                answer["result"]["tools"][0]["inputSchema"] = nested(200);
            }
            (StdioBehaviour::DeepSchema, "tools/list") => {
                answer["result"]["tools"][1]["inputSchema"] = nested(80);
            }
            (StdioBehaviour::AnsiNames, "tools/list") => {
                answer["result"]["tools"][1]["name"] = json!("evil\u{1b}[2J");
                answer["result"]["tools"][0]["description"] =
                    json!("Returns\u{1b}]0;x\u{7} its text.");
            }
            _ => {}
        }
    }
}

/// Returns an object that is nested so deeply.
fn nested(depth: usize) -> Value {
    (0..depth).fold(json!({}), |inner, _level| json!({"properties": inner}))
}

fn say(message: &Value) -> io::Result<()> {
    println_raw(&format!("{message}\n"))
}

fn notify(method: &str, params: &Value) -> io::Result<()> {
    say(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

fn println_raw(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()
}

fn eprint_line(text: &str) {
    // Its reader may have gone.
    let _written = writeln!(io::stderr().lock(), "{text}");
}

/// Writes a gigabyte without a line break.
fn flood() -> io::Result<()> {
    let chunk = format!("{{\"jsonrpc\":\"{}", "x".repeat(1 << 20));
    for _megabyte in 0..1024 {
        println_raw(&chunk)?;
    }
    Ok(())
}

/// Asks for an answer again and again.
fn asks_and_asks() -> io::Result<()> {
    let stdin = io::stdin();
    let mut line = String::new();
    stdin.lock().read_line(&mut line)?;
    let request: Value = serde_json::from_str(&line)?;
    let answer = Answers::new(Revision::Initialize("2025-06-18")).answer(&request);
    say(&answer.unwrap_or_default())?;
    for id in 0.. {
        let name = "x".repeat(1000);
        say(&json!({"jsonrpc": "2.0", "id": format!("{id}{name}"), "method": "ping"}))?;
    }
    Ok(())
}
