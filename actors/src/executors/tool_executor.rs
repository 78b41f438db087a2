//! Owns the processes of one task.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use engine::ports::{
    CancelLevel, CancelToken, CommandEnd, CommandError, CommandRequest, Commands, LineSink,
    ToolAnswer, ToolText, Tools,
};
use futures_util::FutureExt;
use protocol::ToolCall;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use crate::jobs::{Jobs, Panicked};

pub(crate) struct ToolExecutor;

pub(crate) enum ToolExecutorMessage {
    /// Runs one command to its end.
    Run(CommandRequest, LineSink, RpcReplyPort<Result<CommandEnd, CommandError>>),
    /// Carries out one call of a model. A tool that panics has failed, and the model reads that.
    Call(Arc<dyn Tools>, ToolCall, LineSink, RpcReplyPort<ToolAnswer>),
    /// Stops whatever runs; what is asked to run later is stopped as well.
    Stop(CancelLevel),
    /// Answers when nothing runs any more.
    Settle(RpcReplyPort<()>),
    /// Answers when nothing runs any more; what still runs is killed.
    Seal(RpcReplyPort<()>),
    /// Sent by what ended, also by panicking; nobody else sends it.
    Ended,
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
        self.0.stop(None); // its jobs go with it, and with that every process
    }
}

pub(crate) struct ToolExecutorState {
    commands: Arc<dyn Commands>,
    running: Jobs,
    /// How many of `running` have not said that they ended.
    unfinished: usize,
    stop: CancelToken,
    settling: Vec<RpcReplyPort<()>>,
}

impl ToolExecutorState {
    /// Runs something whose end counts.
    fn start(
        &mut self,
        myself: &ActorRef<ToolExecutorMessage>,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        self.unfinished += 1;
        // Where it panicked, whoever waits for it is told by its dropped reply port.
        self.running.run(myself, work, |_ended| ToolExecutorMessage::Ended);
    }
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
        let (running, stop, settling) = (Jobs::default(), CancelToken::default(), Vec::new());
        Ok(ToolExecutorState { commands, running, unfinished: 0, stop, settling })
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
                state.start(&myself, async move {
                    let _gone = reply.send(commands.run(request, line, stop).await);
                });
            }
            ToolExecutorMessage::Call(tools, call, line, reply) => {
                let stop = state.stop.clone();
                state.start(&myself, async move {
                    let _gone = reply.send(carry_out(tools.as_ref(), call, line, stop).await);
                });
            }
            ToolExecutorMessage::Settle(reply) => state.settling.push(reply),
            ToolExecutorMessage::Stop(level) => state.stop.cancel(level),
            ToolExecutorMessage::Seal(reply) => {
                state.stop.cancel(CancelLevel::AtOnce);
                state.settling.push(reply);
            }
            ToolExecutorMessage::Ended => state.unfinished -= 1,
        }
        if state.unfinished == 0 {
            for reply in state.settling.drain(..) {
                let _gone = reply.send(());
            }
        }
        Ok(())
    }
}

async fn carry_out(
    tools: &dyn Tools,
    call: ToolCall,
    line: LineSink,
    stop: CancelToken,
) -> ToolAnswer {
    let name = call.name.clone();
    let answer = AssertUnwindSafe(tools.call(call, line, stop)).catch_unwind().await;
    answer.unwrap_or_else(|payload| {
        let words = Panicked::from_payload(&*payload);
        tracing::error!(tool = name, %words, "a tool crashed");
        let text = format!(
            "the tool `{name}` crashed: {words}. Its effects may be there: look before you go on, \
             and try another way"
        );
        ToolAnswer::Failed(ToolText::plain(text))
    })
}
