//! The binary on a terminal of its own, whose screen is what a person would see.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use test_limit::eventually;
use vt100::{Callbacks, Parser};

use super::Invocation;

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(90);

/// How many lines above the screen are kept.
const SCROLLBACK: usize = 10_000;

/// A call of the binary on a terminal. Dropping it kills it.
pub struct Screen {
    terminal: Arc<Mutex<Terminal>>,
    master: File,
    child: Child,
    reading: Option<JoinHandle<()>>,
}

/// What the terminal got so far.
struct Terminal {
    parser: Parser<Unexpected>,
    bytes: Vec<u8>,
}

/// The sequences that the terminal does not know.
#[derive(Debug, Default)]
struct Unexpected(Vec<String>);

impl Callbacks for Unexpected {
    fn unhandled_char(&mut self, _screen: &mut vt100::Screen, letter: char) {
        // The binary writes this one in the place of what it does not print.
        if letter != char::REPLACEMENT_CHARACTER {
            self.0.push(format!("character {letter:?}"));
        }
    }

    fn unhandled_control(&mut self, _screen: &mut vt100::Screen, byte: u8) {
        self.0.push(format!("control {byte:#x}"));
    }
}

impl Invocation {
    /// Starts it on a terminal with this many lines and columns, and with nothing to read.
    ///
    /// # Panics
    /// When there is no terminal to be had.
    #[must_use]
    pub fn on_a_screen(self, rows: u16, columns: u16) -> Screen {
        self.on_a_terminal((rows, columns), |_terminal| Stdio::null())
    }

    /// Starts it on a terminal that it also reads from: [`Screen::type_line`].
    ///
    /// # Panics
    /// When there is no terminal to be had.
    #[must_use]
    pub fn on_a_keyboard(self, rows: u16, columns: u16) -> Screen {
        self.on_a_terminal((rows, columns), |terminal| {
            Stdio::from(terminal.try_clone().expect("it can be shared"))
        })
    }

    fn on_a_terminal(
        self,
        (rows, columns): (u16, u16),
        input: impl FnOnce(&OwnedFd) -> Stdio,
    ) -> Screen {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).expect("a terminal can be made");
        grantpt(&master).expect("it is ours");
        unlockpt(&master).expect("it can be unlocked");
        let name = ptsname(&master, Vec::new()).expect("it has a name");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave: OwnedFd = rustix::fs::open(name, flags, Mode::empty()).expect("it is there");
        tcsetwinsize(&slave, size(rows, columns)).expect("its size can be set");
        let end = || Stdio::from(slave.try_clone().expect("it can be shared"));
        let mut command = self.env("TERM", "xterm-256color").into_command();
        command.stdin(input(&slave)).stdout(end()).stderr(end());
        let child = command.spawn().expect("the binary can be started");
        drop((command, slave)); // so that reading ends with the binary
        let parser = Parser::new_with_callbacks(
            some(rows),
            some(columns),
            SCROLLBACK,
            Unexpected::default(),
        );
        let terminal = Arc::new(Mutex::new(Terminal { parser, bytes: Vec::new() }));
        let master = File::from(master);
        let (mut reader, shown) = (master.try_clone().expect("it can be shared"), terminal.clone());
        let reading = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = reader.read(&mut piece) {
                let mut terminal = shown.lock().expect("reading does not panic");
                terminal.parser.process(&piece[..read]);
                terminal.bytes.write_all(&piece[..read]).expect("memory can be written");
            }
        });
        Screen { terminal, master, child, reading: Some(reading) }
    }
}

fn some(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).expect("a screen has lines and columns")
}

fn size(rows: u16, columns: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

impl Screen {
    fn terminal(&self) -> std::sync::MutexGuard<'_, Terminal> {
        self.terminal.lock().expect("reading does not panic")
    }

    /// Returns the text on the screen now, without the lines above it.
    #[must_use]
    pub fn text(&self) -> String {
        let terminal = self.terminal();
        let screen = terminal.parser.screen();
        let rows = screen.rows(0, screen.size().1.get());
        let text: String = rows.map(|row| format!("{}\n", row.trim_end())).collect();
        text.trim_end().to_owned()
    }

    /// Returns everything that the terminal got.
    #[must_use]
    pub fn bytes(&self) -> String {
        String::from_utf8_lossy(&self.terminal().bytes).into_owned()
    }

    /// Types a line.
    ///
    /// # Panics
    /// When the terminal is gone.
    pub fn type_line(&self, line: &str) {
        let typed = (&self.master).write_all(format!("{line}\n").as_bytes());
        typed.expect("it is there");
    }

    /// Presses keys, each as a terminal sends it.
    ///
    /// # Panics
    /// When the terminal is gone.
    pub fn press(&self, keys: &str) {
        (&self.master).write_all(keys.as_bytes()).expect("it is there");
    }

    /// Returns the lines above the screen and on it, without the spaces at their ends.
    #[must_use]
    pub fn all_lines(&self) -> Vec<String> {
        let mut terminal = self.terminal();
        let screen = terminal.parser.screen_mut();
        let (rows, columns) = screen.size();
        let mut lines = Vec::new();
        screen.set_scrollback(usize::MAX);
        for above in (1..=screen.scrollback()).rev() {
            screen.set_scrollback(above);
            lines.extend(screen.rows(0, columns.get()).next());
        }
        screen.set_scrollback(0);
        lines.extend(screen.rows(0, columns.get()).take(rows.get().into()));
        lines.iter().map(|line| line.trim_end().to_owned()).collect()
    }

    /// Returns how the terminal is set, as `stty -g` says it.
    ///
    /// # Panics
    /// When the terminal is gone.
    #[must_use]
    pub fn settings(&self) -> String {
        let state = tcgetattr(&self.master).expect("it is there");
        format!("{state:?}")
    }

    /// Returns its process.
    ///
    /// # Panics
    /// Never: a child has an id.
    #[must_use]
    pub fn id(&self) -> Pid {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        id.expect("a child has an id")
    }

    /// Presses Ctrl and C.
    ///
    /// # Panics
    /// When the terminal is gone.
    pub fn interrupt(&self) {
        (&self.master).write_all(b"\x03").expect("it is there");
    }

    /// Returns whether the terminal shows what is typed.
    ///
    /// # Panics
    /// When the terminal is gone.
    #[must_use]
    pub fn echoes(&self) -> bool {
        let state = tcgetattr(&self.master).expect("it is there");
        state.local_modes.contains(LocalModes::ECHO)
    }

    /// Gives the terminal another size.
    ///
    /// # Panics
    /// When the terminal is gone.
    pub fn resize(&self, rows: u16, columns: u16) {
        let mut terminal = self.terminal();
        terminal.parser.screen_mut().set_size(some(rows), some(columns));
        tcsetwinsize(&self.master, size(rows, columns)).expect("it is there");
    }

    /// Waits until the text on the screen is as `wanted`, and returns it.
    ///
    /// # Panics
    /// When it does not become so; `what` was awaited.
    pub fn until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let text = std::cell::RefCell::new(String::new());
        let is_there = || {
            *text.borrow_mut() = self.text();
            wanted(&text.borrow())
        };
        let seen = std::panic::AssertUnwindSafe(|| eventually(PATIENCE, what, is_there));
        let is_late = std::panic::catch_unwind(seen).is_err();
        assert!(!is_late, "on the screen instead of {what}:\n{}", text.borrow());
        text.into_inner()
    }

    /// Returns whether the binary has ended.
    ///
    /// # Panics
    /// When that cannot be known.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child can be awaited").is_some()
    }

    /// Waits until the binary has ended and its last output is on the screen.
    ///
    /// # Panics
    /// When it does not end.
    pub fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        eventually(PATIENCE, "the binary ends", || {
            status = self.child.try_wait().expect("a child can be awaited");
            status.is_some()
        });
        let reading = self.reading.take().expect("only waiting takes it");
        reading.join().expect("reading does not panic");
        assert_eq!(self.terminal().parser.callbacks().0, Vec::<String>::new());
        status.expect("it has ended")
    }
}

impl std::fmt::Debug for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screen").finish_non_exhaustive()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if self.reading.is_some() {
            let _gone = self.child.kill(); // it may just have ended
            let _reaped = self.child.wait();
        }
    }
}
