//! The one thread that starts processes.
//!
//! The kernel kills what we start when the thread that started it ends, not when we do; so that
//! thread lives as long as the shell, and nothing but starting happens on it.

use std::io;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use tokio::sync::oneshot;

use crate::birth::as_command;
use crate::group::Group;
use crate::running::Running;
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
pub(crate) enum Order {
    /// Start this.
    Start { command: Box<Command>, reply: oneshot::Sender<io::Result<Running>> },
    /// Nothing of this group is left.
    Release(Token),
    /// This one was killed, and nobody waits for it: collect it.
    Bury(Child, Token),
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
        let watcher = Watcher::new(watcher, ended);
        let state = State { watcher, orders: running, started: 0, dying: Vec::new() };
        let thread = thread::Builder::new()
            .name("commands".to_owned())
            .spawn(move || state.run(received))?;
        Ok(Self { orders, thread: Some(thread) })
    }

    /// Starts a command. If the caller no longer waits when it has started, it is killed.
    pub(crate) async fn start(&self, command: Command) -> io::Result<Running> {
        let (reply, answer) = oneshot::channel();
        let order = Order::Start { command: Box::new(command), reply };
        let gone = || io::Error::other("the thread that starts commands has ended");
        self.orders.send(order).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
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
    orders: Sender<Order>,
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
                    // One that comes back because nobody waits for it kills its group as it goes.
                    let _unwanted = reply.send(self.start(*command));
                }
                Ok(Order::Release(token)) => self.watcher.remove(token),
                Ok(Order::Bury(child, token)) => self.dying.push((child, token)),
                Ok(Order::WatcherEnded(life)) => self.watcher.note_end(life),
                Ok(Order::Close) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.bury();
        }
        self.close(&received);
    }

    fn start(&mut self, mut command: Command) -> io::Result<Running> {
        self.started += 1;
        let token = self.started;
        as_command(&mut command, self.watcher.registration(token));
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
        Ok(Running::new(child, group, token, self.orders.clone()))
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
        let Some((life, process)) = self.watcher.dismiss() else { return };
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match received.recv_timeout(left) {
                Ok(Order::WatcherEnded(ended)) if ended == life => return,
                Ok(_late) => {}
                Err(_) => break,
            }
        }
        if let Some(process) = process {
            let _gone = kill_process(process, Signal::KILL);
        }
    }
}
