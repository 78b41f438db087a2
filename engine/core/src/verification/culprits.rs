//! Finds the tasks whose work makes a verification fail, by halving.
//!
//! The tasks are numbered in the order in which they land. The search looks for the first task with
//! which the verification fails, given the tasks before it that are not to blame. It assumes that
//! more work never repairs a verification. Each task that is named costs at most `2 * log2(N) + 1`
//! verifications of N tasks: a task to blame one of everything that is left and a search, and each
//! task without which its work passes a search and one of those that are named by then. Besides that,
//! the state without any work is verified once, and a failure that was seen only once is run again.

use std::collections::BTreeSet;

use protocol::Partners;

/// How many tasks are named at most without which the work of one to blame passes.
const MOST_NAMED: usize = 5;

/// The search for the tasks to blame. The caller verifies what [`CulpritSearch::question`] asks for
/// and passes the result to [`CulpritSearch::answer`].
#[derive(Clone, Debug)]
pub struct CulpritSearch {
    /// For each task, the tasks on whose work it builds, directly or indirectly.
    needs: Vec<BTreeSet<usize>>,
    landed: usize,
    /// The tasks that pass together, in order; at the begin, those that have landed.
    passing: Vec<usize>,
    /// The tasks that are not decided yet, in order.
    open: Vec<usize>,
    phase: Phase,
    /// The failure of all open tasks together.
    whole: Failure,
    culprits: Vec<Culprit>,
    answered: usize,
    flaky: usize,
}

/// A task to blame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Culprit {
    /// The task.
    pub task: usize,
    /// The tasks without each of which its work passes, in order; none if it fails alone.
    pub with: Vec<usize>,
    /// Whether the work of further tasks has to be there as well.
    pub partners: Partners,
    /// The number of the last verification that failed because of it, from 1.
    pub evidence: usize,
}

/// What has to be verified next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The tasks whose work is merged, in order.
    pub tasks: Vec<usize>,
    /// Why it is verified.
    pub purpose: Purpose,
}

/// Why something is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To see whether everything that is left can land.
    Whole,
    /// To see whether the verification passes without the work that is to land.
    Start,
    /// To find a task to blame.
    Search,
    /// To see whether a failure happens again.
    Again,
}

/// The result of one verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every command has succeeded.
    Passed,
    /// A command has failed.
    Failed,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The other tasks are to blame, or build on the work of tasks that are.
    Lands {
        /// The tasks that pass together with what has landed before, in order.
        passing: Vec<usize>,
        /// The tasks to blame, in order.
        culprits: Vec<Culprit>,
    },
    /// The verification fails without the work that is to land. The number is that of the last
    /// failure.
    StartFails(usize),
}

/// How often something was verified before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Try {
    First,
    Second,
}

/// How certain it is that something fails.
#[derive(Clone, Copy, Debug)]
struct Failure {
    times: Try,
    /// The number of the verification.
    evidence: usize,
}

#[derive(Clone, Debug)]
enum Phase {
    /// Everything that is left is verified.
    Whole(Try),
    /// What has landed before is verified alone.
    Start(Try),
    /// Looks for the first open task with which the verification fails.
    First(First),
    /// Looks for the task without which the work of that one passes.
    With(With),
    /// That task is verified again, because its work has failed only once.
    Confirm(With),
    /// That task and those found are verified alone, to see whether others are needed.
    Alone(With),
    Decided(Decision),
}

/// The first `low` open tasks pass, the first `high` fail.
#[derive(Clone, Copy, Debug)]
struct First {
    low: usize,
    high: usize,
    failure: Failure,
}

/// With the first `high` of `others` the task fails, with fewer than `low` of them it passes.
#[derive(Clone, Debug)]
struct With {
    task: usize,
    /// The tasks before it that pass and on which it does not build, as far as they are searched.
    others: Vec<usize>,
    /// Those without which it passes, as far as they are found.
    found: Vec<usize>,
    low: usize,
    high: usize,
    /// How many open tasks fail, of which it is the last.
    count: usize,
    failure: Failure,
    partners: Partners,
}

impl CulpritSearch {
    /// Returns the search among tasks of which the first `landed` have landed. `needs` names for
    /// each task those on which it builds, directly or indirectly; all of them are before it.
    #[must_use]
    pub fn new(needs: Vec<BTreeSet<usize>>, landed: usize) -> Self {
        let mut search = Self {
            landed,
            passing: (0..landed.min(needs.len())).collect(),
            open: (landed..needs.len()).collect(),
            needs,
            phase: Phase::Whole(Try::First),
            whole: Failure { times: Try::First, evidence: 0 },
            culprits: Vec::new(),
            answered: 0,
            flaky: 0,
        };
        if search.open.is_empty() {
            search.phase = search.all_pass();
        }
        search
    }

    /// Returns what has to be verified next, or `None` if everything is decided.
    #[must_use]
    pub fn question(&self) -> Option<Question> {
        let (tasks, purpose) = match &self.phase {
            Phase::Whole(Try::First) => (self.with_open(self.open.len()), Purpose::Whole),
            Phase::Whole(Try::Second) => (self.with_open(self.open.len()), Purpose::Again),
            Phase::Start(Try::First) => (self.passing.clone(), Purpose::Start),
            Phase::Start(Try::Second) => (self.passing.clone(), Purpose::Again),
            Phase::First(first) => (self.with_open(first.middle()), Purpose::Search),
            Phase::With(with) => (self.around(with, self.probe(with)), Purpose::Search),
            Phase::Confirm(with) => (self.with_open(with.count), Purpose::Again),
            Phase::Alone(with) => (self.around(with, 0), Purpose::Search),
            Phase::Decided(_) => return None,
        };
        Some(Question { tasks, purpose })
    }

    /// Takes the result of the verification that [`Self::question`] has asked for.
    pub fn answer(&mut self, verdict: Verdict) {
        self.answered += 1;
        let once = Failure { times: Try::First, evidence: self.answered };
        let twice = Failure { times: Try::Second, evidence: self.answered };
        let phase = self.phase.clone();
        self.phase = match (phase, verdict) {
            (Phase::Whole(Try::First), Verdict::Passed) => self.all_pass(),
            (Phase::Whole(Try::First), Verdict::Failed) if self.culprits.is_empty() => {
                Phase::Whole(Try::Second)
            }
            // It is certain by now that something fails, and that the start passes.
            (Phase::Whole(Try::First), Verdict::Failed) => self.look(once),
            (Phase::Whole(Try::Second), Verdict::Failed) => {
                self.whole = twice;
                Phase::Start(Try::First)
            }
            (Phase::Start(Try::First), Verdict::Passed) => self.look(self.whole),
            (Phase::Start(Try::First), Verdict::Failed) => Phase::Start(Try::Second),
            (Phase::Start(Try::Second), Verdict::Failed) => {
                Phase::Decided(Decision::StartFails(self.answered))
            }
            (Phase::First(first), Verdict::Passed) => {
                self.narrow(First { low: first.middle(), ..first })
            }
            (Phase::First(first), Verdict::Failed) => {
                self.narrow(First { high: first.middle(), failure: once, ..first })
            }
            (Phase::With(with), Verdict::Passed) => {
                self.narrow_others(With { low: self.probe(&with) + 1, ..with })
            }
            (Phase::With(with), Verdict::Failed) => {
                self.narrow_others(With { high: self.probe(&with), failure: twice, ..with })
            }
            (Phase::Confirm(with), Verdict::Failed) => self.blame(&With { failure: twice, ..with }),
            (Phase::Alone(with), Verdict::Failed) => self.blame(&With { failure: twice, ..with }),
            (Phase::Alone(with), Verdict::Passed) if with.found.len() == MOST_NAMED => {
                self.confirm(With { partners: Partners::More, ..with })
            }
            (Phase::Alone(with), Verdict::Passed) => {
                let high = with.others.len();
                self.narrow_others(With { low: 1, high, ..with })
            }
            (Phase::Whole(Try::Second), Verdict::Passed) => self.flaky_all_pass(),
            (Phase::Start(Try::Second), Verdict::Passed) => {
                self.flaky += 1;
                self.look(self.whole)
            }
            (Phase::Confirm(with), Verdict::Passed) if with.count == self.open.len() => {
                self.flaky_all_pass()
            }
            (Phase::Confirm(with), Verdict::Passed) => {
                self.flaky += 1;
                let high = self.open.len();
                self.narrow(First { low: with.count, high, failure: self.whole })
            }
            (decided @ Phase::Decided(_), _) => decided,
        };
    }

    /// Returns how many failures did not happen again.
    #[must_use]
    pub fn flaky(&self) -> usize {
        self.flaky
    }

    /// Returns the result, or `None` while there is a question.
    #[must_use]
    pub fn decision(&self) -> Option<&Decision> {
        match &self.phase {
            Phase::Decided(decision) => Some(decision),
            _ => None,
        }
    }

    fn all_pass(&mut self) -> Phase {
        self.passing.append(&mut self.open);
        let passing = self.passing.iter().copied().filter(|task| *task >= self.landed).collect();
        Phase::Decided(Decision::Lands { passing, culprits: self.culprits.clone() })
    }

    fn flaky_all_pass(&mut self) -> Phase {
        self.flaky += 1;
        self.all_pass()
    }

    /// Looks for a task to blame among the open ones, which fail together.
    fn look(&mut self, failure: Failure) -> Phase {
        self.whole = failure;
        self.narrow(First { low: 0, high: self.open.len(), failure })
    }

    fn narrow(&mut self, first: First) -> Phase {
        if first.high > first.low + 1 {
            return Phase::First(first);
        }
        let task = self.open[first.high - 1];
        let before = self.with_open(first.high - 1).into_iter();
        let others: Vec<_> = before.filter(|other| !self.needs[task].contains(other)).collect();
        let (high, count, failure) = (others.len(), first.high, first.failure);
        let (found, partners) = (Vec::new(), Partners::All);
        self.narrow_others(With { task, others, found, low: 0, high, count, failure, partners })
    }

    fn narrow_others(&mut self, mut with: With) -> Phase {
        if with.low < with.high {
            return Phase::With(with);
        }
        let Some(last) = with.high.checked_sub(1) else { return self.confirm(with) };
        // With those before it and those found, it fails.
        with.found.extend(with.others.get(last));
        with.others.truncate(last);
        match with.others.is_empty() {
            true => self.confirm(with),
            false => Phase::Alone(with),
        }
    }

    /// Blames a task if its work has failed twice, and else asks for it again.
    fn confirm(&mut self, with: With) -> Phase {
        match with.failure.times {
            Try::First => Phase::Confirm(with),
            Try::Second => self.blame(&with),
        }
    }

    /// Returns how many of the others are verified with the task next. That it fails alone is tried
    /// first where the search stays within its bound.
    fn probe(&self, with: &With) -> usize {
        let is_first = with.low == 0 && with.high == with.others.len();
        if is_first && halvings(with.high) < halvings(self.needs.len()) {
            return 0;
        }
        with.low.midpoint(with.high)
    }

    /// Keeps a task, and those that build on it. The open tasks before it pass.
    fn blame(&mut self, with: &With) -> Phase {
        let task = with.task;
        let mut found = with.found.clone();
        found.sort_unstable();
        let (partners, evidence) = (with.partners, with.failure.evidence);
        self.culprits.push(Culprit { task, with: found, partners, evidence });
        let after = self.open.split_off(with.count);
        self.open.pop();
        self.passing.append(&mut self.open);
        self.open = after.into_iter().filter(|open| !self.needs[*open].contains(&task)).collect();
        match self.open.is_empty() {
            true => self.all_pass(),
            false => Phase::Whole(Try::First),
        }
    }

    /// Returns what passes, and the first `count` open tasks.
    fn with_open(&self, count: usize) -> Vec<usize> {
        self.passing.iter().chain(&self.open[..count]).copied().collect()
    }

    /// Returns the task, those found without which it passes, and the first `count` others, with what
    /// all of them build on.
    fn around(&self, with: &With, count: usize) -> Vec<usize> {
        let mut tasks: BTreeSet<_> = self.needs[with.task].clone();
        for other in with.found.iter().chain(&with.others[..count]) {
            tasks.insert(*other);
            tasks.extend(&self.needs[*other]);
        }
        tasks.insert(with.task);
        tasks.into_iter().collect()
    }
}

impl First {
    fn middle(&self) -> usize {
        self.low.midpoint(self.high)
    }
}

/// Returns how often so many tasks can be halved until one is left: log2, rounded up.
fn halvings(count: usize) -> u32 {
    count.max(1).next_power_of_two().ilog2()
}

#[cfg(test)]
mod tests;
