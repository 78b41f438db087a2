//! The supervisor of all runs, which owns the schedule of the engine.

use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};

use super::opening::SubmitError;

use super::state::{RunsArguments, RunsMessage, RunsState};
use crate::run::RunMessage;

pub(crate) struct Runs;

impl Actor for Runs {
    type Msg = RunsMessage;
    type State = RunsState;
    type Arguments = RunsArguments;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(RunsState::new(arguments))
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            RunsMessage::Submit(_, reply) if state.is_closing() => {
                let _gone = reply.send(Err(SubmitError::Closing));
            }
            RunsMessage::Submit(submission, reply) => {
                state.open(&myself, *submission, reply);
                return Ok(());
            }
            RunsMessage::Opened(run, opened, reply) => {
                state.opened(&myself, run, *opened, reply).await?;
            }
            RunsMessage::Withdrawn(why, reply) => state.answer(reply, Err(why.into())),
            RunsMessage::Schedule(request) => state.take(request),
            // If there is no such run, the request is dropped, and its reply port with it.
            RunsMessage::Request(run, request) => state.send(run, RunMessage::Request(request)),
            RunsMessage::Cancel(run, how, why) => state.cancel(run, how, why),
            RunsMessage::SetCapacity(capacity) => state.set_capacity(capacity),
            RunsMessage::Places(reply) => {
                let _gone = reply.send(state.places());
            }
            RunsMessage::Close(why) => state.close(why),
        }
        state.settle(&myself);
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorTerminated(child, ..) => {
                state.ended(child.get_id());
                state.settle(&myself);
                Ok(())
            }
            // A crashed run cannot report its tasks any more, so its crash fails the engine.
            SupervisionEvent::ActorFailed(_run, error) => Err(error),
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => Ok(()),
        }
    }
}
