//! Validates a plan: makes a [`Plan`] of a [`PlanFile`], or reports the first error.

use std::collections::BTreeSet;
use std::path::Path;

use engine::dependencies;
use protocol::{ChangeDemand, TaskName, without_bom};
use schema::read_schema;
use serde_json::Value;
use serde_spanned::Spanned;

use super::choices::{agent_name, land_time, merge_mode};
use super::format::{LimitsTable, PlanFile, TaskTable};
use super::names::{TaskNames, names};
use super::planned::{Plan, PlannedLimits, PlannedTask};
use super::task_work::{self, PlannedWork};
use super::text::{PlanText, read_file};
use super::yield_fields;
use crate::error::{Error, ErrorKind};
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
        return Err(text.error(&file.version.span(), what).hint(text.syntax.entry("version", "1")));
    }
    if file.task.is_empty() {
        return Err(text.error(&(0..0), "the plan has no task").hint(text.syntax.first_task()));
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
        text.parse(agent, agent_name)?;
    }
    let model = file.model.map(|model| task_work::model(text, folder, &model)).transpose()?;
    let model_of = |word: &Spanned<String>| task_work::model(text, folder, word);
    let fallback = file.fallback.map(|words| words.iter().map(model_of).collect()).transpose()?;
    let works = tasks.iter().map(|task| &task.work);
    let base_url = task_work::base_url(text, model.as_ref(), works, file.base_url.as_ref())?;
    let setup = file.setup.map(|setup| text.checked(&setup, setup_command)).transpose()?;
    let verify = file.verify.map(|verify| text.checked(&verify, verify_command)).transpose()?;
    let union = file.union.map(|union| text.checked(&union, carry_glob)).transpose()?;
    let carry = file.carry.map(|carry| text.checked(&carry, carry_glob)).transpose()?;
    let limits = limits(text, &file.limits)?;
    Ok(Plan {
        name: file.name,
        jobs: file.jobs.map(|jobs| text.positive("jobs", &jobs)).transpose()?,
        model,
        fallback,
        servers: file.mcp.map(|names| {
            names.into_iter().map(Spanned::into_inner).collect::<Vec<_>>().as_slice().into()
        }),
        base_url,
        context: task_work::context(text, file.context)?,
        merge: file.merge.map(|merge| text.parse(&merge, merge_mode)).transpose()?,
        onto: file.onto.map(|onto| text.parse(&onto, branch_name)).transpose()?,
        land: file.land.map(|land| text.parse(&land, land_time)).transpose()?,
        setup,
        verify,
        carry,
        union,
        limits,
        tasks,
    })
}

/// Validates the limits of the plan or of a task.
fn limits(text: PlanText<'_>, table: &LimitsTable) -> Result<PlannedLimits, Error> {
    let LimitsTable { wall, output, turns, tokens, cost } = table;
    let wall = wall.as_ref().map(|wall| text.parse(wall, config::parse_duration));
    let output = output.as_ref().map(|size| text.parse(size, config::parse_size));
    let turns = turns.as_ref().map(|turns| text.positive("turns", turns));
    let cost = cost.as_ref().map(|cost| text.parse(cost, config::parse_cost));
    let tokens = tokens.as_ref().map(|tokens| text.positive("tokens", tokens));
    Ok(PlannedLimits {
        wall: wall.transpose()?,
        output: output.transpose()?,
        turns: turns.transpose()?,
        tokens: tokens.transpose()?,
        cost: cost.transpose()?,
    })
}

/// Refuses limits of a model at a task that has none.
fn check_limits(
    text: PlanText<'_>,
    LimitsTable { turns, tokens, cost, .. }: &LimitsTable,
    name: &TaskName,
) -> Result<(), Error> {
    let given = [
        ("turns", turns.as_ref().map(Spanned::span)),
        ("tokens", tokens.as_ref().map(Spanned::span)),
        ("cost", cost.as_ref().map(Spanned::span)),
    ];
    let given = given.into_iter().find_map(|(key, span)| Some((key, span?)));
    given.map_or(Ok(()), |(key, span)| {
        let what = format!("`{key}` is for a model, and task `{name}` has a command");
        let wall = format!("{{ {} }}", text.syntax.entry("wall", "\"20m\""));
        let limits = text.syntax.entry("limits", &wall);
        Err(text.error(&span, what).hint("leave it out").hint(limits))
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
    if let PlannedWork::Command(_) = work {
        check_limits(text, &table.limits, name)?;
    }
    let limits = limits(text, &table.limits)?;
    let checked = |values: &Option<Vec<_>>, check: fn(&str) -> Result<(), String>| {
        values.as_ref().map(|values| text.checked(values, check)).transpose()
    };
    let setup = checked(&table.setup, setup_command)?;
    let carry = checked(&table.carry, carry_glob)?;
    let (name, priority) = (name.clone(), table.priority);
    Ok(PlannedTask { name, work, depends_on, priority, change, schema, limits, setup, carry })
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
        (Some(inline), None) => read_schema(inline.get_ref())
            .map(Some)
            .map_err(|fault| text.error(&inline.span(), format!("invalid schema: {fault}"))),
        (None, Some(file)) => schema_of(&folder.join(file.get_ref()))
            .map(Some)
            .map_err(|error| Error { what: text.error(&file.span(), &error.what).what, ..error }),
        (None, None) => Ok(None),
    }
}

/// Reads a schema from its file.
///
/// # Errors
/// The file cannot be read, or is neither a JSON Schema nor one in JSON Type Definition.
pub fn schema_of(path: &Path) -> Result<Value, Error> {
    let what = format!("cannot read the schema {}", path.display());
    let bytes = read_file(path, LONGEST_SCHEMA, &what)?;
    let refused = |why: String| Error::new(ErrorKind::Plan, what.clone()).because(why);
    let given = serde_json::from_slice(without_bom(&bytes))
        .map_err(|error| refused(format!("it is not JSON: {error}")))?;
    read_schema(&given).map_err(refused)
}
