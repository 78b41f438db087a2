use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use super::*;
use crate::model::{Call, Cut, Said, marker, steps};

/// Sends a request and returns everything that comes back.
fn send(model: &LoopbackModel, head: &str, body: &str) -> Vec<u8> {
    let mut connection = TcpStream::connect(model.address).unwrap();
    let length = body.len();
    let rest = format!("host: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
    connection.write_all(format!("{head}\r\n{rest}").as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _broken = connection.read_to_end(&mut answer); // what was read counts
    answer
}

fn ask(model: &LoopbackModel, messages: &Value) -> Vec<u8> {
    let body = json!({ "model": "loop", "stream": true, "messages": messages });
    send(model, "POST /v1/chat/completions HTTP/1.1", &body.to_string())
}

fn begin(talk: &str) -> Value {
    let prompt = format!("Do it. {}", marker(talk));
    json!([{ "role": "system", "content": "s" }, { "role": "user", "content": prompt }])
}

#[test]
fn a_conversation_goes_as_its_script_says_and_is_remembered() {
    let model = LoopbackModel::start();
    let read = Call::new("read", &json!({ "path": "ä" }));
    model.talk("t1", steps(vec![Answer::calls(vec![read]), Answer::text("done")]));
    let first = String::from_utf8_lossy(&ask(&model, &begin("t1"))).into_owned();
    assert!(first.contains("tool_calls") && first.contains("[DONE]"), "{first}");
    let function = json!({ "name": "read", "arguments": "{\"path\":\"ä\"}" });
    let call = json!({ "id": "call_t1_0_0", "type": "function", "function": function });
    let mut messages = begin("t1");
    let more = messages.as_array_mut().unwrap();
    more.push(json!({ "role": "assistant", "tool_calls": [call] }));
    more.push(json!({ "role": "tool", "tool_call_id": "call_t1_0_0", "content": "x" }));
    ask(&model, &messages);
    assert_eq!(model.asked("t1")[1].results(), ["x"]);
    assert_eq!(model.used("t1"), Tokens { prompt: 2000, cached: 400, written: 0, completion: 60 });
    assert_eq!((model.requests(), model.take_violations()), (2, Vec::new()));
}

#[test]
fn what_is_wrong_is_told_with_its_conversation() {
    let model = LoopbackModel::start();
    model.talk("t1", |_: &Asked| panic!("not like that"));
    ask(&model, &begin("t1"));
    ask(&model, &begin("t2"));
    send(&model, "POST /v1/chat/completions HTTP/1.1", "{");
    send(&model, "GET /v1/other HTTP/1.1", "");
    let violations = model.take_violations();
    assert_eq!(violations.len(), 4, "{violations:?}");
    assert_eq!(violations[0], "t1, request 1: the script: not like that");
}

#[test]
fn streams_are_cut_refused_and_listed_as_told() {
    let model = LoopbackModel::start();
    let said = Said { text: "Straße".to_owned(), ..Said::default() };
    model.talk("t1", steps(vec![Answer::Cut(said, Cut::InCharacter)]));
    let cut = ask(&model, &begin("t1"));
    assert!(!cut.ends_with(b"0\r\n\r\n"), "the body has no end");
    let list = |model: &LoopbackModel| {
        String::from_utf8_lossy(&send(model, "GET /v1/models HTTP/1.1", "")).into_owned()
    };
    assert!(list(&model).contains("\"id\":\"loop\""));
    model.list(None);
    assert!(list(&model).contains("404"));
    model.demand_key("k");
    assert!(list(&model).contains("401"));
}

#[test]
fn a_connection_is_reset_and_not_closed_where_the_script_says_so() {
    let model = LoopbackModel::start();
    let said = || Said { text: "Straße".to_owned(), ..Said::default() };
    for (cut, expected) in
        [(Cut::Reset, Err(std::io::ErrorKind::ConnectionReset)), (Cut::AtOnce, Ok(()))]
    {
        model.talk("t1", steps(vec![Answer::Cut(said(), cut)]));
        let mut connection = TcpStream::connect(model.address).unwrap();
        let body = json!({ "model": "loop", "stream": true, "messages": begin("t1") }).to_string();
        let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length:";
        connection.write_all(format!("{head} {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
        let ended = connection.read_to_end(&mut Vec::new());
        assert_eq!(ended.map(drop).map_err(|error| error.kind()), expected, "{cut:?}");
    }
}
