//! The eight tickets of the demo: what each task reads and edits, and how it has to end.

/// One task of the demo.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    /// The task's name; its ticket is `tickets/NAME.md`.
    pub name: &'static str,
    /// The title of the task, in one line.
    pub title: &'static str,
    /// The file it changes.
    pub file: &'static str,
    /// The contents of the file before the task, or `None` if the task adds the file.
    pub before: Option<&'static str>,
    /// How the task changes it.
    pub change: Change,
    /// The text that the model thinks before its first tool call.
    pub thought: &'static str,
    /// How it has to end.
    pub expected: ExpectedEnd,
}

/// The change of a file by a task of the demo. `{{ticket}}` is the number of its ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A part of it is replaced.
    Replace {
        /// The old text.
        old: &'static str,
        /// The new text.
        new: &'static str,
    },
    /// The whole file is written.
    Write(&'static str),
}

/// How a task of the demo has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedEnd {
    /// Its work lands.
    Lands,
    /// Its first yield does not fit the schema, the second does, and its work lands.
    LandsAfterReminder,
    /// The work of the task conflicts with the work of the named task.
    ConflictsWith(&'static str),
    /// The task gives up with this message after it has changed a file. Its work is kept.
    GivesUp(&'static str),
}

impl ExpectedEnd {
    /// Returns whether the work of the task lands.
    #[must_use]
    pub fn lands(self) -> bool {
        matches!(self, Self::Lands | Self::LandsAfterReminder)
    }
}

/// The tasks, in the order of their declaration.
pub const TICKETS: [Ticket; 8] = [
    Ticket {
        name: "auth",
        title: "Sessions live for a quarter of an hour",
        file: "src/auth.rs",
        before: Some(
            "//! Who may come aboard.\n\n/// How long a session lives, in seconds.\npub const \
             SESSION: u64 = 3600;\n\npub fn may_board(rank: u8) -> bool {\n    rank >= 2\n}\n",
        ),
        change: Change::Replace { old: "= 3600;", new: "= 900; // {{ticket}}" },
        thought: "An hour is too long for a harbour with so many bars.",
        expected: ExpectedEnd::Lands,
    },
    Ticket {
        name: "billing",
        title: "Fees are rounded up, not down",
        file: "src/billing.rs",
        before: Some(
            "//! What a berth costs.\n\n/// Returns the fee for some hours, in cents.\npub fn \
             fee(hours: u32) -> u32 {\n    hours * 1250 / 24\n}\n",
        ),
        change: Change::Replace {
            old: "    hours * 1250 / 24",
            new: "    (hours * 1250).div_ceil(24) // {{ticket}}",
        },
        thought: "Integer division rounds down; div_ceil does not.",
        expected: ExpectedEnd::LandsAfterReminder,
    },
    Ticket {
        name: "search",
        title: "The search finds ships by their call sign, too",
        file: "src/search.rs",
        before: Some(
            "//! Finds ships.\n\npub struct Ship {\n    pub name: String,\n    pub sign: \
             String,\n}\n\npub fn matches(ship: &Ship, query: &str) -> bool {\n    \
             ship.name.contains(query)\n}\n",
        ),
        change: Change::Replace {
            old: "    ship.name.contains(query)",
            new: "    ship.name.contains(query) || ship.sign == query // {{ticket}}",
        },
        thought: "A call sign is short: it has to match whole.",
        expected: ExpectedEnd::Lands,
    },
    Ticket {
        name: "guide",
        title: "The guide says what to do in fog",
        file: "docs/guide.md",
        before: Some("# The harbour master's guide\n\n## In daylight\n\nLook out of the window.\n"),
        change: Change::Replace {
            old: "Look out of the window.\n",
            new: "Look out of the window.\n\n## In fog\n\nSound the horn every two minutes \
                  ({{ticket}}).\n",
        },
        thought: "Fog is when the window does not help.",
        expected: ExpectedEnd::Lands,
    },
    Ticket {
        name: "log",
        title: "There is a log",
        file: "src/log.rs",
        before: None,
        change: Change::Write(
            "//! Writes down who came and went ({{ticket}}).\n\npub fn arrived(ship: &str) {\n    \
             println!(\"{ship} arrived\");\n}\n",
        ),
        thought: "There is no such file yet, so I write it.",
        expected: ExpectedEnd::Lands,
    },
    Ticket {
        name: "timeout",
        title: "The radio gives up after ten seconds",
        file: "config/radio.toml",
        before: Some("[radio]\nchannel = 16\ntimeout = 30\nretries = 3\n"),
        change: Change::Replace { old: "timeout = 30", new: "timeout = 10 # {{ticket}}" },
        thought: "Ten seconds is long enough to say a name.",
        expected: ExpectedEnd::Lands,
    },
    Ticket {
        name: "patience",
        title: "The radio waits for a minute and a half",
        file: "config/radio.toml",
        before: Some("[radio]\nchannel = 16\ntimeout = 30\nretries = 3\n"),
        change: Change::Replace { old: "timeout = 30", new: "timeout = 90 # {{ticket}}" },
        thought: "Some captains take a while to find the button.",
        expected: ExpectedEnd::ConflictsWith("timeout"),
    },
    Ticket {
        name: "legacy",
        title: "The old tide tables go (and do not want to)",
        file: "src/tides.rs",
        before: Some("//! Tide tables of 1974.\n\npub const HIGH: [u8; 4] = [4, 10, 16, 22];\n"),
        change: Change::Write("//! Tide tables, moved elsewhere ({{ticket}}).\n"),
        thought: "They look unused.",
        expected: ExpectedEnd::GivesUp("the tides still need them"),
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn six_land_one_conflicts_and_one_gives_up() {
        let count = |expected: fn(ExpectedEnd) -> bool| {
            TICKETS.iter().filter(|ticket| expected(ticket.expected)).count()
        };
        assert_eq!(count(ExpectedEnd::lands), 6);
        assert_eq!(count(|expected| expected == ExpectedEnd::LandsAfterReminder), 1);
        assert_eq!(count(|expected| matches!(expected, ExpectedEnd::GivesUp(_))), 1);
        assert_eq!(count(|expected| matches!(expected, ExpectedEnd::ConflictsWith(_))), 1);
        let names: BTreeSet<_> = TICKETS.iter().map(|ticket| ticket.name).collect();
        assert_eq!(names.len(), TICKETS.len());
    }

    #[test]
    fn each_change_finds_its_place_once_and_leaves_the_number_there() {
        for ticket in &TICKETS {
            let after = match ticket.change {
                Change::Write(text) => text.to_owned(),
                Change::Replace { old, new } => {
                    let before = ticket.before.unwrap();
                    assert_eq!(before.matches(old).count(), 1, "{}", ticket.name);
                    before.replace(old, new)
                }
            };
            assert!(after.contains("{{ticket}}"), "{}", ticket.name);
            assert_ne!(Some(after.as_str()), ticket.before);
        }
    }
}
