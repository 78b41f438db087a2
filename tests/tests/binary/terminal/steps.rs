//! The steps of a conversation on a terminal: after each, all that is on the screen and above it.

use std::fs;

use serde_json::json;
use tests::sandbox::{Sandbox, Screen};

use super::conversation::start;
use super::kit::{PacedModel, without_times};
use crate::binary::sandbox;

const CTRL_D: &str = "\u{4}";

/// A conversation on a terminal, and what was printed there.
struct Steps {
    screen: Screen,
    rows: usize,
    columns: usize,
    printed: Vec<String>,
}

/// What a step changes on a terminal: what it prints, and what the live part is then.
#[derive(Clone, Copy)]
struct Step<'a> {
    printed: &'a [&'a str],
    live: &'a [&'a str],
}

impl Steps {
    /// Begins a conversation, and waits until it has told where it works.
    fn start(place: &Sandbox, model: &PacedModel, (rows, columns): (u16, u16)) -> Self {
        let screen = start(place, model, (rows, columns));
        let folder = place.folder().join("work").canonicalize().expect("it is there");
        let intro =
            format!("loopback/loop uses its tools in {}, in place · /help", folder.display());
        // The folder is another one each time, so that its line breaks are, too.
        let is_whole = |lines: &[String]| letters(&lines.concat()).starts_with(&letters(&intro));
        screen.until("where it works", |_| is_whole(&screen.all_lines()));
        let mut printed = screen.all_lines();
        while is_whole(&printed[..printed.len() - 1]) {
            printed.pop();
        }
        Self { screen, rows: rows.into(), columns: columns.into(), printed }
    }

    /// Waits until exactly what was printed and the live part are on the screen and above it, but
    /// for times. Where there is little room, the step is the second one.
    fn expect(&mut self, what: &str, usual: Step<'_>, tiny: Step<'_>) {
        let step = if self.columns < 80 { tiny } else { usual };
        self.printed.extend(step.printed.iter().map(|&line| line.to_owned()));
        let lines = self.printed.iter().map(String::as_str).chain(step.live.iter().copied());
        let all: Vec<_> = lines.collect();
        let visible = all[all.len().saturating_sub(self.rows)..].join("\n");
        let all = all.join("\n");
        let is_so = |text: &str| {
            let lines = without_times(&self.screen.all_lines().join("\n"));
            without_times(text) == visible.trim_end() && lines.trim_end() == all.trim_end()
        };
        self.screen.until(&format!("{what}:\n{all}\n"), is_so);
    }

    /// Leaves, after which how to continue is there in place of the live part, and an empty line.
    fn leave(mut self) {
        self.screen.press(CTRL_D);
        assert_eq!(self.screen.wait().code(), Some(0), "{}", self.screen.text());
        let all = self.screen.all_lines().concat();
        let (_, id) = all.rsplit_once("--resume ").expect("it tells how");
        let way_back = format!("continue with: regatta --resume {}", id.trim());
        // The terminal itself breaks what is to be copied.
        let letters: Vec<_> = way_back.chars().collect();
        let rows = letters.chunks(self.columns).map(|row| row.iter().collect::<String>());
        let rows: Vec<_> = rows.map(|row| row.trim_end().to_owned()).collect();
        let printed: Vec<_> = rows.iter().map(String::as_str).collect();
        let end = Step { printed: &printed, live: &[""] };
        self.expect("the way back", end, end);
    }
}

/// Returns a text without what may be a line break.
fn letters(text: &str) -> String {
    text.split(' ').collect()
}

#[test]
fn each_step_of_a_conversation_is_on_the_screen_at_every_size() {
    for size in [(24, 80), (5, 20), (60, 200)] {
        let (place, model) = (sandbox(), PacedModel::start());
        let mut steps = Steps::start(&place, &model, size);
        let idle = "loopback/loop · context unknown · 0 tokens · $0.00";
        steps.expect(
            "an empty input",
            Step { printed: &[], live: &["", ">", idle] },
            Step { printed: &[], live: &[">", "loopback/loop"] },
        );
        steps.screen.press("hello");
        steps.expect(
            "what is typed",
            Step { printed: &[], live: &["", "> hello", idle] },
            Step { printed: &[], live: &["> hello", "loopback/loop"] },
        );
        steps.screen.press("\r");
        let mut answer = model.next();
        assert_eq!(answer.prompts(), ["hello"]);
        let works = "works #s · loopback/loop · context unknown · 0 tokens · $0.00";
        let printed = &["", "> hello"];
        steps.expect(
            "the prompt",
            Step { printed, live: &["", ">", works] },
            Step { printed, live: &[">", "works #s"] },
        );
        answer.say("A *first*\nparagraph.\n\nA second");
        let printed = &["", "A first paragraph."];
        steps.expect(
            "a part of the answer",
            Step { printed, live: &["", "A second", "", ">", works] },
            Step { printed, live: &["", "A second", ">", "works #s"] },
        );
        answer.say(" one.");
        let command = "echo out; until [ -e go ]; do sleep 0.02; done";
        answer.call("bash", &json!({ "command": command }));
        let call = format!("● bash {command}");
        let runs = "runs #s · loopback/loop · context unknown · 100 tokens · cost unknown";
        let printed = &["", "A second one."];
        steps.expect(
            "the running call",
            Step { printed, live: &["", &call, "  out", "", ">", runs] },
            Step { printed, live: &["", "● bash echo out; un…", ">", "runs #s"] },
        );
        fs::write(place.folder().join("work/go"), "").expect("it can be written");
        let answer = model.next();
        let works = runs.replace("runs", "works");
        steps.expect(
            "the result of the call",
            Step { printed: &["", &call, "  out"], live: &["", ">", &works] },
            Step { printed: &["", "● bash echo out; un…", "  out"], live: &[">", "works #s"] },
        );
        answer.answer("Done.");
        let used = "#s · 1 call · 200 tokens · cost unknown";
        let idle = "loopback/loop · context unknown · 200 tokens · cost unknown";
        let broken = ["", "Done.", "", "#s · 1 call · 200", "tokens · cost", "unknown"];
        steps.expect(
            "the end of the turn",
            Step { printed: &["", "Done.", "", used], live: &["", ">", idle] },
            Step { printed: &broken, live: &[">", "loopback/loop"] },
        );
        steps.leave();
    }
}
