//! The lines that are typed on a terminal that cannot move its cursor. The terminal itself edits them.

use std::io::{BufRead as _, Read as _, stdin};

use tokio::sync::mpsc::{Receiver, channel};

/// The longest line, in bytes.
const LONGEST: u64 = 1 << 20;

/// How many lines may wait.
const WAITING: usize = 64;

/// What was typed, line by line.
pub(super) struct TypedLines(Receiver<String>);

impl TypedLines {
    /// Begins to read standard input. The thread that does it ends with the program.
    pub(super) fn read() -> Self {
        let (sender, receiver) = channel(WAITING);
        std::thread::spawn(move || {
            loop {
                let mut line = Vec::new();
                let read = stdin().lock().take(LONGEST).read_until(b'\n', &mut line);
                if !matches!(read, Ok(1..)) {
                    return;
                }
                let line = String::from_utf8_lossy(&line);
                let line = line.trim_end_matches(['\n', '\r']).to_owned();
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Self(receiver)
    }

    /// Returns the next line; `None` at the end of the input.
    pub(super) async fn next(&mut self) -> Option<String> {
        self.0.recv().await
    }
}
