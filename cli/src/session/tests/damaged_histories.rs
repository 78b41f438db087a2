//! Session files whose conversations are damaged: calls without results, results without calls, empty
//! messages, parts of other models, lost lines. Every API accepts every request all the same.

use std::fs;

use protocol::InputId;
use serde_json::{Value, json};
use tests::fuzz::Random;
use tests::model::{Answer, Asked, LoopbackModel, Wire, marker};

use super::engine::{SessionEngine, SessionPolicies};

/// How many histories each API gets.
const HISTORIES: u64 = 60;

/// A conversation that is made up at random.
struct History {
    random: Random,
    wire: Wire,
    /// What each text of the user has, by which the server knows the conversation.
    marker: String,
    entries: Vec<Value>,
    calls: usize,
}

impl History {
    /// Makes up a conversation without damage, or nearly.
    fn new(seed: u64, wire: Wire, talk: &str) -> Self {
        let (random, marker) = (Random::new(seed), marker(talk));
        let mut history = Self { random, wire, marker, entries: Vec::new(), calls: 0 };
        for _ in 0..history.random.between(1, 8) {
            let said = history.user();
            history.push(said);
            for _ in 0..history.random.below(4) {
                history.turn();
            }
        }
        history
    }

    fn push(&mut self, message: Value) {
        self.entries.push(json!({ "type": "message", "message": message }));
    }

    fn words(&mut self) -> String {
        let random = &mut self.random;
        let words = ["", " \n", "a", "größe", "x\u{0}y", "\u{1b}[1m", "long ", "{}", "</file>"];
        let word = *random.pick(&words);
        word.repeat(if word == "long " { 30 } else { 1 })
    }

    fn user(&mut self) -> Value {
        let (marker, at) = (self.marker.clone(), 1_767_323_046_000_u64);
        let own = json!({ "type": "text", "text": format!("{marker} {}", self.words()) });
        let image = |data: &str| json!({ "type": "image", "data": data, "mimeType": "image/png" });
        let said = |content: Value| json!({ "role": "user", "content": content, "timestamp": at });
        match self.random.below(12) {
            0 => said(json!([own, image("aGk=")])),
            1 => said(json!([own, image("a\n[cut]")])),
            2 => json!({ "role": "developer", "content": marker, "timestamp": at }),
            3 => json!({
                "role": "bashExecution", "command": marker, "output": "", "cancelled": false,
                "truncated": false, "timestamp": at,
            }),
            4 => json!({
                "role": "custom", "customType": "c", "content": marker, "display": true,
                "timestamp": at,
            }),
            5 => json!({
                "role": "fileMention", "files": [{ "path": marker, "content": "x" }],
                "timestamp": at,
            }),
            6 => json!({ "role": "hologram", "content": [own] }),
            _ => said(json!([own])),
        }
    }

    /// Adds an answer and the results of its calls.
    fn turn(&mut self) {
        let mut content = Vec::new();
        for _ in 0..self.random.below(4) {
            let words = self.words();
            content.push(match self.random.below(3) {
                0 => json!({ "type": "thinking", "thinking": words }),
                1 => json!({ "type": "hologram", "x": words }),
                _ => json!({ "type": "text", "text": words }),
            });
        }
        let mut results = Vec::new();
        for _ in 0..self.random.below(4) {
            let (call, result) = self.call();
            content.push(call);
            results.push(result);
        }
        self.random.shuffle(&mut results);
        let own = self.random.chance(70);
        let route = if own { self.wire } else { *self.random.pick(&Wire::ALL) };
        let (provider, model) = route.route().split_once('/').expect("it is a route");
        let reasons = ["stop", "toolUse", "length", "error", "aborted"];
        let usage = json!({ "input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0 });
        let reason = *self.random.pick(&reasons);
        self.push(json!({
            "role": "assistant", "content": content, "api": route.name(), "provider": provider,
            "model": model, "usage": usage, "stopReason": reason, "timestamp": 1_767_323_046_000_u64,
        }));
        results.into_iter().for_each(|result| self.push(result));
    }

    /// Returns a call of a tool and its result.
    fn call(&mut self) -> (Value, Value) {
        self.calls += 1;
        let long = "x".repeat(90);
        let ids = ["", "same", "a b/c", "fc_1|item_2", long.as_str(), "größe"];
        let id = match self.random.below(10) {
            0 => (*self.random.pick(&ids)).to_owned(),
            _ => format!("call_{}", self.calls),
        };
        let name = *self.random.pick(&["read", "bash", "", "no tool!", "write"]);
        let words = self.words();
        let call = json!({
            "type": "toolCall", "id": id, "name": name, "arguments": { "path": words },
        });
        let content = match self.random.below(4) {
            0 => json!([]),
            1 => json!([{ "type": "text", "text": words }]),
            2 => json!([{ "type": "image", "data": "aGk=", "mimeType": "image/png" }]),
            _ => json!([{ "type": "text", "text": "output" }]),
        };
        let result = json!({
            "role": "toolResult", "toolCallId": id, "toolName": name, "content": content,
            "isError": self.random.chance(20), "timestamp": 1_767_323_046_000_u64,
        });
        (call, result)
    }

    /// Damages the conversation.
    fn damage(&mut self) {
        for _ in 0..self.random.below(8) {
            let Some(last) = self.entries.len().checked_sub(1) else { return };
            let at = self.random.between(0, last);
            let other = self.random.between(0, last);
            let message = &mut self.entries[at]["message"];
            match self.random.below(9) {
                0 => drop(self.entries.remove(at)),
                1 => self.entries.swap(at, other),
                2 => {
                    let again = self.entries[at].clone();
                    self.entries.insert(other, again);
                }
                3 => message["content"] = json!([]),
                4 if message["role"] == "assistant" => {
                    drop(message["content"].as_array_mut().and_then(Vec::pop));
                }
                5 if message["role"] == "toolResult" => message["toolCallId"] = json!("nobody"),
                6 => message["role"] = json!("hologram"),
                7 => {
                    let kept =
                        json!({ "type": "compaction", "summary": self.marker, "keep": other });
                    self.entries.insert(at, kept);
                }
                _ => drop(self.entries.drain(at.min(other)..at)),
            }
        }
    }

    /// Returns the conversation as a session file, some of whose lines are damaged, too.
    fn file(&mut self) -> Vec<u8> {
        let at = "2026-01-02T03:04:05.678Z";
        let id = protocol::SessionId::generate();
        let header =
            json!({ "type": "session", "version": 3, "id": id, "timestamp": at, "cwd": "/" });
        let mut file = format!("{header}\n").into_bytes();
        let mut parent = Value::Null;
        for (number, entry) in self.entries.iter().enumerate() {
            let id = format!("{number:08x}");
            let mut entry = entry.clone();
            entry["id"] = json!(id);
            entry["parentId"] = parent;
            entry["timestamp"] = json!(at);
            if let Some(keep) = entry["keep"].as_u64() {
                entry["firstKeptEntryId"] = json!(format!("{keep:08x}"));
            }
            parent = json!(id);
            let line = entry.to_string().into_bytes();
            match self.random.below(40) {
                0 => file.extend(&line[..line.len() / 2]),
                1 => file.extend([0; 16]),
                2 => file.extend(line.iter().chain(b"\r")),
                _ => file.extend(&line),
            }
            file.push(b'\n');
        }
        file
    }
}

#[test(flavor = "multi_thread")]
async fn every_request_after_a_damaged_history_is_one_that_its_api_accepts() {
    let model = LoopbackModel::start();
    let engine = SessionEngine::open(SessionPolicies::default()).await;
    fs::create_dir_all(engine.log("x").parent().expect("it lies in a folder"))
        .expect("it can be made");
    let mut asked = 0;
    for (number, wire) in (0..).zip(Wire::ALL) {
        for seed in test_limit::sample(number * HISTORIES..(number + 1) * HISTORIES, 10) {
            let name = format!("{}-{seed}", wire.name());
            let mut history = History::new(seed, wire, &name);
            history.damage();
            let file = history.file();
            fs::write(engine.log(&name), &file).expect("it can be written");
            // The first text of the user may be lost, and so may the marker in it.
            for talk in [name.as_str(), ""] {
                model.talk(talk, |_: &Asked| Answer::text("done"));
            }
            let mut it = engine.session(&name, &model, wire).await;
            let prompt = format!("Go on. {}", marker(&name));
            it.session.prompt(protocol::UserInput::new(InputId::generate(), prompt));
            assert_eq!(it.end().await, tests::fakes::silent(), "{name}");
            it.session.close().await;
            asked += 1;
            assert_eq!(model.requests(), asked, "{name}");
            let text = String::from_utf8_lossy(&file);
            assert_eq!(model.take_violations(), [""; 0], "{name}:\n{text}");
            let after = fs::read(engine.log(&name)).expect("it is there");
            assert!(after.starts_with(&file), "{name}: what was there stays");
        }
    }
}
