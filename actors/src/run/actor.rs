//! The run actor: feeds messages to the run's state machine and performs its effects.
//!
//! The end of each task's actor is reported to the machine here and nowhere else, once. That is why
//! `task_finished` needs no deduplication.

use engine::ports::{HeadMove, HeadMoveKind, LandingNotice, Notice};
use engine::run::Input;
use protocol::{EventKind, TimedPhase};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};

use super::messages::{EndedLanding, RunArguments, RunMessage, RunRequest};
use super::state::RunState;
use super::steps::crashed;
use crate::isolation::SettledRun;
use crate::messaging::Durability;
use crate::task::TaskState;

pub(crate) struct Run;

impl Actor for Run {
    type Msg = RunMessage;
    type State = RunState;
    type Arguments = RunArguments;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(RunState::new(arguments))
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let input = match message {
            RunMessage::Begin => Input::Begin(state.take_notices()),
            RunMessage::Admitted(task) => Input::Admitted(task),
            RunMessage::Resumed(task) => Input::PermitReturned(task),
            RunMessage::WorkEnded(task) => Input::WorkEnded(task),
            RunMessage::Refused(refused) => Input::Refused(refused),
            RunMessage::Cancel(level, why) => Input::Cancel(level, why),
            RunMessage::Request(request) => match *request {
                RunRequest::Answer(question, choice, reply) => {
                    let (taken, input) = match state.answer_question(question, choice) {
                        Ok(input) => (Ok(()), input),
                        Err(error) => (Err(error), None),
                    };
                    let _gone = reply.send(taken);
                    let Some(input) = input else { return Ok(()) };
                    input
                }
                RunRequest::Conversation(task, request) => {
                    state.converse(task, request);
                    return Ok(());
                }
            },
            RunMessage::Wait(task, wait) => match state.wait(task, wait) {
                Some(input) => input,
                None => return Ok(()),
            },
            RunMessage::TaskEvent(event) => {
                state.publish_fallback(&event);
                state.publish(event);
                return Ok(());
            }
            RunMessage::LandingNotice(notice) => {
                state.publish_landing_notice(announcement(notice));
                return Ok(());
            }
            RunMessage::Record(entry, receipt) => {
                state.record(&myself, entry, Some(receipt));
                return Ok(());
            }
            RunMessage::Recorded(entry, durability, receipt) => {
                let effects = state.recorded(*entry, durability);
                if let (Some(receipt), Durability::Durable) = (receipt, durability) {
                    receipt.give(); // a dropped receipt reports `Durability::Lost`
                }
                state.perform(&myself, effects).await;
                return Ok(());
            }
            // The ledger entries hold the result.
            RunMessage::Landed(Ok(ended)) => {
                let EndedLanding { landing, verification, verifier } = *ended;
                state.times.ended(TimedPhase::Landing, landing);
                if let Some(took) = verification {
                    state.times.ended(TimedPhase::Verify, took);
                }
                state.verifier = verifier;
                return Ok(());
            }
            RunMessage::Landed(Err(panicked)) => Input::LandingCrashed(panicked.to_string()),
            RunMessage::Settled(settled) => {
                let SettledRun { late } = settled.unwrap_or_default();
                Input::WorkspacesReleased { late, ms: state.ms() }
            }
            RunMessage::Closed => Input::Closed,
        };
        state.step(&myself, input).await;
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let (child, report) = match event {
            SupervisionEvent::ActorTerminated(child, last_state, reason) => {
                let last = last_state.and_then(|mut boxed| boxed.take::<Box<TaskState>>().ok());
                let report = last.and_then(|last| last.into_end()).map(|(report, record)| {
                    state.compare(&record);
                    report
                });
                (child, report.unwrap_or_else(|| crashed(reason.unwrap_or_default())))
            }
            SupervisionEvent::ActorFailed(child, error) => (child, crashed(error.to_string())),
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {
                return Ok(());
            }
        };
        if let Some(task) = state.died(child.get_id()) {
            state.end_questions(task);
            state.step(&myself, Input::TaskEnded(task, report)).await;
        }
        Ok(())
    }
}

/// Returns the event of a landing's notice.
fn announcement(notice: LandingNotice) -> EventKind {
    match notice {
        LandingNotice::Waiting => EventKind::LandingWaited,
        LandingNotice::HeadMoved(HeadMove { was, now, kind }) => EventKind::Degraded {
            from: match kind {
                HeadMoveKind::SameBranch => "HEAD was moved during the run".to_owned(),
                HeadMoveKind::OtherBranch => "the branch was switched during the run".to_owned(),
            },
            to: "the work lands in the current tree".to_owned(),
            why: format!("HEAD was {was} and is {now}"),
        },
        LandingNotice::Degraded(Notice { from, to, why }) => EventKind::Degraded { from, to, why },
        LandingNotice::Rescued(rescue) => EventKind::FileRescued { rescue },
        LandingNotice::OpenFilesUnknown { path, why } => EventKind::Degraded {
            from: "detection of programs that write to a file while it is replaced".to_owned(),
            to: "replaced files are compared twice".to_owned(),
            why: format!("cannot get a lease on {path}: {why}"),
        },
        LandingNotice::NoExchange { path } => EventKind::Degraded {
            from: "replacing a file in one step".to_owned(),
            to: "each old version is moved aside first, and is missing for a moment".to_owned(),
            why: format!("the file system of {path} cannot exchange two files"),
        },
    }
}
