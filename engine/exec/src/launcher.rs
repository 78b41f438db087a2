//! The one thread that starts processes.
//!
//! The kernel kills what we start when the thread that started it ends, not when we do; so that
//! thread lives as long as the shell, and nothing but starting happens on it.

use std::io;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::birth::{Preparation, as_command};
use crate::group::Group;
use crate::running::{DROP_LIMIT, Leftover, Running};
use crate::watcher::{Token, Watcher};

/// How often a dying child that nobody waits for is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How long the end of the thread may wait for others to end.
const PATIENCE: Duration = Duration::from_secs(3);

/// Starts processes on a thread of its own. Dropping it ends the thread.
#[derive(Debug)]
pub(crate) struct Launcher {
    orders: Sender<Order>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread is told.
enum Order {
    /// Start this.
    Start { command: Box<(Command, Preparation)>, reply: oneshot::Sender<io::Result<Running>> },
    /// Say that everything before this is done.
    Pass(SyncSender<()>),
    /// Nobody owns a command any more.
    Left(Leftover),
    /// This life of the watcher has ended.
    WatcherEnded(u64),
    /// Nothing else will come.
    Close,
}

impl Launcher {
    /// Starts the thread; `watcher` is what the watcher is started with.
    pub(crate) fn begin(watcher: Command) -> io::Result<Self> {
        let (orders, received) = channel();
        let told = orders.clone();
        let ended = Arc::new(move |life| {
            let _closed = told.send(Order::WatcherEnded(life));
        });
        let running = orders.clone();
        let left = Arc::new(move |left| {
            let _closed = running.send(Order::Left(left));
        });
        let watcher = Watcher::new(watcher, ended);
        let state = State { watcher, left, started: 0, dying: Vec::new() };
        let thread = thread::Builder::new()
            .name("commands".to_owned())
            .spawn(move || state.run(received))?;
        Ok(Self { orders, thread: Some(thread) })
    }

    /// Starts a command. If this is dropped before it ends, nothing is started, or what was is
    /// dead.
    pub(crate) async fn start(
        &self,
        command: Command,
        preparation: Preparation,
    ) -> io::Result<Running> {
        let (reply, answer) = oneshot::channel();
        let order = Order::Start { command: Box::new((command, preparation)), reply };
        self.orders.send(order).map_err(|_| gone())?;
        let mut asking = Asking { orders: &self.orders, answer };
        let answer = (&mut asking.answer).await;
        answer.map_err(|_| gone())?
    }
}

fn gone() -> io::Error {
    io::Error::other("the thread that starts commands has ended")
}

/// A start that is waited for.
struct Asking<'a> {
    orders: &'a Sender<Order>,
    answer: oneshot::Receiver<io::Result<Running>>,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if self.answer.is_terminated() {
            return;
        }
        // The thread may be starting it just now: when it has come to the next order, it has
        // found that nobody waits any more, and has killed what it started.
        self.answer.close();
        let (passed, pass) = sync_channel(1);
        if self.orders.send(Order::Pass(passed)).is_ok() {
            let _late = pass.recv_timeout(DROP_LIMIT);
        }
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        let _gone = self.orders.send(Order::Close);
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// What the thread knows.
struct State {
    watcher: Watcher,
    left: Arc<dyn Fn(Leftover) + Send + Sync>,
    started: Token,
    dying: Vec<(Child, Token)>,
}

impl State {
    fn run(mut self, received: Receiver<Order>) {
        loop {
            let order = if self.dying.is_empty() {
                received.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                received.recv_timeout(LOOK_EVERY)
            };
            match order {
                Ok(Order::Start { command, reply }) => {
                    if !reply.is_closed() {
                        // One that comes back because nobody waits kills its group as it goes.
                        let _unwanted = reply.send(self.start(*command));
                    }
                }
                Ok(Order::Pass(passed)) => {
                    let _unheard = passed.try_send(());
                }
                Ok(Order::Left(Leftover::Nothing(token))) => self.watcher.remove(token),
                Ok(Order::Left(Leftover::Dying(child, token))) => self.dying.push((child, token)),
                Ok(Order::WatcherEnded(life)) => self.watcher.note_end(life),
                Ok(Order::Close) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.bury();
        }
        self.close(&received);
    }

    fn start(&mut self, (mut command, preparation): (Command, Preparation)) -> io::Result<Running> {
        self.started += 1;
        let token = self.started;
        as_command(&mut command, preparation, self.watcher.registration(token)?);
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                // The child may have registered itself before it failed.
                self.watcher.remove(token);
                return Err(error);
            }
        };
        let group = Group::led_by(child.id()).expect("a child of ours is not the first process");
        self.watcher.add(token, group);
        Ok(Running::new(child, group, token, Arc::clone(&self.left)))
    }

    fn bury(&mut self) {
        let watcher = &mut self.watcher;
        self.dying.retain_mut(|(child, token)| {
            let alive = matches!(child.try_wait(), Ok(None));
            if !alive {
                watcher.remove(*token);
            }
            alive
        });
    }

    /// Collects what is dying, and the watcher, so that the end of the thread leaves nothing.
    fn close(mut self, received: &Receiver<Order>) {
        let until = Instant::now() + PATIENCE;
        while !self.dying.is_empty() && Instant::now() < until {
            thread::sleep(LOOK_EVERY);
            self.bury();
        }
        let Some(ending) = self.watcher.dismiss() else { return };
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match received.recv_timeout(left) {
                Ok(Order::WatcherEnded(life)) if life == ending.number => return ending.finish(),
                Ok(_late) => {}
                Err(_) => return ending.force(),
            }
        }
    }
}
