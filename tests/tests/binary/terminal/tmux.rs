//! A session in tmux, which breaks lines anew when its width changes, and in a shell with jobs.

use std::process::{Command, Output};
use std::time::Duration;

use test_limit::{by_depth, eventually};
use tests::sandbox::{Sandbox, skip};

use super::kit::PacedModel;
use crate::binary::sandbox;

const PATIENCE: Duration = Duration::from_secs(60);

/// A server of tmux with one session. Dropping it ends it.
struct Tmux {
    socket: String,
}

impl Tmux {
    /// Starts `command` in a shell with jobs; `None` without tmux.
    fn start(place: &Sandbox, columns: u16, rows: u16) -> Option<Self> {
        let found = Command::new("tmux").arg("-V").output().is_ok_and(|it| it.status.success());
        if !found {
            return None;
        }
        let socket = place.folder().join("tmux").display().to_string();
        let tmux = Self { socket };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let size = ["-x", &columns, "-y", &rows];
        let shell = "env PS1='$ ' sh -i";
        tmux.run(&[&["-f", "/dev/null", "new-session", "-d"][..], &size, &[shell]].concat());
        tmux.run(&["set-option", "-g", "history-limit", "20000"]);
        Some(tmux)
    }

    fn command(&self, words: &[&str]) -> Output {
        let mut tmux = Command::new("tmux");
        tmux.env_remove("TMUX").arg("-S").arg(&self.socket).args(words);
        tmux.output().expect("tmux can be run")
    }

    fn run(&self, words: &[&str]) -> String {
        let output = self.command(words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn press(&self, keys: &[&str]) {
        self.run(&[&["send-keys"], keys].concat());
    }

    /// Returns the scrollback and the screen; lines that tmux has broken are whole.
    fn text(&self) -> String {
        self.run(&["capture-pane", "-p", "-J", "-S", "-"])
    }

    fn until(&self, what: &str, wanted: impl Fn(&str) -> bool) {
        let seen =
            std::panic::AssertUnwindSafe(|| eventually(PATIENCE, what, || wanted(&self.text())));
        let is_late = std::panic::catch_unwind(seen).is_err();
        assert!(!is_late, "in tmux instead of {what}:\n{}", self.text());
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _gone = self.command(&["kill-server"]);
    }
}

/// Returns the line that starts a session in a shell.
fn line(place: &Sandbox, model: &PacedModel) -> String {
    let command = model.session(place).into_command();
    let mut line =
        format!("cd {} && env", command.get_current_dir().expect("it has a folder").display());
    for (name, value) in command.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        line += &format!(" '{}={}'", name.display(), value.display());
    }
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.for_each(|word| line += &format!(" '{}'", word.display()));
    line
}

#[test]
fn after_many_resizes_each_word_is_in_the_scrollback_once() {
    let (place, model) = (sandbox(), PacedModel::start());
    let Some(tmux) = Tmux::start(&place, 80, 24) else {
        return skip("after_many_resizes_each_word_is_in_the_scrollback_once", "there is no tmux");
    };
    // The live part begins in the first line of the screen.
    tmux.press(&[&format!("clear; {}", line(&place, &model)), "Enter"]);
    tmux.until("the status line", |text| text.contains("context unknown"));
    tmux.press(&["go", "Enter"]);
    let mut exchange = model.next();
    // In quick depth it is resized seven times, to each number of rows.
    let words = by_depth(70, 200);
    for number in 0..words {
        let end = match number % 40 {
            39 => "\n\n",
            _ => " ",
        };
        exchange.say(&format!("nonce{number:03}x{end}"));
        if number % 10 == 9 {
            let last = format!("nonce{number:03}x");
            tmux.until("the last word", |text| text.replace('\n', "").contains(&last));
            // The live part fits on each of these after it was as wide as on the one before. What a
            // terminal pushes into its scrollback when it gets too small for it, nobody can take back.
            let columns = [60, 120, 47, 90, 200, 101, 53, 40, 25, 79][(number / 10) % 10];
            let rows = [24, 18, 40, 20, 24, 50, 16][(number / 10) % 7];
            let (columns, rows) = (columns.to_string(), rows.to_string());
            tmux.run(&["resize-window", "-x", &columns, "-y", &rows]);
            let status = |text: &str| text.contains("works");
            tmux.until("the status line after a resize", status);
        }
    }
    exchange.end();
    tmux.run(&["resize-window", "-x", "80", "-y", "24"]);
    // tmux may be looked at between two lines of what is written to it.
    tmux.until("the end, with one status line", |text| {
        text.contains("tokens")
            && !text.contains("works")
            && text.matches("loopback/loop ·").count() == 1
    });
    let text = tmux.text();
    for number in 0..words {
        let nonce = format!("nonce{number:03}x");
        assert_eq!(text.matches(&nonce).count(), 1, "{nonce} in\n{text}");
    }
    assert_eq!(text.matches("works").count(), 0, "a copy of the live part in\n{text}");
    tmux.press(&["C-d"]);
    tmux.until("the shell", |text| text.contains("regatta --resume"));
}

#[test]
fn a_suspended_session_leaves_the_terminal_as_it_was_and_goes_on() {
    let (place, model) = (sandbox(), PacedModel::start());
    let Some(tmux) = Tmux::start(&place, 100, 30) else {
        return skip(
            "a_suspended_session_leaves_the_terminal_as_it_was_and_goes_on",
            "there is no tmux",
        );
    };
    let settings = |name: &str| {
        let file = place.folder().join(name);
        tmux.press(&[&format!("stty -g > {}", file.display()), "Enter"]);
        let mut text = String::new();
        eventually(PATIENCE, "the settings of the terminal", || {
            text = std::fs::read_to_string(&file).unwrap_or_default();
            text.ends_with('\n')
        });
        text
    };
    let before = settings("before");
    tmux.press(&[&line(&place, &model), "Enter"]);
    tmux.until("the status line", |text| text.contains("context unknown"));
    tmux.press(&["typed", "C-z"]);
    tmux.until("the shell", |text| text.contains("Stopped"));
    assert_eq!(settings("suspended"), before);
    tmux.press(&["fg", "Enter"]);
    tmux.until("what was typed", |text| {
        text.trim_end().ends_with("$0.00") && text.contains("> typed")
    });
    // Another program may stop it, too.
    let mark = "--model loopback/loop";
    let processes = place.processes().alive();
    let (view, _) = processes.iter().find(|(_, words)| words.contains(mark)).expect("it runs");
    let stops = tmux.text().matches("Stopped").count();
    rustix::process::kill_process(*view, rustix::process::Signal::TSTP).expect("it runs");
    tmux.until("the shell", |text| text.matches("Stopped").count() > stops);
    assert_eq!(settings("stopped"), before);
    tmux.press(&["fg", "Enter"]);
    tmux.until("what was typed", |text| {
        text.trim_end().ends_with("$0.00") && text.contains("> typed")
    });
    tmux.press(&[" on", "Enter"]);
    let exchange = model.next();
    assert_eq!(exchange.prompts(), ["typed on"]);
    exchange.answer("Well.");
    tmux.until("the answer", |text| text.contains("Well.") && !text.contains("works"));
    tmux.press(&["C-d"]);
    tmux.until("the shell", |text| text.contains("regatta --resume"));
    assert_eq!(settings("after"), before);
}

#[test]
fn a_list_in_tmux_leaves_nothing_in_the_scrollback() {
    let (place, model) = (sandbox(), PacedModel::start());
    let Some(tmux) = Tmux::start(&place, 80, 24) else {
        return skip("a_list_in_tmux_leaves_nothing_in_the_scrollback", "there is no tmux");
    };
    tmux.press(&[&format!("clear; {}", line(&place, &model)), "Enter"]);
    tmux.until("the status line", |text| text.contains("context unknown"));
    for prompt in ["hello", "again"] {
        tmux.press(&[prompt, "Enter"]);
        model.next().answer(&format!("You said {prompt}."));
        tmux.until("the end of the turn", |text| {
            text.contains(&format!("You said {prompt}.")) && !text.contains("works")
        });
    }
    for (list, row) in [("/thinking", "▸ off"), ("/tree", "▸ * You said again.")] {
        tmux.press(&[list, "Enter"]);
        tmux.until("the list", |text| text.contains(row));
        for (columns, rows) in [("60", "24"), ("100", "18"), ("44", "30"), ("80", "24")] {
            tmux.run(&["resize-window", "-x", columns, "-y", rows]);
            tmux.until("the list after a resize", |text| text.matches(row).count() == 1);
        }
        tmux.press(&["PageDown", "Escape"]);
        tmux.until("the input", |text| !text.contains("Esc leaves"));
    }
    tmux.press(&["/tree", "Enter"]);
    tmux.until("the list", |text| text.contains("▸ * You said again."));
    tmux.press(&["hello", "Enter"]);
    tmux.until("the question", |text| text.contains("▸ no"));
    tmux.press(&["Enter"]);
    tmux.until("the prompt", |text| text.contains("continues from its beginning\n\n> hello"));
    tmux.press(&["!", "Enter"]);
    let exchange = model.next();
    assert_eq!(exchange.prompts(), ["hello!"]);
    exchange.answer("Well.");
    tmux.until("the answer", |text| text.contains("Well.") && !text.contains("works"));
    let text = tmux.text();
    for gone in ["Esc leaves", "▸", "Go on from where?"] {
        assert!(!text.contains(gone), "{gone} in\n{text}");
    }
    for once in ["You said hello.", "You said again.", "> hello!", "loopback/loop ·"] {
        assert_eq!(text.matches(once).count(), 1, "{once} in\n{text}");
    }
    tmux.press(&["C-d"]);
    tmux.until("the shell", |text| text.contains("regatta --resume"));
}

#[test]
fn a_session_that_ignores_hangups_ends_with_its_terminal() {
    for (dumb, is_busy) in [("", false), ("", true), ("TERM=dumb", false)] {
        let (place, model) = (sandbox(), PacedModel::start());
        let Some(tmux) = Tmux::start(&place, 100, 30) else {
            return skip(
                "a_session_that_ignores_hangups_ends_with_its_terminal",
                "there is no tmux",
            );
        };
        let line = line(&place, &model).replacen("&& env", &format!("&& env {dumb}"), 1);
        tmux.press(&[&format!("trap '' HUP; {line}"), "Enter"]);
        tmux.until("the session", |text| text.contains("· /help"));
        let exchange = is_busy.then(|| {
            tmux.press(&["go", "Enter"]);
            let mut exchange = model.next();
            exchange.say("Some words\n\n");
            tmux.until("the words", |text| text.contains("Some words"));
            exchange
        });
        assert!(!place.processes().alive().is_empty());
        drop(tmux);
        place.expect_no_process(PATIENCE);
        drop(exchange);
    }
}
