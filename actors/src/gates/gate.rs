//! The gate of one provider account: admits a limited number of requests at a time, and none while
//! the account is paused by a Retry-After.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use engine::failpoint;
use engine::fault::Faults;
use engine::ports::{
    AccountId, FailureCause, GateEvent, GateRequest, GateStore, Permit, PermitNews, RequestOutcome,
};
use engine::request::{GateEffect, GateEnd, GateInput, GatePolicy, Ticket};
use protocol::FailureClass;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::account_queue::{AccountQueue, QueueClock};
use crate::job::Job;
use crate::jobs::{Jobs, Panicked};

pub(super) struct Gate;

pub(super) struct GateArguments {
    pub(super) account: AccountId,
    pub(super) policy: GatePolicy,
    pub(super) store: Option<Arc<dyn GateStore>>,
    pub(super) faults: Faults,
}

/// The queue after a step, and the effects.
pub(super) type Stepped = (Box<AccountQueue>, Vec<GateEffect>);

pub(super) enum GateMessage {
    /// Queues a request, which receives notices and then its permit.
    Acquire(Box<GateRequest>, UnboundedSender<GateEvent>),
    /// A request that waited was given up.
    GivenUp,
    /// News of an admitted request.
    News(Ticket, PermitNews),
    /// A pause may be over: this time should have come.
    Woken(Duration),
    /// Result of the job that does a step together with other engines; `None` if the step crashed.
    Stepped(Result<Option<Stepped>, Panicked>),
}

pub(super) struct GateState {
    account: AccountId,
    faults: Faults,
    /// Absent while a job does a step.
    queue: Option<Box<AccountQueue>>,
    clock: QueueClock,
    /// What has happened since the last step.
    inputs: Vec<GateInput>,
    tickets: u64,
    /// Why the limits are not shared any more, until a request was told.
    unshared: Option<String>,
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
        let GateArguments { account, policy, store, faults } = arguments;
        let queue = AccountQueue::new(account.clone(), policy, store);
        Ok(GateState {
            account,
            jobs: Jobs::new(&faults),
            faults,
            clock: queue.clock(),
            queue: Some(Box::new(queue)),
            inputs: Vec::new(),
            tickets: 0,
            unshared: None,
            waiting: BTreeMap::new(),
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            GateMessage::Acquire(request, queue) => {
                failpoint!(state.faults, "gate")?;
                state.tickets += 1;
                let ticket = Ticket(state.tickets);
                state.waiting.insert(ticket, queue);
                let GateRequest { requester, retries, tokens, is_paused, .. } = *request;
                state.inputs.push(match is_paused {
                    true => GateInput::Paused { ticket, requester },
                    false => GateInput::Arrived { ticket, requester, retries, tokens },
                });
            }
            GateMessage::GivenUp => state.withdraw(),
            GateMessage::News(ticket, news) => {
                let input = state.read(ticket, news);
                state.inputs.push(input);
            }
            GateMessage::Woken(at) => state.inputs.push(GateInput::Woken(at)),
            // The requests under way continue, and those that wait ask again, at a new gate.
            GateMessage::Stepped(Err(panicked)) => return Err(panicked.into()),
            GateMessage::Stepped(Ok(None)) => return Err("a step crashed".into()),
            GateMessage::Stepped(Ok(Some((mut queue, effects)))) => {
                state.clock = queue.clock();
                if let Some(error) = queue.take_lost() {
                    state.unshared = Some(error.to_string());
                }
                state.queue = Some(queue);
                state.perform_all(&myself, effects);
            }
        }
        state.step(&myself);
        Ok(())
    }
}

impl GateState {
    /// Processes the inputs, unless a job still processes earlier ones.
    fn step(&mut self, myself: &ActorRef<GateMessage>) {
        if self.inputs.is_empty() {
            return;
        }
        let Some(mut queue) = self.queue.take() else { return };
        let inputs = std::mem::take(&mut self.inputs);
        if queue.ignores(&inputs) {
            self.queue = Some(queue);
            return;
        }
        let Some(store) = queue.store_for(&inputs) else {
            let effects = queue.step_alone(inputs);
            self.queue = Some(queue);
            self.perform_all(myself, effects);
            return;
        };
        let (answer, stepped) = oneshot::channel();
        let step = Box::new(move || {
            let effects = queue.step(inputs);
            let _gone = answer.send((queue, effects)); // the gate is gone then
        });
        let job = async move {
            store.run(step).await;
            stepped.await.ok()
        };
        self.jobs.run(Job::GateStep, myself, job, GateMessage::Stepped);
    }

    /// Removes the requests whose callers have gone.
    fn withdraw(&mut self) {
        let inputs = &mut self.inputs;
        self.waiting.retain(|ticket, queue| {
            let is_gone = queue.is_closed();
            if is_gone {
                inputs.push(GateInput::Withdrawn(*ticket));
            }
            !is_gone
        });
    }

    fn read(&self, ticket: Ticket, news: PermitNews) -> GateInput {
        let account = &self.account;
        let outcome = match news {
            PermitNews::NotSent => return GateInput::NotSent(ticket),
            PermitNews::Accepted(wait) => return GateInput::Accepted(ticket, wait),
            PermitNews::Ended(outcome) => outcome,
        };
        let end = match outcome {
            RequestOutcome::Answered { tokens } => GateEnd::Answered { tokens },
            RequestOutcome::Abandoned => GateEnd::Unrelated,
            RequestOutcome::Failed { failure, cause, wait } => {
                let (class, reason) = (failure.class, failure.message);
                tracing::info!(%account, %class, ?wait, reason, "a request failed");
                match (cause, class) {
                    (FailureCause::RateLimit, _) => GateEnd::Rejected { wait, reason },
                    (FailureCause::Overload, _) => GateEnd::Overloaded { wait, reason },
                    (FailureCause::Outage | FailureCause::Other, FailureClass::Transient) => {
                        GateEnd::Failed { wait, reason }
                    }
                    (
                        FailureCause::Outage | FailureCause::UnknownModel | FailureCause::Other,
                        _,
                    ) => GateEnd::Unrelated,
                }
            }
        };
        GateInput::Ended(ticket, end)
    }

    fn perform_all(&mut self, myself: &ActorRef<GateMessage>, effects: Vec<GateEffect>) {
        for effect in effects {
            self.perform(myself, effect);
        }
    }

    fn perform(&mut self, myself: &ActorRef<GateMessage>, effect: GateEffect) {
        match effect {
            GateEffect::Admit(ticket) => {
                let gate = myself.clone();
                let permit = Permit::new(move |news| {
                    let _crashed = gate.cast(GateMessage::News(ticket, news)); // it needs none then
                });
                if let Some(queue) = self.waiting.remove(&ticket) {
                    if !queue.is_closed()
                        && let Some(why) = self.unshared.take()
                    {
                        let _given_up = queue.send(GateEvent::Unshared(why));
                    }
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
                let clock = self.clock;
                // If the gate is woken too early, the queue asks for another time.
                let sleep = async move { clock.sleep_until(at).await };
                self.jobs.run(Job::GateWake, myself, sleep, move |_slept| GateMessage::Woken(at));
            }
        }
    }
}
