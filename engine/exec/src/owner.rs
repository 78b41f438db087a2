//! An owner of commands: has a reaper from its first command to its end.

use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::{CommandError, OwnerEnd, ProcessRequest, ProcessStdio};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::command_error::{command_error, is_dead};
use crate::launcher::{Launcher, Reaper};
use crate::reaper::LAST_LIMIT;
use crate::running::Running;
use crate::socket::Socket;
use crate::start_message::{AfterExit, StartMessage, StartOptions, encode};
use crate::wire::{self, Reply};

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

/// How long a reaper that ends by itself may take until it says what it has left.
const LAST_WORD_LIMIT: Duration = LAST_LIMIT.saturating_add(Duration::from_secs(1));

/// The reapers of an owner.
#[derive(Debug, Default)]
struct State {
    /// The reaper of the commands; `None` if no command was started yet, or since the end.
    reaper: Option<Reaper>,
    /// Those that had started commands and take no others: they have died, or are about to end.
    ending: Vec<Reaper>,
    /// Whether an end of the owner has begun and was not waited for.
    is_end_unknown: bool,
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
            let State { reaper, ending, .. } = &mut *state;
            let known = reaper.is_some();
            let serving = match reaper {
                Some(reaper) => reaper,
                None => reaper.insert(self.launcher.reaper(what).await?),
            };
            match serving.socket.send(&[&header, &text], &descriptors).await {
                Ok(()) => break,
                // It died before this command, which the next can start.
                Err(error) if is_dead(&error) => ending.extend(reaper.take().filter(|_| known)),
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
        let State { reaper, ending, is_end_unknown } = std::mem::take(&mut *state);
        let mut end = if is_end_unknown { OwnerEnd::Unknown } else { OwnerEnd::Childless };
        state.is_end_unknown = true;
        if let Some(reaper) = reaper {
            end = both(end, self.end_reaper(reaper).await);
        }
        for reaper in ending {
            end = both(end, self.last_word(reaper).await);
        }
        state.is_end_unknown = false;
        end
    }

    /// Has a reaper kill everything that it has started.
    async fn end_reaper(&self, reaper: Reaper) -> OwnerEnd {
        match timeout(END_LIMIT, reaper.socket.send(&[&wire::end()], &[])).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) if is_dead(&error) => return self.last_word(reaper).await,
            _failed_or_suspended => return self.bury(reaper).await,
        }
        match timeout(END_LIMIT, reaper.socket.receive()).await {
            Ok(Ok(Some(Reply::Ended(0)))) => {
                self.launcher.keep(reaper).await;
                OwnerEnd::Childless
            }
            Ok(Ok(Some(Reply::Ended(left)))) => left_over(left),
            _killed_or_suspended => self.bury(reaper).await,
        }
    }

    /// Waits for what a reaper says that takes no more commands.
    async fn last_word(&self, reaper: Reaper) -> OwnerEnd {
        match timeout(LAST_WORD_LIMIT, reaper.socket.receive()).await {
            Ok(Ok(Some(Reply::Ended(left)))) => left_over(left),
            _killed_or_suspended => self.bury(reaper).await,
        }
    }

    /// Has the launcher kill what a reaper has left that does not say so itself.
    async fn bury(&self, reaper: Reaper) -> OwnerEnd {
        self.launcher.bury(reaper).await.map_or(OwnerEnd::Unknown, left_over)
    }
}

fn left_over(processes: u32) -> OwnerEnd {
    if processes == 0 { OwnerEnd::Childless } else { OwnerEnd::Left(processes) }
}

/// Returns what two reapers have left together.
fn both(one: OwnerEnd, other: OwnerEnd) -> OwnerEnd {
    match (one, other) {
        (OwnerEnd::Unknown, _) | (_, OwnerEnd::Unknown) => OwnerEnd::Unknown,
        (OwnerEnd::Left(one), OwnerEnd::Left(other)) => OwnerEnd::Left(one.saturating_add(other)),
        (OwnerEnd::Childless, end) | (end, OwnerEnd::Childless) => end,
    }
}
