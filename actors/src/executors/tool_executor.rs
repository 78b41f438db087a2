//! Owns the processes of one task.

use std::sync::Arc;

use engine::ports::{CommandEnd, CommandError, CommandRequest, Commands, Stop};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use tokio::task::JoinSet;

pub(crate) struct ToolExecutor;

/// Tells a line of output.
pub(crate) type LineSink = Arc<dyn Fn(String) + Send + Sync>;

pub(crate) enum ToolExecutorMessage {
    /// Runs one command to its end.
    Run(CommandRequest, LineSink, RpcReplyPort<Result<CommandEnd, CommandError>>),
    /// Stops whatever runs; what is asked to run later is stopped as well.
    Stop(HowToStop),
    /// Answers when nothing runs any more; what still runs is killed.
    Seal(RpcReplyPort<()>),
    /// Sent by a command that ended; nobody else sends it.
    Ended,
}

/// How to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HowToStop {
    Gently,
    AtOnce,
}

/// The right to run commands. Dropping it, as a dying task does, kills what runs.
#[derive(Debug)]
pub(crate) struct ExecutorLease(ActorRef<ToolExecutorMessage>);

impl ExecutorLease {
    pub(super) fn new(executor: ActorRef<ToolExecutorMessage>) -> Self {
        Self(executor)
    }

    pub(crate) fn executor(&self) -> &ActorRef<ToolExecutorMessage> {
        &self.0
    }
}

impl Drop for ExecutorLease {
    fn drop(&mut self) {
        self.0.stop(None); // its JoinSet goes with it, and with that every process
    }
}

pub(crate) struct ToolExecutorState {
    commands: Arc<dyn Commands>,
    running: JoinSet<()>,
    /// How many of `running` have not said that they ended.
    unfinished: usize,
    stop: Stop,
    sealing: Vec<RpcReplyPort<()>>,
}

impl Actor for ToolExecutor {
    type Msg = ToolExecutorMessage;
    type State = ToolExecutorState;
    type Arguments = Arc<dyn Commands>;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        commands: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let (running, stop, sealing) = (JoinSet::new(), Stop::default(), Vec::new());
        Ok(ToolExecutorState { commands, running, unfinished: 0, stop, sealing })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ToolExecutorMessage::Run(request, line, reply) => {
                let (commands, stop) = (Arc::clone(&state.commands), state.stop.clone());
                let farewell = Farewell(myself);
                state.unfinished += 1;
                state.running.spawn(async move {
                    let _said_at_the_end = farewell;
                    let _gone = reply.send(commands.run(request, line, stop).await);
                });
            }
            ToolExecutorMessage::Stop(HowToStop::Gently) => state.stop.gently.cancel(),
            ToolExecutorMessage::Stop(HowToStop::AtOnce) => state.stop.at_once.cancel(),
            ToolExecutorMessage::Seal(reply) => {
                state.stop.at_once.cancel();
                state.sealing.push(reply);
            }
            ToolExecutorMessage::Ended => {
                state.unfinished -= 1;
                while state.running.try_join_next().is_some() {}
            }
        }
        if state.unfinished == 0 {
            for reply in state.sealing.drain(..) {
                let _gone = reply.send(());
            }
        }
        Ok(())
    }
}

/// Says that a command is over, also when it is over because it panicked.
struct Farewell(ActorRef<ToolExecutorMessage>);

impl Drop for Farewell {
    fn drop(&mut self) {
        let _dead = self.0.cast(ToolExecutorMessage::Ended); // then nobody counts any more
    }
}
