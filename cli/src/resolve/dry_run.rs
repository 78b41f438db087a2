//! The output of `regatta run --dry-run`: the tasks of a run, in an order in which they could run.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use engine::dependencies;
use protocol::{
    ChangeDemand, IsolationMode, MergeMode, OwnNeeds, RunName, RunSpec, TaskName, TaskNeeds,
    TaskSpec, Work, WorkspaceNeeds,
};
use serde::Serialize;

use crate::render::{self, ALL, OutputWidth};
use regatta::error::{Error, ErrorKind};

/// The tasks of a run that is not started.
#[derive(Debug, Serialize)]
pub struct Listing<'a> {
    name: Option<&'a str>,
    jobs: usize,
    isolation: IsolationMode,
    merge: MergeMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    onto: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pass_env: &'a [String],
    #[serde(skip_serializing_if = "WorkspaceNeeds::is_empty")]
    needs: &'a WorkspaceNeeds,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    verify: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_of: Option<&'a RunName>,
    tasks: Vec<ListedTask<'a>>,
}

#[derive(Debug, Serialize)]
struct ListedTask<'a> {
    task: &'a TaskName,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    exec: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fallback: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    arguments: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    items: &'a [String],
    depends_on: &'a [TaskName],
    priority: i32,
    change: ChangeDemand,
    #[serde(skip_serializing_if = "TaskNeeds::is_empty")]
    needs: &'a TaskNeeds,
}

/// Lists the tasks of a run: predecessors first, otherwise in the order of their declaration.
///
/// # Errors
/// Their dependencies have a cycle.
pub fn listing(spec: &RunSpec) -> Result<Listing<'_>, Error> {
    // Tasks of a retried run are done, and do not change the order.
    let names: BTreeSet<_> = spec.tasks.iter().map(|task| task.name.folded()).collect();
    let inner = |task: &TaskSpec| -> Vec<TaskName> {
        task.depends_on.iter().filter(|on| names.contains(&on.folded())).cloned().collect()
    };
    let inner: Vec<_> = spec.tasks.iter().map(inner).collect();
    let view: Vec<_> =
        spec.tasks.iter().zip(&inner).map(|(task, on)| (&task.name, on.as_slice())).collect();
    let order = dependencies::in_order(&view)
        .map_err(|error| Error::new(ErrorKind::Plan, error.to_string()))?;
    Ok(Listing {
        name: spec.label.as_deref(),
        jobs: spec.jobs.get(),
        isolation: spec.isolation,
        merge: spec.merge,
        onto: spec.users_branch(),
        pass_env: &spec.pass_env,
        needs: &spec.needs,
        verify: &spec.verify.commands,
        retry_of: spec.retry.as_ref().map(|retry| &retry.run),
        tasks: order.into_iter().map(|at| listed(&spec.tasks[at])).collect(),
    })
}

fn listed(task: &TaskSpec) -> ListedTask<'_> {
    let (command, agent, prompt) = match &task.work {
        Work::Command(command) => (Some(command), None, None),
        Work::Agent(agent) => (None, Some(agent), Some(&agent.prompt)),
        Work::Conversation(_) => (None, None, None),
    };
    let (item, items) = task.item_or_chunk();
    ListedTask {
        task: &task.name,
        title: &task.title,
        exec: command.map(|command| command.script.as_str()),
        model: agent.map(|agent| agent.model.to_string()),
        fallback: agent
            .map(|agent| agent.fallback.iter().map(ToString::to_string).collect())
            .unwrap_or_default(),
        base_url: agent.and_then(|agent| agent.model.base_url.as_deref()),
        prompt: prompt.map(String::as_str),
        arguments: command.map_or(&[], |command| &command.arguments),
        item,
        items,
        depends_on: &task.depends_on,
        priority: task.priority,
        change: task.change,
        needs: &task.needs,
    }
}

impl Listing<'_> {
    /// Returns the listing as text, in whose table no line is longer than `width`, and `most` tasks are
    /// listed.
    #[must_use]
    pub fn text(&self, width: OutputWidth, most: usize) -> String {
        let listed = &self.tasks[..most.min(self.tasks.len())];
        let shortened = |cells: Vec<String>| match width {
            OutputWidth::Columns(columns) => render::shorten(&cells, WIDEST.min(columns / 3)),
            OutputWidth::Pipe => cells,
        };
        let labels = shortened(listed.iter().map(|task| task.task.to_string()).collect());
        let room = column("task", &labels);
        let models = shortened(listed.iter().map(ListedTask::shown_model).collect());
        let has_models = self.tasks.iter().any(|task| task.model.is_some());
        let wide = column("model", &models);
        let mut text = match has_models {
            true => format!("{:room$}  {:wide$}  work\n", "task", "model"),
            false => format!("{:room$}  command\n", "task"),
        };
        for ((task, model), label) in listed.iter().zip(&models).zip(&labels) {
            let work = render::one_line(task.exec.unwrap_or(task.title));
            let mut line = format!("{}  ", render::fit(label, room));
            if has_models {
                line.push_str(&format!("{}  ", render::fit(model, wide)));
            }
            let mut after = String::new();
            if !task.depends_on.is_empty() {
                let on: Vec<_> = task.depends_on.iter().map(TaskName::as_str).collect();
                after = format!("   after {}", on.join(", "));
            }
            let left = match width {
                OutputWidth::Columns(columns) => {
                    let used = render::width(&line) + render::width(&after);
                    columns.saturating_sub(used).clamp(SHORTEST_WORK, LONGEST_WORK)
                }
                OutputWidth::Pipe => LONGEST_WORK,
            };
            // Writing to a string cannot fail.
            let _written = writeln!(text, "{line}{}{after}", render::cut(&work, left));
            for item in task.items.iter().map(String::as_str).chain(task.hidden_item()) {
                let _written = writeln!(text, "  {}", render::one_line(item));
            }
        }
        if let Some(more @ 1..) = self.tasks.len().checked_sub(listed.len()) {
            let _written = writeln!(text, "and {} ({ALL})", render::count(more, "more task"));
        }
        let fallbacks: BTreeSet<_> = self.tasks.iter().map(|task| &task.fallback).collect();
        for fallback in fallbacks.iter().filter(|it| !it.is_empty()) {
            let _written =
                write!(text, "\nfallback models: {}", render::one_line(&fallback.join(", ")));
        }
        let own = OwnNeeds::of(self.tasks.iter().map(|task| task.needs));
        let needs = (self.needs, &own);
        for line in render::run_conditions(self.tasks.len(), self.pass_env, needs, self.verify) {
            let _written = write!(text, "\n{line}");
        }
        let (tasks, jobs) = (self.tasks.len(), self.jobs);
        let plural = if tasks == 1 { "task" } else { "tasks" };
        let _written = writeln!(text, "\n{tasks} {plural}, {jobs} at once; nothing was started");
        text
    }
}

impl ListedTask<'_> {
    /// Returns the item of a command, if neither the name nor the command has it.
    fn hidden_item(&self) -> Option<&str> {
        let is_hidden = |item: &&str| {
            *item != self.task.as_str() && self.exec.is_some_and(|exec| !exec.contains(*item))
        };
        self.item.filter(is_hidden)
    }

    /// Returns the task's model as printable text.
    fn shown_model(&self) -> String {
        self.model.as_deref().map_or_else(|| "–".to_owned(), render::one_line)
    }
}

/// The maximum width of a column before the last, on a terminal.
const WIDEST: usize = 32;

/// How much of the work of a task is shown, in columns.
const LONGEST_WORK: usize = 100;
const SHORTEST_WORK: usize = 24;

/// Returns the width of a column with this header and these cells.
fn column(head: &str, cells: &[String]) -> usize {
    cells.iter().map(|cell| render::width(cell)).max().unwrap_or_default().max(head.len())
}

#[cfg(test)]
mod tests {
    use protocol::Agent;

    use super::super::run_spec::sample;
    use super::*;

    #[test]
    fn predecessors_are_listed_first_and_nothing_moves_the_cursor() {
        let mut spec = sample(&[("last", "make\u{1b}[2J\nall"), ("first", "true")]);
        spec.tasks[0].depends_on = vec![spec.tasks[1].name.clone()];
        let text = listing(&spec).unwrap().text(OutputWidth::Pipe, 20);
        assert_eq!(
            text,
            "task   command\nfirst  true\nlast   make␊all   after first\n\n2 tasks, 3 at once; \
             nothing was started\n"
        );
    }

    #[test]
    fn on_a_terminal_no_line_of_the_table_is_longer_than_it() {
        let long = "packages/second-service/src/generated/".to_owned() + &"client/".repeat(5);
        let tasks = ["a", "b"].map(|at| format!("{}{at}", "long-name-".repeat(4)));
        let mut spec = sample(&[(&tasks[0], &long), (&tasks[1], &long)]);
        spec.tasks[1].depends_on = vec![spec.tasks[0].name.clone()];
        let text = listing(&spec).unwrap().text(OutputWidth::Columns(80), 20);
        let text = render::wrapped(&text, OutputWidth::Columns(80));
        assert_eq!(render::too_long(&text), [""; 0], "{text}");
        let words: Vec<_> = text.split_whitespace().collect();
        assert!(words.join(" ").contains(&format!("after {}", tasks[0])), "{text}");
    }

    #[test]
    fn items_are_listed_and_those_of_a_chunk_below_their_task() {
        let mut spec = sample(&[("src-a-c", "make src/a.c"), ("t2", "ls \"$@\"")]);
        spec.tasks[0].items = vec!["src/a.c".to_owned()];
        spec.tasks[1].items = vec!["b".to_owned(), "c\n".to_owned()];
        let text = listing(&spec).unwrap().text(OutputWidth::Pipe, 20);
        assert_eq!(
            text,
            "task     command\nsrc-a-c  make src/a.c\nt2       ls \"$@\"\n  b\n  c␊\n\n\
             2 tasks, 3 at once; nothing was started\n"
        );
        let json = serde_json::to_value(listing(&spec).unwrap()).unwrap();
        assert_eq!(json["tasks"][0]["item"], "src/a.c");
        assert_eq!(json["tasks"][0]["items"], serde_json::Value::Null);
        assert_eq!(json["tasks"][1]["items"], serde_json::json!(["b", "c\n"]));
    }

    #[test]
    fn an_item_that_the_command_has_in_a_variable_stands_below_it() {
        let mut spec = sample(&[("dark-blue", "echo \"${REGATTA_ITEM}\""), ("red", "echo now")]);
        spec.tasks[0].items = vec!["Dark Blue".to_owned()];
        spec.tasks[1].items = vec!["red".to_owned()];
        let text = listing(&spec).unwrap().text(OutputWidth::Pipe, 20);
        let table = "task       command\ndark-blue  echo \"${REGATTA_ITEM}\"\n  Dark Blue\n\
                     red        echo now\n\n";
        assert!(text.starts_with(table), "{text}");
    }

    #[test]
    fn of_many_tasks_the_first_are_listed_and_the_others_counted() {
        let spec = sample(&[("a", "true"), ("b", "true"), ("c", "true")]);
        let text = listing(&spec).unwrap().text(OutputWidth::Pipe, 1);
        assert_eq!(
            text,
            "task  command\na     true\nand 2 more tasks (-v lists all)\n\n\
             3 tasks, 3 at once; nothing was started\n"
        );
    }

    #[test]
    fn the_columns_are_aligned_also_where_a_name_is_long() {
        let long = "a".repeat(40);
        let text = sample(&[(&long, "make one"), ("b", "make two")]);
        let text = listing(&text).unwrap().text(OutputWidth::Pipe, 20);
        let columns: Vec<_> = text.lines().filter_map(|line| line.find("make")).collect();
        assert_eq!(columns, [42, 42], "{text}");
    }

    #[test]
    fn the_model_of_each_task_stands_beside_what_it_is_asked() {
        let mut spec = sample(&[("auth", "true"), ("make", "make all")]);
        let model = "local/qwen".parse().unwrap();
        spec.tasks[0].title = "Move it.".to_owned();
        spec.tasks[0].work = Work::from(Agent {
            model,
            prompt: "Move it.\nAll of it.".to_owned(),
            yields: Vec::new(),
            context: None,
            approvals: Default::default(),
            fallback: Vec::new(),
            subagent: None,
            servers: Default::default(),
        });
        assert_eq!(
            listing(&spec).unwrap().text(OutputWidth::Pipe, 20),
            "task  model       work\nauth  local/qwen  Move it.\nmake  –           make all\n\n\
             2 tasks, 3 at once; nothing was started\n"
        );
        let json = serde_json::to_value(listing(&spec).unwrap()).unwrap();
        assert_eq!(json["tasks"][0]["model"], "local/qwen");
        assert_eq!(json["tasks"][0]["prompt"], "Move it.\nAll of it.");
        assert_eq!(json["tasks"][1].get("model"), None);
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
