//! An owner of commands: has a reaper from its first command to its end.

use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::{CommandError, OwnerEnd, ProcessRequest, ProcessStdio};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::command_error::command_error;
use crate::launcher::{Launcher, Reaper};
use crate::running::Running;
use crate::socket::Socket;
use crate::start_message::{AfterExit, StartMessage, StartOptions, encode};
use crate::wire;

/// How long a reaper may take to answer that its owner has ended. It needs two seconds at most, and is
/// killed if it takes much longer.
const END_LIMIT: Duration = Duration::from_secs(8);

/// The owner of the commands and processes of one task or session. Dropping it kills all of them,
/// and everything that they have started.
#[derive(Debug)]
pub struct Owner {
    launcher: Arc<Launcher>,
    state: Mutex<State>,
}

/// The reaper of an owner.
#[derive(Debug, Default)]
struct State {
    /// The reaper of the commands; `None` if no command was started yet, or since the end.
    reaper: Option<Reaper>,
    /// How many reapers of this owner have died.
    died: u32,
}

impl Owner {
    /// Returns an owner that has started nothing.
    pub(crate) fn new(launcher: Arc<Launcher>) -> Self {
        Self { launcher, state: Mutex::default() }
    }

    /// Starts a command; `what` names the operation in the error.
    ///
    /// If the future is dropped early, the command is not started or is killed.
    pub(crate) async fn start_command(
        &self,
        request: ProcessRequest,
        after_exit: AfterExit,
        what: &str,
    ) -> Result<Running, CommandError> {
        let ProcessRequest { argv, environment, folder, stdio, session, limits, namespaces } =
            request;
        let options = StartOptions { session, namespaces, after_exit, limits };
        let failed = |error| command_error(what, error);
        let StartMessage { header, text, file } =
            encode(&argv, &environment, &options).map_err(failed)?;
        let (socket, theirs) = Socket::pair().map_err(failed)?;
        // From here on, dropping this future kills the command. It does not wait for a reaper that
        // never gets the other end of the socket, because that end is dropped first.
        let mut running = Running::new(socket);
        let theirs = theirs;
        let ProcessStdio { input, output, error } = stdio;
        let mut descriptors =
            vec![theirs.as_fd(), folder.as_fd(), input.as_fd(), output.as_fd(), error.as_fd()];
        descriptors.extend(file.as_ref().map(|file| file.as_fd()));
        let mut state = self.state.lock().await;
        loop {
            let reaper = match state.reaper.take() {
                Some(reaper) => reaper,
                None => self.launcher.reaper(what).await?,
            };
            let reaper = state.reaper.insert(reaper);
            match reaper.socket.send(&[&header, &text], &descriptors).await {
                Ok(()) => break,
                // It died before this command, which the next can start.
                Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                    state.reaper = None;
                    state.died += 1;
                }
                Err(error) => return Err(failed(error)),
            }
        }
        drop(state);
        drop(theirs);
        running.started(what).await?;
        Ok(running)
    }

    /// Kills everything that was started, and returns what is left of it.
    pub async fn end(&self) -> OwnerEnd {
        let mut state = self.state.lock().await;
        let State { reaper, died } = std::mem::take(&mut *state);
        let Some(reaper) = reaper else {
            return if died == 0 { OwnerEnd::Childless } else { OwnerEnd::Unknown };
        };
        let ask = async {
            reaper.socket.send(&[&wire::end()], &[]).await?;
            reaper.socket.receive().await
        };
        match timeout(END_LIMIT, ask).await {
            Ok(Ok(Some(wire::Reply::Ended(0)))) => {
                self.launcher.keep(reaper).await;
                if died == 0 { OwnerEnd::Childless } else { OwnerEnd::Unknown }
            }
            Ok(Ok(Some(wire::Reply::Ended(left)))) => OwnerEnd::Left(left),
            _died_or_suspended => {
                reaper.kill();
                OwnerEnd::Unknown
            }
        }
    }
}
