//! The answers of a run's tasks below its table.

use std::io::{self, Write};

use protocol::{RunName, TaskName};

use super::answer::Answer;
use super::next_commands::CommandHints;
use super::numbers::count;
use super::printable::{fit, width};
use super::task_label::shorten;
use super::terminal::{Meaning, OutputWidth, Palette};

/// The maximum number of tasks whose answers are shown.
const TASKS: usize = 20;

/// The indent of an answer below the label of its task.
const INDENT: usize = 4;

/// The maximum width of the column of labels where answers stand beside them.
const LABELS: usize = 40;

/// The maximum width of an answer beside its label, where a line has no end.
const BESIDE: usize = 120;

/// An answer with its task.
#[derive(Clone, Debug)]
pub(super) struct TaskAnswer<'a> {
    /// The name of the task.
    pub(super) task: &'a TaskName,
    /// The answer.
    pub(super) answer: &'a Answer,
}

/// The answers of a run, and how they are written.
pub(super) struct Answers<'a> {
    /// The run.
    pub(super) run: &'a RunName,
    /// The answers, in the order of the table.
    pub(super) answers: Vec<TaskAnswer<'a>>,
    /// The format of the commands that show the rest; `None` if the run is removed.
    pub(super) hints: Option<&'a CommandHints>,
    /// The maximum length of a line.
    pub(super) room: OutputWidth,
    /// The colours.
    pub(super) palette: Palette,
}

/// Writes answers after a blank line; writes nothing if there are none. Short answers stand beside
/// the labels of their tasks, if all are short, else below them.
pub(super) fn write_answers(out: &mut dyn Write, answers: &Answers<'_>) -> io::Result<()> {
    let shown = &answers.answers[..answers.answers.len().min(TASKS)];
    if shown.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    match beside(shown, answers.room) {
        Some(lines) => {
            for (label, answer) in lines {
                writeln!(out, "{}  {answer}", answers.palette.paint(Meaning::Heading, &label))?;
            }
        }
        None => write_below(out, shown, answers)?,
    }
    let hidden = answers.answers.len() - shown.len();
    if hidden > 0 {
        let all = all_of(answers, None);
        writeln!(out, "and {} more{all}", count(hidden, "answer"))?;
    }
    Ok(())
}

/// Writes the whole answer of the only task of a run, and nothing else.
pub(super) fn write_whole(out: &mut dyn Write, answer: &Answer) -> io::Result<()> {
    answer.lines().try_for_each(|line| writeln!(out, "{line}"))
}

/// Returns each label, padded, and its answer, if every answer fits beside its label.
fn beside(shown: &[TaskAnswer<'_>], room: OutputWidth) -> Option<Vec<(String, String)>> {
    let labels: Vec<String> = shown.iter().map(|shown| shown.task.to_string()).collect();
    let labels = match room {
        OutputWidth::Columns(columns) => shorten(&labels, LABELS.min(columns / 2)),
        OutputWidth::Pipe => labels,
    };
    let column = labels.iter().map(|label| width(label)).max().unwrap_or(0);
    let left = match room {
        OutputWidth::Columns(columns) => columns.saturating_sub(column + 2),
        OutputWidth::Pipe => BESIDE,
    };
    let line = |(task, label): (&TaskAnswer<'_>, &String)| {
        Some((fit(label, column), task.answer.short(left)?))
    };
    shown.iter().zip(&labels).map(line).collect()
}

fn write_below(
    out: &mut dyn Write,
    shown: &[TaskAnswer<'_>],
    answers: &Answers<'_>,
) -> io::Result<()> {
    let labels: Vec<String> = shown.iter().map(|shown| shown.task.to_string()).collect();
    let labels = match answers.room {
        OutputWidth::Columns(columns) => shorten(&labels, columns),
        OutputWidth::Pipe => labels,
    };
    let indent = " ".repeat(INDENT);
    for (at, (task, label)) in shown.iter().zip(&labels).enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", answers.palette.paint(Meaning::Heading, label))?;
        let shown = task.answer.fit(INDENT, answers.room);
        for line in shown.lines {
            writeln!(out, "{}", format!("{indent}{line}").trim_end())?;
        }
        if let Some(cut) = shown.cut {
            let rest = format!("… {cut}{}", all_of(answers, Some(task.task)));
            writeln!(out, "{indent}{}", answers.palette.paint(Meaning::Aside, &rest))?;
        }
    }
    if answers.answers.len() > shown.len() {
        writeln!(out)?;
    }
    Ok(())
}

/// Returns the command that shows all of a task's answer, or of all answers.
fn all_of(answers: &Answers<'_>, task: Option<&TaskName>) -> String {
    let Some(hints) = answers.hints else { return String::new() };
    let run = answers.run;
    let target = task.map_or_else(|| run.to_string(), |task| format!("{run}/{task}"));
    format!(": {}", hints.command(&format!("results {target}")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::answer::AnswerPart;
    use super::*;

    fn written(values: &[(&str, Value)], room: OutputWidth) -> String {
        let named: Vec<(TaskName, Answer)> = values
            .iter()
            .filter_map(|(label, value)| {
                Some((TaskName::nearest(label), Answer::of(value, AnswerPart::Beginning)?))
            })
            .collect();
        let answers = named.iter().map(|(task, answer)| TaskAnswer { task, answer });
        let run = "r7k3f".parse().unwrap();
        let answers = Answers {
            run: &run,
            answers: answers.collect(),
            hints: Some(&CommandHints::default()),
            room,
            palette: Palette::Plain,
        };
        let mut out = Vec::new();
        write_answers(&mut out, &answers).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn short_answers_stand_beside_their_tasks() {
        let values = [("src/a.rs", json!("fine")), ("b", json!({ "bugs": 2 }))];
        assert_eq!(
            written(&values, OutputWidth::Pipe),
            "\nsrc-a-rs  fine\nb         {\"bugs\":2}\n"
        );
    }

    #[test]
    fn long_answers_stand_below_their_tasks_and_say_how_the_rest_is_had() {
        let many: String = (1..=14).map(|line| format!("{line}\n")).collect();
        let text = written(&[("src/a.rs", json!(many)), ("b", json!("ok"))], OutputWidth::Pipe);
        let end = "    12\n    … 14 lines and 32 bytes in all: regatta results r7k3f/src-a-rs\n\nb\n    ok\n";
        assert!(text.starts_with("\nsrc-a-rs\n    1\n    2\n") && text.ends_with(end), "{text}");
    }

    #[test]
    fn twenty_tasks_are_shown_and_the_others_counted() {
        let names: Vec<String> = (0..23).map(|at| format!("t{at}")).collect();
        let values: Vec<_> = names.iter().map(|name| (name.as_str(), json!(1))).collect();
        let text = written(&values, OutputWidth::Columns(80));
        assert_eq!(text.lines().count(), 22, "{text}");
        assert!(text.ends_with("\nand 3 answers more: regatta results r7k3f\n"), "{text}");
        assert_eq!(written(&[], OutputWidth::Pipe), "");
    }

    #[test]
    fn no_line_beside_a_label_is_wider_than_the_terminal() {
        let long = "x/".repeat(60);
        for columns in 20..120 {
            let values = [(long.as_str(), json!("y".repeat(40))), ("b", json!("short"))];
            let text = written(&values, OutputWidth::Columns(columns));
            let fits = text.lines().all(|line| width(line) <= columns || line.starts_with("    y"));
            assert!(fits, "{columns}: {text}");
        }
    }
}
