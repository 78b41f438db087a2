//! Completes commands, their values and the names of files.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher};

use super::command;
use super::state::IsolationState;
use super::subagents::TreeMode;

/// The most candidates that are displayed.
pub(super) const DISPLAYED: usize = 6;

/// What values can be completed to.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    /// The names of the models that can be used.
    pub(super) models: Vec<String>,
    /// The names of those that a key changes between, in their order.
    pub(super) cycle: Vec<String>,
    /// The files of the folder, once they are wanted.
    pub(super) files: Option<Vec<String>>,
    /// Whether the session is isolated, which has commands of its own.
    pub(super) isolation: IsolationState,
}

/// The candidates for what stands before the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Completion {
    /// The candidates that match, the best one first; never none.
    pub(super) found: Vec<String>,
    /// The one that is chosen.
    pub(super) chosen: usize,
    /// Whether the user has moved to it.
    is_moved: bool,
    /// What stands before the cursor in its place.
    typed: String,
    pub(super) of: Completed,
}

/// What is completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completed {
    /// The name of a command.
    Command,
    /// The value of a command.
    Value,
    /// The name of a file.
    File,
}

impl Completion {
    /// Returns the candidates for a text before the cursor; `None` if nothing can be completed, or it
    /// is complete already. Only the first line of an input can be a command.
    pub(super) fn of(row: usize, before: &str, candidates: &Candidates) -> Option<Self> {
        let (of, typed, found) = if let (0, Some(line)) = (row, before.strip_prefix('/')) {
            match line.split_once(' ') {
                None => {
                    let names = command::names(candidates.isolation);
                    let begins = |name: &&str| name.starts_with(&line.to_lowercase());
                    let found = names.filter(begins).map(str::to_owned).collect();
                    (Completed::Command, line, found)
                }
                Some(("model", typed)) => {
                    let models = candidates.models.iter().map(String::as_str);
                    (Completed::Value, typed, matching(typed, models))
                }
                Some(("thinking", typed)) => {
                    let levels = protocol::ThinkingLevel::ALL.map(protocol::ThinkingLevel::as_str);
                    (Completed::Value, typed, matching(typed, levels.into_iter()))
                }
                Some(("tasks", typed)) => {
                    let modes = TreeMode::ALL.map(TreeMode::as_str);
                    (Completed::Value, typed, matching(typed, modes.into_iter()))
                }
                Some(_) => return None,
            }
        } else {
            let typed = file_name(before)?;
            let files = candidates.files.iter().flatten().map(String::as_str);
            (Completed::File, typed, matching(typed, files))
        };
        let is_complete = found.iter().any(|found| found == typed);
        let typed = typed.to_owned();
        (!found.is_empty() && !is_complete).then_some(Self {
            found,
            chosen: 0,
            is_moved: false,
            typed,
            of,
        })
    }

    /// Chooses the candidate that Enter takes, and returns whether there is one: that to which the user
    /// has moved, or else the only one that begins with what is typed; of values also the only one that
    /// contains it.
    pub(super) fn choose_meant(&mut self) -> bool {
        if self.is_moved || self.typed.is_empty() {
            return self.is_moved;
        }
        let typed = self.typed.to_lowercase();
        let only = |matches: &dyn Fn(&str) -> bool| {
            let matches = |(_, it): &(usize, &String)| matches(&it.to_lowercase());
            let mut matching = self.found.iter().enumerate().filter(matches).map(|(at, _)| at);
            matching.next().filter(|_| matching.next().is_none())
        };
        let begins = only(&|it| it.starts_with(&typed));
        let contains = || only(&|it| self.of == Completed::Value && it.contains(&typed));
        let meant = begins.or_else(contains);
        self.chosen = meant.unwrap_or(self.chosen);
        meant.is_some()
    }

    /// Returns whether the user has moved to the chosen candidate.
    pub(super) fn is_moved(&self) -> bool {
        self.is_moved
    }

    /// Chooses the next candidate.
    pub(super) fn choose_next(&mut self) {
        self.chosen = (self.chosen + 1) % self.found.len();
        self.is_moved = true;
    }

    /// Chooses the candidate before.
    pub(super) fn choose_previous(&mut self) {
        self.chosen = self.chosen.checked_sub(1).unwrap_or(self.found.len() - 1);
        self.is_moved = true;
    }

    /// Returns the chosen candidate, and how many characters before the cursor it replaces.
    pub(super) fn accept(&self) -> (usize, &str) {
        (self.typed.chars().count(), self.found.get(self.chosen).map_or("", String::as_str))
    }

    /// Returns the candidates to display, and which of them is chosen.
    pub(super) fn displayed(&self) -> (&[String], usize) {
        let begin = (self.chosen + 1).saturating_sub(DISPLAYED);
        let end = self.found.len().min(begin + DISPLAYED);
        (&self.found[begin..end], self.chosen - begin)
    }
}

/// Returns the name of a file that stands before the cursor, after its `@`.
pub(super) fn file_name(before: &str) -> Option<&str> {
    before.rsplit([' ', '\t']).next().unwrap_or_default().strip_prefix('@')
}

fn matching<'a>(typed: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let pattern = Pattern::parse(typed, CaseMatching::Smart, Normalization::Smart);
    let found = pattern.match_list(candidates, &mut matcher).into_iter();
    found.map(|(candidate, _score)| candidate.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(before: &str) -> Option<Vec<String>> {
        let candidates = Candidates {
            models: vec!["a/large".to_owned(), "b/small".to_owned()],
            cycle: Vec::new(),
            files: Some(vec!["src/main.rs".to_owned(), "README.md".to_owned()]),
            isolation: IsolationState::InPlace,
        };
        Completion::of(0, before, &candidates).map(|completion| completion.found)
    }

    #[test]
    fn commands_values_and_files_are_completed() {
        assert_eq!(found("/qui"), Some(vec!["quit".to_owned()]));
        assert_eq!(found("/model sm"), Some(vec!["b/small".to_owned()]));
        assert_eq!(found("/thinking hi"), Some(vec!["high".to_owned(), "xhigh".to_owned()]));
        assert_eq!(found("/tasks v"), Some(vec!["verbose".to_owned()]));
        assert_eq!(found("see @main"), Some(vec!["src/main.rs".to_owned()]));
        assert_eq!(found("/quit"), None);
        assert_eq!(found("a /qui"), None);
        assert_eq!(found("me@"), None);
        assert_eq!(found("nothing"), None);
    }

    #[test]
    fn the_chosen_candidate_is_displayed_and_replaces_what_was_typed() {
        let models = (0..20).map(|number| format!("m/{number:02}")).collect();
        let candidates = Candidates { models, ..Candidates::default() };
        let mut completion = Completion::of(0, "/model m", &candidates).unwrap();
        completion.choose_previous();
        assert_eq!(completion.accept().0, 1);
        let (displayed, chosen) = completion.displayed();
        assert_eq!(
            (displayed.len(), displayed[chosen].as_str()),
            (DISPLAYED, completion.accept().1)
        );
        completion.choose_next();
        assert_eq!(completion.chosen, 0);
    }
}
