//! Servers over HTTP: where headers go, and what is asked first.

use std::sync::Arc;

use engine::ports::{McpConnector as _, McpErrorKind};
use tests::mcp::{HttpBehaviour, HttpMcpServer};

use crate::harness::{Person, call, call_from_many, called, connect, connector, over_http, text};

#[test]
async fn each_request_has_the_headers_of_the_definition_the_session_and_the_revision() {
    let server = HttpMcpServer::start(HttpBehaviour::Session).await.unwrap();
    let (connection, _person) = connect(&over_http(&server.url)).await.unwrap();
    called(&connection, call("echo")).await.unwrap();
    connection.close().await;
    let asked = server.asked();
    assert_eq!(asked.last().map(|request| &request.line[..]), Some("DELETE /mcp"));
    assert!(asked.iter().all(|request| request.headers["authorization"] == "Bearer secret"));
    let call = asked.iter().find(|request| request.rpc.as_deref() == Some("tools/call")).unwrap();
    assert!(call.headers["mcp-session-id"].starts_with('s'));
    assert_eq!(call.headers["mcp-protocol-version"], "2025-06-18");
}

#[test]
async fn each_of_many_callers_gets_its_own_answers_over_http() {
    for behaviour in [HttpBehaviour::Newest, HttpBehaviour::Events] {
        let server = HttpMcpServer::start(behaviour).await.unwrap();
        let (connection, _person) = connect(&over_http(&server.url)).await.unwrap();
        call_from_many(&connection, 4).await;
    }
}

#[test]
async fn a_session_that_has_ended_is_begun_again_and_the_call_sent_once_more() {
    let server = HttpMcpServer::start(HttpBehaviour::SessionEnds).await.unwrap();
    let (connection, _person) = connect(&over_http(&server.url)).await.unwrap();
    for _call in 0..3 {
        assert_eq!(text(&called(&connection, call("echo")).await.unwrap()), "hi");
    }
}

#[test]
async fn what_a_server_speaks_is_remembered_for_its_next_connection() {
    let server = HttpMcpServer::start(HttpBehaviour::LegacyStream).await.unwrap();
    let connector = connector();
    let definition = over_http(&server.url);
    let first = connector.connect(&definition, Arc::new(Person::default())).await.unwrap();
    assert_eq!(server.asked()[0].rpc.as_deref(), Some("server/discover"));
    first.close().await;
    let before = server.asked().len();
    let second = connector.connect(&definition, Arc::new(Person::default())).await.unwrap();
    assert_eq!(second.info().protocol, "2024-11-05");
    assert_eq!(server.asked()[before].line, "GET /mcp");
}

#[test]
async fn a_server_that_is_not_there_was_not_sent_anything() {
    let server = HttpMcpServer::start(HttpBehaviour::Newest).await.unwrap();
    let (connection, _person) = connect(&over_http(&server.url)).await.unwrap();
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/mcp?key=secret", listener.local_addr().unwrap());
    drop(listener);
    let error = connect(&over_http(&url)).await.err().unwrap();
    assert_eq!(error.kind, McpErrorKind::NotSent);
    assert!(error.message.contains("cannot be reached: "), "{}", error.message);
    assert!(!error.message.contains("secret"), "{}", error.message);
    connection.close().await;
    let closed = called(&connection, call("echo")).await.unwrap_err();
    assert_eq!(closed.kind, McpErrorKind::NotSent);
}
