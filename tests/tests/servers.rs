//! The tools of MCP servers in sessions and tasks, and the lives of the servers.

use std::path::PathBuf;
use std::time::Duration;

use actors::{Answerer, ToolSetup};
use engine::ports::{McpDefinition, McpScope, ModelRequest};
use protocol::{
    AgentEnd, ApprovalMode, Approvals, Message, Outcome, ServerChoice, SessionEvent, TaskSpec, Work,
};
use tests::fakes::{
    FakeServers, TestEngine, TestSession, agent, input, server, session, session_tools, silent,
};
use tokio::time::Instant;

/// Opens an engine and a session that uses all servers.
async fn open(servers: &FakeServers) -> (TestEngine, TestSession) {
    let engine = TestEngine::with_servers(1, "", servers).await;
    let session = open_in(&engine, "/one.jsonl", ApprovalMode::Yolo, Answerer::None).await;
    (engine, session)
}

async fn open_in(
    engine: &TestEngine,
    log: &str,
    mode: ApprovalMode,
    answerer: Answerer,
) -> TestSession {
    let approvals = Approvals { mode: Some(mode), ..Approvals::default() }.into();
    let tools = ToolSetup {
        servers: ServerChoice::All,
        folder: "/repo".into(),
        approvals,
        answerer,
        ..session_tools()
    };
    let opened = engine.engine.open_session(session(log), tools).await;
    TestSession::new(opened.expect("it opens"))
}

/// Sends `words`, and returns how the work ended and what the user saw.
async fn say(session: &mut TestSession, words: &str) -> (AgentEnd, Vec<String>) {
    session.session.prompt(input(words));
    let mut notices = Vec::new();
    let end = session
        .find(|event| match event {
            SessionEvent::AgentEnd { end } => Some(end.clone()),
            SessionEvent::Notice { message } => {
                notices.push(message.clone());
                None
            }
            _ => None,
        })
        .await;
    (end, notices)
}

/// Returns the tools of servers in a request.
fn tools(request: &ModelRequest) -> Vec<&str> {
    let names = request.tools.iter().map(|tool| tool.name.as_str());
    names.filter(|name| name.starts_with("mcp__") || *name == "find_tools").collect()
}

/// Returns the results in a request.
fn results(request: &ModelRequest) -> Vec<String> {
    let results = request.messages.iter().filter_map(|message| match &**message {
        Message::ToolResult(result) => Some(result.text()),
        Message::User(_) | Message::Assistant(_) => None,
    });
    results.collect()
}

const ALL: [&str; 5] =
    ["mcp__s_echo", "mcp__s_die", "mcp__s_retry", "mcp__s_lose", "mcp__s_change"];

#[test(flavor = "multi_thread")]
async fn a_model_calls_a_tool_of_a_server_and_the_closed_engine_has_ended_the_server() {
    let servers = FakeServers::of(vec![server("s")]);
    let (engine, mut session) = open(&servers).await;
    let (end, notices) = say(&mut session, r#"use mcp__s_echo {"text":"hello"}; say done"#).await;
    assert_eq!((end, notices), (silent(), Vec::new()));
    let requests = engine.models.requests();
    assert_eq!(tools(&requests[0]), ALL);
    assert_eq!(requests[0].tools.last().unwrap().parameters["$schema"], "x", "it is unchanged");
    assert_eq!(results(&requests[1]), ["hello"]);
    assert_eq!((servers.started(), servers.open()), (vec![None], 1));
    session.session.close().await;
    assert_eq!(servers.open(), 1, "another session may use it");
    assert_eq!(engine.engine.close().await, None);
    assert_eq!(servers.open(), 0);
}

/// Returns tasks that each send text of their own to a server, and yield.
fn senders(count: usize) -> Vec<TaskSpec> {
    let sender = |number: usize| {
        let words = format!(r#"use mcp__s_echo {{"text":"nonce {number} of a task"}}; yield 1"#);
        with_servers(agent(&format!("t{number}"), &words))
    };
    (0..count).map(sender).collect()
}

fn with_servers(mut task: TaskSpec) -> TaskSpec {
    if let Work::Agent(agent) = &mut task.work {
        agent.servers = ServerChoice::All;
    }
    task
}

#[test(flavor = "multi_thread")]
async fn the_isolated_tasks_of_a_run_share_one_server_and_no_answer_is_swapped() {
    let servers = FakeServers::of(vec![server("s")]);
    let mut engine = TestEngine::with_servers(32, "", &servers).await;
    let (reports, _) = engine.run(senders(32)).await;
    assert!(reports.iter().all(|(_, report)| matches!(report.outcome, Outcome::Done { .. })));
    let requests = engine.models.requests();
    let mut seen = 0;
    for request in &requests {
        let prompt = format!("{:?}", request.messages[0]);
        for result in results(request) {
            assert!(prompt.contains(&result) && result.starts_with("nonce"), "{result}");
            seen += 1;
        }
    }
    assert_eq!((seen, servers.started().len()), (32, 1));
    assert!(servers.peak() <= 8, "{}", servers.peak());
}

#[test(flavor = "multi_thread")]
async fn a_server_of_the_repository_is_started_for_each_task_and_ends_with_it() {
    let scoped = McpDefinition { scope: McpScope::Workspace, ..server("s") };
    let servers = FakeServers::of(vec![scoped]);
    let mut engine = TestEngine::with_servers(1, "", &servers).await;
    let (reports, _) = engine.run(senders(2)).await;
    assert!(reports.iter().all(|(_, report)| matches!(report.outcome, Outcome::Done { .. })));
    let started = servers.started();
    assert!(started.len() == 2 && started[0] != started[1], "{started:?}");
    assert!(!started.contains(&None) && !started.contains(&Some(PathBuf::from("/repo"))));
    assert_eq!(servers.open(), 0, "before the engine closes");
}

#[test(start_paused = true)]
async fn a_call_that_may_have_run_is_sent_again_only_where_that_changes_nothing() {
    for (words, result, effects, starts) in [
        ("use mcp__s_die {}; say done", "The MCP server `s` gave no answer: it ended", 1, 1),
        ("use mcp__s_retry {}; say done", "retry", 1, 2),
        ("use mcp__s_lose {}; say done", "lose", 0, 2),
    ] {
        let servers = FakeServers::of(vec![server("s")]);
        let (engine, mut session) = open(&servers).await;
        let (end, _) = say(&mut session, words).await;
        assert_eq!(end, silent(), "{words}");
        let results = results(&engine.models.requests()[1]);
        assert!(results[0].starts_with(result), "{words}: {results:?}");
        assert_eq!((servers.effects(), servers.started().len()), (effects, starts), "{words}");
        let (end, _) = say(&mut session, "again").await;
        assert_eq!(end, silent(), "{words}: the session goes on");
    }
}

#[test(start_paused = true)]
async fn the_first_request_waits_a_moment_for_a_known_server_and_its_calls_wait_until_it_is_ready()
{
    let servers = FakeServers::of(vec![server("s")]);
    servers.cache("s");
    servers.hold();
    let (engine, mut session) = open(&servers).await;
    let began = Instant::now();
    session.session.prompt(input(r#"use mcp__s_echo {"text":"late"}; say done"#));
    engine.models.until_asked(1).await;
    assert!(began.elapsed() < Duration::from_millis(400), "{:?}", began.elapsed());
    assert_eq!(tools(&engine.models.requests()[0]), ALL);
    servers.release();
    assert_eq!(session.end().await, silent());
    assert_eq!(results(&engine.models.requests()[1]), ["late"]);
}

#[test(start_paused = true)]
async fn a_server_that_is_not_known_is_waited_for_then_left_out_and_reported_once() {
    let servers = FakeServers::of(vec![server("s")]);
    servers.hold();
    let (engine, mut session) = open(&servers).await;
    let began = Instant::now();
    let (_, notices) = say(&mut session, "say one").await;
    assert_eq!(began.elapsed().as_secs(), 10);
    let expected = "the MCP server `s` (mcp.json:1): it was not ready within 10 s; its tools come \
                    when it is ready";
    assert_eq!(notices, [expected]);
    let (_, notices) = say(&mut session, "say two").await;
    assert_eq!((notices, began.elapsed().as_secs()), (Vec::new(), 10));
    servers.release();
    while servers.open() == 0 {
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    say(&mut session, "say three").await;
    let requests = engine.models.requests();
    let shown: Vec<_> = requests.iter().map(|request| tools(request).len()).collect();
    assert_eq!(shown, [0, 0, 5]);
}

#[test(start_paused = true)]
async fn a_server_that_does_not_start_is_given_up_and_its_tools_say_why_until_it_is_tried_again() {
    let servers = FakeServers::of(vec![server("s")]);
    servers.cache("s");
    servers.break_down();
    let (engine, mut session) = open(&servers).await;
    let words = "use mcp__s_echo {}; say done";
    let (end, notices) = say(&mut session, words).await;
    assert_eq!(end, silent());
    let said = results(&engine.models.requests()[1]);
    let begin = "The MCP server `s` cannot be used: it ended at its start: no such module\nNothing was run.";
    assert!(said[0].starts_with(begin), "{said:?}");
    let expected = "the MCP server `s` (mcp.json:1): it ended at its start: no such module";
    assert_eq!(notices, [expected]);
    let (_, notices) = say(&mut session, "say two").await;
    assert_eq!(notices, [""; 0], "it is said once");
    servers.release();
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(servers.started().len(), 0, "nothing but a call tries it again");
    let mut other = open_in(&engine, "/two.jsonl", ApprovalMode::Yolo, Answerer::None).await;
    say(&mut other, r#"use mcp__s_echo {"text":"again"}; say done"#).await;
    let requests = engine.models.requests();
    assert!(requests.iter().any(|request| results(request) == ["again"]));
}

#[test(start_paused = true)]
async fn without_a_server_that_is_required_a_session_does_not_begin() {
    let required = McpDefinition { required: true, ..server("s") };
    let servers = FakeServers::of(vec![required]);
    servers.cache("s");
    servers.break_down();
    let (engine, mut session) = open(&servers).await;
    let (AgentEnd::Failed(failure), _) = say(&mut session, "say one").await else {
        panic!("it has failed")
    };
    let expected =
        "the MCP server `s` (mcp.json:1) is required: it ended at its start: no such module";
    assert_eq!(failure.message, expected);
    assert_eq!(engine.models.requests().len(), 0);
}

#[test(start_paused = true)]
async fn a_changed_list_holds_from_the_next_request_on() {
    let servers = FakeServers::of(vec![server("s")]);
    let (engine, mut session) = open(&servers).await;
    say(&mut session, "use mcp__s_change {}; use mcp__s_added {}; say done").await;
    let requests = engine.models.requests();
    assert_eq!(tools(&requests[0]), ALL);
    let last = requests.last().unwrap();
    assert_eq!(tools(last).last(), Some(&"mcp__s_added"));
    assert_eq!(results(last), ["changed", "added"]);
}

#[test(start_paused = true)]
async fn tools_beyond_the_limits_are_found_by_words_and_can_be_called_by_their_names() {
    let servers = FakeServers::of(vec![server("s")]);
    servers.add_tools((0..100).map(|number| format!("extra_{number}")));
    let (engine, mut session) = open(&servers).await;
    let words = r#"use mcp__s_extra_98 {"text":"unseen"}; use find_tools {"words":"extra_99"}; use mcp__s_extra_99 {"text":"found"}; say done"#;
    say(&mut session, words).await;
    let requests = engine.models.requests();
    let first = tools(&requests[0]);
    assert_eq!((first.len(), first.last()), (61, Some(&"find_tools")));
    assert!(!first.contains(&"mcp__s_extra_99"));
    assert!(tools(&requests[3]).contains(&"mcp__s_extra_99"), "it was found");
    let results = results(&requests[3]);
    assert_eq!((results[0].as_str(), results[2].as_str()), ("unseen", "found"));
    assert!(results[1].starts_with("## mcp__s_extra_99\nDoes extra_99."), "{}", results[1]);
}

#[test(start_paused = true)]
async fn a_call_of_a_server_is_asked_about_with_the_server_the_tool_and_the_arguments() {
    let servers = FakeServers::of(vec![server("s")]);
    let engine = TestEngine::with_servers(1, "", &servers).await;
    let mut session = open_in(&engine, "/one.jsonl", ApprovalMode::Write, Answerer::Client).await;
    session.session.prompt(input(r#"use mcp__s_echo {"text":"hello"}; say done"#));
    let question = session
        .find(|event| match event {
            SessionEvent::QuestionAsked { question, .. } => Some(question.clone()),
            _ => None,
        })
        .await;
    assert_eq!(question.text, r#"mcp__s_echo s/echo {"text":"hello"}"#);
    let reason = "the approval mode `write` asks about calls of servers";
    assert!(question.reason.starts_with(reason), "{}", question.reason);
    session.session.answer(question.id, "no".to_owned()).await.expect("it is open");
    assert_eq!(session.end().await, silent());
    let results = results(&engine.models.requests()[1]);
    assert!(results[0].contains("the user said no"), "{results:?}");
}
