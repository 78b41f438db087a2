//! The placeholders of a plan's prompts that stand for what predecessors yield:
//! `{{tasks.ID.yield}}` and `{{tasks.ID.yield.FIELD}}`. They are checked when the plan is read, and
//! replaced when the task starts.

use protocol::{TaskName, YieldPlaceholder};

use super::prompt_template::{LITERAL, PromptPiece, split};
use super::script_template::{Placeholder, no_items_error};
use crate::error::Error;

/// What the names of these placeholders begin with.
const PREFIX: &str = "tasks.";

/// What stands between the id of the task and the part of its yield.
const MARK: &str = ".yield";

/// Returns whether a word in two braces is meant to be such a placeholder.
pub(super) fn is_yield(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// A prompt of a plan, and its placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanPrompt {
    /// The text, with the placeholders as they were written.
    pub text: String,
    /// The placeholders, in their order.
    pub yields: Vec<YieldPlaceholder>,
}

/// Reads a prompt of a plan whose task depends on `predecessors`. Words in two braces stay unchanged
/// if they are not placeholders.
///
/// # Errors
/// The prompt has a placeholder for items, or for a task that is not a predecessor.
pub fn plan_prompt(prompt: &str, predecessors: &[TaskName]) -> Result<PlanPrompt, Error> {
    let ours = |name: &str| is_yield(name) || Placeholder::of(name).is_some();
    read(prompt, ours, |name| match is_yield(name) {
        true => reference(name, predecessors),
        false => Err(no_items_error(name, "regatta run --each SPEC TASK").hint(LITERAL)),
    })
}

/// Reads a prompt of a plan from its file, which stays word for word except for the placeholders for
/// yields.
///
/// # Errors
/// The prompt has a placeholder for a task that is not a predecessor.
pub fn file_prompt(prompt: &str, predecessors: &[TaskName]) -> Result<PlanPrompt, Error> {
    read(prompt, is_yield, |name| reference(name, predecessors))
}

fn read(
    prompt: &str,
    ours: impl Fn(&str) -> bool,
    known: impl Fn(&str) -> Result<Reference, Error>,
) -> Result<PlanPrompt, Error> {
    let pieces = split(prompt, &ours, |name| ours(name).then(|| known(name)).transpose())?;
    let (mut text, mut yields) = (String::new(), Vec::new());
    for piece in pieces {
        match piece {
            PromptPiece::Text(piece) => text.push_str(&piece),
            PromptPiece::Place { what: Reference { task, path }, written } => {
                let start = text.len();
                text.push_str(&written);
                yields.push(YieldPlaceholder { start, end: text.len(), task, path });
            }
        }
    }
    Ok(PlanPrompt { text, yields })
}

/// What a placeholder stands for.
struct Reference {
    task: TaskName,
    path: Vec<String>,
}

/// Parses the name of a placeholder. An id may have dots, and even a segment `yield`: the first
/// reading that names a predecessor counts.
fn reference(name: &str, predecessors: &[TaskName]) -> Result<Reference, Error> {
    let rest = name.strip_prefix(PREFIX).unwrap_or(name);
    let readings: Vec<_> = rest
        .match_indices(MARK)
        .filter_map(|(at, _)| {
            let path = &rest[at + MARK.len()..];
            let path = if path.is_empty() { Some("") } else { path.strip_prefix('.') };
            Some((&rest[..at], path?))
        })
        .collect();
    for (id, path) in &readings {
        let known = predecessors.iter().find(|known| known.as_str().eq_ignore_ascii_case(id));
        let path: Vec<_> = path.split('.').filter(|part| !part.is_empty()).collect();
        if let Some(task) = known {
            let path = path.into_iter().map(str::to_owned).collect();
            return Ok(Reference { task: task.clone(), path });
        }
    }
    Err(match readings.first() {
        Some((id, _)) => no_predecessor(name, id, predecessors),
        None => Error::usage(format!("`{{{{{name}}}}}` is not a placeholder"))
            .because("those for yields are {{tasks.ID.yield}} and {{tasks.ID.yield.FIELD}}")
            .hint(LITERAL),
    })
}

fn no_predecessor(name: &str, id: &str, predecessors: &[TaskName]) -> Error {
    let error = Error::usage(format!(
        "`{{{{{name}}}}}` stands for task `{id}`, which is not a predecessor of this task"
    ));
    let error = error.because("when a task starts, only tasks that it depends on have yielded");
    match config::nearest(id, predecessors.iter().map(TaskName::as_str)) {
        Some(near) => error.hint(format!("{{{{{}}}}}", name.replacen(id, near, 1))),
        None => error.hint(format!("add \"{id}\" to depends_on")),
    }
}

/// Returns the error about such a placeholder in a shell script, or in a prompt that is not part of
/// a plan.
pub(super) fn misplaced(name: &str, text: TextKind) -> Error {
    let id = name.strip_prefix(PREFIX).unwrap_or(name);
    let id = id.split(MARK).next().unwrap_or(id);
    match text {
        TextKind::Script => Error::usage(format!("`{{{{{name}}}}}` cannot be put into a command"))
            .because("a yield is never made part of a shell script")
            .hint(format!("read \"$REGATTA_INPUTS/{id}.json\", with \"{id}\" in depends_on")),
        TextKind::Prompt => Error::usage(format!("`{{{{{name}}}}}` has no value"))
            .because("a TASK of the command line depends on no other")
            .hint("a task of a plan, with depends_on (`regatta schema plan`)")
            .hint(LITERAL),
    }
}

/// The text that holds a placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    Script,
    Prompt,
}

/// Checks that the context of a plan, which is the same for all tasks, has no such placeholder.
///
/// # Errors
/// It has one.
pub fn refuse_yields(context: &str) -> Result<(), Error> {
    split(context, is_yield, |name| match is_yield(name) {
        true => Err(Error::usage(format!("`{{{{{name}}}}}` has no meaning in `context`"))
            .because("every task gets the context, and not every task depends on that one")
            .hint("put it into the prompt of the task that needs it")),
        false => Ok(None::<Reference>),
    })
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> Vec<TaskName> {
        all.iter().map(|name| name.parse().unwrap()).collect()
    }

    fn places(prompt: &str, predecessors: &[&str]) -> (String, Vec<(String, String, String)>) {
        let read = plan_prompt(prompt, &names(predecessors)).unwrap();
        let place = |place: &YieldPlaceholder| {
            let written = read.text[place.start..place.end].to_owned();
            (written, place.task.to_string(), place.path.join("/"))
        };
        let places = read.yields.iter().map(place).collect();
        (read.text.clone(), places)
    }

    #[test]
    fn a_placeholder_names_a_predecessor_and_a_part_of_its_yield() {
        let prompt = "Port {{ tasks.find.yield.files.0 }} as {{tasks.FIND.yield}} says; {{x}} ✓";
        let (text, found) = places(prompt, &["find"]);
        assert_eq!(text, prompt);
        let found: Vec<_> =
            found.iter().map(|(w, t, p)| (w.as_str(), t.as_str(), p.as_str())).collect();
        assert_eq!(
            found,
            [
                ("{{ tasks.find.yield.files.0 }}", "find", "files/0"),
                ("{{tasks.FIND.yield}}", "find", ""),
            ]
        );
    }

    #[test]
    fn an_id_may_have_dots_and_the_word_yield() {
        let one = |prompt: &str, predecessors: &[&str]| {
            let (_, found) = places(prompt, predecessors);
            (found[0].1.clone(), found[0].2.clone())
        };
        let owned = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(one("{{tasks.a.b.yield.c}}", &["a.b"]), owned("a.b", "c"));
        assert_eq!(one("{{tasks.a.yield.yield}}", &["a"]), owned("a", "yield"));
        assert_eq!(one("{{tasks.a.yield.yield}}", &["a.yield"]), owned("a.yield", ""));
        assert_eq!(one("{{tasks.a.yields.yield}}", &["a.yields"]), owned("a.yields", ""));
    }

    #[test]
    fn a_backslash_makes_it_text() {
        let (text, found) = places("a \\{{tasks.a.yield}} b \\{{item}} c \\{{x}}", &["a"]);
        assert_eq!(text, "a {{tasks.a.yield}} b {{item}} c \\{{x}}");
        assert_eq!(found, []);
    }

    #[test]
    fn what_is_no_predecessor_is_refused_with_what_to_do() {
        let refused =
            |prompt: &str| plan_prompt(prompt, &names(&["find"])).unwrap_err().to_string();
        let said = refused("{{tasks.other.yield}}");
        assert!(said.contains("stands for task `other`, which is not a predecessor"), "{said}");
        assert!(said.ends_with("try: add \"other\" to depends_on"), "{said}");
        assert!(refused("{{tasks.fnd.yield.a}}").ends_with("try: {{tasks.find.yield.a}}"));
        assert!(refused("{{tasks.find}}").contains("is not a placeholder"));
        assert!(refused("{{tasks.find.yieldx}}").contains("is not a placeholder"));
        assert!(refused("{{item}}").contains("has no value"));
        assert_eq!(file_prompt("{{item}} \\{{x}}", &[]).unwrap().text, "{{item}} \\{{x}}");
        assert!(file_prompt("{{tasks.a.yield}}", &[]).is_err());
    }
}
