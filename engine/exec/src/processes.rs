//! Starts processes from requests, and implements the port of owned processes.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::sync::Arc;

use async_trait::async_trait;
use engine::ports::{
    CommandError, Namespaces, Process, ProcessEnd, ProcessRequest, ProcessSignal, ProcessStdio,
    ResourceLimit,
};
use rustix::process::{Resource, Signal};

use crate::command_error::command_error;
use crate::launcher::Launcher;
use crate::pre_exec::ChildSetup;
use crate::running::{Exit, Running};

/// Starts processes, each in a session of its own. Clones share one launcher.
///
/// A separate watcher process knows every running process group, and kills those that are left when
/// this process ends, also after a crash.
#[derive(Clone, Debug)]
pub struct Processes(Arc<Launcher>);

impl Processes {
    /// Starts the launcher thread. The command `watcher` starts a process that only calls
    /// [`watch()`](crate::watch()) on its standard input; it is started with the first process. The
    /// launcher sets the folder, the streams and the session of the watcher process.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn new(watcher: Command) -> Result<Self, CommandError> {
        let launcher =
            Launcher::spawn(watcher).map_err(|error| command_error("start a thread", error))?;
        Ok(Self(Arc::new(launcher)))
    }

    /// Starts a process; `what` names the operation in the error.
    pub(crate) async fn launch(
        &self,
        request: ProcessRequest,
        what: impl FnOnce() -> String,
    ) -> Result<Running, CommandError> {
        let (command, preparation) = prepared(request)?;
        self.0.start(command, preparation).await.map_err(|error| command_error(what(), error))
    }
}

fn prepared(request: ProcessRequest) -> Result<(Command, ChildSetup), CommandError> {
    let ProcessRequest { argv, environment, folder, stdio, session, limits, namespaces } = request;
    let mut words = argv.into_iter();
    let Some(program) = words.next() else {
        let source = std::io::ErrorKind::InvalidInput.into();
        return Err(command_error("start a process without a program", source));
    };
    let ProcessStdio { input, output, error } = stdio;
    let mut command = Command::new(program);
    command.args(words).env_clear().envs(environment).stdin(input).stdout(output).stderr(error);
    let limits = limits.into_iter().map(|(limit, most)| (resource(limit), most)).collect();
    Ok((command, ChildSetup { folder, session, limits, namespaces }))
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
        let exit = Exit::watch(running.group().leader());
        let exit =
            exit.map_err(|error| command_error("listen for the end of the process", error))?;
        Ok(Box::new(Started { running, exit, end: None }))
    }
}

/// A started process.
struct Started {
    running: Running,
    exit: Exit,
    /// How the process ended, once it has been reaped.
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
            // The process id may have been reused.
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
        let status = self.running.reap();
        let status = status.map_err(|error| command_error("wait for the process", error))?;
        let end = match (status.code(), status.signal()) {
            (Some(code), _) => ProcessEnd::Exited(code),
            (None, signal) => ProcessEnd::Signalled(signal.unwrap_or_default()),
        };
        self.end = Some(end);
        Ok(end)
    }
}
