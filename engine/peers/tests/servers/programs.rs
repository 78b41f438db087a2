//! Servers that are programs: their life, and what they are asked and ask.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::ports::{
    CancelLevel, CancelToken, McpCall, McpConnector as _, McpErrorKind, McpList, McpPrompt,
    McpResource, McpTransport,
};
use protocol::Content;
use tests::mcp::StdioBehaviour;

use crate::harness::{
    Person, call, call_from_many, called, connect, connector, program, runs, text, until,
};

#[test]
async fn a_server_says_what_it_is_and_lists_what_it_has() {
    let (server, _person) = connect(&program(StdioBehaviour::Well)).await.unwrap();
    let info = server.info();
    assert_eq!((&info.name[..], &info.version[..]), ("stand-in", "1.0"));
    assert_eq!(info.instructions.as_deref(), Some("Use it well."));
    assert_eq!(
        info.lists.iter().copied().collect::<Vec<_>>(),
        [McpList::Tools, McpList::Resources, McpList::Prompts]
    );
    let tools = server.tools().await.unwrap();
    assert_eq!((&tools[0].description[..], tools[0].read_only), ("Returns its text.", true));
    let resource = |uri: &str, name: &str, kind: Option<&str>| McpResource {
        uri: uri.to_owned(),
        name: name.to_owned(),
        description: None,
        mime_type: kind.map(str::to_owned),
    };
    let resources = server.resources().await.unwrap();
    assert_eq!(
        resources,
        [resource("x:a", "a", Some("text/plain")), resource("x:{name}", "any", None)]
    );
    let read = server.read_resource("x:a").await.unwrap();
    assert_eq!(read, [Content::Text { text: "in a".to_owned() }]);
    let prompts = server.prompts().await.unwrap();
    let arguments = vec![("path".to_owned(), true)];
    assert_eq!(prompts, [McpPrompt { name: "review".to_owned(), description: None, arguments }]);
    let given = [("path".to_owned(), "a.rs".to_owned())].into();
    assert_eq!(server.prompt("review", given).await.unwrap(), "Review \"a.rs\".");
}

#[test]
async fn a_call_reports_its_progress_and_a_tool_that_fails_is_no_error() {
    let (server, _person) = connect(&program(StdioBehaviour::Well)).await.unwrap();
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = Arc::clone(&lines);
    let progress = Arc::new(move |line| sink.lock().unwrap().push(line));
    let result = server.call(call("steps"), progress, CancelToken::default()).await.unwrap();
    assert_eq!((text(&result), result.is_error), ("done", false));
    // Of many lines at once, the first is passed on.
    assert_eq!(lines.lock().unwrap()[..], ["1/3 step"]);
    assert!(called(&server, call("fail")).await.unwrap().is_error);
}

#[test]
async fn each_of_many_callers_gets_its_own_answers() {
    let (server, _person) = connect(&program(StdioBehaviour::Well)).await.unwrap();
    call_from_many(&server, 32).await;
}

#[test]
async fn a_call_that_is_cancelled_or_silent_is_reported_to_the_server() {
    let (server, person) = connect(&program(StdioBehaviour::Well)).await.unwrap();
    let cancel = CancelToken::default();
    let waiting = server.call(call("wait"), Arc::new(|_line| {}), cancel.clone());
    let (cancelled, ()) = tokio::join!(waiting, async {
        // The server has got the call when it answers the next one.
        called(&server, call("echo")).await.unwrap();
        cancel.cancel(CancelLevel::Gently);
    });
    assert_eq!(cancelled.unwrap_err().kind, McpErrorKind::Cancelled);
    person.until(|seen| seen.logged.len() == 1).await;
    let timeout = Duration::from_millis(200);
    let silent = called(&server, McpCall { timeout, ..call("wait") }).await.unwrap_err();
    assert_eq!(silent.kind, McpErrorKind::NoAnswer);
    assert!(silent.message.contains("did not answer within 200ms"), "{}", silent.message);
    person.until(|seen| seen.logged.len() == 2).await;
    let dropped = tokio::time::timeout(timeout, called(&server, call("wait"))).await;
    assert!(dropped.is_err());
    person.until(|seen| seen.logged.len() == 3).await;
    assert!(person.seen().logged.iter().all(|line| line.starts_with("cancelled ")));
    assert_eq!(text(&called(&server, call("echo")).await.unwrap()), "hi");
}

#[test]
async fn a_server_may_ask_for_the_roots_and_for_a_form_but_not_for_a_model() {
    let (server, person) = connect(&program(StdioBehaviour::Well)).await.unwrap();
    let asked = async |tool: &str| text(&called(&server, call(tool)).await.unwrap()).to_owned();
    assert_eq!(asked("roots").await, r#"{"roots":[{"uri":"file:///files/a%20b","name":"a b"}]}"#);
    assert_eq!(asked("ask").await, r#"{"action":"accept","content":{"name":"ada"}}"#);
    assert_eq!(person.seen().asked, ["MCP server `box` asks: Who?"]);
    assert!(asked("sample").await.contains("-32601"));
    // A server that waits for a person is not silent.
    let thinks = Duration::from_millis(1200);
    let slow = Arc::new(Person { thinks, ..Person::default() });
    let server = connector().connect(&program(StdioBehaviour::Well), slow).await.unwrap();
    let asked = called(&server, McpCall { timeout: thinks * 2 / 3, ..call("ask") }).await.unwrap();
    assert_eq!(text(&asked), r#"{"action":"decline"}"#);
}

#[test]
async fn a_change_of_the_tools_is_reported_and_the_next_list_has_it() {
    let (server, person) = connect(&program(StdioBehaviour::Well)).await.unwrap();
    called(&server, call("change")).await.unwrap();
    person.until(|seen| seen.changed == [McpList::Tools]).await;
    let tools = server.tools().await.unwrap();
    assert_eq!(tools.last().map(|tool| &tool.name[..]), Some("added_0"));
}

#[test]
async fn a_server_of_the_newest_revision_gets_its_input_with_its_state_and_reports_changes() {
    let (server, person) = connect(&program(StdioBehaviour::Newest)).await.unwrap();
    let asked = called(&server, call("ask")).await.unwrap();
    let expected = r#"{"who":{"action":"accept","content":{"name":"ada"}}} "s1""#;
    assert_eq!(text(&asked), expected);
    assert_eq!(person.seen().asked, ["MCP server `box` asks: Who?"]);
    called(&server, call("change")).await.unwrap();
    person.until(|seen| seen.changed == [McpList::Tools]).await;
}

#[test]
async fn a_server_without_a_folder_starts_in_an_empty_one_and_gets_only_its_environment() {
    let (server, _person) = connect(&program(StdioBehaviour::Well)).await.unwrap();
    let folder = text(&called(&server, call("where")).await.unwrap()).to_owned();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    let environment = called(&server, call("environment")).await.unwrap();
    let names: Vec<_> =
        text(&environment).split(' ').filter(|name| !name.starts_with('_')).collect();
    assert_eq!(names, ["PATH", "REGATTA_TEST_TIMES", "STAGE_PART"]);
    server.close().await;
    until(move || !Path::new(&folder).exists()).await;
    let mut definition = program(StdioBehaviour::Well);
    let place = tempfile::tempdir().unwrap();
    if let McpTransport::Stdio { folder, .. } = &mut definition.transport {
        *folder = Some(place.path().to_owned());
    }
    let (server, _person) = connect(&definition).await.unwrap();
    let path = place.path().canonicalize().unwrap();
    assert_eq!(text(&called(&server, call("where")).await.unwrap()), path.to_str().unwrap());
}

#[test]
async fn a_program_that_cannot_be_started_is_not_sent_anything() {
    let mut definition = program(StdioBehaviour::Well);
    if let McpTransport::Stdio { command, .. } = &mut definition.transport {
        *command = "no-such-program".into();
    }
    let error = connect(&definition).await.err().unwrap();
    assert_eq!(error.kind, McpErrorKind::NotSent);
    assert!(error.message.contains("no-such-program"), "{}", error.message);
    definition = program(StdioBehaviour::Well);
    definition.protocol = Some("2020-01-01".to_owned());
    let error = connect(&definition).await.err().unwrap();
    assert!(error.message.contains("`protocol` is one of 2024-11-05, "), "{}", error.message);
}

#[test]
async fn a_fixed_revision_is_the_only_one_that_is_spoken() {
    let mut definition = program(StdioBehaviour::Newest);
    definition.protocol = Some("2026-07-28".to_owned());
    let (server, _person) = connect(&definition).await.unwrap();
    assert_eq!(server.info().protocol, "2026-07-28");
    definition.protocol = Some("2025-11-25".to_owned());
    let error = connect(&definition).await.err().unwrap();
    assert_eq!(error.kind, McpErrorKind::Answered(-32601));
    let mut other = program(StdioBehaviour::Well);
    other.protocol = Some("2025-11-25".to_owned());
    let error = connect(&other).await.err().unwrap();
    assert!(
        error.message.ends_with("speaks revision 2025-06-18 of MCP, not 2025-11-25"),
        "{}",
        error.message
    );
}

#[test]
async fn a_server_that_dies_says_so_and_nothing_more_is_sent() {
    let (server, _person) = connect(&program(StdioBehaviour::Well)).await.unwrap();
    let (died, closed) = tokio::join!(called(&server, call("die")), server.closed());
    let died = died.unwrap_err();
    assert_eq!(died.kind, McpErrorKind::NoAnswer);
    assert!(died.message.contains("ended with exit code 9"), "{}", died.message);
    assert_eq!(closed.message, died.message);
    let later = called(&server, call("echo")).await.unwrap_err();
    assert_eq!((later.kind, later.message), (McpErrorKind::NotSent, died.message));
}

#[test]
async fn a_connection_that_is_given_up_leaves_no_process() {
    let place = tempfile::tempdir().unwrap();
    let mut definition = program(StdioBehaviour::Silent);
    if let McpTransport::Stdio { folder, .. } = &mut definition.transport {
        *folder = Some(place.path().to_owned());
    }
    let path = place.path().canonicalize().unwrap();
    let lives = move || living(&path);
    let (begun, ended) = (lives.clone(), lives);
    tokio::select! {
        _connected = connect(&definition) => panic!("a silent server answered"),
        () = until(begun) => {}
    }
    until(move || !ended()).await;
}

/// Returns whether a process runs in a folder.
fn living(folder: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut here = processes.filter(|process| {
        std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == folder)
    });
    here.any(|process| runs(&process.file_name().to_string_lossy()))
}

#[test]
async fn nothing_of_a_server_is_left_when_it_is_closed_or_dropped() {
    for closes in [true, false] {
        let (server, _person) = connect(&program(StdioBehaviour::Grandchild)).await.unwrap();
        let own = called(&server, call("pids")).await.unwrap();
        let pids: Vec<_> = text(&own).split(' ').map(str::to_owned).collect();
        assert!(pids.len() == 2 && pids.iter().all(|pid| runs(pid)), "{pids:?}");
        if closes {
            server.close().await;
        }
        drop(server);
        until(move || !pids.iter().any(|pid| runs(pid))).await;
    }
}
