//! The line of a task that runs.

use protocol::{Phase, Timestamp};

use super::super::figures::{elapsed, span, tokens};
use super::super::row::{Doing, Row, Stage};
use super::super::safe::{cut, fit, one_line, width};
use super::{Moment, SPINNER};

/// The widest that a column of task names gets.
const NAMES: usize = 24;

/// The widest that a column of models gets.
const MODELS: usize = 18;

/// The narrowest line that has a column of models, and one of tokens.
const WITH_MODELS: usize = 76;
const WITH_TOKENS: usize = 48;

/// How wide the word is that says what a task does.
const DEEDS: usize = 8;

/// The columns of the lines of tasks. Those that nothing stands in are not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    name: usize,
    model: usize,
    tokens: usize,
    all: usize,
}

impl Columns {
    /// Returns columns for `rows`, in lines of `all` columns.
    pub(super) fn of(rows: &[&Row], all: usize) -> Self {
        let widest = |width: &dyn Fn(&Row) -> usize| rows.iter().map(|row| width(row)).max();
        let name = widest(&|row| row.name.as_str().len()).unwrap_or(0).min(NAMES);
        let model = widest(&|row| model(row).map_or(0, |model| width(&model))).unwrap_or(0);
        let with_tokens = rows.iter().any(|row| row.model.is_some() || row.used.is_some());
        Self {
            name,
            model: if all < WITH_MODELS { 0 } else { model.min(MODELS) },
            tokens: if all < WITH_TOKENS || !with_tokens { 0 } else { 6 },
            all,
        }
    }

    /// Returns the line of the task at place `at`.
    pub(super) fn line(&self, row: &Row, at: usize, moment: Moment) -> String {
        let Stage::Running(doing) = &row.stage else { return String::new() };
        let spinner = SPINNER[(moment.turn + 3 * at) % SPINNER.len()];
        let (deed, said) = deed(row, doing, moment.now);
        let mut begin = format!("  {spinner} {}  ", fit(row.name.as_str(), self.name));
        if self.model > 0 {
            begin.push_str(&fit(&model(row).unwrap_or_default(), self.model));
            begin.push_str("  ");
        }
        begin.push_str(&fit(&deed, DEEDS));
        begin.push_str("  ");
        let mut end = String::new();
        if self.tokens > 0 {
            let used = row.used.map(|used| tokens(used.tokens())).unwrap_or_default();
            end = format!("  {used:>0$}", self.tokens);
        }
        end.push_str(&format!("  {:>6}", span(elapsed(doing.since, moment.now))));
        let room = self.all.saturating_sub(width(&begin) + width(&end));
        cut(&format!("{begin}{}{end}", fit(&said, room)), self.all)
    }
}

/// Returns what a task does, in a word and in more.
fn deed(row: &Row, doing: &Doing, now: Timestamp) -> (String, String) {
    let title = || one_line(&row.title);
    if let (Some(wait), Phase::Working) = (&doing.wait, doing.phase)
        && wait.until > now
    {
        let provider = row.model.as_deref().and_then(|model| model.split('/').next());
        let provider = one_line(provider.unwrap_or("its provider"));
        let more = elapsed(now, wait.until).div_ceil(1000);
        let why = one_line(&wait.why);
        return ("waits".to_owned(), format!("for {provider}, {more}s more: {why}"));
    }
    let said = doing.line.as_deref().and_then(last_part);
    let word = match (doing.phase, &doing.tool, &row.model) {
        (Phase::Preparing, ..) => "prepares",
        (Phase::Working, Some(tool), _) => {
            return (one_line(tool), said.unwrap_or_default());
        }
        (Phase::Working, None, Some(_)) => "thinks",
        (Phase::Working, None, None) => "works",
        (Phase::Stopping, ..) => "stops",
        (Phase::Capturing, ..) => "captures",
    };
    (word.to_owned(), said.unwrap_or_else(title))
}

/// A line that rewrites itself has parts; the last one is what a terminal would show.
fn last_part(line: &str) -> Option<String> {
    line.split('\r').rfind(|part| !part.trim().is_empty()).map(|part| one_line(part.trim()))
}

/// Returns the short name of a task's model: what stands behind the last slash.
fn model(row: &Row) -> Option<String> {
    row.model.as_deref().and_then(|model| model.rsplit('/').next()).map(one_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_line_that_rewrites_itself_the_last_part_is_shown() {
        assert_eq!(last_part("10%\r 50%\r\r").as_deref(), Some("50%"));
        assert_eq!(last_part(" \r"), None);
    }
}
