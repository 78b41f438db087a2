//! The harness: a connector, a client that remembers what it was asked, and this test binary as launcher and server.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use engine::ports::{
    CancelToken, McpCall, McpClient, McpConnection, McpConnector as _, McpDefinition, McpError,
    McpHints, McpList, McpResult, McpScope, McpToolFilter, McpTransport,
};
use peers::Connector;
use protocol::{Content, Question};
use serde_json::json;
use tests::mcp::{StdioBehaviour, serve_stdio};

/// Long enough for anything on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Remembers what a server reported, and answers what it asks.
#[derive(Default)]
pub(crate) struct Person {
    pub(crate) answer: Option<&'static str>,
    /// How long a question is thought about.
    pub(crate) thinks: Duration,
    pub(crate) seen: Mutex<Seen>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) changed: Vec<McpList>,
    pub(crate) logged: Vec<String>,
    pub(crate) asked: Vec<String>,
}

impl Person {
    pub(crate) fn seen(&self) -> Seen {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until what was seen is so.
    pub(crate) async fn until(self: &Arc<Self>, is_so: impl Fn(&Seen) -> bool + Send + 'static) {
        let person = Arc::clone(self);
        until(move || is_so(&person.seen())).await;
    }
}

#[async_trait]
impl McpClient for Person {
    fn roots(&self) -> Vec<std::path::PathBuf> {
        vec!["/files/a b".into()]
    }

    fn changed(&self, list: McpList) {
        self.seen.lock().unwrap().changed.push(list);
    }

    fn logged(&self, line: String) {
        self.seen.lock().unwrap().logged.push(line);
    }

    async fn ask(&self, question: Question) -> Option<String> {
        self.seen.lock().unwrap().asked.push(question.text);
        tokio::time::sleep(self.thinks).await;
        self.answer.map(str::to_owned)
    }
}

pub(crate) fn connector() -> Connector {
    Connector::new(|| Arc::new(exec::Processes::new(part("launcher")).owner()))
}

/// Returns the definition of a server that is this test binary.
pub(crate) fn program(behaviour: StdioBehaviour) -> McpDefinition {
    let launcher = part(behaviour.name());
    let environment = launcher.get_envs().filter_map(|(name, value)| Some((name, value?)));
    definition(McpTransport::Stdio {
        command: launcher.get_program().to_owned(),
        arguments: launcher.get_args().map(ToOwned::to_owned).collect(),
        environment: environment
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .chain(std::env::var_os("PATH").map(|path| ("PATH".into(), path)))
            .collect(),
        folder: None,
    })
}

/// Returns the definition of a server over HTTP, with a secret header.
pub(crate) fn over_http(url: &str) -> McpDefinition {
    let headers = BTreeMap::from([("Authorization".to_owned(), "Bearer secret".to_owned())]);
    definition(McpTransport::Http { url: url.to_owned(), headers })
}

fn definition(transport: McpTransport) -> McpDefinition {
    McpDefinition {
        name: "box".to_owned(),
        transport,
        protocol: None,
        startup_timeout: Duration::ZERO,
        timeout: PATIENCE,
        concurrency: 8,
        required: false,
        scope: McpScope::Shared,
        tools: McpToolFilter::default(),
        read_only_hints: McpHints::Ignored,
        source: "mcp.json:3".to_owned(),
        key: "key".to_owned(),
    }
}

/// Connects to a server.
pub(crate) async fn connect(
    definition: &McpDefinition,
) -> Result<(Arc<dyn McpConnection>, Arc<Person>), McpError> {
    let person = Arc::new(Person { answer: Some("accept"), ..Person::default() });
    let client = Arc::clone(&person);
    Ok((connector().connect(definition, client).await?, person))
}

pub(crate) fn call(tool: &str) -> McpCall {
    let arguments = json!({"text": "hi"}).as_object().cloned().unwrap_or_default();
    McpCall { tool: tool.to_owned(), arguments, timeout: PATIENCE }
}

/// Calls a tool.
pub(crate) async fn called(
    connection: &Arc<dyn McpConnection>,
    call: McpCall,
) -> Result<McpResult, McpError> {
    connection.call(call, Arc::new(|_line| {}), CancelToken::default()).await
}

/// Calls a server from 32 callers, so many times from each, and checks that each gets its own answers.
pub(crate) async fn call_from_many(connection: &Arc<dyn McpConnection>, times: usize) {
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..32 {
        let connection = Arc::clone(connection);
        callers.spawn(async move {
            for number in 0..times {
                let nonce = format!("{caller}-{number}");
                let arguments = json!({"text": nonce}).as_object().cloned().unwrap_or_default();
                let result = called(&connection, McpCall { arguments, ..call("echo") }).await;
                assert_eq!(text(&result.unwrap()), nonce);
            }
        });
    }
    while let Some(done) = callers.join_next().await {
        done.unwrap();
    }
}

/// Returns the text of a result.
pub(crate) fn text(result: &McpResult) -> &str {
    match &result.content[..] {
        [Content::Text { text }] => text,
        other => panic!("{other:?} is not one text"),
    }
}

/// Connects, lists the tools, calls one that may be silent for `timeout`, and closes. Returns what came of it.
pub(crate) async fn drive(definition: McpDefinition, timeout: Duration) -> String {
    let used = async {
        let (connection, _person) = connect(&definition).await?;
        let tools = connection.tools().await?;
        let names: BTreeSet<_> = tools.iter().map(|tool| &tool.name[..]).collect();
        let result = called(&connection, McpCall { timeout, ..call("echo") }).await?;
        let names = names.into_iter().collect::<Vec<_>>().join(" ");
        let came = format!("{}: {names}: {}", connection.info().protocol, text(&result));
        let began = std::time::Instant::now();
        connection.close().await;
        test_limit::took_at_most(began.elapsed(), Duration::from_secs(1), "closing");
        Ok(came)
    };
    let used: Result<_, McpError> = used.await;
    used.unwrap_or_else(|error| format!("{:?}: {}", error.kind, error.message))
}

/// Returns a command by which this test binary is the launcher, or a server.
fn part(part: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "harness::a_process_plays_the_part_it_is_given", "--nocapture"])
        // With one thread, the name of the test would be before the first message.
        .arg("--test-threads=2")
        .env("REGATTA_TEST_TIMES", "/dev/null")
        .env("STAGE_PART", part);
    command
}

#[test]
fn a_process_plays_the_part_it_is_given() {
    match std::env::var("STAGE_PART").as_deref() {
        Ok("launcher") => exec::launch().unwrap(),
        Ok(behaviour) => {
            let behaviour: StdioBehaviour = behaviour.parse().unwrap();
            // The client may have closed its ends.
            let _closed = serve_stdio(behaviour);
        }
        Err(_none) => assert_eq!("well".parse(), Ok(StdioBehaviour::Well)),
    }
}

/// Waits until something is so, while other futures of its task go on.
pub(crate) async fn until(is_so: impl Fn() -> bool + Send + 'static) {
    let (see, seen) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        test_limit::eventually(PATIENCE, "waited in vain", is_so);
        let _gone = see.send(());
    });
    seen.await.expect("it is so in time");
}

/// Returns whether a process runs. One that is dead but not collected does not.
pub(crate) fn runs(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}
