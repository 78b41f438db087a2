//! Changes of what a session asks its model with. A restart takes them again.

use std::sync::Arc;

use protocol::{Failure, ModelRoute};
use ractor::{ActorRef, RpcReplyPort};

use super::messages::{SessionChange, SessionKey, SessionsMessage};
use super::supervisor::SessionsState;
use crate::job::Job;
use crate::messaging::{NoAnswer, ask};
use crate::session::SessionMessage;

impl SessionsState {
    /// Changes what a session is started with, and tells its actor.
    pub(super) fn change(&mut self, key: SessionKey, change: SessionChange) {
        let Some(record) = self.open_record(key) else { return };
        let message = match change {
            SessionChange::Modes(modes) => {
                record.spec.modes = modes;
                Some(SessionMessage::SetModes(modes))
            }
            SessionChange::System(system) => {
                record.spec.system = Arc::clone(&system);
                Some(SessionMessage::SetSystem(system))
            }
            SessionChange::Tools(only) => {
                record.only.clone_from(&only);
                Some(SessionMessage::SetTools(only))
            }
            SessionChange::Thinking(level) => {
                record.spec.model.thinking = Some(level);
                None // the session has set it
            }
        };
        if let Some(message) = message {
            record.forward(message);
        }
        record.publish_state();
    }

    pub(super) fn set_model(
        &mut self,
        myself: &ActorRef<SessionsMessage>,
        key: SessionKey,
        model: ModelRoute,
        reply: RpcReplyPort<Result<(), Failure>>,
    ) {
        // Without a session, the dropped reply port refuses the request.
        let Some(session) = self.open_record(key).and_then(|it| it.session.clone()) else { return };
        let asked = model.clone();
        let question = |answer| SessionMessage::SetModel(asked, answer);
        ask(Job::SessionsModel, &mut self.jobs, (myself, &session), question, move |set| {
            SessionsMessage::ModelSet(key, model, set, reply)
        });
    }

    pub(super) fn note_model(
        &mut self,
        key: SessionKey,
        model: ModelRoute,
        set: Result<Result<(), Failure>, NoAnswer>,
        reply: RpcReplyPort<Result<(), Failure>>,
    ) {
        let Ok(set) = set else { return }; // drops the reply port: no answer came
        if let (Some(record), Ok(())) = (self.records.get_mut(&key), &set) {
            record.spec.model = model; // for the next start
            record.publish_state();
        }
        let _gone = reply.send(set);
    }
}
