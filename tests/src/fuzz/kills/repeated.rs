//! One interrupted run whose recovery is killed again and again: at each of its steps in turn, or at
//! random until one completes.

use std::time::Duration;

use test_limit::{by_depth, sample};

use super::questions::check_story;
use super::story::{Attempt, Recovery, Story, fault};
use crate::fuzz::points::{self, Point};
use crate::fuzz::{Random, report};
use crate::sandbox::Sandbox;

/// How often a recovery is killed at random at most, in quick depth and in full depth. What is left after
/// that is recovered by the next command.
const AT_MOST: (usize, usize) = (3, 200);

/// The point just before what was found is in the ledger.
const RECORDING: &str = "ledger.append";

/// The last point, just before the folder of the run goes.
const REMOVING: &str = "recover.remove";

/// Where an engine died whose run is recovered.
#[derive(Clone, Copy, Debug)]
pub enum Interrupted {
    /// While its tasks were at work: some had ended, some had not begun.
    AtWork,
    /// In the middle of the landing.
    Landing,
}

/// Where the recoveries of a run are killed.
#[derive(Clone, Copy, Debug)]
pub enum Series {
    /// At each step in turn.
    InTurn,
    /// Anywhere, until one completes.
    AtRandom,
}

/// Interrupts a run, kills its recoveries, and asks everything after the last one.
///
/// # Panics
/// When work is lost or the run reads as something that did not happen.
pub fn check_recovery(
    sandbox: &Sandbox,
    interrupted: Interrupted,
    series: Series,
    random: &mut Random,
) {
    let story = Story::of_six(interrupted.point());
    check_story(sandbox, story, |story, repository| {
        let ended = sandbox.home().ledger_tasks();
        let ended = ended.iter().filter(|task| matches!(&*task.state, "done" | "failed")).count();
        let at_work = story.at_work(sandbox).len();
        match interrupted {
            Interrupted::AtWork => assert!(ended > 0 && at_work > 0, "{ended} ended, {at_work}"),
            Interrupted::Landing => assert_eq!(ended, story.tasks.len()),
        }
        let mut kills = 0;
        for recovery in series.recoveries(interrupted, random) {
            match (recovery.attempt(sandbox, repository), series) {
                (Attempt::Killed, _) => kills += 1,
                (Attempt::Completed, Series::AtRandom) => break,
                (Attempt::Completed, Series::InTurn) => panic!("{recovery:?} is not killed"),
            }
        }
        report(&format!("{interrupted:?}, {series:?}: {kills} kills of the recovery"));
    });
}

impl Interrupted {
    /// The fault point at which its engine dies.
    fn point(self) -> &'static str {
        match self {
            Self::AtWork => "capture.begin:4",
            Self::Landing => "landing.exchange:4",
        }
    }

    /// The points that its recovery comes past, those of what the ledger has by then apart.
    fn points(self) -> (Vec<Point>, Vec<Point>) {
        let elsewhere = match self {
            Self::AtWork => "landing.",
            Self::Landing => "capture.",
        };
        let after = ["recover.finish", "capture.discard", "capture.discarded", REMOVING];
        let points = points::of_recoveries().into_iter();
        let points = points.filter(|point| !point.name.starts_with(elsewhere));
        points.partition(|point| !after.contains(&point.name))
    }
}

impl Series {
    fn recoveries(self, interrupted: Interrupted, random: &mut Random) -> Vec<Recovery> {
        let (before, after) = interrupted.points();
        match self {
            Self::InTurn => {
                let before = before.iter().flat_map(|point| in_turn(point, RECORDING));
                let all = before.chain(after.iter().flat_map(|point| in_turn(point, REMOVING)));
                sample(all, 2)
            }
            Self::AtRandom => {
                let all = [before, after].concat();
                (0..by_depth(AT_MOST.0, AT_MOST.1)).map(|_| at_random(random, &all)).collect()
            }
        }
    }
}

/// Returns recoveries that are killed when they come by `point` for the first time, the second time
/// and so on; and all at `at_last`, so that none of them completes.
fn in_turn(point: &Point, at_last: &str) -> impl Iterator<Item = Recovery> {
    let Point { name, in_recovery, .. } = *point;
    (1..=in_recovery).map(move |time| Recovery::Alone(format!("kill@{name}:{time},kill@{at_last}")))
}

/// Returns a recovery that is killed at whichever of a few points it comes by first, or before that
/// after a while. It seldom records what it found, and seldom completes after that; in quick depth it
/// does so more often.
fn at_random(random: &mut Random, points: &[Point]) -> Recovery {
    let mut words: Vec<_> = (0..random.between(1, 3))
        .map(|_| fault(random, points, |point| point.in_recovery))
        .collect();
    for point in [RECORDING, REMOVING] {
        if random.chance(by_depth(20, 93)) {
            words.push(format!("kill@{point}"));
        }
    }
    let words = words.join(",");
    if random.chance(30) {
        let milliseconds = random.between(1, 60).try_into().expect("it is small");
        return Recovery::Cut(words, Duration::from_millis(milliseconds));
    }
    Recovery::Alone(words)
}
