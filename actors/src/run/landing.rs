//! The landing of a run's work as a job of the run: the verification first, if one is wanted.

use std::sync::Arc;

use engine::landing::{LandingBackend, LedgerWriter, land, landed_tasks};
use engine::ports::{LandingRequest, LandingTarget, LandingTask};
use engine::verification::{
    ConflictingWork, Verification, VerificationError, VerificationRequest, VerifiedLanding, verify,
};
use protocol::{
    EventKind, FailingStart, Landed, LedgerEntry, RunId, TaskLanding, UnverifiedCause,
    VerificationTotals,
};
use ractor::ActorRef;
use tokio::time::Instant;

use super::landing_ports::{RepositoryLands, RunRecords};
use super::messages::{EndedLanding, RunMessage};
use super::state::RunState;
use super::verifier::{VerifierArguments, WorkVerifier};
use crate::job::Job;
use crate::messaging::Notifier;
use crate::task::artifacts_of_run;

impl RunState {
    /// Verifies the work of a request, and lands what passes.
    pub(super) fn land(&mut self, myself: &ActorRef<RunMessage>, mut request: LandingRequest) {
        let notifier = Notifier::to(myself, RunMessage::LandingNotice);
        let (cancel, notify) =
            (self.landing.clone(), Arc::new(move |landing| notifier.notify(landing)));
        let lands = RepositoryLands(self.arguments.repository.clone());
        let (records, run) = (RunRecords(myself.clone()), self.arguments.spec.id);
        let landing = self.arguments.deps.ids.landing();
        let mut verifier = self.verifier(myself);
        let subjects = self.subject_writer(myself);
        let landed = landed_tasks(self.machine.record());
        let job = async move {
            let began = Instant::now();
            let mut held = Vec::new();
            let mut verification = None;
            if let Some(verifier) = &mut verifier {
                let mut verifying = Verifying { verifier, request: &request, landed };
                held = verifying.hold_back(run, &records).await;
                verification = Some(began.elapsed());
            }
            if let Some(subjects) = subjects {
                subjects.write(&mut request, &held, &records).await;
            }
            let began = Instant::now();
            let lands: &dyn LandingBackend = &lands;
            let lands = VerifiedLanding { backend: lands, held };
            // The run gets the result from the ledger entries. It is also told about an entry that
            // could not be written.
            let _recorded = land(landing, (run, request), &lands, &records, cancel, notify).await;
            EndedLanding { landing: began.elapsed(), verification, verifier }
        };
        self.jobs.run(Job::RunLand, myself, job, |ended| RunMessage::Landed(ended.map(Box::new)));
    }

    /// Returns what verifies the work of the run, if it is to be verified.
    fn verifier(&mut self, myself: &ActorRef<RunMessage>) -> Option<WorkVerifier> {
        let spec = &self.arguments.spec;
        if spec.verify.is_off() {
            return None;
        }
        if let Some(verifier) = self.verifier.take() {
            return Some(verifier);
        }
        let tasks = self.machine.record().tasks().iter();
        let keep = tasks.map(|task| task.spec.limits.output).max();
        Some(WorkVerifier::new(VerifierArguments {
            variables: self.facts.variables.clone(),
            spec: spec.verify.clone(),
            setup: spec.needs.setup.clone(),
            setup_folder: spec.needs.setup_folder,
            run: self.arguments.name.clone(),
            repo: spec.repo.clone(),
            subfolder: spec.subfolder.clone(),
            output: artifacts_of_run(&self.arguments.deps, &self.arguments.name).join(OUTPUT),
            keep: keep.unwrap_or(protocol::TaskLimits::default().output),
            repository: self.arguments.repository.clone(),
            deps: self.arguments.deps.clone(),
            cancel: self.landing.clone(),
            events: Notifier::to(myself, RunMessage::TaskEvent),
        }))
    }
}

/// The folder of the output of verifications, beside those of the tasks. No task can have its name.
const OUTPUT: &str = ".verify";

/// The verification before one landing.
struct Verifying<'a> {
    verifier: &'a mut WorkVerifier,
    request: &'a LandingRequest,
    /// The work that has landed before.
    landed: Vec<LandingTask>,
}

impl Verifying<'_> {
    /// Verifies the work and records that. Returns what must not land.
    async fn hold_back(&mut self, run: RunId, records: &RunRecords) -> Vec<TaskLanding> {
        let began = Instant::now();
        let before = self.verifier.verifications();
        let request = VerificationRequest {
            landed: self.landed.clone(),
            tasks: self.request.tasks.clone(),
            conflicting: match self.request.target {
                LandingTarget::Tree | LandingTarget::Stack { .. } => ConflictingWork::Kept,
                LandingTarget::Branches { .. } => ConflictingWork::LandsApart,
            },
        };
        let verified = verify(&request, self.verifier).await;
        self.verifier.remove_temporary().await;
        let verification = match verified {
            Ok(verification) => verification,
            // The landing is cancelled as well, and nothing lands.
            Err(VerificationError::Cancelled) => return Vec::new(),
            Err(VerificationError::Impossible(message)) => {
                Verification::impossible(&request.tasks, &message)
            }
        };
        self.report(&verification);
        let mut held = verification.held;
        match self.verifier.failing_start() {
            FailingStart::Keep => {}
            FailingStart::Land => held.retain(|held| !is_of_start(held)),
        }
        let totals = VerificationTotals {
            verifications: self.verifier.verifications() - before,
            ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            held: held.len(),
        };
        // If the ledger is gone, the landing does not begin.
        let _recorded = records.record(LedgerEntry::WorkVerified { run, totals }).await;
        if self.request.target == LandingTarget::Tree && held.len() < self.request.tasks.len() {
            self.report_edits().await;
        }
        held
    }

    /// Announces what is not as the user may expect.
    fn report(&self, verification: &Verification) {
        if let Some(failed) = &verification.failing_start
            && self.verifier.failing_start() == FailingStart::Land
        {
            self.verifier.announce(EventKind::Degraded {
                from: "work that was verified".to_owned(),
                to: "the work lands unverified, as --verify-anyway asks for".to_owned(),
                why: format!(
                    "the verification fails without the work of any task: {}",
                    failed.message
                ),
            });
        }
        if verification.flaky > 0 {
            self.verifier.announce(EventKind::Degraded {
                from: "a verification that ends alike each time".to_owned(),
                to: "a failure that did not happen again is ignored".to_owned(),
                why: match verification.flaky {
                    1 => "the same work failed once and then passed".to_owned(),
                    flaky => format!("the same work failed and then passed, {flaky} times"),
                },
            });
        }
    }

    /// Announces that the user has changed files on which the work lands.
    async fn report_edits(&self) {
        /// How many paths are named.
        const NAMED: usize = 3;
        let edited = self.verifier.edited(self.landed.clone()).await;
        if edited.is_empty() {
            return;
        }
        let named: Vec<_> = edited.iter().take(NAMED).map(ToString::to_string).collect();
        let more = edited.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        self.verifier.announce(EventKind::Degraded {
            from: "the tree in which the work was verified".to_owned(),
            to: "the work lands beside what was edited during the run, unverified together"
                .to_owned(),
            why: format!("{}{more} changed since the run began", named.join(", ")),
        });
    }
}

fn is_of_start(held: &TaskLanding) -> bool {
    let start = UnverifiedCause::Start;
    matches!(&held.landed, Landed::Unverified(unverified) if unverified.cause == start)
}
