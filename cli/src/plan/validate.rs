//! Validates a plan: makes a [`Plan`] of a [`PlanFile`], or reports the first error.

use std::collections::{BTreeSet, HashMap};
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use engine::dependencies;
use protocol::{ChangeDemand, Cost, LandTime, MergeMode, NameError, TaskName, without_bom};
use serde_json::{Number, Value};
use toml::Spanned;

use super::format::{PlanFile, TaskTable};
use super::task_work::{self, PlannedWork};
use super::text::{PlanText, read_file};
use super::yield_fields;
use crate::args::{AgentChoice, LandChoice, MergeChoice};
use crate::error::{Error, ErrorKind};
use crate::model::{BaseUrl, ModelChoice};
use crate::workspace_needs::{carry_glob, setup_command, verify_command};

/// The maximum size of a schema file, in bytes.
const LONGEST_SCHEMA: u64 = 1_000_000;

/// Validates the contents of a plan file.
///
/// # Errors
/// Returns the first invalid value of the plan.
pub(super) fn validate(text: PlanText<'_>, folder: &Path, file: PlanFile) -> Result<Plan, Error> {
    if *file.version.get_ref() != 1 {
        let what = format!("version {} of the format is not known", file.version.get_ref());
        return Err(text.error(&file.version.span(), what).hint("version = 1"));
    }
    if file.task.is_empty() {
        return Err(text.error(&(0..0), "the plan has no task").hint("[[task]]"));
    }
    let names = names(text, &file.task)?;
    let tasks: Vec<_> = file
        .task
        .iter()
        .zip(&names.in_order)
        .map(|(table, name)| task(text, folder, table, name, &names))
        .collect::<Result<_, _>>()?;
    let view: Vec<_> = tasks.iter().map(|task| (&task.name, task.depends_on.as_slice())).collect();
    dependencies::in_order(&view).map_err(|error| {
        let at = match &error {
            dependencies::OrderError::Cycle(circle) => circle.first(),
            dependencies::OrderError::Unknown { task, .. } => Some(task),
        };
        let at = at.and_then(|name| names.known.get(&name.folded()));
        text.error(at.map_or(&(0..0), |(_, span)| span), error.to_string())
    })?;
    check_yields(text, &file.task, &tasks)?;
    if let Some(agent) = &file.agent {
        text.parse(agent, str::parse::<AgentChoice>)?;
    }
    let model = file.model.map(|model| task_work::model(text, folder, &model)).transpose()?;
    let model_of = |word: &Spanned<String>| task_work::model(text, folder, word);
    let fallback = file.fallback.map(|words| words.iter().map(model_of).collect()).transpose()?;
    let base_url = task_work::base_url(text, model.as_ref(), file.base_url.as_ref())?;
    let setup = file.setup.map(|setup| text.checked(&setup, setup_command)).transpose()?;
    let verify = file.verify.map(|verify| text.checked(&verify, verify_command)).transpose()?;
    let union = file.union.map(|union| text.checked(&union, carry_glob)).transpose()?;
    let carry = file.carry.map(|carry| text.checked(&carry, carry_glob)).transpose()?;
    let limits = file.limits;
    Ok(Plan {
        name: file.name,
        jobs: file.jobs.map(|jobs| text.positive("jobs", &jobs)).transpose()?,
        model,
        fallback,
        base_url,
        context: task_work::context(text, file.context)?,
        merge: file
            .merge
            .map(|merge| text.parse(&merge, |word| word.parse()))
            .transpose()?
            .map(|MergeChoice(merge)| merge),
        onto: file.onto.map(|onto| text.parse(&onto, branch_name)).transpose()?,
        land: file
            .land
            .map(|land| text.parse(&land, |word| word.parse()))
            .transpose()?
            .map(|LandChoice(land)| land),
        setup,
        verify,
        carry,
        union,
        wall: limits.wall.map(|wall| text.parse(&wall, config::parse_duration)).transpose()?,
        output: limits.output.map(|size| text.parse(&size, config::parse_size)).transpose()?,
        turns: limits.turns.map(|turns| text.positive("turns", &turns)).transpose()?,
        cost: limits.cost.map(|cost| text.parse(&cost, config::parse_cost)).transpose()?,
        tokens: limits.tokens.map(|tokens| text.positive("tokens", &tokens)).transpose()?,
        tasks,
    })
}

fn branch_name(word: &str) -> Result<String, &'static str> {
    if word.is_empty() { Err("`onto` needs the name of a branch") } else { Ok(word.to_owned()) }
}

/// Checks the placeholders of all prompts against the schemas of the tasks that they name.
fn check_yields(
    text: PlanText<'_>,
    tables: &[Spanned<TaskTable>],
    tasks: &[PlannedTask],
) -> Result<(), Error> {
    let schemas = tasks.iter().filter_map(|task| Some((&task.name, task.schema.as_ref()?)));
    let schemas = schemas.collect();
    for (table, task) in tables.iter().zip(tasks) {
        let table = table.get_ref();
        let at = table.prompt.as_ref().or(table.prompt_file.as_ref());
        if let (PlannedWork::Prompt { prompt, .. }, Some(at)) = (&task.work, at) {
            yield_fields::check(prompt, &schemas)
                .map_err(|error| task_work::at_position(text, at, error))?;
        }
    }
    Ok(())
}

/// The names of a plan's tasks.
struct TaskNames {
    in_order: Vec<TaskName>,
    /// The index and the span of each name, by its case-folded form.
    known: HashMap<String, (usize, Range<usize>)>,
}

fn names(text: PlanText<'_>, tables: &[Spanned<TaskTable>]) -> Result<TaskNames, Error> {
    let mut names = TaskNames { in_order: Vec::new(), known: HashMap::new() };
    for (at, table) in tables.iter().enumerate() {
        let (name, span) = match &table.get_ref().id {
            Some(id) => (name(text, id)?, id.span()),
            None => (TaskName::nearest(&format!("t{}", at + 1)), table.span()),
        };
        if let Some((_, first)) = names.known.insert(name.folded(), (at, span.clone())) {
            let what = format!("a second task is called `{name}`");
            let error = text.error(&span, what).because(format!(
                "the first is in line {}, and case makes no difference",
                text.line(&first)
            ));
            return Err(error.hint(format!("id = \"{}\"", name.numbered(2))));
        }
        names.in_order.push(name);
    }
    Ok(names)
}

fn name(text: PlanText<'_>, id: &Spanned<String>) -> Result<TaskName, Error> {
    id.get_ref().parse().map_err(|error| match error {
        NameError::Task { name, nearest } => text
            .error(&id.span(), format!("`{name}` cannot name a task"))
            .because(
                "a name has letters, digits, `_` and `-`, begins with a letter or digit, and is \
                 no longer than 48; such segments can be joined by single dots",
            )
            .hint(format!("id = \"{nearest}\"")),
        NameError::Run(_) => text.error(&id.span(), error.to_string()),
    })
}

fn task(
    text: PlanText<'_>,
    folder: &Path,
    table: &Spanned<TaskTable>,
    name: &TaskName,
    names: &TaskNames,
) -> Result<PlannedTask, Error> {
    let mut predecessors = BTreeSet::new();
    for on in &table.get_ref().depends_on {
        match names.known.get(&on.get_ref().to_ascii_lowercase()) {
            Some((at, _)) => predecessors.insert(*at),
            None => return Err(unknown(text, name, on, names)),
        };
    }
    let depends_on: Vec<_> =
        predecessors.into_iter().map(|at| names.in_order[at].clone()).collect();
    let work = task_work::of(text, folder, table, name, &depends_on)?;
    let table = table.get_ref();
    let change = if table.must_change { ChangeDemand::Required } else { ChangeDemand::Optional };
    let schema = schema(text, folder, table)?;
    let (name, priority) = (name.clone(), table.priority);
    Ok(PlannedTask { name, work, depends_on, priority, change, schema })
}

fn unknown(text: PlanText<'_>, name: &TaskName, on: &Spanned<String>, names: &TaskNames) -> Error {
    let what = format!("task `{name}` depends on `{}`, which is not in the plan", on.get_ref());
    let known = names.in_order.iter().map(TaskName::as_str);
    let error = text.error(&on.span(), what);
    match config::nearest(on.get_ref(), known) {
        Some(near) => error.hint(near),
        None => error,
    }
}

fn schema(text: PlanText<'_>, folder: &Path, table: &TaskTable) -> Result<Option<Value>, Error> {
    match (&table.schema, &table.schema_file) {
        (Some(_), Some(file)) => {
            Err(text.error(&file.span(), "`schema` cannot be used with `schema_file`"))
        }
        (Some(inline), None) => {
            let value = json(inline.get_ref());
            value
                .map(Some)
                .map_err(|why| text.error(&inline.span(), "this is not a JSON Schema").because(why))
        }
        (None, Some(file)) => schema_of(&folder.join(file.get_ref()))
            .map(Some)
            .map_err(|error| Error { what: text.error(&file.span(), &error.what).what, ..error }),
        (None, None) => Ok(None),
    }
}

/// Reads a schema from its file.
///
/// # Errors
/// The file cannot be read, or is not JSON.
pub(crate) fn schema_of(path: &Path) -> Result<Value, Error> {
    let what = format!("cannot read the schema {}", path.display());
    let bytes = read_file(path, LONGEST_SCHEMA, &what)?;
    serde_json::from_slice(without_bom(&bytes)).map_err(|error| {
        Error::new(ErrorKind::Plan, what.clone()).because(format!("it is not JSON: {error}"))
    })
}

/// A valid plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    /// The name of the run.
    pub(crate) name: Option<String>,
    /// How many tasks run at the same time.
    pub(crate) jobs: Option<NonZeroUsize>,
    /// How the work of the tasks is merged.
    pub(crate) merge: Option<MergeMode>,
    /// The user's branch on which the work is committed.
    pub(crate) onto: Option<String>,
    /// When the work of the tasks lands.
    pub(crate) land: Option<LandTime>,
    /// The model that works on the prompts of the plan.
    pub(crate) model: Option<ModelChoice>,
    /// The models that answer where another cannot be had, if the plan says so.
    pub(crate) fallback: Option<Vec<ModelChoice>>,
    /// The base URL of that model's provider.
    pub(crate) base_url: Option<BaseUrl>,
    /// The context that is given to the model of every task.
    pub(crate) context: Option<String>,
    /// The commands that set up each workspace.
    pub(crate) setup: Option<Vec<String>>,
    /// The commands that must succeed in the merged work before it lands.
    pub(crate) verify: Option<Vec<String>>,
    /// The globs of ignored files that are copied into each workspace.
    pub(crate) carry: Option<Vec<String>>,
    /// The globs of files in which the lines of both sides are kept.
    pub(crate) union: Option<Vec<String>>,
    /// How long a task may take.
    pub(crate) wall: Option<Duration>,
    /// How many bytes of a task's output are kept.
    pub(crate) output: Option<u64>,
    /// The maximum number of answers of a model in a task.
    pub(crate) turns: Option<NonZeroU32>,
    /// How many tokens a model may use.
    pub(crate) tokens: Option<NonZeroU64>,
    /// What a task may cost.
    pub(crate) cost: Option<Cost>,
    /// The tasks of the plan, at least one, in the order of their declaration.
    pub(crate) tasks: Vec<PlannedTask>,
}

/// A task of a plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedTask {
    /// The name of the task, which is unique in the plan.
    pub(crate) name: TaskName,
    /// The work of the task.
    pub(crate) work: PlannedWork,
    /// The predecessors of the task, all of the same plan and without cycles.
    pub(crate) depends_on: Vec<TaskName>,
    /// The priority of the task. A task with a higher priority starts earlier.
    pub(crate) priority: i32,
    /// Whether a success that changes nothing counts as a failure.
    pub(crate) change: ChangeDemand,
    /// The JSON Schema of the task's yield.
    pub(crate) schema: Option<Value>,
}

/// Converts a TOML value to JSON.
///
/// # Errors
/// JSON cannot represent the value.
fn json(value: &toml::Value) -> Result<Value, &'static str> {
    Ok(match value {
        toml::Value::String(text) => Value::String(text.clone()),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Float(number) => {
            Value::Number(Number::from_f64(*number).ok_or("JSON has no such number")?)
        }
        toml::Value::Boolean(is) => Value::Bool(*is),
        toml::Value::Datetime(_) => return Err("JSON has no dates; write it in quotes"),
        toml::Value::Array(values) => values.iter().map(json).collect::<Result<_, _>>()?,
        toml::Value::Table(table) => {
            let entry = |(key, value): (&String, &toml::Value)| Ok((key.clone(), json(value)?));
            Value::Object(table.iter().map(entry).collect::<Result<_, &'static str>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_json_can_say_is_said() {
        let toml = "a = 'x'\nb = [1, 2.5, true]\nc = { d = {} }".parse::<toml::Table>().unwrap();
        let expected = json!({ "a": "x", "b": [1, 2.5, true], "c": { "d": {} } });
        assert_eq!(json(&toml::Value::Table(toml)), Ok(expected));
        for bad in ["a = nan", "a = 2026-01-02"] {
            let toml = bad.parse::<toml::Table>().unwrap();
            assert!(json(&toml::Value::Table(toml)).is_err(), "{bad}");
        }
    }
}
