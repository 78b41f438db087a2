//! Files of older versions become files of version 3, and nothing of them is lost.

use serde_json::Value;

use super::*;
use crate::session::line::{First, parse_first};

fn session() -> SessionId {
    SessionId::of_text("old")
}

fn migrated(file: &str) -> Vec<Value> {
    let written = String::from_utf8(migrate(file.as_bytes(), session())).unwrap();
    written.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Returns the id of each entry as its place, and what is said of others by their places.
fn places(lines: &[Value]) -> Vec<String> {
    let place = |id: &Value| {
        let found = lines[1..].iter().position(|line| line["id"] == *id);
        found.map_or("-".to_owned(), |place| place.to_string())
    };
    let line =
        |line: &Value| format!("{}<{}", line["type"].as_str().unwrap(), place(&line["parentId"]));
    lines[1..].iter().map(line).collect()
}

const VERSION_1: &str = concat!(
    r#"{"type":"session","id":"a1","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/a","provider":"p","modelId":"m"}"#,
    "\n",
    r#"{"type":"message","timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"one","timestamp":5}}"#,
    "\n",
    "not json\n",
    r#"{"type":"message","message":{"role":"hookMessage","customType":"c","content":"two","timestamp":1767323047000}}"#,
    "\n",
    r#"{"type":"wild","x":{"b":1,"a":2}}"#,
    "\n",
    r#"{"type":"compaction","summary":"s","firstKeptEntryIndex":2,"tokensBefore":5}"#,
    "\n",
);

#[test]
fn entries_of_version_1_get_ids_and_follow_each_other() {
    let lines = migrated(VERSION_1);
    assert_eq!(lines[0]["version"], 3);
    assert_eq!(lines[0]["provider"], "p");
    assert_eq!(places(&lines), ["message<-", "message<0", "wild<1", "compaction<2"]);
    assert_eq!(lines[2]["message"]["role"], "custom");
    assert_eq!(lines[3]["x"].to_string(), r#"{"b":1,"a":2}"#);
    // Among the lines that can be read, with the header as the first.
    assert_eq!(lines[4]["firstKeptEntryId"], lines[2]["id"]);
    assert_eq!(lines[4].get("firstKeptEntryIndex"), None);
    let times: Vec<_> = lines[1..].iter().map(|line| line["timestamp"].as_str().unwrap()).collect();
    let at =
        ["06.000Z", "07.000Z", "07.000Z", "07.000Z"].map(|at| format!("2026-01-02T03:04:{at}"));
    assert_eq!(times, at);
    let written = migrate(VERSION_1.as_bytes(), session());
    assert!(String::from_utf8(written.clone()).unwrap().contains("\nnot json\n"));
    assert_eq!(migrate(&written, session()), written, "a second time changes nothing");
}

#[test]
fn a_file_of_version_0_gets_a_header() {
    let file = concat!(
        r#"{"type":"metadata","id":"s0","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/a","config":{"model":"m"}}"#,
        "\n",
        r#"{"type":"message","message":{"role":"user","content":"one","timestamp":1767323047000}}"#,
        "\n",
    );
    let lines = migrated(file);
    let First::Header(header) = parse_first(lines[0].to_string().as_bytes()) else { panic!() };
    assert_eq!((header.id.as_str(), header.version), ("s0", 3));
    assert_eq!(lines[0]["config"]["model"], "m");
    assert_eq!(places(&lines), ["message<-"]);
}

#[test]
fn a_file_of_version_2_keeps_its_ids_and_its_title() {
    let file = concat!(
        r#"{"type":"title","v":1,"title":"t","pad":"   "}"#,
        "\n",
        r#"{"type":"session","version":2,"id":"a1","cwd":"/a"}"#,
        "\n",
        r#"{"type":"message","id":"x","parentId":null,"message":{"role":"hookMessage","customType":"c"}}"#,
        "\n",
        r#"{"type":"message","id":"y","parentId":"x","message":{"role":"user","content":"a"}}"#,
    );
    let expected = file.replace("\"version\":2", "\"version\":3").replace("hookMessage", "custom");
    let written = String::from_utf8(migrate(file.as_bytes(), session())).unwrap();
    assert_eq!(written, format!("{expected}\n"));
}

#[test]
fn a_compaction_that_keeps_nothing_that_is_there_keeps_nothing() {
    for index in ["0", "99", "18446744073709551615"] {
        let file = VERSION_1.replace("Index\":2", &format!("Index\":{index}"));
        assert_eq!(migrated(&file)[4]["firstKeptEntryId"], Value::Null, "{index}");
    }
}
