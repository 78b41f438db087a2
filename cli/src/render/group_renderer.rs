//! The renderer of a group: one run in each of several repositories.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;

use indicatif::ProgressDrawTarget;
use protocol::{Event, EventKind, GroupName, RunName, Timestamp};

use super::group_frame::{GroupFrame, group_frame, repositories};
use super::live_notes::{LiveNote, live_notes};
use super::live_view::LiveView;
use super::next_commands::CommandHints;
use super::numbers::count;
use super::printable::{fit, one_line, width};
use super::progress_lines::ProgressLines;
use super::renderer::{OutputStreams, Renderer, RunRenderer, write_event};
use super::run_view::RunView;
use super::terminal::{Meaning, ProgressMode, View, stderr_size};
use crate::args::{Form, Verbosity};

/// A repository of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// What it is called in the lines of the display.
    pub label: String,
    /// Its root, or what the user named if it cannot be opened.
    pub root: PathBuf,
}

/// Returns the renderer of a group of runs in these repositories, of which `jobs` tasks run at once.
#[must_use]
pub fn group_renderer(
    view: View,
    streams: OutputStreams,
    (group, members, jobs): (GroupName, Vec<GroupMember>, usize),
    hints: CommandHints,
) -> Box<dyn Renderer> {
    let palette = view.progress_palette;
    let progress = match view.progress {
        ProgressMode::Live => {
            let (target, out) = (ProgressDrawTarget::stderr(), Box::new(io::stderr()));
            GroupProgress::Live(LiveView::on(target, out, stderr_size, palette))
        }
        ProgressMode::Plain => GroupProgress::Lines(BTreeMap::new()),
        ProgressMode::Silent => GroupProgress::Silent,
    };
    Box::new(GroupRenderer {
        view,
        streams,
        hints,
        progress,
        group,
        members,
        jobs,
        runs: BTreeMap::new(),
        names: BTreeMap::new(),
        started: None,
    })
}

enum GroupProgress {
    Live(LiveView),
    /// The lines of each run.
    Lines(BTreeMap<RunName, ProgressLines>),
    Silent,
}

struct GroupRenderer {
    view: View,
    streams: OutputStreams,
    hints: CommandHints,
    progress: GroupProgress,
    group: GroupName,
    members: Vec<GroupMember>,
    jobs: usize,
    /// The runs that have begun, by the index of their repository.
    runs: BTreeMap<usize, RunRenderer>,
    names: BTreeMap<RunName, usize>,
    started: Option<Timestamp>,
}

impl Renderer for GroupRenderer {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        if self.view.form == Form::Json {
            write_event(&mut self.streams.out, event)?;
        }
        let is_first = self.started.is_none();
        let Some(at) = self.member_of(event) else {
            self.subagent_event(event);
            return Ok(());
        };
        if let (true, GroupProgress::Lines(_)) = (is_first, &self.progress) {
            let all = repositories(self.members.len());
            let _deaf = writeln!(self.streams.err, "group {} · {all}", self.group);
        }
        let view = &self.view;
        let label = &self.members[at].label;
        let hints = || {
            let repo = Some(self.members[at].root.clone());
            CommandHints { repo, ..self.hints.clone() }
        };
        let run = self.runs.entry(at).or_insert_with(|| RunRenderer::silent(view.clone(), hints()));
        run.apply(event);
        match &mut self.progress {
            GroupProgress::Live(live) => {
                for note in live_notes(event) {
                    live.note(labelled(note, label));
                }
            }
            GroupProgress::Lines(lines) => {
                let lines = event.run().map(|name| {
                    lines.entry(name.clone()).or_insert_with(|| {
                        let palette = view.progress_palette;
                        ProgressLines::new(palette, view.zone.clone(), view.verbosity)
                    })
                });
                if let Some(text) = lines.and_then(|lines| lines.line(run.run(), event)) {
                    for line in text.lines() {
                        // A run continues if its progress cannot be written.
                        let _deaf = writeln!(self.streams.err, "{label}  {line}");
                    }
                }
            }
            GroupProgress::Silent => {}
        }
        self.draw(event.at);
        Ok(())
    }

    fn subagent_event(&mut self, event: &Event) {
        let GroupProgress::Live(live) = &mut self.progress else { return };
        for (at, run) in &mut self.runs {
            if let Some(ended) = run.apply_below(event) {
                live.note(labelled(LiveNote::Line(ended.line()), &self.members[*at].label));
            }
        }
    }

    fn note(&mut self, line: &str) {
        match &mut self.progress {
            GroupProgress::Live(live) => live.remark(line),
            GroupProgress::Lines(_) => {
                let _deaf = writeln!(self.streams.err, "{line}");
            }
            GroupProgress::Silent => {
                if self.view.verbosity != Verbosity::Quiet {
                    let _deaf = writeln!(self.streams.err, "{line}");
                }
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.streams.out.flush()
    }

    fn tick(&mut self, now: Timestamp) {
        self.draw(now);
        if let GroupProgress::Lines(lines) = &mut self.progress {
            for (name, lines) in lines {
                let run = self.names.get(name).and_then(|at| Some((*at, self.runs.get(at)?)));
                let Some((at, run)) = run else { continue };
                if let Some(line) = lines.heartbeat(run.run(), now) {
                    let _deaf = writeln!(self.streams.err, "{}  {line}", self.members[at].label);
                }
            }
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        if let GroupProgress::Live(live) = &mut self.progress {
            live.clear();
        }
        self.progress = GroupProgress::Silent;
        match self.view.form {
            Form::Json => self.streams.out.flush(),
            Form::Text => self.report(),
        }
    }
}

impl GroupRenderer {
    /// Returns the index of the repository that an event belongs to.
    fn member_of(&mut self, event: &Event) -> Option<usize> {
        let run = event.run()?;
        if let EventKind::RunStarted { repo, caller: None, .. } = &event.kind {
            let is_it = |member: &GroupMember| member.root.to_string_lossy() == repo.as_str();
            let at = self.members.iter().position(is_it)?;
            self.names.insert(run.clone(), at);
            self.started.get_or_insert(event.at);
        }
        self.names.get(run).copied()
    }

    fn draw(&mut self, now: Timestamp) {
        let (Some(started), GroupProgress::Live(live)) = (self.started, &mut self.progress) else {
            return;
        };
        let run = |at: usize| self.runs.get(&at).map(RunRenderer::run);
        let members = self.members.iter().enumerate();
        let runs: Vec<_> = members.map(|(at, member)| (member.label.as_str(), run(at))).collect();
        let group = GroupFrame { name: &self.group, jobs: self.jobs, started, runs: &runs };
        live.draw_frame(now, |input, palette| group_frame(&group, input, palette));
    }

    /// Writes the table of each repository under its heading, and the sum of all.
    fn report(&mut self) -> io::Result<()> {
        let is_quiet = self.view.verbosity == Verbosity::Quiet;
        let mut sum = Sum::default();
        for (at, member) in self.members.iter().enumerate() {
            let Some(run) = self.runs.get_mut(&at) else { continue };
            sum.add(run.run());
            sum.landed += run.landed();
            let name = run.run().head().map(|head| format!("  run {}", head.run));
            writeln!(
                self.streams.out,
                "{}{}",
                self.view
                    .palette
                    .paint(Meaning::Heading, &one_line(&member.root.to_string_lossy())),
                name.unwrap_or_default()
            )?;
            run.report_to(&mut self.streams.out)?;
            writeln!(self.streams.out)?;
        }
        if !is_quiet {
            writeln!(self.streams.out, "{}", sum.text(&self.group, self.members.len()))?;
            for line in sum.next_commands(&self.group, &self.hints) {
                writeln!(self.streams.out, "{line}")?;
            }
        }
        self.streams.out.flush()
    }
}

/// What the runs of a group have done.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    repositories: usize,
    tasks: usize,
    done: usize,
    failed: usize,
    cancelled: usize,
    landed: usize,
    conflicted: usize,
    kept: usize,
}

impl Sum {
    fn add(&mut self, run: &RunView) {
        self.repositories += 1;
        self.tasks += run.rows().len();
        if let Some((totals, _)) = run.end() {
            self.done += totals.done;
            self.failed += totals.failed;
            self.cancelled += totals.cancelled;
            self.conflicted += totals.conflicted;
            self.kept += totals.kept;
        }
    }

    fn text(&self, group: &GroupName, all: usize) -> String {
        let tasks = count(self.tasks, "task");
        let all = match all == self.repositories {
            true => repositories(all),
            false => format!("{} of {}", self.repositories, repositories(all)),
        };
        let numbers = [
            (self.done, "done"),
            (self.failed, "failed"),
            (self.cancelled, "cancelled"),
            (self.landed, "landed"),
            (self.conflicted, "in conflict"),
            (self.kept, "kept"),
        ];
        let numbers = numbers.iter().filter(|(number, _)| *number > 0);
        let numbers: Vec<_> = numbers.map(|(number, what)| format!("{number} {what}")).collect();
        format!("group {group} · {all} · {tasks}\n{}", numbers.join(" · "))
    }
}

impl Sum {
    /// Returns the commands that people use next, each with what it does.
    fn next_commands(&self, group: &GroupName, hints: &CommandHints) -> Vec<String> {
        let lines = [
            (self.conflicted, "conflict", "conflicts", "lists what conflicts, and why"),
            (self.failed, "failed", "results --only failed", "says why"),
            (self.kept, "kept", "diff", "shows the work, including kept work"),
            (self.failed + self.cancelled, "retry", "runs retry", "runs these tasks again"),
            (self.landed, "undo", "undo", "takes back what has landed"),
        ];
        let lines: Vec<_> = lines
            .into_iter()
            .filter(|(number, ..)| *number > 0)
            .map(|(_, word, command, what)| {
                (word, hints.command(&format!("{command} {group}")), what)
            })
            .collect();
        let widest = lines.iter().map(|(_, command, _)| width(command)).max().unwrap_or(0);
        lines
            .into_iter()
            .map(|(word, command, what)| {
                format!("{} {}  {what}", fit(word, 9), fit(&command, widest))
            })
            .collect()
    }
}

/// Returns a note with the repository that it is about.
fn labelled(note: LiveNote, label: &str) -> LiveNote {
    match note {
        LiveNote::Remark(text) => LiveNote::Remark(format!("{label}  {text}")),
        LiveNote::Line(text) => LiveNote::Line(format!("{label}  {text}")),
        LiveNote::Problem(mut problem) => {
            problem.label = format!("{label}  {}", problem.label);
            LiveNote::Problem(problem)
        }
    }
}
