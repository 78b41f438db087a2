//! Streams that are changed at random: each has exactly one end, soon, and costs little memory.

use std::fs;

use rustix::time::{ClockId, clock_gettime};

use super::scenarios::folder;
use super::*;

/// How many streams of each API are changed at random, if the environment does not say it. All
/// together take some ten seconds without optimisation.
const MUTATIONS: u64 = 2_500;

/// The most time that one stream may take of a processor.
const MOST_TIME: Duration = Duration::from_secs(1);

/// The most memory in KiB that all of them may take.
const MOST_MEMORY: u64 = 64 << 10;

/// A generator of numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or(0) % most.max(1)
    }
}

/// Changes a stream in one to four places.
fn mutate(stream: &mut Vec<u8>, random: &mut Random) {
    const WORDS: [&[u8]; 12] = [
        b"\"index\":7,",
        b"null",
        b"-1",
        b"1e999",
        b"{\"type\":\"ping\"}",
        b"data: {}\n\n",
        b"data: [DONE]\n\n",
        b"event: error\ndata: {\"error\":{}}\n\n",
        b"\\ud800",
        b"\xff\xfe",
        b"\r\n\r\n",
        b"[[[[[[[[[[[[[[[[",
    ];
    for _change in 0..=random.below(4) {
        let (at, to) = (random.below(stream.len()), random.below(stream.len()));
        let (at, to) = (at.min(to), at.max(to).min(at.min(to) + 200));
        match random.below(6) {
            0 if !stream.is_empty() => stream[at] = u8::try_from(random.below(256)).unwrap_or(0),
            1 => drop(stream.drain(at..to)),
            2 => {
                let again = stream[at..to].to_vec();
                stream.splice(to..to, again);
            }
            3 => {
                let moved: Vec<u8> = stream.drain(at..to).collect();
                let place = random.below(stream.len() + 1);
                stream.splice(place..place, moved);
            }
            4 => stream.truncate(to),
            _ => {
                let word = WORDS[random.below(WORDS.len())];
                stream.splice(at..at, word.iter().copied());
            }
        }
    }
}

/// What became of the changed streams of one API.
#[derive(Debug, Default)]
struct Outcome {
    slowest: Duration,
    answers: u64,
    failures: u64,
}

/// Changes so many streams of an API, which are in turn the sample and those of its documentation.
fn change(api: Api, many: u64) -> Outcome {
    let mut wholes = vec![sample(api, &SAID).0.into_bytes()];
    let files = fs::read_dir(folder().join(api.name())).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|it| it == "sse"));
    files.sort();
    wholes.extend(files.iter().map(|file| fs::read(file).unwrap()));
    let (mut random, mut outcome) = (Random(0x9e37_79b9_7f4a_7c15), Outcome::default());
    for whole in wholes.iter().cycle().zip(0..many).map(|(whole, _)| whole) {
        let mut stream = whole.clone();
        mutate(&mut stream, &mut random);
        let size = 1 + random.below(300);
        let began = used();
        let events = parse(api, stream.chunks(size));
        outcome.slowest = outcome.slowest.max(used().saturating_sub(began));
        let ends = events
            .iter()
            .filter(|event| matches!(event, ModelEvent::Ended(_) | ModelEvent::Failed(_)));
        assert_eq!(ends.count(), 1, "{api:?}: {}", String::from_utf8_lossy(&stream));
        match answer(&events) {
            Some(_) => outcome.answers += 1,
            None => outcome.failures += 1,
        }
    }
    outcome
}

/// Returns how long this thread has had a processor. Other programs do not count.
fn used() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), u32::try_from(used.tv_nsec).unwrap_or(0))
}

/// Returns a count of memory of this process in KiB.
fn memory(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn streams_changed_at_random_have_one_end_each() {
    let many = std::env::var("REGATTA_MUTATED_STREAMS").ok().and_then(|it| it.parse().ok());
    let before = memory("VmRSS");
    let outcomes = std::thread::scope(|scope| {
        let all = APIS.map(|api| scope.spawn(move || change(api, many.unwrap_or(MUTATIONS))));
        all.map(|one| one.join().unwrap())
    });
    let grown = memory("VmHWM").saturating_sub(before);
    for (api, outcome) in APIS.iter().zip(&outcomes) {
        let told = format!("{api:?}: {outcome:?}, {grown} KiB in all\n");
        std::io::stderr().write_all(told.as_bytes()).unwrap();
        assert!(outcome.answers > 0 && outcome.failures > 0, "{api:?}: {outcome:?}");
        assert!(outcome.slowest <= MOST_TIME, "{api:?}: {outcome:?}");
    }
    // With a number given, no other test takes memory at the same time.
    assert!(many.is_none() || grown <= MOST_MEMORY, "{grown} KiB");
}
