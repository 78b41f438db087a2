//! The gate of one provider account: admits a limited number of requests at a time, and none while
//! the account is paused by a Retry-After.

use std::collections::BTreeMap;

use engine::fault::Faults;
use engine::ports::{AccountId, GateEvent, GateReport, Permit, RequestOutcome, Timer as _};
use engine::request::{GateEffect, GateInput, GatePolicy, GateQueue, Ticket};
use protocol::SessionId;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::mpsc::UnboundedSender;

use crate::job::Job;
use crate::jobs::Jobs;
use crate::tokio_timer::RuntimeTimer;

pub(super) struct Gate;

pub(super) struct GateArguments {
    pub(super) account: AccountId,
    pub(super) policy: GatePolicy,
    pub(super) faults: Faults,
}

pub(super) enum GateMessage {
    /// Queues a request, which receives notices and then its permit.
    Acquire(SessionId, UnboundedSender<GateEvent>),
    /// The report of a permit, sent exactly once.
    Report(GateReport),
    /// A pause may be over.
    Woken,
}

pub(super) struct GateState {
    account: AccountId,
    faults: Faults,
    queue: GateQueue,
    timer: RuntimeTimer,
    tickets: u64,
    /// The channel of each queued request. A request that gave up has dropped the receiver. A
    /// permit that is sent to it is dropped, and thereby returned to the gate.
    waiting: BTreeMap<Ticket, UnboundedSender<GateEvent>>,
    jobs: Jobs,
}

impl Actor for Gate {
    type Msg = GateMessage;
    type State = GateState;
    type Arguments = GateArguments;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let GateArguments { account, policy, faults } = arguments;
        Ok(GateState {
            account,
            jobs: Jobs::new(&faults),
            faults,
            queue: GateQueue::new(policy),
            timer: RuntimeTimer::start(),
            tickets: 0,
            waiting: BTreeMap::new(),
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let input = match message {
            GateMessage::Acquire(session, queue) => {
                state.faults.failpoint("gate")?;
                state.tickets += 1;
                let ticket = Ticket(state.tickets);
                state.waiting.insert(ticket, queue);
                GateInput::Arrived(ticket, session)
            }
            GateMessage::Report(report) => state.read(report),
            GateMessage::Woken => GateInput::Woken,
        };
        for effect in state.queue.step(input, state.timer.now()) {
            state.perform(&myself, effect);
        }
        Ok(())
    }
}

impl GateState {
    fn read(&self, report: GateReport) -> GateInput {
        let account = &self.account;
        let GateReport { outcome, wait } = report;
        match (outcome, wait) {
            (RequestOutcome::Failed(failure), Some(wait)) => {
                let reason = failure.message;
                tracing::info!(%account, ?wait, reason, "the account is left alone");
                GateInput::Paused { wait, reason }
            }
            (RequestOutcome::Failed(failure), None) => {
                let (class, reason) = (failure.class, failure.message);
                tracing::info!(%account, %class, reason, "a request failed");
                GateInput::Ended
            }
            (RequestOutcome::Answered | RequestOutcome::Abandoned, _) => GateInput::Ended,
        }
    }

    fn perform(&mut self, myself: &ActorRef<GateMessage>, effect: GateEffect) {
        match effect {
            GateEffect::Admit(ticket) => {
                let gate = myself.clone();
                let permit = Permit::new(move |report| {
                    let _crashed = gate.cast(GateMessage::Report(report)); // a gone gate needs none
                });
                if let Some(queue) = self.waiting.remove(&ticket) {
                    let _given_up = queue.send(GateEvent::Admitted(permit));
                }
            }
            GateEffect::Notify(ticket, wait) => {
                if let Some(queue) = self.waiting.get(&ticket) {
                    let _given_up = queue.send(GateEvent::Waiting(wait));
                }
            }
            GateEffect::WakeAt(at) => {
                let sleep = self.timer.sleep(at.saturating_sub(self.timer.now()));
                // If the gate is woken too early, the queue schedules another wake-up.
                self.jobs.run(Job::GateWake, myself, sleep, |_slept| GateMessage::Woken);
            }
        }
    }
}
