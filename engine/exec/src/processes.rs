//! Starting processes: from a request to a process that is owned.

use std::process::Command;
use std::sync::Arc;

use async_trait::async_trait;
use engine::ports::{
    CommandError, Namespaces, Process, ProcessEnd, ProcessRequest, ProcessSignal, ProcessStdio,
    ResourceLimit,
};
use rustix::process::{Resource, Signal};
use std::os::unix::process::ExitStatusExt as _;

use crate::birth::Preparation;
use crate::exit::Exit;
use crate::launcher::Launcher;
use crate::running::Running;
use crate::trouble::trouble;

/// Starts processes, each in a session of its own. Its clones are one.
///
/// A watcher, a process of its own, knows every group that runs, and kills what is left when this
/// process is gone, however it went.
#[derive(Clone, Debug)]
pub struct Processes(Arc<Launcher>);

impl Processes {
    /// Returns what starts processes. `watcher` starts a process that calls
    /// [`watch()`](crate::watch()) on its standard input and does nothing else; it is started with
    /// the first process. Its folder, its streams and its session are seen to here.
    ///
    /// # Errors
    /// A thread cannot be had.
    pub fn new(watcher: Command) -> Result<Self, CommandError> {
        let launcher =
            Launcher::begin(watcher).map_err(|error| trouble("start a thread", error))?;
        Ok(Self(Arc::new(launcher)))
    }

    /// Starts a process; `what` says what cannot be done where it fails.
    pub(crate) async fn launch(
        &self,
        request: ProcessRequest,
        what: impl FnOnce() -> String,
    ) -> Result<Running, CommandError> {
        let (command, preparation) = prepared(request)?;
        self.0.start(command, preparation).await.map_err(|error| trouble(what(), error))
    }
}

fn prepared(request: ProcessRequest) -> Result<(Command, Preparation), CommandError> {
    let ProcessRequest { argv, environment, folder, stdio, session, limits, namespaces } = request;
    let mut words = argv.into_iter();
    let Some(program) = words.next() else {
        let source = std::io::ErrorKind::InvalidInput.into();
        return Err(trouble("start a process without a program", source));
    };
    let ProcessStdio { input, output, error } = stdio;
    let mut command = Command::new(program);
    command.args(words).env_clear().envs(environment).stdin(input).stdout(output).stderr(error);
    let limits = limits.into_iter().map(|(limit, most)| (resource(limit), most)).collect();
    Ok((command, Preparation { folder, session, limits, namespaces }))
}

fn resource(limit: ResourceLimit) -> Resource {
    match limit {
        ResourceLimit::AddressSpace => Resource::As,
        ResourceLimit::CpuSeconds => Resource::Cpu,
        ResourceLimit::FileSize => Resource::Fsize,
        ResourceLimit::OpenFiles => Resource::Nofile,
        ResourceLimit::Processes => Resource::Nproc,
    }
}

#[async_trait]
impl engine::ports::Processes for Processes {
    async fn start(&self, request: ProcessRequest) -> Result<Box<dyn Process>, CommandError> {
        let program = request.argv.first().cloned().unwrap_or_default();
        let private = match request.namespaces {
            Namespaces::Shared => "",
            Namespaces::Private => " in namespaces of its own",
        };
        let running = self.launch(request, || format!("start {program:?}{private}")).await?;
        let exit = Exit::of(running.group().leader());
        let exit = exit.map_err(|error| trouble("listen for the end of the process", error))?;
        Ok(Box::new(Started { running, exit, end: None }))
    }
}

/// A process that was started.
struct Started {
    running: Running,
    exit: Exit,
    /// How it ended, once it has been collected.
    end: Option<ProcessEnd>,
}

#[async_trait]
impl Process for Started {
    fn id(&self) -> u32 {
        self.running.group().leader().as_raw_nonzero().get().unsigned_abs()
    }

    fn signal(&self, signal: ProcessSignal) {
        match (signal, self.end) {
            (ProcessSignal::Kill, _) => self.running.kill(),
            // Its number may be another's by now.
            (_, Some(_)) => {}
            (ProcessSignal::Interrupt, None) => self.running.group().signal(Signal::INT),
            (ProcessSignal::Terminate, None) => self.running.group().signal(Signal::TERM),
        }
    }

    async fn wait(&mut self) -> Result<ProcessEnd, CommandError> {
        if let Some(end) = self.end {
            return Ok(end);
        }
        self.exit.wait().await;
        let status = self.running.collect();
        let status = status.map_err(|error| trouble("wait for the process", error))?;
        let end = match (status.code(), status.signal()) {
            (Some(code), _) => ProcessEnd::Exited(code),
            (None, signal) => ProcessEnd::Signalled(signal.unwrap_or_default()),
        };
        self.end = Some(end);
        Ok(end)
    }
}
