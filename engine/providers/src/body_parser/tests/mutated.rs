//! Streams that are changed at random: each has exactly one end, soon, and costs little memory.

use std::fs;

use rustix::time::{ClockId, clock_gettime};
use test_limit::Rounds;

use super::scenarios::folder;
use super::*;

/// The most time that one stream may take of a processor.
const MOST_TIME: Duration = Duration::from_secs(1);

/// The most memory in KiB that all of them may take.
const MOST_MEMORY: u64 = 64 << 10;

/// A generator of numbers, the same for each seed.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        // It may not begin at zero, and seeds beside each other are to give other numbers.
        Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

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

/// Changes a stream of an API for each seed: the sample and those of its documentation, in turn.
fn change(api: Api, seeds: &mut Rounds) -> Outcome {
    let mut wholes = vec![sample(api, &SAID).0.into_bytes()];
    let files = fs::read_dir(folder().join(api.name())).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|it| it == "sse"));
    files.sort();
    wholes.extend(files.iter().map(|file| fs::read(file).unwrap()));
    let mut outcome = Outcome::default();
    for (whole, seed) in wholes.iter().cycle().zip(seeds) {
        let mut random = Random::new(seed);
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
    let is_alone = test_limit::depth() != test_limit::Depth::Quick;
    if is_alone {
        test_limit::alone("the memory of the process is measured");
    }
    let before = memory("VmRSS");
    let rounds = APIS.map(|_| Rounds::new("streams", 500, 25_000));
    let mut done = Vec::new();
    let outcomes = std::thread::scope(|scope| {
        let all = APIS.iter().zip(rounds).map(|(api, mut rounds)| {
            scope.spawn(move || (change(*api, &mut rounds), rounds.done()))
        });
        let all: Vec<_> = all.collect();
        let joined = all.into_iter().map(|one| one.join().unwrap());
        joined.map(|(outcome, rounds)| (done.push(rounds), outcome).1).collect::<Vec<_>>()
    });
    let grown = memory("VmHWM").saturating_sub(before);
    for ((api, outcome), done) in APIS.iter().zip(&outcomes).zip(done) {
        done.report("R5", 1, &format!("changed streams of {}", api.name()));
        assert!(outcome.answers > 0 && outcome.failures > 0, "{api:?}: {outcome:?}");
        assert!(outcome.slowest <= MOST_TIME, "{api:?}: {outcome:?}");
    }
    // In quick depth, other tests take memory at the same time.
    assert!(!is_alone || grown <= MOST_MEMORY, "{grown} KiB");
}
