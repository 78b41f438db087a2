//! A list of sessions on the terminal, before there is a conversation.

use std::io;
use std::path::PathBuf;

use crossterm::event::{Event as Input, EventStream, KeyEvent, KeyEventKind};
use futures_util::StreamExt as _;

use super::picker::{Picker, PickerRow, Pressed};
use super::sessions::ListedSession;
use super::terminal::Terminal;
use crate::render::{Palette, Size};
use crate::signals::Signals;

/// What became of a list of sessions.
pub(crate) enum SessionChoice {
    /// The user has chosen the one with this log.
    Chosen(PathBuf),
    /// The user has left the list.
    Nothing,
    /// A signal has ended it.
    Interrupted(engine::exit_code::Interruption),
}

/// Lets the user choose a session. The terminal is as it was when this returns.
///
/// # Errors
/// The terminal cannot be used.
pub(crate) async fn choose_session(
    sessions: Vec<ListedSession>,
    (palette, size): (Palette, fn() -> Size),
    signals: &mut Signals,
) -> io::Result<SessionChoice> {
    let rows = sessions.into_iter().map(|session| PickerRow {
        text: session.text,
        about: session.about,
        choice: session.path,
    });
    let mut picker = Picker::new("Continue which session?", rows.collect(), 0);
    let mut terminal = Terminal::enter(palette)?;
    let mut inputs = EventStream::new();
    let choice = loop {
        let now = size();
        terminal.draw(&[], &picker.lines(now), now)?;
        let input = tokio::select! {
            input = inputs.next() => input,
            why = signals.next() => break SessionChoice::Interrupted(why),
        };
        match input.transpose()? {
            None => break SessionChoice::Nothing,
            Some(Input::Key(KeyEvent { kind: KeyEventKind::Release, .. })) => {}
            Some(Input::Key(key)) => match picker.key(key) {
                Pressed::Left => break SessionChoice::Nothing,
                Pressed::Taken => {
                    if let Some(path) = picker.chosen() {
                        break SessionChoice::Chosen(path.clone());
                    }
                }
                Pressed::Other => terminal.forget(),
                Pressed::Handled => {}
            },
            Some(Input::Paste(text)) => picker.paste(&text),
            Some(_) => {}
        }
    };
    terminal.leave(&[])?;
    Ok(choice)
}
