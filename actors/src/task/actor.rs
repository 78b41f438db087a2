//! The task actor: feeds messages to the task's state machine and performs its effects.

use engine::task::{Input, TaskRecord, Timer};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::time::Instant; // the runtime's clock: a test can pause it

use super::state::TaskState;
use super::state::{TaskArguments, TaskMessage};
use crate::messaging::Durability;

pub(crate) struct Task;

impl Actor for Task {
    type Msg = TaskMessage;
    // On the heap: the runtime holds a state and its arguments several times.
    type State = Box<TaskState>;
    type Arguments = (Box<TaskArguments>, Box<TaskRecord>);

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        (arguments, record): Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let (state, effects) = TaskState::begin(*arguments, *record);
        let mut state = Box::new(state);
        state.perform(&myself, effects).await;
        Ok(state)
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let input = match message {
            TaskMessage::Cancel(level) => Input::Cancel(level),
            TaskMessage::Prepared(prepared) => Input::Prepared(state.keep(prepared)),
            TaskMessage::Recorded(entry, Durability::Durable) => Input::Recorded(*entry),
            TaskMessage::Recorded(entry, Durability::Lost) => Input::NotRecorded(*entry),
            TaskMessage::Leased(executor) => state.leased(executor),
            TaskMessage::Cleared(end) => state.cleared(end),
            TaskMessage::SetupEnded(ended) => state.setup_ended(ended),
            TaskMessage::WorkerEnded(Ok(end)) => Input::WorkerEnded(end),
            TaskMessage::WorkerEnded(Err(panicked)) => crashed(panicked.to_string()),
            TaskMessage::WorkerKilled => Input::WorkerStopped,
            // What a request has waited for its account is not time of the task.
            TaskMessage::TimerFired(Timer::Wall) if let Some(more) = state.waits.grant() => {
                state.start_timer(&myself, Timer::Wall, more);
                return Ok(());
            }
            TaskMessage::TimerFired(timer) => Input::TimerFired(timer, state.used_time()),
            TaskMessage::Sealed(end) => state.sealed(end),
            TaskMessage::Captured(captured) => TaskState::captured(captured),
            TaskMessage::Discarded => Input::Discarded,
            TaskMessage::Reported(report) => {
                state.on_report(&myself, report);
                return Ok(());
            }
            TaskMessage::Conversation(request) => match state.conversation(request) {
                Some(end) => Input::WorkerEnded(end),
                None => return Ok(()),
            },
            TaskMessage::Wait(wait) => {
                state.arguments.waits.notify(wait);
                return Ok(());
            }
            TaskMessage::ProgressDue => {
                state.announce_progress();
                return Ok(());
            }
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
        // Only crashes matter here: a worker that ended by itself has reported its end.
        if let SupervisionEvent::ActorFailed(_session, error) = event {
            state.step(&myself, crashed(error.to_string())).await;
        }
        Ok(())
    }
}

fn crashed(message: String) -> Input {
    Input::WorkerCrashed { message, at: Instant::now().into_std() }
}
