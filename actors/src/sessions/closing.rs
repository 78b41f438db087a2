//! Closes sessions such that no process outlives them.

use std::time::Duration;

use engine::ports::OwnerEnd;
use ractor::ActorRef;

use super::messages::{SessionKey, SessionsMessage};
use super::record::State;
use super::supervisor::{SEALING, SessionsState};
use crate::executors::ToolExecutorMessage;
use crate::job::Job;
use crate::messaging::{NoAnswer, ask_within};
use crate::session::SessionMessage;

/// The time that a closing session has beyond the grace period of its tool calls.
const CLOSING_TIME: Duration = Duration::from_secs(15);

impl SessionsState {
    /// Closes a session: first its work, then its processes.
    pub(super) fn close(&mut self, myself: &ActorRef<SessionsMessage>, key: SessionKey) {
        let Some(record) = self.records.get_mut(&key) else { return };
        if record.state == State::Closing {
            return; // the close is under way
        }
        record.state = State::Closing;
        // If there is no session actor, either an executor is being leased or the processes of a
        // crashed session are being stopped. The session is closed when that has ended.
        let Some(session) = record.session.clone() else { return };
        let within = self.arguments.deps.policy.grace + CLOSING_TIME;
        let (jobs, ends, close) = (&mut self.jobs, (myself, &session), SessionMessage::Close);
        ask_within(Job::SessionsClose, jobs, ends, within, close, move |_ended| {
            SessionsMessage::Ended(key)
        });
    }

    /// Stops the session and its processes.
    pub(super) fn seal(&mut self, myself: &ActorRef<SessionsMessage>, key: SessionKey) {
        if let Some(record) = self.records.get_mut(&key)
            && let Some(session) = record.session.take()
        {
            session.stop(None);
        }
        let Some(executor) = self.executor(key) else {
            let _dying = myself.cast(SessionsMessage::Sealed(key, Ok(OwnerEnd::Childless))); // nothing was started
            return;
        };
        let seal = ToolExecutorMessage::Seal;
        let (jobs, ends) = (&mut self.jobs, (myself, &executor));
        ask_within(Job::SessionsSeal, jobs, ends, SEALING, seal, move |sealed| {
            SessionsMessage::Sealed(key, sealed)
        });
    }

    pub(super) fn remove(&mut self, key: SessionKey, sealed: Result<OwnerEnd, NoAnswer>) {
        match sealed {
            Ok(OwnerEnd::Childless) | Err(NoAnswer::Died) => {}
            Ok(OwnerEnd::Left(_) | OwnerEnd::Unknown) | Err(NoAnswer::Late | NoAnswer::Unheard) => {
                tracing::error!("processes of a closed session did not stop in time");
            }
        }
        let Some(record) = self.records.remove(&key) else { return };
        if let Some(scope) = record.scope() {
            self.arguments.events.close(&scope);
        }
        for reply in record.closing {
            let _gone = reply.send(());
        }
    }
}
