//! The eight tasks of the demo: what each reads, what it edits, and how it has to end.

/// One task of the demo.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    /// The task's name; its ticket is `tickets/NAME.md`.
    pub name: &'static str,
    /// What it is about, in one line.
    pub title: &'static str,
    /// The file it changes.
    pub file: &'static str,
    /// What that file holds at first; none where the task adds it.
    pub before: Option<&'static str>,
    /// The shell's words that write the new content to standard output, where `$ticket` is the
    /// number as the ticket has it and `$file` the file.
    pub edit: &'static str,
    /// How long it takes to think, in tenths of a second.
    pub tenths: u32,
    /// How it has to end.
    pub fate: Fate,
}

/// How a task of the demo has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its work lands.
    Lands,
    /// Its work conflicts with that of this task.
    ConflictsWith(&'static str),
    /// It fails after it has changed something; its work is kept.
    Fails,
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
        edit: r#"sed "s|= 3600;|= 900; // $ticket|" "$file""#,
        tenths: 4,
        fate: Fate::Lands,
    },
    Ticket {
        name: "billing",
        title: "Fees are rounded up, not down",
        file: "src/billing.rs",
        before: Some(
            "//! What a berth costs.\n\n/// Returns the fee for some hours, in cents.\npub fn \
             fee(hours: u32) -> u32 {\n    hours * 1250 / 24\n}\n",
        ),
        edit: r#"sed "s|    hours \* 1250 / 24|    (hours * 1250).div_ceil(24) // $ticket|" "$file""#,
        tenths: 5,
        fate: Fate::Lands,
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
        edit: r#"sed "s/    ship.name.contains(query)/    ship.name.contains(query) || ship.sign == query \/\/ $ticket/" "$file""#,
        tenths: 3,
        fate: Fate::Lands,
    },
    Ticket {
        name: "guide",
        title: "The guide says what to do in fog",
        file: "docs/guide.md",
        before: Some("# The harbour master's guide\n\n## In daylight\n\nLook out of the window.\n"),
        edit: r#"cat "$file"; printf '\n## In fog\n\nSound the horn every two minutes (%s).\n' "$ticket""#,
        tenths: 3,
        fate: Fate::Lands,
    },
    Ticket {
        name: "log",
        title: "There is a log",
        file: "src/log.rs",
        before: None,
        edit: r#"printf '//! Writes down who came and went (%s).\n\npub fn arrived(ship: &str) {\n    println!("{ship} arrived");\n}\n' "$ticket""#,
        tenths: 4,
        fate: Fate::Lands,
    },
    Ticket {
        name: "timeout",
        title: "The radio gives up after ten seconds",
        file: "config/radio.toml",
        before: Some("[radio]\nchannel = 16\ntimeout = 30\nretries = 3\n"),
        edit: r#"sed "s|timeout = 30|timeout = 10 # $ticket|" "$file""#,
        tenths: 4,
        fate: Fate::Lands,
    },
    Ticket {
        name: "patience",
        title: "The radio waits for a minute and a half",
        file: "config/radio.toml",
        before: Some("[radio]\nchannel = 16\ntimeout = 30\nretries = 3\n"),
        edit: r#"sed "s|timeout = 30|timeout = 90 # $ticket|" "$file""#,
        tenths: 2,
        fate: Fate::ConflictsWith("timeout"),
    },
    Ticket {
        name: "legacy",
        title: "The old tide tables go (and do not want to)",
        file: "src/tides.rs",
        before: Some("//! Tide tables of 1974.\n\npub const HIGH: [u8; 4] = [4, 10, 16, 22];\n"),
        edit: r#"printf '//! Tide tables, moved elsewhere (%s).\n' "$ticket""#,
        tenths: 3,
        fate: Fate::Fails,
    },
];

/// Returns the command of a task, which is given its number: it looks for the ticket of that
/// number, edits the file that stands there, and yields both as JSON.
#[must_use]
pub fn script(ticket: &Ticket) -> String {
    let Ticket { edit, tenths, fate, .. } = ticket;
    let end = match fate {
        Fate::Lands | Fate::ConflictsWith(_) => {
            r#"printf '{"file":"%s","ticket":"%s"}\n' "$file" "$ticket""#.to_owned()
        }
        Fate::Fails => "echo 'the tides still need them' >&2\nexit 3".to_owned(),
    };
    // Thinking is for show: a sleep that knows no tenths is none.
    format!(
        "set -eu\n\
         think() {{ echo \"$1\"; sleep \"0.$2\" 2>/dev/null || :; }}\n\
         think \"looks for ticket $1\" {tenths}\n\
         page=$(grep -l \"^ticket: $1$\" tickets/*.md)\n\
         ticket=$(sed -n 's/^ticket: //p' \"$page\")\n\
         file=$(sed -n 's/^file: //p' \"$page\")\n\
         think \"edits $file\" {tenths}\n\
         {{ {edit}; }} >\"$file.new\"\n\
         mv \"$file.new\" \"$file\"\n\
         grep -q \"$ticket\" \"$file\"\n\
         {end}\n"
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::process::Command;

    use super::*;

    #[test]
    fn six_land_one_conflicts_and_one_fails() {
        let count =
            |fate: fn(Fate) -> bool| TICKETS.iter().filter(|ticket| fate(ticket.fate)).count();
        assert_eq!(count(|fate| fate == Fate::Lands), 6);
        assert_eq!(count(|fate| fate == Fate::Fails), 1);
        assert_eq!(count(|fate| matches!(fate, Fate::ConflictsWith(_))), 1);
        let names: BTreeSet<_> = TICKETS.iter().map(|ticket| ticket.name).collect();
        assert_eq!(names.len(), TICKETS.len());
    }

    #[test]
    fn each_command_writes_the_number_that_it_can_only_know_from_its_ticket() {
        std::thread::scope(|scope| {
            for ticket in &TICKETS {
                scope.spawn(|| run(ticket));
            }
        });
    }

    fn run(ticket: &Ticket) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for sub in ["src", "docs", "config", "tickets"] {
            std::fs::create_dir(root.join(sub)).unwrap();
        }
        let page = format!("# {}\n\nticket: n0nce\nfile: {}\n", ticket.title, ticket.file);
        std::fs::write(root.join("tickets/a.md"), page).unwrap();
        std::fs::write(root.join("tickets/b.md"), "ticket: other\nfile: src/no.rs\n").unwrap();
        if let Some(before) = ticket.before {
            std::fs::write(root.join(ticket.file), before).unwrap();
        }
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &script(ticket), "sh", "n0nce"]).current_dir(root);
        let ran = shell.output().unwrap();
        let after = std::fs::read_to_string(root.join(ticket.file)).unwrap();
        assert!(after.contains("n0nce"), "{}: {after}", ticket.name);
        assert_ne!(Some(after.as_str()), ticket.before);
        let fails = ticket.fate == Fate::Fails;
        assert_eq!(ran.status.code(), Some(if fails { 3 } else { 0 }), "{}", ticket.name);
        let last = String::from_utf8(ran.stdout).unwrap().lines().last().unwrap().to_owned();
        let yielded: Result<serde_json::Value, _> = serde_json::from_str(&last);
        let number = yielded.ok().map(|value| value["ticket"].clone());
        assert_eq!(number, (!fails).then(|| "n0nce".into()), "{}: {last}", ticket.name);
    }
}
