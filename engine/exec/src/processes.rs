//! The processes of an owner, started from requests: implements the port of owned processes.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::sync::Arc;

use async_trait::async_trait;
use engine::ports::{CommandError, Namespaces, Process, ProcessEnd, ProcessRequest, ProcessSignal};

use crate::command_error::command_error;
use crate::launcher::Launcher;
use crate::owner::Owner;
use crate::running::Running;
use crate::start_message::AfterExit;
use crate::wire::CommandRequest;

/// Makes owners, which start processes, each in a session of its own. Clones share one launcher.
///
/// The launcher is a separate process, which starts all others, so that this process never forks.
/// When either of the two ends, however it ends, everything that was started is killed.
#[derive(Clone, Debug)]
pub struct Processes(Arc<Launcher>);

impl Processes {
    /// Returns a handle of the launcher. The command `launcher` starts a process that only calls
    /// [`launch()`](crate::launch()); it is started with the first process, which sets its streams.
    #[must_use]
    pub fn new(launcher: Command) -> Self {
        Self(Arc::new(Launcher::new(launcher)))
    }

    /// Returns a new owner, which has started nothing.
    #[must_use]
    pub fn owner(&self) -> Owner {
        Owner::new(Arc::clone(&self.0))
    }
}

#[async_trait]
impl engine::ports::Processes for Owner {
    async fn start(&self, request: ProcessRequest) -> Result<Box<dyn Process>, CommandError> {
        let Some(program) = request.argv.first() else {
            let source = std::io::ErrorKind::InvalidInput.into();
            return Err(command_error("start a process without a program", source));
        };
        let private = match request.namespaces {
            Namespaces::Shared => "",
            Namespaces::Private => " in namespaces of its own",
        };
        let what = format!("start {program:?}{private}");
        let running = self.start_command(request, AfterExit::KeepGroup, &what).await?;
        Ok(Box::new(Started { running, end: None }))
    }
}

/// A started process.
struct Started {
    running: Running,
    /// How the process ended, once that is known.
    end: Option<ProcessEnd>,
}

#[async_trait]
impl Process for Started {
    fn id(&self) -> u32 {
        self.running.leader()
    }

    fn signal(&self, signal: ProcessSignal) {
        self.running.ask(match signal {
            ProcessSignal::Kill => CommandRequest::Kill,
            ProcessSignal::Interrupt => CommandRequest::Interrupt,
            ProcessSignal::Terminate => CommandRequest::Terminate,
        });
    }

    async fn wait(&mut self) -> Result<ProcessEnd, CommandError> {
        if let Some(end) = self.end {
            return Ok(end);
        }
        let status = self.running.exited().await.map_err(|source| CommandError::Launcher {
            what: "wait for the process".to_owned(),
            source,
        })?;
        let end = match (status.code(), status.signal()) {
            (Some(code), _) => ProcessEnd::Exited(code),
            (None, signal) => ProcessEnd::Signalled(signal.unwrap_or_default()),
        };
        self.end = Some(end);
        Ok(end)
    }
}
