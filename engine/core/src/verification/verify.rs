//! Verifies the work of tasks before it lands, and decides which of it is kept.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use protocol::{Landed, Partners, TaskLanding, TaskName, Unverified, UnverifiedCause};

use super::culprits::{Culprit, CulpritSearch, Decision, Verdict};
use crate::ports::LandingTask;

/// Merges and verifies work.
#[async_trait]
pub trait Verifier: Send {
    /// Merges the work of `tasks`, in order, into the state in which the run began, and runs the
    /// verification there.
    ///
    /// # Errors
    /// The verification was cancelled, or could not be carried out.
    async fn verify(&mut self, tasks: Vec<LandingTask>) -> Result<Merged, VerificationError>;
}

/// The result of one verification.
#[derive(Clone, Debug)]
pub struct Merged {
    /// How each task was merged: as if everything that was merged had landed.
    pub landings: Vec<TaskLanding>,
    /// How the verification failed, if it did.
    pub failed: Option<FailedVerification>,
}

/// How a verification failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailedVerification {
    /// The command and how it ended, in one line.
    pub message: String,
    /// The path of the file with its output, if it was started.
    pub output: Option<String>,
    /// The end of that output.
    pub end: String,
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerificationError {
    /// The verification was cancelled.
    #[error("the verification was cancelled")]
    Cancelled,
    /// The verification could not be carried out.
    #[error("{0}")]
    Impossible(String),
}

/// The work to verify.
#[derive(Clone, Debug)]
pub struct VerificationRequest {
    /// The work that has landed before.
    pub landed: Vec<LandingTask>,
    /// The work to verify, dependencies first.
    pub tasks: Vec<LandingTask>,
    /// What becomes of work that conflicts with other work of the request.
    pub conflicting: ConflictingWork,
}

/// What becomes of work that conflicts with other work when it lands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictingWork {
    /// It does not land either, and is not verified.
    Kept,
    /// It lands on a branch of its own, and is verified without the other work.
    LandsApart,
}

/// The result of verifying work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verification {
    /// The work that must not land, and why.
    pub held: Vec<TaskLanding>,
    /// How the verification failed without the work, if it did.
    pub failing_start: Option<FailedVerification>,
    /// How many failures did not happen again.
    pub flaky: usize,
}

impl Verification {
    /// Returns the result for work that could not be verified: all of it is held.
    #[must_use]
    pub fn impossible(tasks: &[LandingTask], message: &str) -> Self {
        let failed =
            FailedVerification { message: message.to_owned(), ..FailedVerification::default() };
        Self { held: hold_all(tasks, UnverifiedCause::Verification, &failed), ..Self::default() }
    }
}

/// Verifies the work of a request. If all of it passes, that takes one verification.
///
/// # Errors
/// The verification was cancelled, or could not be carried out.
pub async fn verify(
    request: &VerificationRequest,
    verifier: &mut dyn Verifier,
) -> Result<Verification, VerificationError> {
    let mut verification = Verification::default();
    let (mut landed, mut open) = (request.landed.clone(), request.tasks.clone());
    loop {
        let round = Round::of(&landed, &open).run(verifier).await?;
        verification.flaky += round.flaky;
        let left_out = match round.decided {
            Decided::Lands { held, left_out } => {
                verification.held.extend(held);
                left_out
            }
            Decided::StartFails(failed) => {
                let held = hold_all(&open, UnverifiedCause::Start, &failed);
                verification.held.extend(held);
                verification.failing_start = Some(failed);
                BTreeSet::new()
            }
        };
        if request.conflicting == ConflictingWork::Kept
            || left_out.is_empty()
            || left_out.len() == open.len()
        {
            return Ok(verification);
        }
        let (next, rest): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|task| left_out.contains(&task.task.folded()));
        let on = needs(&[rest.clone(), next.clone()].concat());
        let first = rest.len();
        let needed: BTreeSet<usize> = on.into_iter().skip(first).flatten().collect();
        let needed = rest.into_iter().enumerate().filter(|(at, _)| needed.contains(at));
        landed.extend(needed.map(|(_, task)| task));
        open = next;
    }
}

fn hold_all(
    tasks: &[LandingTask],
    cause: UnverifiedCause,
    failed: &FailedVerification,
) -> Vec<TaskLanding> {
    let hold = |task: &LandingTask| {
        let held = unverified(cause, (Vec::new(), Partners::All), failed.clone());
        TaskLanding::of(task.task.clone(), held)
    };
    tasks.iter().map(hold).collect()
}

fn unverified(
    cause: UnverifiedCause,
    (with, partners): (Vec<TaskName>, Partners),
    failed: FailedVerification,
) -> Landed {
    let FailedVerification { message, output, end } = failed;
    Landed::Unverified(Box::new(Unverified { cause, with, partners, message, output, end }))
}

/// Returns for each task the places of those on which it builds, directly or indirectly. A task
/// that is not among them counts as a part of the start.
fn needs(tasks: &[LandingTask]) -> Vec<BTreeSet<usize>> {
    let places: BTreeMap<String, usize> =
        tasks.iter().enumerate().map(|(at, task)| (task.task.folded(), at)).collect();
    let mut needs: Vec<BTreeSet<usize>> = Vec::with_capacity(tasks.len());
    for (at, task) in tasks.iter().enumerate() {
        let on = task.depends_on.iter().filter_map(|on| places.get(&on.folded()));
        // Dependencies come first, so that theirs are known.
        let mut all = BTreeSet::new();
        for on in on.filter(|on| **on < at) {
            all.extend(&needs[*on]);
            all.insert(*on);
        }
        needs.push(all);
    }
    needs
}

/// The search for the tasks to blame among work that lands together.
struct Round {
    tasks: Vec<LandingTask>,
    search: CulpritSearch,
    /// The failures of the verifications so far; `None` for one that passed.
    failures: Vec<Option<FailedVerification>>,
    /// What was left out of each merge that passed, by the merged tasks.
    left_out: BTreeMap<Vec<usize>, BTreeSet<String>>,
    landed: usize,
}

struct RoundEnd {
    decided: Decided,
    flaky: usize,
}

enum Decided {
    Lands {
        held: Vec<TaskLanding>,
        /// The names of passing tasks that conflict with others, in lower case.
        left_out: BTreeSet<String>,
    },
    StartFails(FailedVerification),
}

impl Round {
    fn of(landed: &[LandingTask], open: &[LandingTask]) -> Self {
        let tasks = [landed, open].concat();
        let search = CulpritSearch::new(needs(&tasks), landed.len());
        let (failures, left_out) = (Vec::new(), BTreeMap::new());
        Self { tasks, search, failures, left_out, landed: landed.len() }
    }

    async fn run(mut self, verifier: &mut dyn Verifier) -> Result<RoundEnd, VerificationError> {
        while let Some(question) = self.search.question() {
            let tasks = question.tasks.iter().map(|at| self.tasks[*at].clone()).collect();
            let Merged { landings, failed } = verifier.verify(tasks).await?;
            if failed.is_none() {
                let is_out = |landing: &&TaskLanding| {
                    !matches!(landing.landed, Landed::Landed { .. } | Landed::Unchanged)
                };
                let out = landings.iter().filter(is_out).map(|landing| landing.task.folded());
                self.left_out.insert(question.tasks, out.collect());
            }
            let verdict = if failed.is_some() { Verdict::Failed } else { Verdict::Passed };
            self.failures.push(failed);
            self.search.answer(verdict);
        }
        let flaky = self.search.flaky();
        let decided = match self.search.decision() {
            Some(Decision::Lands { passing, culprits }) => self.lands(passing, culprits),
            Some(Decision::StartFails(evidence)) => Decided::StartFails(self.failure(*evidence)),
            None => Decided::Lands { held: Vec::new(), left_out: BTreeSet::new() },
        };
        Ok(RoundEnd { decided, flaky })
    }

    fn failure(&self, evidence: usize) -> FailedVerification {
        let at = evidence.checked_sub(1);
        at.and_then(|at| self.failures.get(at).cloned().flatten()).unwrap_or_default()
    }

    fn lands(&self, passing: &[usize], culprits: &[Culprit]) -> Decided {
        let mut held: Vec<TaskLanding> = Vec::new();
        for at in self.landed..self.tasks.len() {
            let task = &self.tasks[at];
            let landed = match culprits.iter().find(|culprit| culprit.task == at) {
                Some(culprit) => {
                    let with = culprit.with.iter().map(|with| self.tasks[*with].task.clone());
                    let failed = self.failure(culprit.evidence);
                    let with = (with.collect(), culprit.partners);
                    unverified(UnverifiedCause::Work, with, failed)
                }
                None if passing.contains(&at) => continue,
                None => {
                    let is_held =
                        |on: &&TaskName| held.iter().any(|held| held.task.folded() == on.folded());
                    let on = task.depends_on.iter().filter(is_held).cloned().collect();
                    Landed::Waiting { on }
                }
            };
            held.push(TaskLanding::of(task.task.clone(), landed));
        }
        let merged: Vec<usize> = (0..self.landed).chain(passing.iter().copied()).collect();
        let left_out = self.left_out.get(&merged).cloned().unwrap_or_default();
        let is_open =
            |name: &String| passing.iter().any(|at| self.tasks[*at].task.folded() == *name);
        Decided::Lands { held, left_out: left_out.into_iter().filter(is_open).collect() }
    }
}
