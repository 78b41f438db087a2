//! Streams that no sound provider sends, over each of the four APIs: each has a defined end, within
//! the time and the memory that a run may take.

use std::time::Duration;

use serde_json::json;
use test_limit::{Depth, by_depth, depth};
use tests::model::{Answer, Asked, Call, Cut, LoopbackModel, Said, Script, Wire, marker};
use tests::sandbox::Plan;

use super::apis::{DESCRIBED, Ends, Odd, PATIENT, Says, expect_ends, with_patience, within_memory};
use crate::binary::agents::fallbacks::id_of;
use crate::binary::agents::own_servers::write_providers;
use crate::binary::sandbox;

/// Returns a stream of the documentation of an API, from the tests of the providers.
fn documented(wire: Wire, name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../engine/providers/tests/streams");
    std::fs::read(format!("{folder}/{}/{name}.sse", wire.name())).expect("there is such a stream")
}

/// Returns the bytes in which something is said.
fn spoken(wire: Wire, said: &Said) -> Vec<u8> {
    match wire.say(said) {
        Answer::Bytes { body, .. } => body,
        other => panic!("{other:?} is no stream"),
    }
}

fn reads(path: &str) -> Said {
    Said { calls: vec![Call::new("read", &json!({ "path": path }))], ..Said::default() }
}

/// Returns a stream with a call whose arguments have 64 MB in full depth, and else more than they may.
fn large_call(wire: Wire) -> Answer {
    // Here a call comes whole, in one event.
    let megabytes = by_depth(if wire == Wire::Gemini { 5 } else { 3 }, 64);
    let once = if wire == Wire::Gemini { megabytes << 20 } else { 1 << 20 };
    let stream = String::from_utf8(spoken(wire, &reads(&"x".repeat(once)))).expect("it is text");
    if wire == Wire::Gemini {
        return Answer::stream(stream);
    }
    let is_piece = |event: &&str| event.contains("xxxx") && !event.contains(".done");
    let events: Vec<_> = stream.split_inclusive("\n\n").collect();
    let first = events.iter().position(is_piece).expect("there is a piece");
    let pieces = events.iter().filter(|event| is_piece(event)).copied().collect::<String>();
    let rest = events[first..].iter().filter(|event| !is_piece(event)).copied();
    let all = [events[..first].concat(), pieces.repeat(megabytes)].into_iter();
    Answer::stream(all.chain(rest.map(str::to_owned)).collect::<String>())
}

/// Returns a text with bytes that are no text.
fn no_text(wire: Wire) -> Answer {
    let said = Said { text: "abc".to_owned(), ..Said::default() };
    let stream = spoken(wire, &said);
    let mut bytes = Vec::new();
    let mut rest = &stream[..];
    while let Some(at) = rest.windows(3).position(|three| three == b"abc") {
        bytes.extend_from_slice(&[&rest[..at], b"a\xff\xfe\xc3c"].concat());
        rest = &rest[at + 3..];
    }
    assert!(!bytes.is_empty(), "it says what it is to say");
    Answer::stream([&bytes, rest].concat())
}

/// Hostile streams, each with the end of its task.
fn streams(wire: Wire) -> Vec<Odd> {
    let again = Ends::Lands(2);
    let refused = Ends::Fails("refused", 1);
    let stream = |name: &str| Answer::stream(documented(wire, name));
    let no_id = Said { calls: vec![reads("a").calls[0].clone().with_id("")], ..Said::default() };
    let said = || Said { text: "größe".to_owned(), ..Said::default() };
    let whole = wire == Wire::Gemini;
    let by_text = matches!(wire, Wire::Completions | Wire::Responses);
    let says = Says::Answer(Answer::Cut(said(), Cut::Reset));
    let resets = Odd { what: "resets", says, times: 9, ends: Ends::Fails("transient", 3) };
    let comments = Answer::Again(b": here\n\n".to_vec(), Duration::from_millis(50));
    let large = if whole { Ends::Fails("invalid", 1) } else { again };
    let said = [
        ("no text", no_text(wire), again),
        ("an empty id", wire.say(&no_id), again),
        ("comments", comments, again),
        ("a connection that breaks", Answer::Cut(said(), Cut::AtOnce), again),
        ("a reset", Answer::Cut(said(), Cut::Reset), again),
        ("a filter", stream("filter"), refused),
        ("a refusal", stream("refusal"), if by_text { again } else { refused }),
        ("an error", stream("error"), again),
        ("an event of half a document", stream("not_json"), again),
        ("odd events", stream("unknown"), again),
        ("calls that interleave", stream(if whole { "empty" } else { "interleaved" }), again),
    ];
    let said = said.map(|(what, answer, ends)| (what, Says::Answer(answer), ends));
    let made = [("a call of megabytes", Says::Made(large_call), large)];
    made.into_iter().chain(said).map(Odd::once).chain([resets]).collect()
}

#[test]
fn hostile_streams_over_every_api_have_their_ends() {
    expect_ends(streams);
}

/// A generator of numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or(0) % most.max(1)
    }

    /// Changes a stream in one place.
    fn change(&mut self, mut stream: Vec<u8>) -> Vec<u8> {
        const WORDS: [&[u8]; 5] = [b"null", b"-1", b"\xff", b"data: {}\n\n", b"[[[["];
        let at = self.below(stream.len());
        let to = (at + self.below(60)).min(stream.len());
        match self.below(4) {
            0 => drop(stream.drain(at..to)),
            1 => stream.truncate(at),
            2 => stream[at] = u8::try_from(self.below(256)).unwrap_or(0),
            _ => drop(stream.splice(at..at, WORDS[self.below(WORDS.len())].iter().copied())),
        }
        stream
    }
}

/// How many changed streams each task is sent.
const STREAMS: usize = 6;

/// Returns a script that says streams which are changed in one place each.
fn changed(wire: Wire, task: usize) -> impl Script {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (task as u64 + 1));
    let mut left = 2 * STREAMS;
    move |_: &Asked| {
        left = left.saturating_sub(1);
        // No thinking: it cannot be noticed that its text is not the one that is signed.
        let path = format!("{left}.txt");
        let said = Said { text: "Ich lese ä.".to_owned(), ..reads(&path) };
        match left {
            0 => Answer::yields(&json!("done")),
            // A sound answer follows each, so that the account is never out.
            left if left % 2 == 0 => wire.say(&said),
            _ => Answer::stream(random.change(spoken(wire, &said))),
        }
    }
}

#[test]
fn a_run_whose_streams_are_changed_at_random_has_one_end_of_each_task() {
    if depth() != Depth::Full {
        return changed_at_random(&Wire::ALL, 2);
    }
    for wire in Wire::ALL {
        changed_at_random(&[wire], 24);
    }
}

/// Runs so many tasks over each of these APIs.
fn changed_at_random(wires: &[Wire], each: usize) {
    let place = sandbox();
    let repository = place.repository();
    let server = |wire: &Wire| (*wire, format!("over-{}", wire.name()), LoopbackModel::start());
    let servers: Vec<_> = wires.iter().map(server).collect();
    let mut plan = Plan::default();
    for (wire, provider, server) in &servers {
        for task in 0..each {
            let name = format!("{provider}-t{task}");
            server.talk(&name, changed(*wire, task));
            plan = plan.agent(&name, &marker(&name));
            plan = plan.with(&format!("model = '{provider}/{}:high'", id_of(*wire)));
        }
    }
    let providers = servers.iter().map(|(wire, name, server)| (name.as_str(), *wire, server));
    write_providers(&place, providers, DESCRIBED);
    let run = with_patience(&place, place.run_plan(&repository, &plan), PATIENT);
    let finished = within_memory(run.words("--jobs 4"), &format!("{wires:?}"));
    for (wire, _, server) in &servers {
        // What was signed has been changed on its way, which only its provider can notice.
        let mut violations = server.take_violations();
        violations.retain(|violation| !violation.contains("a signature is not as it came"));
        assert_eq!(violations, Vec::<String>::new(), "{wire:?}: {finished}");
    }
    let ended = finished.events_of("task_finished");
    let tasks = wires.len() * each;
    assert_eq!(ended.len(), tasks, "{wires:?}: {finished}");
    let failed = ended.iter().filter_map(|end| end["failure"]["class"].as_str());
    let failed: Vec<_> = failed.collect();
    let known = |class: &&str| ["transient", "invalid", "contract"].contains(class);
    assert!(failed.iter().all(known), "{wires:?}: {failed:?}: {finished}");
    assert!(failed.len() < tasks / 2, "{wires:?}: {failed:?}: {finished}");
    assert_eq!(finished.code == 0, failed.is_empty(), "{wires:?}: {finished}");
    assert!(!finished.stderr.contains("panicked"), "{finished}");
    place.expect_nothing_left(&repository);
}
