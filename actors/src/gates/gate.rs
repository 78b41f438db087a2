//! The gate of one provider account: admits a limited number of requests at a time, and none while
//! the account is paused by a Retry-After.

use std::collections::BTreeMap;

use engine::fault::Faults;
use engine::ports::{
    AccountId, GateEvent, Permit, PermitNews, RequestOutcome, Requester, Timer as _,
};
use engine::request::{GateEffect, GateEnd, GateInput, GatePolicy, GateQueue, Ticket};
use protocol::FailureClass;
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

/// A request that waits.
pub(crate) struct Waiting {
    pub(super) requester: Requester,
    /// How often it has failed before.
    pub(super) retries: u32,
    pub(super) queue: UnboundedSender<GateEvent>,
}

pub(super) enum GateMessage {
    /// Queues a request, which receives notices and then its permit.
    Acquire(Waiting),
    /// News of an admitted request.
    News(Ticket, PermitNews),
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
            GateMessage::Acquire(Waiting { requester, retries, queue }) => {
                state.faults.failpoint("gate")?;
                state.tickets += 1;
                let ticket = Ticket(state.tickets);
                state.waiting.insert(ticket, queue);
                GateInput::Arrived { ticket, requester, retries, tokens: 0 }
            }
            GateMessage::News(ticket, news) => state.read(ticket, news),
            GateMessage::Woken => GateInput::Woken,
        };
        for effect in state.queue.step(input, state.timer.now()) {
            state.perform(&myself, effect);
        }
        Ok(())
    }
}

impl GateState {
    fn read(&self, ticket: Ticket, news: PermitNews) -> GateInput {
        let account = &self.account;
        let outcome = match news {
            PermitNews::NotSent => return GateInput::NotSent(ticket),
            PermitNews::Accepted => return GateInput::Accepted(ticket),
            PermitNews::Ended(outcome) => outcome,
        };
        let end = match outcome {
            RequestOutcome::Answered { tokens, wait } => GateEnd::Answered { tokens, wait },
            RequestOutcome::Abandoned => GateEnd::Unrelated,
            RequestOutcome::Failed { failure, is_rejected, wait } => {
                let (class, reason) = (failure.class, failure.message);
                tracing::info!(%account, %class, ?wait, reason, "a request failed");
                match (is_rejected, class) {
                    (true, _) => GateEnd::Rejected { wait, reason },
                    (false, FailureClass::Transient) => GateEnd::Failed { wait, reason },
                    (false, _) => GateEnd::Unrelated,
                }
            }
        };
        GateInput::Ended(ticket, end)
    }

    fn perform(&mut self, myself: &ActorRef<GateMessage>, effect: GateEffect) {
        match effect {
            GateEffect::Admit(ticket) => {
                let gate = myself.clone();
                let permit = Permit::new(move |news| {
                    let _crashed = gate.cast(GateMessage::News(ticket, news)); // it needs none then
                });
                if let Some(queue) = self.waiting.remove(&ticket) {
                    let _given_up = queue.send(GateEvent::Admitted(permit));
                }
            }
            GateEffect::Refuse(ticket, failure) => {
                if let Some(queue) = self.waiting.remove(&ticket) {
                    let _given_up = queue.send(GateEvent::Refused(failure));
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
