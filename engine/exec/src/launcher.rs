//! The one thread that starts processes.
//!
//! Each child asks the kernel to kill it when its parent dies. For the kernel, the parent is the
//! thread that started the child. Therefore one thread, which lives as long as the `Launcher`,
//! starts all processes.

use std::io;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::pre_exec::{ChildSetup, prepare_command};
use crate::process_group::ProcessGroup;
use crate::running::{DROP_LIMIT, Leftover, Running};
use crate::watcher::{Token, Watcher};

/// How often dying children are reaped.
const REAP_INTERVAL: Duration = Duration::from_millis(10);

/// The longest time the thread waits at its end for processes to end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// The handle of the thread that starts processes. Dropping it ends the thread.
#[derive(Debug)]
pub(crate) struct Launcher {
    orders: Sender<LauncherMessage>,
    thread: Option<JoinHandle<()>>,
}

/// A message to the thread.
enum LauncherMessage {
    /// Start a process.
    Start { command: Box<(Command, ChildSetup)>, reply: oneshot::Sender<io::Result<Running>> },
    /// Reply when all messages before this one are handled.
    Sync(SyncSender<()>),
    /// The owner of a command has dropped it.
    Released(Leftover),
    /// The watcher process with this number has ended.
    WatcherEnded(u64),
    /// End the thread.
    Close,
}

impl Launcher {
    /// Starts the thread; `watcher` is the command that starts the watcher process.
    pub(crate) fn spawn(watcher: Command) -> io::Result<Self> {
        let (orders, received) = channel();
        let notify = orders.clone();
        let ended = Arc::new(move |number| {
            let _closed = notify.send(LauncherMessage::WatcherEnded(number));
        });
        let running = orders.clone();
        let on_release = Arc::new(move |left| {
            let _closed = running.send(LauncherMessage::Released(left));
        });
        let watcher = Watcher::new(watcher, ended);
        let state = State { watcher, on_release, started: 0, dying: Vec::new() };
        let thread = thread::Builder::new()
            .name("commands".to_owned())
            .spawn(move || state.run(received))?;
        Ok(Self { orders, thread: Some(thread) })
    }

    /// Starts a command. If the future is dropped before it completes, no process is left running.
    pub(crate) async fn start(
        &self,
        command: Command,
        preparation: ChildSetup,
    ) -> io::Result<Running> {
        let (reply, answer) = oneshot::channel();
        let order = LauncherMessage::Start { command: Box::new((command, preparation)), reply };
        self.orders.send(order).map_err(|_| thread_ended())?;
        let mut asking = PendingStart { orders: &self.orders, answer };
        let answer = (&mut asking.answer).await;
        answer.map_err(|_| thread_ended())?
    }
}

fn thread_ended() -> io::Error {
    io::Error::other("the thread that starts commands has ended")
}

/// A start that the caller waits for.
struct PendingStart<'a> {
    orders: &'a Sender<LauncherMessage>,
    answer: oneshot::Receiver<io::Result<Running>>,
}

impl Drop for PendingStart<'_> {
    fn drop(&mut self) {
        if self.answer.is_terminated() {
            return;
        }
        // The thread may be starting the command now. It then fails to send the reply and kills the
        // process, before it handles the `Sync` message.
        self.answer.close();
        let (handled, wait) = sync_channel(1);
        if self.orders.send(LauncherMessage::Sync(handled)).is_ok() {
            let _late = wait.recv_timeout(DROP_LIMIT);
        }
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        let _gone = self.orders.send(LauncherMessage::Close);
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// The state of the thread.
struct State {
    watcher: Watcher,
    on_release: Arc<dyn Fn(Leftover) + Send + Sync>,
    started: Token,
    dying: Vec<(Child, Token)>,
}

impl State {
    fn run(mut self, received: Receiver<LauncherMessage>) {
        loop {
            let order = if self.dying.is_empty() {
                received.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                received.recv_timeout(REAP_INTERVAL)
            };
            match order {
                Ok(LauncherMessage::Start { command, reply }) => {
                    if !reply.is_closed() {
                        // A command that the caller no longer waits for kills its group when dropped.
                        let _unwanted = reply.send(self.start(*command));
                    }
                }
                Ok(LauncherMessage::Sync(handled)) => {
                    let _unheard = handled.try_send(());
                }
                Ok(LauncherMessage::Released(Leftover::Nothing(token))) => {
                    self.watcher.remove(token)
                }
                Ok(LauncherMessage::Released(Leftover::Dying(child, token))) => {
                    self.dying.push((child, token))
                }
                Ok(LauncherMessage::WatcherEnded(number)) => self.watcher.note_end(number),
                Ok(LauncherMessage::Close) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.reap();
        }
        self.close(&received);
    }

    fn start(&mut self, (mut command, preparation): (Command, ChildSetup)) -> io::Result<Running> {
        self.started += 1;
        let token = self.started;
        prepare_command(&mut command, preparation, self.watcher.registration(token)?);
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                // The child may have registered itself with the watcher before it failed.
                self.watcher.remove(token);
                return Err(error);
            }
        };
        let group =
            ProcessGroup::led_by(child.id()).expect("a child of ours is not the first process");
        self.watcher.add(token, group);
        Ok(Running::new(child, group, token, Arc::clone(&self.on_release)))
    }

    fn reap(&mut self) {
        let watcher = &mut self.watcher;
        self.dying.retain_mut(|(child, token)| {
            let alive = matches!(child.try_wait(), Ok(None));
            if !alive {
                watcher.remove(*token);
            }
            alive
        });
    }

    /// Reaps dying children and ends the watcher process, so that none is left at the end.
    fn close(mut self, received: &Receiver<LauncherMessage>) {
        let until = Instant::now() + CLOSE_TIMEOUT;
        while !self.dying.is_empty() && Instant::now() < until {
            thread::sleep(REAP_INTERVAL);
            self.reap();
        }
        let Some(ending) = self.watcher.end() else { return };
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match received.recv_timeout(left) {
                Ok(LauncherMessage::WatcherEnded(number)) if number == ending.number => {
                    return ending.finish();
                }
                Ok(_late) => {}
                Err(_) => return ending.force(),
            }
        }
    }
}
