//! Notifies another program of a question, the end of a run and the end of a turn. Only the end of the program
//! waits for it, for a short time.

mod command;
mod notice;

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _, Write as _};
use std::iter;
use std::path::Path;
use std::time::Duration;

use actors::Events;
use config::Alert;
use regatta::app_context::AppContext;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;

pub(crate) use self::command::end_all;
use self::command::{Commands, Warnings};
use self::notice::Watched;
use crate::process;
use crate::render::{cut, one_line};

/// How long the end of the program waits for the last of them.
const LAST: Duration = Duration::from_secs(10);

/// How long the terminal may take.
const RINGING: Duration = Duration::from_secs(1);

/// The longest text of an alert, in columns.
const LONGEST: usize = 200;

/// Watches the events of an engine.
#[derive(Debug)]
pub(crate) struct Notifier(JoinSet<Warnings>);

impl Notifier {
    /// Begins to tell what the settings ask for of these events. Sessions work in `folder`; each run says
    /// where it works.
    pub(crate) fn watch(app: &AppContext, folder: &Path, events: Events) -> Self {
        let commands = Commands::new(app.settings.notify.clone(), app.places.clone());
        let alert = app.settings.alert.value;
        let mut watching = JoinSet::new();
        if !commands.is_empty() || alert != Alert::None {
            watching.spawn(follow(events, Watched::new(folder), commands, alert));
        }
        Self(watching)
    }

    /// Waits until all events are reported, but not for long, and warns if that has failed. The engine must
    /// be closed.
    pub(crate) async fn finish(mut self) {
        let warnings = match timeout(LAST, self.0.join_next()).await {
            Ok(Some(Ok(warnings))) => warnings.lines(),
            Ok(Some(Err(_)) | None) => Vec::new(), // it crashed, or there was nothing to watch
            Err(_elapsed) => vec![command::too_long(LAST)],
        };
        warnings.iter().for_each(|warning| process::notify(warning));
    }
}

/// Tells of events until they end.
async fn follow(
    mut events: Events,
    mut watched: Watched,
    commands: Commands,
    alert: Alert,
) -> Warnings {
    let (mut waiting, mut warnings) = (VecDeque::new(), Warnings::default());
    loop {
        let mut first = None;
        if waiting.is_empty() {
            first = events.recv().await;
            if first.is_none() {
                return warnings;
            }
        }
        for event in first.into_iter().chain(iter::from_fn(|| events.take())) {
            watched.apply(&event, &mut waiting);
        }
        let Some(notice) = waiting.pop_front() else { continue };
        let text = sequence(alert, &notice.text);
        // A terminal may take nothing for a while.
        let _slow = timeout(RINGING, spawn_blocking(move || ring(&text))).await;
        commands.run(&notice.json, &mut warnings).await;
    }
}

/// Writes to the terminal, if there is one.
fn ring(text: &str) {
    if !text.is_empty() && io::stderr().is_terminal() {
        // A view writes there, too, and holds this lock for each of its writes.
        let _view = io::stdout().lock();
        let _gone = io::stderr().write_all(text.as_bytes()); // the terminal may be gone
    }
}

/// Returns what has the terminal ring its bell, or show a notification.
fn sequence(alert: Alert, text: &str) -> String {
    match alert {
        Alert::None => String::new(),
        Alert::Bell => "\u{7}".to_owned(),
        Alert::Osc9 => {
            let text = format!("regatta: {}", one_line(text));
            format!("\u{1b}]9;{}\u{7}", cut(&text, LONGEST))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_is_a_bell_or_a_text_that_cannot_end_its_sequence() {
        assert_eq!(sequence(Alert::None, "x"), "");
        assert_eq!(sequence(Alert::Bell, "x"), "\u{7}");
        let text = sequence(Alert::Osc9, "allow bash a\u{7}b\u{1b}\\c\u{9c}?");
        let inside =
            text.strip_prefix("\u{1b}]9;regatta: ").unwrap().strip_suffix('\u{7}').unwrap();
        assert!(!inside.contains(char::is_control), "{inside:?}");
        assert!(sequence(Alert::Osc9, &"x".repeat(9_999)).len() < 300);
    }
}
