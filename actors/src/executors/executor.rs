//! The tool executor actor: owns the tools and processes of one task or session.

use std::sync::Arc;
use std::time::Duration;

use engine::ports::{
    Access, BackgroundWork, CancelLevel, CancelToken, CommandEnd, CommandError, CommandOwner,
    CommandRequest, LineSink, OwnerEnd, ToolOutcome,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::ToolCall;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use super::background::ExecutorBackground;
use super::launch_meter::LaunchMeter;
use super::session_ports::{CallFrom, SessionPorts};
use super::session_tools::{OpenedTools, SessionTools, ToolSetup};
use crate::deps::Deps;
use crate::job::Job;
use crate::jobs::{Jobs, Panicked};
use crate::messaging::{Notifier, answer};
use crate::services::ServicesMessage;

pub(crate) struct ToolExecutor;

pub(crate) struct ToolExecutorArguments {
    pub(crate) deps: Arc<Deps>,
    pub(crate) services: ActorRef<ServicesMessage>,
    pub(crate) setup: ExecutorSetup,
    /// The owner of every process of the executor.
    pub(crate) commands: Arc<dyn CommandOwner>,
}

/// The kind of work that an executor does.
pub(crate) enum ExecutorSetup {
    /// Running commands.
    Commands,
    /// Carrying out the calls of a model, and asking a person about some, if there is one.
    Tools(Box<ToolSetup>, SessionPorts),
}

pub(crate) enum ToolExecutorMessage {
    /// Runs one command to its end.
    Run(CommandRequest, LineSink, RpcReplyPort<Result<CommandEnd, CommandError>>),
    /// Returns the tools once they are built.
    Tools(RpcReplyPort<OpenedTools>),
    /// Returns for each call what it reads, changes or runs, and whether it may run concurrently.
    Classify(Vec<ToolCall>, RpcReplyPort<Vec<Access>>),
    /// Executes one tool call.
    Call(Arc<CallFrom>, ToolCall, LineSink, RpcReplyPort<ToolOutcome>),
    /// Runs work that goes on when the call that has begun it has ended.
    Background(BackgroundWork),
    /// From now on, tells the end of such work to this receiver.
    ReportBackground(Notifier<String>),
    /// Stops everything that runs now or is started later.
    Stop(CancelLevel),
    /// Stops the calls under way; later calls run.
    Interrupt(CancelLevel),
    /// Answers when nothing runs any more.
    Settle(RpcReplyPort<()>),
    /// Stops all jobs, ends the owner of the commands, and replies what is left of its processes.
    Seal(RpcReplyPort<OwnerEnd>),
    /// The result of the job that builds the tools; `None` if the job was stopped.
    Built(Result<Option<Arc<SessionTools>>, Panicked>),
    /// A job of the actor ended or panicked.
    Ended,
    /// Work in the background ended, with what is to be told about it, or panicked.
    BackgroundEnded(Result<Option<String>, Panicked>),
    /// The owner of the commands has ended.
    OwnerEnded(Result<OwnerEnd, Panicked>),
}

/// The exclusive use of an executor. Dropping it kills every process.
pub(crate) struct ExecutorLease {
    pub(super) executor: ActorRef<ToolExecutorMessage>,
    pub(super) launches: LaunchMeter,
    pub(super) commands: Arc<dyn CommandOwner>,
}

impl ExecutorLease {
    /// Returns how long the commands of the executor took to start.
    pub(crate) fn launches(&self) -> LaunchMeter {
        self.launches.clone()
    }

    pub(crate) fn executor(&self) -> &ActorRef<ToolExecutorMessage> {
        &self.executor
    }

    /// Returns the owner of the processes of the executor.
    pub(crate) fn commands(&self) -> Arc<dyn CommandOwner> {
        Arc::clone(&self.commands)
    }

    /// Stops all jobs, ends the owner of the processes, and returns what is left of them, also if the
    /// executor has crashed; `None` if that takes longer than `deadline`.
    pub(crate) fn seal(&self, deadline: Duration) -> BoxFuture<'static, Option<OwnerEnd>> {
        let sealed = answer(&self.executor, ToolExecutorMessage::Seal);
        let commands = self.commands();
        let end = async move {
            match sealed.await {
                Some(end) => end,
                None => commands.end_for_good().await,
            }
        };
        tokio::time::timeout(deadline, end).map(Result::ok).boxed()
    }
}

impl Drop for ExecutorLease {
    fn drop(&mut self) {
        self.executor.stop(None); // its jobs go with it, and with that every process
    }
}

pub(crate) struct ToolExecutorState {
    /// The owner of every process of the executor.
    commands: Arc<dyn CommandOwner>,
    tools: Tools,
    running: Jobs,
    /// The number of jobs that have not ended, without those in the background.
    unfinished: usize,
    /// The number of jobs in the background that have not ended.
    background: usize,
    /// Receives what is to be told about those that have ended.
    told: Option<Notifier<String>>,
    /// Stops everything, also what is started later.
    stop: CancelToken,
    /// Stops the calls under way. The next call after its cancellation gets a new token.
    interrupt: CancelToken,
    settling: Vec<RpcReplyPort<()>>,
    sealing: Sealing,
}

/// The replies to `Seal` that are due.
enum Sealing {
    /// They wait for the end of all jobs.
    Waiting(Vec<RpcReplyPort<OwnerEnd>>),
    /// They wait for the end of the owner.
    Ending(Vec<RpcReplyPort<OwnerEnd>>),
}

/// The tools of the session.
enum Tools {
    /// The executor has no tools: it runs commands, or building the tools was stopped.
    None,
    /// The tools are being built. These reply ports wait for them.
    Building(Vec<RpcReplyPort<OpenedTools>>),
    /// The tools are built.
    Built(Arc<SessionTools>),
}

impl Sealing {
    fn push(&mut self, reply: RpcReplyPort<OwnerEnd>) {
        let (Self::Waiting(replies) | Self::Ending(replies)) = self;
        replies.push(reply);
    }

    fn reply(&mut self, end: OwnerEnd) {
        let (Self::Waiting(replies) | Self::Ending(replies)) = self;
        for reply in replies.drain(..) {
            let _gone = reply.send(end);
        }
        *self = Self::Waiting(Vec::new());
    }
}

impl ToolExecutorState {
    /// Starts a job. The replies to `Settle` and `Seal` wait until it has ended.
    fn start(
        &mut self,
        name: Job,
        myself: &ActorRef<ToolExecutorMessage>,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        self.unfinished += 1;
        // If the job panics, its reply port is dropped, which tells the caller.
        self.running.run(name, myself, work, |_ended| ToolExecutorMessage::Ended);
    }

    /// Returns the cancel token of a new call.
    fn stop_of_call(&mut self) -> CancelToken {
        if self.interrupt.is_cancelled() {
            self.interrupt = self.stop.child();
        }
        self.interrupt.clone()
    }

    /// Ends the owner of the commands if a `Seal` waits for that.
    fn end_owner(&mut self, myself: &ActorRef<ToolExecutorMessage>) {
        if let Sealing::Waiting(waiting) = &mut self.sealing
            && !waiting.is_empty()
            && self.background == 0
        {
            let waiting = std::mem::take(waiting);
            self.sealing = Sealing::Ending(waiting);
            let commands = Arc::clone(&self.commands);
            let servers = self.tools().and_then(|tools| tools.servers.clone());
            let end = async move { commands.end_for_good().await };
            let end = async move {
                if let Some(servers) = servers {
                    servers.end().await;
                }
                end.await
            };
            self.running.run(Job::ExecutorEnd, myself, end, ToolExecutorMessage::OwnerEnded);
        }
    }

    fn build(
        &mut self,
        myself: &ActorRef<ToolExecutorMessage>,
        (deps, services): (Arc<Deps>, ActorRef<ServicesMessage>),
        setup: ToolSetup,
        ports: SessionPorts,
    ) {
        self.unfinished += 1;
        self.tools = Tools::Building(Vec::new());
        let (stop, commands) = (self.stop.clone(), Arc::clone(&self.commands));
        let background = Notifier::to(myself, ToolExecutorMessage::Background);
        let background = Arc::new(ExecutorBackground::new(background, &stop));
        let build = async move {
            tokio::select! {
                built = SessionTools::build((deps, services), (commands, background), setup, ports) => Some(Arc::new(built)),
                () = stop.cancelled_at_once() => None,
            }
        };
        self.running.run(Job::ExecutorBuild, myself, build, ToolExecutorMessage::Built);
    }

    fn built(&mut self, built: Option<Arc<SessionTools>>) {
        self.unfinished -= 1;
        let tools = built.map_or(Tools::None, Tools::Built);
        if let Tools::Building(waiting) = std::mem::replace(&mut self.tools, tools) {
            waiting.into_iter().for_each(|reply| self.open(reply));
        }
    }

    /// Returns the tools, or drops the reply port if there are none.
    fn open(&mut self, reply: RpcReplyPort<OpenedTools>) {
        match &mut self.tools {
            Tools::None => {}
            Tools::Building(waiting) => waiting.push(reply),
            Tools::Built(tools) => {
                let _gone = reply.send(tools.opened());
            }
        }
    }

    /// Returns the tools if they are built.
    fn tools(&self) -> Option<Arc<SessionTools>> {
        match &self.tools {
            Tools::Built(tools) => Some(Arc::clone(tools)),
            Tools::None | Tools::Building(_) => None,
        }
    }
}

impl Actor for ToolExecutor {
    type Msg = ToolExecutorMessage;
    type State = ToolExecutorState;
    type Arguments = ToolExecutorArguments;

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let ToolExecutorArguments { deps, services, setup, commands } = arguments;
        let stop = CancelToken::default();
        let mut state = ToolExecutorState {
            commands,
            tools: Tools::None,
            running: Jobs::new(&deps.faults),
            unfinished: 0,
            background: 0,
            told: None,
            interrupt: stop.child(),
            stop,
            settling: Vec::new(),
            sealing: Sealing::Waiting(Vec::new()),
        };
        match setup {
            ExecutorSetup::Commands => {}
            ExecutorSetup::Tools(setup, ports) => {
                state.build(&myself, (deps, services), *setup, ports);
            }
        }
        Ok(state)
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
                state.start(Job::ExecutorRun, &myself, async move {
                    let _gone = reply.send(commands.run(request, line, stop).await);
                });
            }
            ToolExecutorMessage::Tools(reply) => state.open(reply),
            ToolExecutorMessage::Classify(calls, reply) => {
                if let Some(tools) = state.tools() {
                    let classify = async move {
                        let _gone = reply.send(tools.classify(&calls).await);
                    };
                    state.start(Job::ExecutorClassify, &myself, classify);
                }
            }
            ToolExecutorMessage::Call(from, call, progress, reply) => {
                if let Some(tools) = state.tools() {
                    // Jobs start in any order; calls have arrived in that of the answer.
                    let (stop, turn) = (state.stop_of_call(), tools.turn());
                    state.start(Job::ExecutorCall, &myself, async move {
                        let call = (from, call, turn);
                        let _gone = reply.send(tools.call(call, progress, stop).await);
                    });
                }
            }
            ToolExecutorMessage::Background(work) => {
                state.background += 1;
                let then = ToolExecutorMessage::BackgroundEnded;
                state.running.run(Job::ExecutorBackground, &myself, work, then);
            }
            ToolExecutorMessage::BackgroundEnded(ended) => {
                state.background -= 1;
                if let (Ok(Some(text)), Some(told)) = (ended, &state.told) {
                    told.notify(text);
                }
            }
            ToolExecutorMessage::ReportBackground(told) => state.told = Some(told),
            ToolExecutorMessage::Interrupt(level) => state.interrupt.cancel(level),
            ToolExecutorMessage::Settle(reply) => state.settling.push(reply),
            ToolExecutorMessage::Stop(level) => state.stop.cancel(level),
            ToolExecutorMessage::Seal(reply) => {
                state.stop.cancel(CancelLevel::AtOnce);
                state.sealing.push(reply);
            }
            ToolExecutorMessage::OwnerEnded(end) => {
                state.sealing.reply(end.unwrap_or(OwnerEnd::Unknown));
            }
            ToolExecutorMessage::Built(built) => state.built(built?),
            ToolExecutorMessage::Ended => state.unfinished -= 1,
        }
        if state.unfinished == 0 {
            for reply in state.settling.drain(..) {
                let _gone = reply.send(());
            }
            state.end_owner(&myself);
        }
        Ok(())
    }
}
