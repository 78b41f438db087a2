//! What `--dry-run` prints: the tasks of a run, in the order in which they could run.

use std::fmt::Write as _;

use engine::order;
use protocol::{ChangeDemand, IsolationMode, MergeMode, RunSpec, TaskName, TaskSpec, Work};
use serde::Serialize;

use crate::error::{Error, ErrorKind};
use crate::render;

/// The tasks of a run that is not started.
#[derive(Debug, Serialize)]
pub struct Listing<'a> {
    name: Option<&'a str>,
    jobs: usize,
    isolation: IsolationMode,
    merge: MergeMode,
    tasks: Vec<ListedTask<'a>>,
}

#[derive(Debug, Serialize)]
struct ListedTask<'a> {
    task: &'a TaskName,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    exec: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    arguments: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<&'a str>,
    depends_on: &'a [TaskName],
    priority: i32,
    change: ChangeDemand,
}

/// Lists the tasks of a run: predecessors first, else in the order of their declaration.
///
/// # Errors
/// They depend on each other in a circle.
pub fn listing(spec: &RunSpec) -> Result<Listing<'_>, Error> {
    let view: Vec<_> =
        spec.tasks.iter().map(|task| (&task.name, task.depends_on.as_slice())).collect();
    let order =
        order::in_order(&view).map_err(|error| Error::new(ErrorKind::Plan, error.to_string()))?;
    Ok(Listing {
        name: spec.label.as_deref(),
        jobs: spec.jobs.get(),
        isolation: spec.isolation,
        merge: spec.merge,
        tasks: order.into_iter().map(|at| listed(&spec.tasks[at])).collect(),
    })
}

fn listed(task: &TaskSpec) -> ListedTask<'_> {
    let (exec, prompt, command) = match &task.work {
        Work::Command(command) => (Some(command.script.as_str()), None, Some(command)),
        Work::Agent(agent) => (None, Some(agent.prompt.as_str()), None),
    };
    ListedTask {
        task: &task.name,
        title: &task.title,
        exec,
        prompt,
        arguments: command.map_or(&[], |command| &command.arguments),
        item: command.and_then(|command| command.item.as_ref()).map(|item| item.item.as_str()),
        depends_on: &task.depends_on,
        priority: task.priority,
        change: task.change,
    }
}

impl Listing<'_> {
    /// Returns the listing as people read it.
    #[must_use]
    pub fn text(&self) -> String {
        const WIDEST: usize = 32;
        let names = self.tasks.iter().map(|task| task.task.as_str().len());
        let room = names.max().unwrap_or_default().clamp("task".len(), WIDEST);
        let mut text = format!("{:room$}  command\n", "task");
        for task in &self.tasks {
            let (name, exec) = (task.task.as_str(), render::one_line(task.exec.or(task.prompt).unwrap_or_default()));
            // Writing to a string cannot fail.
            let _written = write!(text, "{name:room$}  {}", render::cut(&exec, 100));
            if !task.depends_on.is_empty() {
                let on: Vec<_> = task.depends_on.iter().map(TaskName::as_str).collect();
                let _written = write!(text, "   after {}", on.join(", "));
            }
            text.push('\n');
        }
        let (tasks, jobs) = (self.tasks.len(), self.jobs);
        let plural = if tasks == 1 { "task" } else { "tasks" };
        let _written = writeln!(text, "\n{tasks} {plural}, {jobs} at once; nothing was started");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::spec::sample;
    use super::*;

    #[test]
    fn predecessors_are_listed_first_and_nothing_moves_the_cursor() {
        let mut spec = sample(&[("last", "make\u{1b}[2J\nall"), ("first", "true")]);
        spec.tasks[0].depends_on = vec![spec.tasks[1].name.clone()];
        let text = listing(&spec).unwrap().text();
        assert_eq!(
            text,
            "task   command\nfirst  true\nlast   make␊all   after first\n\n2 tasks, 3 at once; \
             nothing was started\n"
        );
    }

    #[test]
    fn for_programs_it_is_one_document() {
        let spec = sample(&[("only", "true")]);
        let json = serde_json::to_value(listing(&spec).unwrap()).unwrap();
        let expected = serde_json::json!({
            "name": null, "jobs": 3, "isolation": "worktree", "merge": "patch",
            "tasks": [{
                "task": "only", "title": "true", "exec": "true", "depends_on": [], "priority": 0,
                "change": "optional",
            }],
        });
        assert_eq!(json, expected);
    }
}
