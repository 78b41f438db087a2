//! Programs that save while landings go on: every save is in the tree, or it was said where it is.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use engine::fault::Faults;
use engine::ports::LandingTask;
use protocol::{Landed, LandingReport, RepoPath, Rescue, RescueLocation};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::kit::{self, Kit, LANDED};
use crate::file_entry::{Change, Entry, Mode};

/// How often what was saved is looked for, in quick and in full depth. In full depth the programs save
/// 2,000 times together.
const ROUNDS: (u32, u32) = (6, 50);

/// How often each saves per round.
const SAVES: usize = 8;

/// How a program saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// It writes over the file.
    InPlace,
    /// It appends through a descriptor that it keeps for the whole round, and often longer.
    Append,
    /// It empties the file, and writes it in pieces over ten milliseconds.
    Truncate,
    /// It writes another file and renames it.
    Rename,
    /// It writes another file and lets both change places.
    Exchange,
}

const STYLES: [Style; 5] =
    [Style::InPlace, Style::Append, Style::Truncate, Style::Rename, Style::Exchange];

impl Style {
    fn name(self) -> &'static str {
        match self {
            Self::InPlace => "in-place",
            Self::Append => "append",
            Self::Truncate => "truncate",
            Self::Rename => "rename",
            Self::Exchange => "exchange",
        }
    }
}

/// Random numbers of a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// A line that a task changes, and enough after it to be merged with what is added at the end.
fn heading(round: u32) -> String {
    format!("task {round}\n\n\n\n")
}

/// A program that saves one file in one style. What it has in memory is what it saves: it never
/// looks at what another program has written.
struct Saver {
    style: Style,
    path: PathBuf,
    beside: PathBuf,
    memory: String,
    tokens: usize,
    held: Option<File>,
    numbers: Numbers,
}

impl Saver {
    /// Saves several times, at random moments up to `span` apart, and returns the tokens that must
    /// be found: nothing it did itself has overwritten them.
    fn round(&mut self, span: Duration) -> Range<usize> {
        for _ in 0..SAVES {
            let micros = u64::try_from(span.as_micros()).unwrap();
            thread::sleep(Duration::from_micros(self.numbers.below(micros + 1)));
            let token = format!("{}-{}\n", self.style.name(), self.tokens);
            self.memory.push_str(&token);
            self.tokens += 1;
            self.save(&token);
        }
        // Most rounds begin and end with the file closed: who holds it open keeps a landing out.
        if self.numbers.below(10) != 0 {
            self.held = None;
        }
        0..self.tokens
    }

    fn save(&mut self, token: &str) {
        match self.style {
            Style::InPlace => {
                let mut file = OpenOptions::new().write(true).open(&self.path).unwrap();
                file.write_all(self.memory.as_bytes()).unwrap();
                file.set_len(u64::try_from(self.memory.len()).unwrap()).unwrap();
            }
            Style::Append => {
                let path = &self.path;
                let open = || OpenOptions::new().append(true).open(path).unwrap();
                self.held.get_or_insert_with(open).write_all(token.as_bytes()).unwrap();
            }
            Style::Truncate => {
                let mut file = File::create(&self.path).unwrap();
                for piece in self.memory.as_bytes().chunks(self.memory.len() / 5 + 1) {
                    file.write_all(piece).unwrap();
                    thread::sleep(Duration::from_millis(2));
                }
            }
            Style::Rename => {
                fs::write(&self.beside, &self.memory).unwrap();
                fs::rename(&self.beside, &self.path).unwrap();
            }
            Style::Exchange => {
                fs::write(&self.beside, &self.memory).unwrap();
                renameat_with(CWD, &self.beside, CWD, &self.path, RenameFlags::EXCHANGE).unwrap();
                fs::remove_file(&self.beside).unwrap();
            }
        }
    }
}

/// One program in a thread of its own: it is told how long to wait between saves, and answers with
/// what must be found after a round.
struct Program {
    style: Style,
    begin: Sender<Duration>,
    done: Receiver<Range<usize>>,
}

impl Program {
    fn start(kit: &Kit, style: Style, seed: u64) -> Self {
        let mut saver = Saver {
            style,
            path: kit.root.join(style.name()),
            beside: kit.root.join(format!(".git/saved-{}", style.name())),
            memory: heading(0),
            tokens: 0,
            held: None,
            numbers: Numbers(seed),
        };
        let (begin, begun) = channel();
        let (ended, done) = channel();
        thread::spawn(move || {
            while let Ok(span) = begun.recv() {
                let _over = ended.send(saver.round(span)); // the test has failed
            }
        });
        Self { style, begin, done }
    }

    /// What must be found of the round that it has just ended, if it has.
    fn ended(&self) -> Option<(Style, Range<usize>)> {
        match self.done.try_recv() {
            Ok(tokens) => Some((self.style, tokens)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => panic!("{:?} could not save", self.style),
        }
    }
}

/// A task that changes the heading of what is there now.
fn task(kit: &Kit, style: Style, round: u32) -> LandingTask {
    let store = kit.store();
    let entry = |bytes: &[u8]| Entry { mode: Mode::File, oid: store.write(bytes).unwrap() };
    let before = fs::read(kit.root.join(style.name())).unwrap();
    let rest = String::from_utf8(before.clone()).unwrap();
    let rest = rest.split_once("\n\n\n\n").map_or(rest.as_str(), |(_, rest)| rest);
    let after = format!("{}{rest}", heading(round));
    let path = RepoPath::new(style.name()).unwrap();
    let change = Change::new(path, Some(entry(&before)), Some(entry(after.as_bytes())));
    kit.captured(&format!("{}-{round}", style.name()), &[], &[change])
}

/// Everything of a file that is in the tree, in conflicts, or where a rescue says that it is.
fn found(kit: &Kit, style: Style, reports: &[LandingReport], rescued: &[Rescue]) -> String {
    let mut found = fs::read_to_string(kit.root.join(style.name())).unwrap();
    let is_of = |path: &RepoPath| path.as_bytes() == style.name().as_bytes();
    for landing in reports.iter().flat_map(|report| &report.tasks) {
        let Landed::Conflicted { conflicts } = &landing.landed else { continue };
        for conflict in conflicts.iter().filter(|conflict| is_of(&conflict.path)) {
            let ours = conflict.ours.as_ref().map(|side| side.oid.parse().unwrap());
            let bytes = ours.map(|oid| kit.store().read(oid).unwrap()).unwrap_or_default();
            found.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
    for rescue in rescued.iter().filter(|rescue| is_of(&rescue.path)) {
        found.push_str(&match &rescue.kept {
            RescueLocation::Store { git_dir, object } => printable(git_dir, object),
            RescueLocation::Tree { file } => kit::read(&kit.root, &file.to_string()),
        });
    }
    found
}

fn printable(git_dir: &str, object: &str) -> String {
    let output = Command::new("git").args(["--git-dir", git_dir, "show", object]).output().unwrap();
    assert!(output.status.success(), "{object}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn saves_in_five_styles_are_in_the_tree_or_a_conflict_or_a_rescue_that_was_told() {
    let seed = test_limit::seed();
    let rounds = test_limit::by_depth(ROUNDS.0, ROUNDS.1);
    let heading = heading(0);
    let kit = Kit::in_memory(&STYLES.map(|style| (style.name(), heading.as_str())));
    let start = |(seed, style)| Program::start(&kit, style, seed);
    let programs: Vec<_> = (seed..).zip(STYLES).map(start).collect();
    let (mut landings, mut landed, mut span) = (0, 0, Duration::from_millis(10));
    for round in 1..=rounds {
        programs.iter().for_each(|program| program.begin.send(span).unwrap());
        let (mut done, mut reports) = (Vec::new(), Vec::new());
        while done.len() < programs.len() {
            landings += 1;
            let tasks = STYLES.map(|style| task(&kit, style, landings));
            let began = Instant::now();
            let report = kit.land_with(&Faults::default(), &tasks).unwrap();
            span = began.elapsed().min(Duration::from_millis(20));
            landed += kit::landed(&report).iter().filter(|end| ***end == LANDED).count();
            reports.push(report);
            done.extend(programs.iter().filter_map(|program| program.ended()));
        }
        let rescued = kit.rescued();
        for (style, tokens) in done {
            let found = found(&kit, style, &reports, &rescued);
            let lines: BTreeSet<_> = found.lines().collect();
            let expected = tokens.map(|number| format!("{}-{number}", style.name()));
            let lost: Vec<_> = expected.filter(|token| !lines.contains(token.as_str())).collect();
            assert_eq!(lost, Vec::<String>::new(), "round {round}, REGATTA_SEED={seed}");
        }
    }
    assert!(landed > 0, "no landing came through: nothing was tried");
    assert_eq!(kit.open_journals(), Vec::<String>::new());
}
