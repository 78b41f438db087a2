//! Streams as the public documentation of each API describes them, with its odd cases: exactly which
//! events each gives, and what docs/providers.md says of it. The streams are in `tests/streams` of
//! this crate, the events of each beside it, one JSON array a line.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::*;

const DOCUMENT: &str = include_str!("../../../../../docs/providers.md");

/// One kind of stream, with what becomes of it over each of [`APIS`].
struct Scenario {
    /// The name of its files.
    file: &'static str,
    /// What the document calls it.
    name: &'static str,
    cells: [Cell; 4],
}

/// What becomes of a kind of stream over one API.
#[derive(Clone, Copy)]
enum Cell {
    /// It is an answer, which is read like this.
    Read(&'static str),
    /// It is a failed attempt.
    Failed,
    /// It is a refusal, which is not asked for again.
    Refused,
    /// The API has no such stream, for this reason.
    Empty(&'static str),
}

use Cell::{Empty, Failed, Read, Refused};

const SCENARIOS: [Scenario; 15] = [
    Scenario { file: "text", name: "a text", cells: [Read("in pieces"); 4] },
    Scenario {
        file: "calls",
        name: "calls",
        cells: [
            Read("arguments in pieces"),
            Read("arguments in pieces"),
            Read("arguments in pieces"),
            Read("each call complete"),
        ],
    },
    Scenario {
        file: "interleaved",
        name: "calls whose pieces interleave",
        cells: [
            Read("read by index"),
            Read("read by index"),
            Read("read by index"),
            Empty("a call comes complete"),
        ],
    },
    Scenario {
        file: "thinking",
        name: "thinking",
        cells: [
            Read("`reasoning_content`, `reasoning` or `reasoning_text`"),
            Read("the summaries of a reasoning item"),
            Read("`thinking`, with its signature"),
            Read("a `thought`"),
        ],
    },
    Scenario {
        file: "encrypted",
        name: "encrypted thinking",
        cells: [
            Empty("the API has none"),
            Read("in the reasoning item"),
            Read("`redacted_thinking`"),
            Read("in signatures"),
        ],
    },
    Scenario {
        file: "server_tool",
        name: "what a tool of the server itself did",
        cells: [
            Empty("the API has none"),
            Read("skipped"),
            Read("kept, and sent back as it came"),
            Read("skipped"),
        ],
    },
    Scenario { file: "empty", name: "an empty piece", cells: [Read("skipped"); 4] },
    Scenario { file: "unknown", name: "an unknown event", cells: [Read("skipped"); 4] },
    Scenario { file: "not_json", name: "an event that is not complete JSON", cells: [Failed; 4] },
    Scenario {
        file: "late_usage",
        name: "usage",
        cells: [
            Read("at the end or with any piece"),
            Read("at the end"),
            Read("at the beginning and the end"),
            Read("with any piece"),
        ],
    },
    Scenario {
        file: "refusal",
        name: "a refusal",
        cells: [Read("a text"), Read("a text"), Refused, Refused],
    },
    Scenario { file: "filter", name: "a content filter", cells: [Refused; 4] },
    Scenario {
        file: "length",
        name: "an answer that reaches its limit",
        cells: [Read("kept, as cut off"); 4],
    },
    Scenario {
        file: "lost",
        name: "a lost piece of text",
        cells: [
            Empty("cannot be noticed"),
            Failed,
            Empty("cannot be noticed"),
            Empty("cannot be noticed"),
        ],
    },
    Scenario { file: "error", name: "an error of the server in the stream", cells: [Failed; 4] },
];

impl Cell {
    /// Returns what the document says.
    fn text(self) -> &'static str {
        match self {
            Read(text) | Empty(text) => text,
            Failed => "a failed attempt",
            Refused => "refused",
        }
    }
}

pub(super) fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/streams"))
}

/// Returns one event as a JSON array.
fn line(event: &ModelEvent) -> String {
    let fields = match event {
        ModelEvent::Received(0) => json!(["begun"]),
        ModelEvent::Received(bytes) => json!(["received", bytes]),
        ModelEvent::Alive => json!(["alive"]),
        ModelEvent::Notice(text) => json!(["notice", text]),
        ModelEvent::Text { block, text } => json!(["text", block, text]),
        ModelEvent::Thinking { block, text } => json!(["thinking", block, text]),
        ModelEvent::Calling { block, id, tool } => json!(["calling", block, id, tool]),
        ModelEvent::Arguments { block, json } => json!(["arguments", block, json]),
        ModelEvent::Used(usage) => {
            json!(["used", usage.input, usage.cache_read, usage.cache_write, usage.output])
        }
        ModelEvent::Limits(_) => json!(["limits"]),
        ModelEvent::Ended(answer) => json!(["ended", answer.stop_reason, answer.content]),
        ModelEvent::Failed(failed) => {
            json!(["failed", failed.failure.class, failed.failure.message])
        }
    };
    format!("{fields}\n")
}

/// Checks that a cell tells the end that its stream has.
fn expect_end(cell: Cell, last: &ModelEvent, of: &str) {
    let class = match last {
        ModelEvent::Failed(failed) => Some(failed.failure.class),
        _ => None,
    };
    let expected = match cell {
        Read(_) => None,
        Failed => Some(FailureClass::Transient),
        Refused => Some(FailureClass::Refused),
        Empty(why) => panic!("{of}: there is a stream, although {why}"),
    };
    assert_eq!(class, expected, "{of}");
}

/// Returns the table of scenarios and APIs.
fn table() -> String {
    let mut table = String::new();
    for Scenario { name, cells, .. } in &SCENARIOS {
        let cells = cells.map(Cell::text).join(" | ");
        writeln!(table, "| {name} | {cells} |").unwrap();
    }
    table
}

#[test]
fn each_stream_of_the_documentation_gives_exactly_its_events() {
    let mut files = BTreeSet::new();
    for Scenario { file, cells, .. } in &SCENARIOS {
        for (api, cell) in APIS.into_iter().zip(*cells) {
            let of = format!("{}/{file}", api.name());
            let Ok(stream) = fs::read(folder().join(format!("{of}.sse"))) else {
                assert!(matches!(cell, Empty(_)), "{of}: there is no stream");
                continue;
            };
            files.extend([format!("{of}.sse"), format!("{of}.jsonl")]);
            let events = parse(api, [&stream[..]]);
            let lines: String = events.iter().map(line).collect();
            let expected = fs::read_to_string(folder().join(format!("{of}.jsonl")));
            assert_eq!(lines, expected.unwrap_or_default(), "{of}");
            expect_end(cell, events.last().unwrap(), &of);
            assert_eq!(parse(api, stream.chunks(1)), events, "{of}, byte by byte");
        }
    }
    let folders = APIS.map(|api| fs::read_dir(folder().join(api.name())).unwrap());
    let all = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    let relative = |path: PathBuf| path.strip_prefix(folder()).unwrap().display().to_string();
    assert_eq!(all.map(relative).collect::<BTreeSet<_>>(), files);
    std::io::stderr().write_all(table().as_bytes()).unwrap();
}

#[test]
fn the_document_says_of_each_stream_what_becomes_of_it() {
    assert!(DOCUMENT.contains(&table()), "docs/providers.md does not have:\n{}", table());
}
