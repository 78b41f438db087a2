//! Runs commands with `/bin/sh`: one command, from its request to its end.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use engine::ports::{CommandEnd, CommandError, CommandRequest, Commands, EndCause, Stop};
use tokio_util::sync::CancellationToken;

use crate::control::control;
use crate::environment::BaseEnvironment;
use crate::exit::Exit;
use crate::launcher::Launcher;
use crate::pump::{Pumped, pump};
use crate::sink::Sink;
use crate::streams::Streams;
use crate::trouble::trouble;

/// How long a command that is stopped gently is usually given.
pub const GRACE: Duration = Duration::from_millis(700);

/// Runs commands with `/bin/sh`.
///
/// A watcher, a process of its own, knows every group that runs, and kills what is left when this
/// process is gone, however it went.
#[derive(Debug)]
pub struct Shell {
    environment: BaseEnvironment,
    grace: Duration,
    launcher: Launcher,
}

impl Shell {
    /// Returns a shell whose commands start from `environment` and are given `grace` to end when
    /// they are stopped gently. `watcher` starts a process that calls [`watch()`](crate::watch()) on its
    /// standard input and does nothing else; it is started with the first command. Its folder,
    /// its streams and its session are seen to here.
    ///
    /// # Errors
    /// A thread cannot be had.
    pub fn new(
        environment: BaseEnvironment,
        grace: Duration,
        watcher: Command,
    ) -> Result<Self, CommandError> {
        let launcher =
            Launcher::begin(watcher).map_err(|error| trouble("start a thread", error))?;
        Ok(Self { environment, grace, launcher })
    }

    fn command(&self, request: &CommandRequest) -> Command {
        let mut command = Command::new("/bin/sh");
        command
            .arg("-c")
            .arg(&request.script)
            .arg("sh")
            .args(&request.arguments)
            .current_dir(&request.folder)
            .env_clear()
            .envs(self.environment.with(&request.environment))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

#[async_trait]
impl Commands for Shell {
    async fn run(
        &self,
        request: CommandRequest,
        line: Arc<dyn Fn(String) + Send + Sync>,
        stop: Stop,
    ) -> Result<CommandEnd, CommandError> {
        let keep_output = format!("keep the output of the command in {:?}", request.output);
        let sink = create(&request).await.map_err(|error| trouble(&keep_output, error))?;
        if stop.gently.is_cancelled() || stop.at_once.is_cancelled() {
            return Ok(CommandEnd {
                cause: EndCause::Stopped,
                last_line: None,
                written: 0,
                dropped: 0,
            });
        }

        let start = format!("start the command in {:?}", request.folder);
        let command = self.command(&request);
        let mut running =
            self.launcher.start(command).await.map_err(|error| trouble(&start, error))?;
        let exit = Exit::of(running.group().leader());
        let exit = exit.map_err(|error| trouble("listen for the end of the command", error))?;
        let streams = Streams::new(running.take_output());
        let streams = streams.map_err(|error| trouble("read what the command writes", error))?;

        let gone = CancellationToken::new();
        let controlled = async {
            let cause = control(&mut running, &exit, &stop, self.grace).await;
            gone.cancel();
            cause
        };
        let (cause, pumped) = tokio::join!(controlled, pump(streams, sink, line, &gone));
        let cause = cause.map_err(|error| trouble("wait for the command", error))?;
        let Pumped { last_line, filled } = pumped.map_err(|error| trouble(&keep_output, error))?;
        if let Some(error) = filled.trouble {
            // Who asked for the stop knows what to make of it; a lost output changes nothing.
            if cause != EndCause::Stopped {
                return Err(trouble(&keep_output, error));
            }
            tracing::warn!(%error, "the output of a stopped command was not kept whole");
        }
        let (written, dropped) = (filled.written, filled.dropped);
        Ok(CommandEnd { cause, last_line, written, dropped })
    }
}

async fn create(request: &CommandRequest) -> std::io::Result<Sink> {
    let (path, keep) = (request.output.clone(), request.keep);
    tokio::task::spawn_blocking(move || Sink::create(&path, keep)).await?
}
