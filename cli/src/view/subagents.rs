//! The subagents of a session: a tree in the live part, and a line for each that has ended.

use std::time::Duration;

use protocol::{Event, SessionId, Timestamp};
use ratatui::text::{Line, Span};

use super::entry::NoteKind;
use super::markdown::DIM;
use super::state::ViewState;
use crate::render::{FrameInput, Size, SubagentTree, TaskRow, cut, task_lines};

/// The most subagents in a compact tree.
const COMPACT: usize = 5;

/// How much of the subagents is displayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TreeMode {
    /// Nothing.
    Off,
    /// How many have ended, and some of those that work.
    #[default]
    Compact,
    /// As many as there is room for, also of those that wait.
    Verbose,
}

impl TreeMode {
    pub(super) const ALL: [Self; 3] = [Self::Off, Self::Compact, Self::Verbose];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Compact => "compact",
            Self::Verbose => "verbose",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name)
    }
}

/// The subagents of a session that have not ended.
#[derive(Debug, Default)]
pub(super) struct Subagents {
    pub(super) mode: TreeMode,
    tree: SubagentTree,
    /// The time of the last event, and when it was read.
    clock: Option<(Timestamp, Duration)>,
}

impl Subagents {
    /// Begins with those of a session.
    pub(super) fn begin(&mut self, session: SessionId) {
        self.tree = SubagentTree::below(session);
    }

    /// Returns whether the live part displays some.
    pub(super) fn are_displayed(&self) -> bool {
        self.mode != TreeMode::Off && self.tree.counts().all > 0
    }

    /// Returns the lines of the tree, which has at most `rows` of the size.
    pub(super) fn lines(&self, size: Size, now: Duration) -> Vec<Line<'static>> {
        let Size { columns, rows: room } = size;
        if !self.are_displayed() || room == 0 {
            return Vec::new();
        }
        let counts = self.tree.counts();
        let failed = match counts.failed {
            0 => String::new(),
            failed => format!(" · {failed} failed"),
        };
        let head = format!("  subagents: {} of {} ended{failed}", counts.ended, counts.all);
        let mut rows = self.tree.rows();
        let most = match self.mode {
            TreeMode::Off => 0,
            TreeMode::Compact => {
                rows.retain(TaskRow::works);
                COMPACT
            }
            TreeMode::Verbose => usize::MAX,
        };
        let turn = usize::try_from(now.as_secs()).unwrap_or_default();
        let input = FrameInput { now: self.time(now), turn, size };
        let lines = task_lines(&rows, input, columns, most.min(room - 1));
        let lines = std::iter::once(cut(&head, columns)).chain(lines);
        lines.map(|line| Line::from(Span::styled(line, DIM))).collect()
    }

    fn time(&self, now: Duration) -> Timestamp {
        let Some((at, read)) = self.clock else { return Timestamp::from_millisecond(0) };
        let since = i64::try_from(now.saturating_sub(read).as_millis()).unwrap_or_default();
        Timestamp::from_millisecond(at.as_millisecond().saturating_add(since))
    }
}

impl ViewState {
    /// Applies an event of any run.
    pub(in crate::view) fn run_event(&mut self, event: &Event, now: Duration) {
        self.subagents.clock = Some((event.at, now));
        let ended = self.subagents.tree.apply(event);
        if let (Some(ended), TreeMode::Compact | TreeMode::Verbose) = (ended, self.subagents.mode) {
            self.note(NoteKind::Info, ended.line());
        }
    }

    /// Changes how much of the subagents is displayed, or says it.
    pub(super) fn show_tasks(&mut self, mode: Option<TreeMode>) {
        self.subagents.mode = mode.unwrap_or(self.subagents.mode);
        let now = self.subagents.mode.as_str();
        let others = TreeMode::ALL.map(TreeMode::as_str).join(", ");
        self.note(NoteKind::Info, format!("the tree of subagents is {now}; there are {others}"));
    }
}

#[cfg(test)]
mod tests;
