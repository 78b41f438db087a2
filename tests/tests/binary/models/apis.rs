//! Agents over each of the four APIs: the same work, and the same end of each kind of failure.

use std::time::{Duration, Instant};

use rustix::process::Pid;
use serde_json::json;
use test_limit::{Depth, by_depth, depth, seed, slowdown};
use tests::model::{Answer, Asked, Call, Cut, Said, Wire};
use tests::sandbox::{Finished, Invocation, Repository, Sandbox};

use crate::binary::agents::own_servers::{Agent, Described, begin_all, expect_no_violation};
use crate::binary::sandbox;

/// A key that may stand nowhere.
const KEY: &str = "sk-canary-7b20d3";

/// The variable with the key of each provider.
pub(crate) fn variable(wire: Wire) -> &'static str {
    match wire {
        Wire::Completions => "LOOPBACK_API_KEY",
        Wire::Responses => "OPENAI_API_KEY",
        Wire::Messages => "ANTHROPIC_API_KEY",
        Wire::Gemini => "GOOGLE_API_KEY",
    }
}

/// The most memory in MB that a run may take, and the longest that it may take, whatever is sent.
const MOST_MEMORY: u64 = 200;
const MOST_TIME: Duration = Duration::from_secs(30);

/// For how many milliseconds a server is waited for that is not silent.
pub(crate) const PATIENT: &str = "60000";

/// How the models are described. Even endless answers fit into their windows: nothing is to be compacted.
pub(crate) const DESCRIBED: Described<'static> = Described {
    provider: "apiKey: GATE_KEY",
    model: ", reasoning: true, contextWindow: 4000000, maxTokens: 64000, cost: { input: 1000, output: 1000 }",
    level: ":high",
};

/// Has requests sent again twice and at once, and servers waited for that many milliseconds.
pub(crate) fn with_patience(place: &Sandbox, run: Invocation, patience: &str) -> Invocation {
    place.home().configure("retry:\n  maxRetries: 2\n  baseDelayMs: 10\n");
    run.env("GATE_KEY", KEY)
        .env("REGATTA_STREAM_FIRST_EVENT_TIMEOUT_MS", patience)
        .env("REGATTA_STREAM_IDLE_TIMEOUT_MS", patience)
}

/// Begins a run of agents.
fn begin(place: &Sandbox, repository: &Repository, agents: &[Agent], patience: &str) -> Invocation {
    with_patience(place, begin_all(place, repository, agents, DESCRIBED), patience)
}

/// Runs it, and checks how much memory it takes.
pub(crate) fn within_memory(run: Invocation, what: &str) -> Finished {
    let mut running = run.start();
    let mut peak = None;
    while let Some(_event) = running.next_event() {
        peak = peak.max(memory(running.id()));
    }
    let peak = peak.expect("it lives while it tells something");
    assert!(peak <= MOST_MEMORY, "{what}: {peak} MB");
    running.wait()
}

/// Returns the most memory that a process has held, in MB. Nothing if it has ended.
fn memory(process: Pid) -> Option<u64> {
    let id = process.as_raw_nonzero();
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? / 1024)
}

/// What an agent does that is not disturbed: it thinks, writes a file of its own and reads, and yields.
fn work(name: &str, turn: usize) -> Answer {
    let file = json!({ "path": format!("{name}.txt"), "content": "größe\n" });
    let read = Call::new("read", &json!({ "path": "README.md" }));
    match turn {
        0 => Answer::Says(Said {
            thinking: "Erst überlegen.".to_owned(),
            text: "I write.".to_owned(),
            calls: vec![Call::new("write", &file), read],
            ..Said::default()
        }),
        1 => Answer::Says(Said {
            thinking: "Dann fertig.".to_owned(),
            calls: vec![Call::new("yield", &json!({ "result": { "data": "done" } }))],
            ..Said::default()
        }),
        more => panic!("{more} answers"),
    }
}

/// Runs an agent over each API that is not disturbed, each in the same run.
fn run_undisturbed(
    place: &Sandbox,
    repository: &Repository,
    set_up: impl Fn(&Agent),
) -> (Vec<Agent>, Finished) {
    let agent = |wire: Wire| {
        // A name of its own: what is known of a provider by its name departs from its API.
        let (name, file) = (format!("over-{}", wire.name()), format!("over-{}", wire.name()));
        let agent = Agent::new(&name, wire, move |asked: &Asked| work(&file, asked.answers()));
        set_up(&agent);
        agent
    };
    let agents: Vec<_> = Wire::ALL.into_iter().map(agent).collect();
    let finished = within_memory(begin(place, repository, &agents, PATIENT), "all APIs");
    expect_no_violation(&agents, &finished);
    let finished = finished.expect_code(0);
    for Agent { name, .. } in &agents {
        assert_eq!(repository.text(format!("{name}.txt")), "größe\n", "{name}");
    }
    (agents, finished)
}

#[test]
fn an_agent_works_over_every_api_with_its_key_its_level_and_what_it_thought() {
    let place = sandbox();
    let repository = place.repository();
    let demand = |agent: &Agent| agent.server.demand_key(KEY);
    let (agents, finished) = run_undisturbed(&place, &repository, demand);
    assert!(!format!("{finished}").contains(KEY), "{finished}");
    for Agent { name, wire, server } in &agents {
        let messages = place.home().messages(&finished.run_name(), name);
        let answer = messages.iter().find(|message| message["role"] == "assistant").unwrap();
        assert_eq!(answer["api"], wire.name());
        let thought = &answer["content"][0];
        assert_eq!(
            (&thought["type"], &thought["thinking"]),
            (&json!("thinking"), &json!("Erst überlegen."))
        );
        let signed = match wire {
            Wire::Responses | Wire::Messages => thought["thinkingSignature"].is_string(),
            Wire::Gemini => answer["content"][2]["thoughtSignature"].is_string(),
            Wire::Completions => thought["thinkingSignature"] == "reasoning_content",
        };
        assert!(signed, "{answer}");
        assert_eq!(answer["usage"]["cacheRead"], 200, "{answer}");
        assert_eq!(answer["usage"]["totalTokens"], 1030, "{answer}");
        assert_eq!(finished.task(name)["usage"]["cost"], 2.06, "two answers at the user's price");
        let asked = server.asked(name);
        let level = match wire {
            Wire::Completions => asked[0].native["reasoning_effort"] == "high",
            Wire::Responses => asked[0].native["reasoning"]["effort"] == "high",
            Wire::Messages => asked[0].native["thinking"]["budget_tokens"] == 16_384,
            Wire::Gemini => {
                asked[0].native["generationConfig"]["thinkingConfig"]["thinkingLevel"] == "HIGH"
            }
        };
        assert!(level, "{}", asked[0].native);
    }
    place.expect_nothing_left(&repository);
}

/// What becomes of a task whose model says something else than its yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// It lands after so many requests.
    Lands(usize),
    /// It fails with this class after so many requests.
    Fails(&'static str, usize),
}

/// What is said: an answer, or what makes one of megabytes when it is wanted.
pub(crate) enum Says {
    Answer(Answer),
    Made(fn(Wire) -> Answer),
}

/// What a model says instead of its yield, how often, and how its task ends.
pub(crate) struct Odd {
    pub(crate) what: &'static str,
    pub(crate) says: Says,
    pub(crate) times: usize,
    pub(crate) ends: Ends,
}

impl Odd {
    /// What is said once.
    pub(crate) fn once((what, says, ends): (&'static str, Says, Ends)) -> Self {
        Self { what, says, times: 1, ends }
    }

    /// Whether its server is silent.
    fn is_silent(&self) -> bool {
        match &self.says {
            Says::Answer(Answer::Again(_, every)) => !every.is_zero(),
            Says::Answer(answer) => matches!(answer, Answer::Silence | Answer::Held),
            Says::Made(_) => false,
        }
    }

    /// How long its server is waited for, in milliseconds, in full depth. Only one that really is
    /// silent is to be taken for that, however busy the machine is.
    fn patience(&self) -> &'static str {
        match &self.says {
            Says::Answer(Answer::Again(..)) if self.is_silent() => "3000",
            _ if self.is_silent() => "10000",
            _ => PATIENT,
        }
    }

    /// Returns an agent to which that is said.
    fn agent(&self, name: &str, wire: Wire) -> Agent {
        let odd = match &self.says {
            Says::Answer(answer) => answer.clone(),
            Says::Made(make) => make(wire),
        };
        let (file, mut left) = (name.to_owned(), self.times);
        Agent::new(name, wire, move |asked: &Asked| {
            if asked.answers() == 1 && left > 0 {
                left -= 1;
                return odd.clone();
            }
            match asked.answers() {
                0 => work(&file, 0),
                _ => Answer::yields(&json!("done")),
            }
        })
    }
}

/// Checks how the tasks end whose models say what `odd` has for an API. In quick depth each is said over
/// one API, which the commit decides, by servers of one run, and by those of another that are silent;
/// else over each API, in a run of its own.
pub(crate) fn expect_ends(odd: impl Fn(Wire) -> Vec<Odd>) {
    let by_wire = Wire::ALL.map(odd);
    if depth() == Depth::Full {
        test_limit::raise(Duration::from_secs(400), "each API has a run for each row");
        for (wire, all) in Wire::ALL.into_iter().zip(&by_wire) {
            all.iter().for_each(|odd| run_odd(&[(wire, odd)], odd.patience()));
        }
        return;
    }
    let first = usize::try_from(seed() % 4).unwrap_or(0);
    let chosen = |at: usize| (Wire::ALL[(first + at) % 4], &by_wire[(first + at) % 4][at]);
    let all: Vec<_> = (0..by_wire[0].len()).map(chosen).collect();
    let (silent, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, odd)| odd.is_silent());
    let brief = Duration::from_millis(800).mul_f64(slowdown()).as_millis().to_string();
    std::thread::scope(|scope| {
        // It mostly waits, so it is no second test that works.
        if !silent.is_empty() {
            scope.spawn(|| run_odd(&silent, &brief));
        }
        run_odd(&rest, PATIENT);
    });
}

/// Runs a task for each of these, and checks how each ends.
fn run_odd(rows: &[(Wire, &Odd)], patience: &str) {
    let place = sandbox();
    let repository = place.repository();
    let named = rows.iter().enumerate();
    let agents: Vec<_> =
        named.map(|(at, (wire, odd))| odd.agent(&format!("row{at}"), *wire)).collect();
    let began = Instant::now();
    let all = rows.iter().map(|(wire, odd)| format!("{wire:?}, {}; ", odd.what));
    let all = all.collect::<String>();
    let finished = within_memory(begin(&place, &repository, &agents, patience), &all);
    test_limit::took_at_most(began.elapsed(), MOST_TIME, &all);
    expect_no_violation(&agents, &finished);
    let mut landed = 0;
    for ((wire, Odd { what, ends, .. }), agent) in rows.iter().zip(&agents) {
        let name = &agent.name;
        let end = finished.task(name);
        let requests = agent.requests() - 1;
        let class = end["failure"]["class"].as_str();
        // A server that answers late on a busy machine is asked again, too.
        let counted = if patience == PATIENT { requests } else { requests.min(2) };
        let ended = format!("{} {counted}", class.unwrap_or("lands"));
        let wanted = match ends {
            Ends::Lands(requests) => format!("lands {requests}"),
            Ends::Fails(class, requests) => format!("{class} {requests}"),
        };
        assert_eq!(ended, wanted, "{wire:?}, {what}: {finished}");
        assert!(requests <= 5, "{wire:?}, {what}: {finished}");
        landed += usize::from(class.is_none());
        if class.is_some() {
            let capture = format!("{}/{name}/1", finished.run_name());
            let text = place.home().captured(&capture, &format!("{name}.txt"));
            assert_eq!(text, "größe\n", "{wire:?}, {what}");
        }
    }
    assert_eq!(finished.code == 0, landed == rows.len(), "{all}: {finished}");
    assert!(!format!("{finished}").contains(KEY), "{finished}");
}

fn status(code: u16, kind: &str, message: &str) -> Answer {
    Answer::error(code, kind, message)
}

/// The failures of a provider, each with its end.
fn failures(_wire: Wire) -> Vec<Odd> {
    let said = || Said { text: "Die Straße ist lang.".to_owned(), ..Said::default() };
    let limited = status(429, "rate_limit_error", "slow down").with_header("retry-after-ms", "50");
    let cases: Vec<(&str, Answer, usize, Ends)> = vec![
        ("429", limited, 1, Ends::Lands(2)),
        (
            "429 and a far date",
            status(429, "rate_limit_error", "x").with_header("retry-after", "86400"),
            9,
            Ends::Fails("quota", 1),
        ),
        (
            "429 and a time that is over",
            status(429, "rate_limit_error", "x").with_header("retry-after", "-1"),
            9,
            Ends::Fails("transient", 3),
        ),
        (
            "429 and no time",
            status(429, "rate_limit_error", "x").with_header("retry-after", "soon"),
            9,
            Ends::Fails("transient", 3),
        ),
        (
            "429 and a year",
            status(429, "rate_limit_error", "x").with_header("retry-after", "31536000"),
            9,
            Ends::Fails("quota", 1),
        ),
        ("503", status(503, "server_error", "busy"), 1, Ends::Lands(2)),
        ("529", status(529, "overloaded_error", "Overloaded"), 1, Ends::Lands(2)),
        ("400", status(400, "invalid_request_error", "what?"), 9, Ends::Fails("invalid", 1)),
        ("401", status(401, "authentication_error", "no"), 9, Ends::Fails("auth", 1)),
        (
            "too long",
            status(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
            9,
            Ends::Fails("overflow", 1),
        ),
        ("cut in a character", Answer::Cut(said(), Cut::InCharacter), 1, Ends::Lands(2)),
        ("no end", Answer::Cut(said(), Cut::BeforeFinish), 1, Ends::Lands(2)),
        ("never an end", Answer::Cut(said(), Cut::BeforeFinish), 9, Ends::Fails("transient", 3)),
        ("outage", status(500, "api_error", "oops"), 9, Ends::Fails("transient", 3)),
        ("stalled", Answer::Silence, 1, Ends::Lands(2)),
        ("nothing", Answer::stream(""), 1, Ends::Lands(2)),
        (
            "a page",
            Answer::Bytes { content_type: "text/html", body: b"<html>Hi</html>".to_vec() },
            9,
            Ends::Fails("invalid", 1),
        ),
        ("a corrupt event", Answer::stream("data: {\"type\":\"message_st\n\n"), 1, Ends::Lands(2)),
        (
            "one line without end",
            Answer::Again(vec![b'a'; 100_000], Duration::ZERO),
            9,
            Ends::Fails("invalid", 1),
        ),
    ];
    let odd = |(what, answer, times, ends)| Odd { what, says: Says::Answer(answer), times, ends };
    cases.into_iter().map(odd).collect()
}

fn calls(calls: Vec<Call>) -> Said {
    Said { calls, ..Said::default() }
}

fn read(path: &str) -> Call {
    Call::new("read", &json!({ "path": path }))
}

/// Returns a call whose arguments are longer than they may be, and than an event if they come in one.
fn long_arguments(wire: Wire) -> Answer {
    let megabytes = if wire == Wire::Gemini { 4 } else { 2 };
    let bytes = by_depth((megabytes << 20) + (200 << 10), 8 << 20);
    wire.say(&calls(vec![read(&"x".repeat(bytes))]))
}

/// Answers that are whole and odd, each with its end.
fn odd_answers(wire: Wire) -> Vec<Odd> {
    let raw = |arguments: String| Call { id: None, name: "read".to_owned(), arguments };
    let depth = by_depth(20_000, 100_000);
    let deep = format!("{{\"path\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    let many = Says::Made(|wire| wire.say(&calls(vec![read("README.md"); by_depth(300, 2000)])));
    // Here a call comes whole, in one event, and an event has a maximum size.
    let whole = wire == Wire::Gemini;
    let long_end = if whole { Ends::Fails("invalid", 1) } else { Ends::Lands(2) };
    let said = [
        ("deep arguments", Answer::calls(vec![raw(deep)])),
        ("no JSON", Answer::calls(vec![raw("{\"path\"".to_owned())])),
        ("an unknown tool", Answer::calls(vec![Call::new("x", &json!({}))])),
        ("one id twice", Answer::calls(vec![read("a").with_id("twice"); 2])),
        ("ANSI", Answer::text("\u{1b}[31m\u{1b}]0;title\u{7}")),
        ("endless text", Answer::Endless),
    ];
    let said = said.map(|(what, answer)| (what, Says::Answer(answer), Ends::Lands(2)));
    let made = [
        ("more calls than may be", many, Ends::Lands(2)),
        ("long arguments", Says::Made(long_arguments), long_end),
    ];
    made.into_iter().chain(said).map(Odd::once).collect()
}

#[test]
fn failures_over_every_api_have_their_ends() {
    expect_ends(failures);
}

#[test]
fn odd_answers_over_every_api_are_read_or_cut_off() {
    expect_ends(odd_answers);
}

#[test]
fn nobody_comes_again_before_a_limit_is_over() {
    let place = sandbox();
    let repository = place.repository();
    let limit = |agent: &Agent| agent.server.limit(1, Duration::from_millis(700));
    let _done = run_undisturbed(&place, &repository, limit);
}
