//! States figures, holds them against their bounds, and writes them down.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::Rounds;
use crate::binary::measured_profile;

/// What a figure may be at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// No more than this.
    AtMost(f64),
    /// No more than the aim, and a failure only beyond the most.
    Aim(Limit),
    /// Exactly this.
    Exactly(f64),
    /// Anything: it is only told.
    None,
}

/// What a figure is to be at most, and what it may be before that is a failure: other machines are
/// slower, and other programs run beside a bench.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The figure that is wanted.
    pub aim: f64,
    /// The most that is no failure.
    pub most: f64,
}

/// The figures of one bench.
#[derive(Debug)]
pub struct Report {
    title: &'static str,
    about: &'static str,
    rows: Vec<[String; 4]>,
    notes: Vec<String>,
    beyond: Vec<String>,
}

impl Report {
    /// Begins the report of a bench.
    #[must_use]
    pub fn new(title: &'static str, about: &'static str) -> Self {
        Self { title, about, rows: Vec::new(), notes: Vec::new(), beyond: Vec::new() }
    }

    /// States a figure.
    pub fn figure(&mut self, what: &str, value: f64, unit: &str, bound: Bound) {
        let (text, holds) = match bound {
            Bound::AtMost(most) => (format!("≤ {most} {unit}"), value <= most),
            Bound::Aim(Limit { aim, most }) => {
                (format!("≤ {aim} {unit}, failure beyond {most} {unit}"), value <= most)
            }
            Bound::Exactly(wanted) => (format!("= {wanted} {unit}"), value == wanted),
            Bound::None => (String::new(), true),
        };
        let verdict = match (bound, holds) {
            (Bound::None, _) => "",
            (Bound::Aim(limit), true) if value > limit.aim => "missed",
            (_, true) => "holds",
            (_, false) => "BEYOND",
        };
        let value =
            if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.2}") };
        if !holds {
            self.beyond.push(format!("{what}: {value} {unit}, bound {text}"));
        }
        self.rows.push([what.to_owned(), format!("{value} {unit}"), text, verdict.to_owned()]);
    }

    /// Adds a sentence below the table.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Prints the report, writes it into docs/benchmarks.md where `REGATTA_BENCH_WRITE=1` asks for
    /// it, and returns how the bench ends: a figure beyond its bound is a failure, unless
    /// `REGATTA_BENCH_PRINT_ONLY=1`. A trial is neither written down nor judged.
    #[must_use]
    pub fn finish(self) -> ExitCode {
        let section = self.section();
        let mut out = std::io::stdout().lock();
        let _unread = writeln!(out, "{section}"); // the reader may have closed its end
        let is_trial = Rounds::asked_for() == Rounds::Trial;
        if is_set("REGATTA_BENCH_WRITE") && !is_trial {
            write_down(self.title, &section);
        }
        for line in &self.beyond {
            let _unread = writeln!(out, "beyond its bound: {line}");
        }
        if self.beyond.is_empty() || is_trial || is_set("REGATTA_BENCH_PRINT_ONLY") {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }

    fn section(&self) -> String {
        let mut text = format!("## {}\n\n{}\n\n", self.title, self.about);
        text.push_str(&format!("{}\n\n", circumstances()));
        text.push_str("| figure | measured | bound | |\n|---|---|---|---|\n");
        for row in &self.rows {
            text.push_str(&format!("| {} |\n", row.join(" | ")));
        }
        for note in &self.notes {
            text.push_str(&format!("\n{note}\n"));
        }
        text
    }
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| value == "1")
}

/// Returns the commit, the profile, the machine and the date of a measurement.
fn circumstances() -> String {
    let said = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let unknown = || "unknown".to_owned();
    let commit = said("git", &["rev-parse", "--short", "HEAD"]).unwrap_or_else(unknown);
    let system = said("uname", &["-srm"]).unwrap_or_else(unknown);
    let date = said("date", &["-u", "+%Y-%m-%d"]).unwrap_or_else(unknown);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let profile = measured_profile();
    format!("Commit {commit}, profile {profile}, {cores} cores, {system}, {date}.")
}

/// Replaces the section of one bench in docs/benchmarks.md.
fn write_down(title: &str, section: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks.md");
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    std::fs::write(path, replaced(&before, title, section)).expect("the docs can be written");
}

/// Returns `before` with the section `title` in its place, or at the end.
fn replaced(before: &str, title: &str, section: &str) -> String {
    let mut parts = before.split("\n## ");
    let mut text = parts.next().unwrap_or_default().trim_end().to_owned();
    let mut written = false;
    for part in parts {
        text.push_str("\n\n");
        if part.lines().next() == Some(title) {
            text.push_str(section.trim_end());
            written = true;
        } else {
            text.push_str("## ");
            text.push_str(part.trim_end());
        }
    }
    if !written {
        text.push_str("\n\n");
        text.push_str(section.trim_end());
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_in_its_place_and_added_at_the_end() {
        let first = replaced("# All\n", "one", "## one\n\n1\n");
        let both = replaced(&first, "two", "## two\n\n2\n");
        assert_eq!(both, "# All\n\n## one\n\n1\n\n## two\n\n2\n");
        let again = replaced(&both, "one", "## one\n\n11\n");
        assert_eq!(again, "# All\n\n## one\n\n11\n\n## two\n\n2\n");
    }

    #[test]
    fn a_figure_beyond_its_bound_is_remembered() {
        let mut report = Report::new("some", "Some figures.");
        report.figure("good", 1.5, "×", Bound::AtMost(2.0));
        report.figure("bad", 2.5, "×", Bound::AtMost(2.0));
        report.figure("peak", 8.0, "tasks", Bound::Exactly(8.0));
        let limit = Bound::Aim(Limit { aim: 3.0, most: 4.0 });
        report.figure("near", 3.5, "ms", limit);
        report.figure("far", 4.5, "ms", limit);
        report.figure("there", 3.0, "ms", limit);
        let verdicts: Vec<_> = report.rows.iter().map(|row| row[3].as_str()).collect();
        assert_eq!(verdicts, ["holds", "BEYOND", "holds", "missed", "BEYOND", "holds"]);
        let far = "far: 4.50 ms, bound ≤ 3 ms, failure beyond 4 ms";
        assert_eq!(report.beyond, ["bad: 2.50 ×, bound ≤ 2 ×", far]);
    }
}
