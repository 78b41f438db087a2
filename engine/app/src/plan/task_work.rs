//! The work of a task of a plan: a command, or a prompt and its model.

use std::collections::BTreeSet;
use std::path::Path;

use protocol::{TaskName, utf8_text};
use serde_spanned::Spanned;

use super::format::TaskTable;
use super::text::{PlanText, read_file};
use crate::each::{PlanPrompt, file_prompt, plan_prompt, refuse_placeholders, refuse_yields};
use crate::error::{Error, ErrorKind};
use crate::model::{BaseUrl, ModelChoice, is_scenario};

/// The longest file of a prompt, in bytes.
const LONGEST_PROMPT: u64 = 16_000_000;

/// The work of a task of a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum PlannedWork {
    /// A shell script.
    Command(String),
    /// What a model is asked to do.
    Prompt {
        /// The text, with its placeholders for yields.
        prompt: PlanPrompt,
        /// The model, if the task names one.
        model: Option<ModelChoice>,
    },
}

/// Returns the work of a task.
///
/// # Errors
/// The task has no work, has two kinds of it, or its work is empty.
pub(super) fn of(
    text: PlanText<'_>,
    folder: &Path,
    task: &Spanned<TaskTable>,
    name: &TaskName,
    predecessors: &[TaskName],
) -> Result<PlannedWork, Error> {
    let (span, table) = (task.span(), task.get_ref());
    let own = table.model.as_ref().map(|own| model(text, folder, own)).transpose()?;
    match (&table.exec, &table.prompt, &table.prompt_file) {
        (None, None, None) => {
            let what = format!("task `{name}` has no `prompt`, `prompt_file` or `exec`");
            let entry = |key: &str| text.syntax.entry(key, "\"…\"");
            Err(text.error(&span, what).hint(entry("prompt")).hint(entry("exec")))
        }
        (Some(exec), None, None) => match &table.model {
            Some(model) => Err(text
                .error(&model.span(), format!("task `{name}` has a command, and needs no model"))
                .hint("leave one of them out: exec or model")),
            None => command(text, exec, name).map(PlannedWork::Command),
        },
        (None, Some(prompt), None) => {
            let asked = plan_prompt(prompt.get_ref(), predecessors)
                .map_err(|error| at_position(text, prompt, error))?;
            not_blank(text, prompt, name, asked)
                .map(|prompt| PlannedWork::Prompt { prompt, model: own })
        }
        (None, None, Some(file)) => {
            let asked = prompt_of(&folder.join(file.get_ref()))
                .and_then(|prompt| file_prompt(&prompt, predecessors))
                .map_err(|error| at_position(text, file, error))?;
            not_blank(text, file, name, asked)
                .map(|prompt| PlannedWork::Prompt { prompt, model: own })
        }
        (Some(second), Some(_), _) | (_, Some(_), Some(second)) | (Some(_), None, Some(second)) => {
            let what =
                format!("task `{name}` has more than one of `prompt`, `prompt_file`, `exec`");
            Err(text.error(&second.span(), what).hint("leave one of them out"))
        }
    }
}

fn command(text: PlanText<'_>, exec: &Spanned<String>, name: &TaskName) -> Result<String, Error> {
    let script = exec.get_ref().clone();
    if script.trim().is_empty() {
        return Err(text.error(&exec.span(), format!("the command of task `{name}` is empty")));
    }
    refuse_placeholders(&script, "regatta run --each SPEC --exec CMD")
        .map_err(|error| at_position(text, exec, error))?;
    Ok(script)
}

/// Checks that a prompt is not blank.
fn not_blank(
    text: PlanText<'_>,
    at: &Spanned<String>,
    name: &TaskName,
    prompt: PlanPrompt,
) -> Result<PlanPrompt, Error> {
    if prompt.text.trim().is_empty() {
        return Err(text.error(&at.span(), format!("the prompt of task `{name}` is empty")));
    }
    Ok(prompt)
}

/// Reads a prompt from its file.
fn prompt_of(path: &Path) -> Result<String, Error> {
    let what = format!("cannot read the prompt {}", path.display());
    // Opening a pipe would wait for a writer.
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(Error::new(ErrorKind::Plan, what).because("it is not a file"));
    }
    let bytes = read_file(path, LONGEST_PROMPT, &what)?;
    utf8_text(bytes)
        .map_err(|(error, _bytes)| Error::new(ErrorKind::Plan, what).because(error.to_string()))
}

/// Returns the context of a plan, unless it is blank.
pub(super) fn context(
    text: PlanText<'_>,
    context: Option<Spanned<String>>,
) -> Result<Option<String>, Error> {
    let Some(context) = context else { return Ok(None) };
    refuse_yields(context.get_ref()).map_err(|error| at_position(text, &context, error))?;
    let context = context.into_inner();
    Ok(Some(context).filter(|context| !context.trim().is_empty()))
}

/// Returns a model that a plan names. The scenario of an offline model is a file, relative to the
/// folder of the plan.
pub(super) fn model(
    text: PlanText<'_>,
    folder: &Path,
    word: &Spanned<String>,
) -> Result<ModelChoice, Error> {
    let mut choice = text.parse(word, str::parse)?;
    if let ModelChoice::Route(route) = &mut choice
        && is_scenario(route)
        && let Some(path) = folder.join(&route.id).to_str()
    {
        route.id = path.to_owned();
    }
    Ok(choice)
}

/// The base URL of a plan, and the provider whose models it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedUrl {
    pub url: BaseUrl,
    pub provider: String,
}

/// Returns the base URL of the plan's model, or else of those that its tasks name.
pub(super) fn base_url<'a>(
    text: PlanText<'_>,
    model: Option<&ModelChoice>,
    own: impl Iterator<Item = &'a PlannedWork>,
    word: Option<&Spanned<String>>,
) -> Result<Option<PlannedUrl>, Error> {
    let Some(word) = word else { return Ok(None) };
    let own = own.filter_map(|work| match work {
        PlannedWork::Prompt { model: Some(ModelChoice::Route(route)), .. } => Some(route),
        PlannedWork::Prompt { .. } | PlannedWork::Command(_) => None,
    });
    let of_tasks: BTreeSet<&str> = match model {
        None => own.filter(|route| !is_scenario(route)).map(|route| &route.provider[..]).collect(),
        Some(_) => BTreeSet::new(),
    };
    let mut of_tasks = of_tasks.into_iter();
    let provider = match (model, of_tasks.next(), of_tasks.next()) {
        (Some(ModelChoice::Route(route)), ..) if is_scenario(route) => {
            let what = format!("`base_url` cannot be used with {route}");
            return Err(text.error(&word.span(), what).hint("leave base_url out"));
        }
        (Some(ModelChoice::Route(route)), ..) => &route.provider,
        (_, Some(only), None) => only,
        (_, Some(one), Some(other)) => {
            let what = format!(
                "`base_url` is for one provider, and the tasks name models of {one} and {other}"
            );
            return Err(text.error(&word.span(), what).hint(model_beside(text, one)));
        }
        (Some(ModelChoice::Role(_) | ModelChoice::Name(_)) | None, None, _) => {
            let what = "`base_url` names a server, but not a model";
            return Err(text.error(&word.span(), what).hint(model_beside(text, "local")));
        }
    };
    let url = text.parse(word, str::parse)?;
    Ok(Some(PlannedUrl { url, provider: provider.to_owned() }))
}

/// Returns the entry that names a model of a provider, in the syntax of the plan.
fn model_beside(text: PlanText<'_>, provider: &str) -> String {
    format!("{} beside it", text.syntax.entry("model", &format!("\"{provider}/MODEL\"")))
}

/// Returns an error with the position of `at`.
pub(super) fn at_position(text: PlanText<'_>, at: &Spanned<String>, error: Error) -> Error {
    let what = text.error(&at.span(), &error.what).what;
    Error { what, kind: ErrorKind::Plan, ..error }
}
