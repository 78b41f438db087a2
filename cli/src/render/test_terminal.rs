//! A terminal in memory, and the first event of a run, for tests of what is shown.

use std::fmt;
use std::io::{self, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex, MutexGuard};

use indicatif::{ProgressDrawTarget, TermLike};

use protocol::{EventKind, IsolationMode, MergeMode, WorkspaceNeeds};

use super::live_view::LiveView;
use super::terminal::{Palette, Size};

/// The size that the terminal has at first.
pub(super) const SIZE: Size = Size { columns: 80, rows: 24 };

/// Returns the first event of a run in workspaces, which lands patches.
pub fn run_started(tasks: usize, jobs: usize) -> EventKind {
    EventKind::RunStarted {
        label: None,
        repo: "/repo".to_owned(),
        group: None,
        tasks,
        jobs,
        isolation: IsolationMode::Worktree,
        merge: MergeMode::Patch,
        onto: None,
        land: protocol::LandTime::End,
        pass_env: Vec::new(),
        needs: WorkspaceNeeds::default(),
        own_needs: protocol::OwnNeeds::default(),
        verify: Vec::new(),
        retry_of: None,
        caller: None,
    }
}

/// A terminal, which is shared by its clones.
#[derive(Clone)]
pub(super) struct TestTerminal(Arc<Mutex<Contents>>);

struct Contents {
    parser: vt100::Parser,
    bytes: Vec<u8>,
}

fn some(number: usize) -> NonZeroU16 {
    u16::try_from(number).ok().and_then(NonZeroU16::new).unwrap()
}

impl TestTerminal {
    pub(super) fn new() -> Self {
        let parser = vt100::Parser::new(some(SIZE.rows), some(SIZE.columns), 1000);
        Self(Arc::new(Mutex::new(Contents { parser, bytes: Vec::new() })))
    }

    /// Returns a live view on this terminal.
    pub(super) fn view(&self, measure: fn() -> Size) -> LiveView {
        let target = ProgressDrawTarget::term_like(Box::new(self.clone()));
        LiveView::on(target, Box::new(self.clone()), measure, Palette::Plain)
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap()
    }

    /// Returns the lines on the screen.
    pub(super) fn lines(&self) -> Vec<String> {
        let contents = self.contents();
        let screen = contents.parser.screen();
        let rows = screen.rows(0, screen.size().1.get());
        let mut lines: Vec<_> = rows.map(|row| row.trim_end().to_owned()).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    /// Returns everything that was written.
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.contents().bytes.clone()).unwrap()
    }

    pub(super) fn resize(&self, size: Size) {
        self.contents().parser.screen_mut().set_size(some(size.rows), some(size.columns));
    }

    fn put(&self, text: &str) -> io::Result<()> {
        self.clone().write_all(text.as_bytes())
    }

    fn step(&self, count: usize, direction: char) -> io::Result<()> {
        if count == 0 { Ok(()) } else { self.put(&format!("\u{1b}[{count}{direction}")) }
    }
}

impl Write for TestTerminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut contents = self.contents();
        contents.parser.process(bytes);
        contents.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TermLike for TestTerminal {
    fn width(&self) -> u16 {
        self.contents().parser.screen().size().1.get()
    }

    fn height(&self) -> u16 {
        self.contents().parser.screen().size().0.get()
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.step(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.step(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.step(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.step(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.put(&format!("{text}\r\n"))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.put(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.put("\r\u{1b}[2K")
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for TestTerminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestTerminal").finish_non_exhaustive()
    }
}
