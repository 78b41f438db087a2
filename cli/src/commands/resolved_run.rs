//! Resolves what a run is asked for in one repository to its specification.

use std::io::Read;
use std::num::NonZeroUsize;

use engine::ports::Repository;
use protocol::{CommitStyle, RunSpec, Work};
use regatta::app_context::AppContext;
use regatta::error::Error;
use regatta::model::{LocalSources, anchor_scenario, routes};
use schema::JsonSchemas;

use super::model_notes::{chosen_model, left_out, other_levels};
use super::run_models::{add_known_models, choose_default};
use crate::args::{GivenKey, RunArgs};
use crate::resolve::{Defaults, ResolveInputs, ResolvedRun, RunRequest, resolve};

/// Returns the specification of a run in `repository`, and says what the user should know about it.
///
/// # Errors
/// A plan, a list, a schema or a limit is invalid, or there is no model.
pub(super) async fn resolved(
    say: &dyn Fn(&str),
    app: &AppContext,
    (request, args): (&RunRequest, &RunArgs),
    repository: &dyn Repository,
    standard: &mut dyn Read,
) -> Result<RunSpec, Error> {
    request.note().iter().for_each(|line| say(&format!("warning: {line}")));
    let facts = repository.facts();
    let tracked = || isolation::tracked_files(&facts.root).map_err(Error::from);
    let ground = ResolveInputs {
        root: &facts.root,
        subfolder: &facts.subfolder,
        tracked: &tracked,
        standard,
        schemas: &JsonSchemas,
        cores: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
    };
    let mut defaults = Defaults::from(&app.settings);
    let asks = request.may_ask_a_model();
    // A model may also write the subjects of commits.
    if asks || matches!(defaults.commits, CommitStyle::Ai) {
        // A plan, which is not read yet, may name any model.
        let sources = match args.plan {
            Some(_) => LocalSources::All,
            None => defaults.roles.local_sources(args.model.as_ref()),
        };
        add_known_models(say, app, &mut defaults.roles, sources).await;
    }
    let chosen = match asks && args.model.is_none() && defaults.roles.default.is_none() {
        true => choose_default(app, &mut defaults.roles).await,
        false => None,
    };
    let ResolvedRun { spec, meant } = resolve(request, args, &defaults, ground)?;
    let notes = [
        chosen_model(&spec, chosen),
        meant,
        left_out(&spec, &defaults.roles),
        other_levels(&spec, &defaults.roles.directory),
    ];
    notes.iter().flatten().for_each(|line| say(&format!("note: {line}")));
    if let Some(GivenKey(key)) = &args.api_key {
        for (route, _task) in routes(&spec) {
            app.user_models.give(&route.provider, key.clone());
        }
    }
    Ok(spec)
}

/// Removes the environment variables that are to be passed on and are not set, and says so.
pub(super) fn keep_set_variables(say: &dyn Fn(&str), spec: &mut RunSpec) {
    spec.pass_env.retain(|name| {
        let is_set = std::env::var_os(name).is_some();
        if !is_set {
            say(&format!("warning: the variable `{name}` is not set, so tasks do not get it"));
        }
        is_set
    });
}

/// Makes the paths of scenarios absolute: the ledger has the tasks, and a retry may be started in another
/// folder.
pub(super) fn anchor_scenarios(spec: &mut RunSpec) {
    for task in &mut spec.tasks {
        if let Work::Agent(agent) = &mut task.work {
            anchor_scenario(&mut agent.model);
            agent.fallback.iter_mut().for_each(anchor_scenario);
        }
    }
}
