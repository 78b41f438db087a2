//! What each API costs beside Chat Completions, and whether a long answer costs more than its length.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use benches::{
    Bound, Report, Rounds, as_f64, measured_binary, median, ms, plan_of_agents, run_of_plan,
    scratch, used_by,
};
use engine::ports::{Clock, ModelEvent, ModelRequest, Models as _, RequestOptions, ToolChoice};
use futures_util::StreamExt as _;
use protocol::{Message, ModelRoute, SessionId, Timestamp};
use providers::{Catalogue, CatalogueConfig, NoUserProviders};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use tests::model::{Answer, Asked, LoopbackModel, Pace, Said, Script, Wire};
use tests::sandbox::Repository;

/// How many agents run at once.
const AGENTS: usize = 200;

/// How many times what an agent costs over Chat Completions it may cost over another API.
const OVER_COMPLETIONS: f64 = 1.2;

/// How many times what a stream of one megabyte costs one of ten may cost.
const OVER_ONE_MEGABYTE: f64 = 12.0;

fn main() -> ExitCode {
    let binary = measured_binary();
    let mut report = Report::new(
        "apis",
        "The processor time of a further agent over each API: 200 agents of two turns (read a file, \
         yield) at once, and one, `regatta run --isolation none --jobs 200` against a model on the \
         loopback, in turns; the least of all rounds, since what else the machine does only adds to \
         it. And the processor time that it takes to read an answer of ten megabytes, in events of \
         five letters of text, beside one of one megabyte, sent over the loopback; medians.",
    );
    agents(&binary, &mut report);
    streams(&mut report);
    report.finish()
}

/// Measures what agents cost over each API.
fn agents(binary: &Path, report: &mut Report) {
    let scratch = scratch();
    let repository = Repository::init(&scratch.path().join("app"));
    repository.write("README.md", "# App\n\nA small thing.\n");
    repository.commit("begin");
    let cost = |wire: Wire, agents: usize| {
        let home = scratch.path().join(format!("home-{}-{agents}", wire.name()));
        cpu_of_run(binary, &home, &repository, wire, agents)
    };
    // The first round warms the caches.
    for wire in Wire::ALL {
        cost(wire, 1);
    }
    let many = Rounds::asked_for().of(AGENTS, AGENTS);
    let mut least = Wire::ALL.map(|_wire| Duration::MAX);
    let mut held = Vec::new();
    while !Rounds::asked_for().suffice(8, &held) {
        for (least, wire) in least.iter_mut().zip(Wire::ALL) {
            let all = cost(wire, many).saturating_sub(cost(wire, 1));
            *least = (*least).min(all / u32::try_from(many - 1).expect("few"));
        }
        held.push(least.iter().all(|it| ratio(*it, least[0]) <= OVER_COMPLETIONS));
    }
    for (least_of_it, wire) in least.into_iter().zip(Wire::ALL) {
        let what = format!("{}: CPU per further agent", wire.name());
        report.figure(&what, ms(least_of_it), "ms", Bound::None);
        if wire != Wire::Completions {
            let what = format!("{what} / {}", Wire::Completions.name());
            let bound = Bound::AtMost(OVER_COMPLETIONS);
            report.figure(&what, ratio(least_of_it, least[0]), "×", bound);
        }
    }
}

/// Runs agents of two turns over an API, and returns what the engine used of the processor.
fn cpu_of_run(
    binary: &Path,
    home: &Path,
    repository: &Repository,
    wire: Wire,
    agents: usize,
) -> Duration {
    let model = LoopbackModel::start();
    model.pace(Pace::Events);
    model.otherwise(|_talk| Box::new(two_turns) as Box<dyn Script>);
    let plan = plan_of_agents(agents, "Read the file and tell what it is.");
    let folder = home.join("config");
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let models = json!({ "providers": { "gate": {
        "baseUrl": model.url_of(wire), "auth": "none", "api": wire.name(), "models": [{ "id": "m" }],
    } } });
    std::fs::write(folder.join("models.json"), models.to_string()).expect("a file can be written");
    let mut run = run_of_plan(binary, home, repository, (&plan, AGENTS));
    run.args(["--model", "gate/m"]);
    let used = used_by(run);
    assert_eq!(model.take_violations(), Vec::<String>::new());
    assert_eq!(model.requests(), 2 * agents, "each agent asks twice");
    used.cpu
}

fn two_turns(asked: &Asked) -> Answer {
    match asked.answers() {
        0 => Answer::call("read", &json!({ "path": "README.md" })),
        _ => {
            Answer::yields(&json!({ "summary": "It is a small thing, and that is all there is." }))
        }
    }
}

/// Measures what long answers cost over each API.
fn streams(report: &mut Report) {
    for wire in Wire::ALL {
        let (small, large) = (long_stream(wire, 1 << 20), long_stream(wire, 10 << 20));
        let (mut one, mut ten, mut held) = (Vec::new(), Vec::new(), Vec::new());
        cpu_of_reading(wire, &small); // warms up
        while !Rounds::asked_for().suffice(8, &held) {
            one.push(cpu_of_reading(wire, &small));
            ten.push(cpu_of_reading(wire, &large));
            held.push(ratio(median(&ten), median(&one)) <= OVER_ONE_MEGABYTE);
        }
        let (one, ten) = (median(&one), median(&ten));
        report.figure(&format!("{}: a stream of 1 MB", wire.name()), ms(one), "ms", Bound::None);
        let what = format!("{}: a stream of 10 MB / 1 MB", wire.name());
        report.figure(&what, ratio(ten, one), "×", Bound::AtMost(OVER_ONE_MEGABYTE));
    }
}

/// A piece of text.
const PIECE: &str = "abcde";

/// Returns a stream of about this many bytes: an answer whose text comes in many small pieces.
fn long_stream(wire: Wire, bytes: usize) -> Vec<u8> {
    let said = Said { text: PIECE.to_owned(), ..Said::default() };
    let Answer::Bytes { body, .. } = wire.say(&said) else { unreachable!("it is a stream") };
    let body = String::from_utf8(body).expect("a stream is text");
    let end = if body.contains("\r\n\r\n") { "\r\n\r\n" } else { "\n\n" };
    let events: Vec<&str> = body.split_inclusive(end).collect();
    let at = events.iter().position(|event| event.contains(PIECE)).expect("it has a piece");
    let times = bytes / events[at].len();
    let mut stream = events[..at].concat() + &events[at].repeat(times);
    // What repeats the text at the end repeats all of it.
    events[at + 1..].iter().for_each(|event| stream += &event.replace(PIECE, &PIECE.repeat(times)));
    stream.into_bytes()
}

/// Reads a stream over the loopback, and returns what that took of the processor.
fn cpu_of_reading(wire: Wire, stream: &[u8]) -> Duration {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port can be had");
    let address = listener.local_addr().expect("it is bound");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (connection, _from) = listener.accept().expect("a connection");
            serve(connection, stream).expect("who asks reads the answer");
        });
        read(wire, &format!("http://{address}"))
    })
}

/// Answers one request with a stream.
fn serve(mut connection: TcpStream, stream: &[u8]) -> std::io::Result<()> {
    let mut reader = BufReader::new(connection.try_clone()?);
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line)? > 2 {
        if let Some(told) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = told.trim().parse().expect("a length is a number");
        }
        line.clear();
    }
    reader.take(length).read_to_end(&mut Vec::new())?;
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
        stream.len()
    );
    connection.write_all(head.as_bytes())?;
    connection.write_all(stream)
}

/// Asks a model, and returns what this thread used of the processor until it was answered.
fn read(wire: Wire, address: &str) -> Duration {
    let models = Catalogue::new(CatalogueConfig {
        keys: Arc::new(|_variable| Some("sk-of-a-bench".to_owned())),
        user: Arc::new(NoUserProviders),
        prices: [].into(),
        clock: Arc::new(NoClock),
    });
    let mut route: ModelRoute = wire.route().parse().expect("it is a route");
    route.base_url = Some(address.to_owned());
    let provider = models.open(&route).expect("it can be asked");
    let request = ModelRequest {
        session: SessionId::generate(),
        system: "You read.".into(),
        messages: vec![Arc::new(Message::user("Say much.", Timestamp::from_millisecond(0)))],
        tools: [].into(),
        choice: ToolChoice::Free,
        options: RequestOptions::default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime can be had");
    let before = cpu_of_thread();
    let (letters, last) = runtime.block_on(async {
        let mut events = provider.stream(&request).events;
        let (mut letters, mut last) = (0, None);
        while let Some(event) = events.next().await {
            if let ModelEvent::Text { text, .. } = &event {
                letters += text.len();
            }
            last = Some(event);
        }
        (letters, last)
    });
    let used = cpu_of_thread() - before;
    assert!(letters > 0 && matches!(last, Some(ModelEvent::Ended(_))), "{}", wire.name());
    used
}

/// The time in messages, which is not used here.
struct NoClock;

impl Clock for NoClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(0)
    }
}

/// Returns what this thread has used of the processor.
fn cpu_of_thread() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).expect("time goes forward");
    Duration::new(seconds, u32::try_from(time.tv_nsec).expect("less than a second"))
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64().max(as_f64(1) / 1e9)
}
