//! What a session is opened with: its model, its folder, its tools and its log.

use std::path::PathBuf;
use std::sync::Arc;

use actors::{SessionSpec, ToolSetup};
use engine::approvals::ApprovalPolicy;
use protocol::{ModelRoute, WorkspaceKind};

#[cfg(feature = "tui")]
use super::prompt_parts::prompt_parts;
use crate::args::{GivenKey, LaunchArgs};
use regatta::app_context::AppContext;
use regatta::error::{Error, ErrorKind};
use regatta::model::{
    FoundModel, ModelChoice, ModelDirectory, ModelOption, ModelSelection, Obstacle, PlannedModel,
    Roles, anchor_scenario, check_model, find_model, left_out_fallbacks,
};
use regatta::session::{ChosenLog, IsolatedPlace, PromptParts, session_prompt};

/// What a session is opened with, and what the user should know about it.
pub(crate) struct SessionPlan {
    pub(crate) spec: SessionSpec,
    pub(crate) tools: ToolSetup,
    pub(crate) notes: Vec<String>,
}

/// Where a session works.
#[derive(Clone, Debug)]
pub(crate) struct SessionPlace {
    /// The folder of the user, whose session it is.
    pub(crate) folder: PathBuf,
    /// The workspace, if it does not work in the folder itself.
    pub(crate) isolated: Option<IsolatedPlace>,
}

impl SessionPlace {
    /// Returns the folder in which the tools of the session work.
    pub(crate) fn works_in(&self) -> PathBuf {
        self.isolated.as_ref().map_or_else(|| self.folder.clone(), IsolatedPlace::folder)
    }

    /// Returns whether that is a copy.
    pub(crate) fn workspace(&self) -> WorkspaceKind {
        match &self.isolated {
            Some(_) => WorkspaceKind::Private,
            None => WorkspaceKind::Shared,
        }
    }
}

/// Chooses the model of a session, checks that it can be used, and returns what the session in
/// `place` is opened with.
///
/// # Errors
/// There is no such model, or it cannot be used.
#[cfg(feature = "tui")]
pub(crate) async fn plan(
    app: &AppContext,
    args: &LaunchArgs,
    place: &SessionPlace,
    log: &ChosenLog,
) -> Result<SessionPlan, Error> {
    let parts = prompt_parts(args)?;
    let model = usable_model(app, args, log).await?;
    Ok(plan_with(app, args, place, log, (model, parts)).await)
}

/// Chooses the model of a session, and checks that it can be used.
///
/// # Errors
/// There is no such model, or it cannot be used.
pub(crate) async fn usable_model(
    app: &AppContext,
    args: &LaunchArgs,
    log: &ChosenLog,
) -> Result<ChosenModel, Error> {
    let mut chosen = choose_model(app, args, log).await?;
    let ChosenModel { model, fallbacks, notes } = &mut chosen;
    if let Some(GivenKey(key)) = &args.api_key {
        app.user_models.give(&model.provider, key.clone());
    }
    app.user_models.prepare(fallbacks.iter().map(|model| model.provider.as_str())).await;
    check_model(&app.models, &app.user_models, model).await?;
    notes.extend(app.user_models.notes().iter().map(|note| format!("warning: {note}")));
    notes.extend(app.unshared_gates());
    Ok(chosen)
}

/// Returns what a session with this model and these parts of its prompt is opened with.
pub(crate) async fn plan_with(
    app: &AppContext,
    args: &LaunchArgs,
    place: &SessionPlace,
    log: &ChosenLog,
    (chosen, parts): (ChosenModel, PromptParts),
) -> SessionPlan {
    let ChosenModel { model, fallbacks, mut notes } = chosen;
    let copy_of = place.isolated.as_ref().map(|isolated| isolated.repository().to_owned());
    let parts = PromptParts { copy_of, ..parts };
    let prompt = session_prompt(parts, &place.works_in(), &app.places, app.clock.now()).await;
    let (system, about_files) = prompt;
    notes.extend(about_files);
    let (spec, mut tools) = app.session_in(place.works_in(), model, system, log.path.clone());
    if let Some(isolated) = &place.isolated {
        isolated.equip(&mut tools);
    }
    let logs = Some(app.session_logs(log.storage.clone()));
    // The folder by which a session is found.
    let folder = place.folder.clone();
    let spec = SessionSpec { fallbacks, id: log.id, logs, folder, ..spec };
    let approvals = ApprovalPolicy::from(app.settings.approvals(args.approval_mode));
    let approvals = approvals.in_workspace(place.workspace());
    let tools = ToolSetup { only: args.allowed_tools(), approvals, ..tools };
    SessionPlan { spec, tools, notes }
}

/// The model of a session.
pub(crate) struct ChosenModel {
    model: ModelRoute,
    /// The models that answer where it cannot be had.
    fallbacks: Vec<ModelRoute>,
    /// What the user should know about it.
    notes: Vec<String>,
}

async fn choose_model(
    app: &AppContext,
    args: &LaunchArgs,
    log: &ChosenLog,
) -> Result<ChosenModel, Error> {
    let mut roles = Roles::from(&app.settings);
    let sources = roles.local_sources(args.model.as_ref());
    roles.directory = Arc::new(ModelDirectory::with_local(&app.user_models, sources).await);
    let mut notes = Vec::new();
    if args.model.is_none() {
        roles.default = continued_or_scoped(args, log, &roles, &mut notes)?
            .map(ModelChoice::Route)
            .or(roles.default);
    }
    if args.model.is_none() && roles.default.is_none() {
        match find_model(&app.user_models).await {
            FoundModel::One(model, why) => {
                notes.push(format!("note: the model is {model}: {why}"));
                roles.default = Some(ModelChoice::Route(model));
            }
            FoundModel::Unclear(found) => roles.found = Some(found),
        }
    }
    let choice = args.model.clone().map(|model| of_provider(model, args.provider.as_deref()));
    let choice = choice.transpose()?;
    let typed = ModelOption { model: choice.as_ref(), base_url: args.base_url.as_ref() };
    let selection = ModelSelection { typed, planned: PlannedModel::default(), roles: &roles };
    let mut model = selection.route(None).map_err(|error| {
        let own = log.model.as_ref().filter(|_| args.model.is_none());
        let why = own.and_then(|model| Some((model, obstacle(model, args, &roles)?)));
        why.map_or(error, |(model, why)| cannot_continue_with(model, why))
    })?;
    model.thinking = args.thinking.or(model.thinking).or(log.thinking);
    notes.extend(selection.meaning(None, &model).map(|meant| format!("note: {meant}")));
    if let Some((asked, other)) = model.thinking.zip(roles.directory.other_level(&model)) {
        let name = model.name();
        notes.push(format!("note: {name} has no thinking level `{asked}`: `{other}` is used"));
    }
    let mut fallbacks = selection.fallbacks(&model, None)?;
    let meant = selection.meant_fallbacks(&model, None);
    notes.extend(meant.iter().map(|meant| format!("note: {meant}")));
    let left_out = left_out_fallbacks((&model, &fallbacks), &roles);
    notes.extend(left_out.iter().map(|note| format!("note: {note}")));
    anchor_scenario(&mut model);
    fallbacks.iter_mut().for_each(anchor_scenario);
    Ok(ChosenModel { model, fallbacks, notes })
}

/// Returns the model of a session that is continued, or else the first of `--models`.
fn continued_or_scoped(
    args: &LaunchArgs,
    log: &ChosenLog,
    roles: &Roles,
    notes: &mut Vec<String>,
) -> Result<Option<ModelRoute>, Error> {
    if let Some(model) = &log.model {
        match obstacle(model, args, roles) {
            None => return Ok(Some(model.clone())),
            Some(why) => {
                notes.push(format!(
                    "note: the model of the session, {model}, cannot be used: {why}"
                ));
            }
        }
    }
    let Some(patterns) = &args.models else { return Ok(None) };
    let scope = roles.directory.scope(patterns)?;
    notes.extend(scope.unmatched.iter().map(|pattern| {
        format!("warning: no model that can be used is called `{pattern}` (--models)")
    }));
    let first = scope.models.into_iter().next();
    notes.extend(first.iter().map(|model| format!("note: the model is {model}, of --models")));
    Ok(first)
}

/// Returns why the model of a session that is continued cannot be used.
fn obstacle(model: &ModelRoute, args: &LaunchArgs, roles: &Roles) -> Option<Obstacle> {
    // The user knows the server at an address of their own.
    let is_known = args.base_url.is_some();
    roles.directory.obstacle(model).filter(|_| !is_known)
}

fn cannot_continue_with(model: &ModelRoute, why: Obstacle) -> Error {
    let what = format!("cannot use the model of the session, {model}");
    let error = why.add_to(Error::new(ErrorKind::Model, what));
    error.hint("--base-url URL (if it is at another address)").hint("--model MODEL (another one)")
}

/// Returns the model with the name that `--model` gives, at the provider of `--provider`.
fn of_provider(model: ModelChoice, provider: Option<&str>) -> Result<ModelChoice, Error> {
    let Some(provider) = provider else { return Ok(model) };
    match model {
        ModelChoice::Route(route) if route.provider == provider => Ok(ModelChoice::Route(route)),
        // Names of models have slashes, too.
        ModelChoice::Route(route) => named(provider, &route.to_string()),
        ModelChoice::Name(name) => named(provider, &name),
        ModelChoice::Role(role) => {
            Err(Error::usage(format!("`--provider` cannot be used with the role `{role}`")))
        }
    }
}

fn named(provider: &str, name: &str) -> Result<ModelChoice, Error> {
    let route = format!("{provider}/{name}").parse::<ModelRoute>();
    route.map(ModelChoice::Route).map_err(|error| {
        Error::new(ErrorKind::Usage, "invalid value for `--provider`").caused_by(&error)
    })
}
