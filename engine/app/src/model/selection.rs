//! Selects the model of a task. The command line takes precedence over the task, the task over the
//! plan, and the plan over the settings.

use std::sync::Arc;

use config::{Setting, Settings};
use protocol::ModelRoute;

use super::choice::meaning;
use super::fallbacks::FallbackChain;
use super::{BaseUrl, FoundModels, LocalSources, ModelChoice, ModelDirectory, Role, is_scenario};
use crate::error::{Error, ErrorKind};
use crate::text::shell_word;

/// The models of the roles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    /// For every task that names no model.
    pub default: Option<ModelChoice>,
    /// For small tasks.
    pub smol: Option<ModelChoice>,
    /// For hard tasks.
    pub slow: Option<ModelChoice>,
    /// For planning.
    pub plan: Option<ModelChoice>,
    /// The models that can be named without their provider.
    pub directory: Arc<ModelDirectory>,
    /// The models that answer where another cannot be had.
    pub fallback_chains: Vec<FallbackChain>,
    /// What was found in place of a default model, if something was looked for.
    pub found: Option<FoundModels>,
}

impl From<&Settings> for Roles {
    fn from(settings: &Settings) -> Self {
        let named = |name: &str| {
            name.parse().unwrap_or_else(|_no_choice| ModelChoice::Name(name.to_owned()))
        };
        let choice = |setting: &Setting<Option<String>>| setting.value.as_deref().map(named);
        let chain = |(of, models): (&String, &Vec<String>)| FallbackChain {
            of: named(of),
            models: models.iter().map(|name| named(name)).collect(),
        };
        Self {
            default: choice(&settings.model_default),
            smol: choice(&settings.model_smol),
            slow: choice(&settings.model_slow),
            plan: choice(&settings.model_plan),
            directory: Arc::default(),
            fallback_chains: settings.retry_fallback_chains.value.iter().map(chain).collect(),
            found: None,
        }
    }
}

impl Roles {
    /// Returns what the settings name for a role.
    fn of(&self, role: Role) -> Option<&ModelChoice> {
        match role {
            Role::Default => self.default.as_ref(),
            Role::Smol => self.smol.as_ref(),
            Role::Slow => self.slow.as_ref(),
            Role::Plan => self.plan.as_ref(),
        }
    }

    /// Returns which servers on this machine may have a model that `typed` or the settings name.
    pub fn local_sources(&self, typed: Option<&ModelChoice>) -> LocalSources {
        let of_roles = Role::ALL.into_iter().filter_map(|role| self.of(role));
        match typed.into_iter().chain(of_roles).any(|it| matches!(it, ModelChoice::Name(_))) {
            true => LocalSources::All,
            false => LocalSources::Configured,
        }
    }

    /// Returns the model with a role; `None` if the settings name none.
    pub(super) fn model_of(&self, role: Role) -> Option<Result<ModelRoute, Error>> {
        let named = match self.of(role)? {
            ModelChoice::Route(route) => Ok(route.clone()),
            ModelChoice::Name(name) => self.directory.named(name),
            // A role is a model, and no other role.
            ModelChoice::Role(other) => self.directory.named(other.as_str()),
        };
        Some(named.map_err(|error| error.because(format!("modelRoles.{role} names it"))))
    }
}

/// The model and the base URL that one source names.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModelOption<'a> {
    /// The model.
    pub model: Option<&'a ModelChoice>,
    /// The base URL.
    pub base_url: Option<&'a BaseUrl>,
}

/// The model that a plan names, and the base URL of a provider.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlannedModel<'a> {
    /// The model.
    pub model: Option<&'a ModelChoice>,
    /// The provider and its base URL, which applies to each of its models.
    pub base_url: Option<(&'a str, &'a BaseUrl)>,
}

/// The sources that name a model, except the task itself.
#[derive(Clone, Copy, Debug)]
pub struct ModelSelection<'a> {
    /// The command line.
    pub typed: ModelOption<'a>,
    /// The plan.
    pub planned: PlannedModel<'a>,
    /// The settings.
    pub roles: &'a Roles,
}

impl<'a> ModelSelection<'a> {
    /// Returns what names the model of a task: what the settings say where that is a role.
    fn choice(&self, own: Option<&'a ModelChoice>) -> Option<&'a ModelChoice> {
        match self.typed.model.or(own).or(self.planned.model) {
            Some(ModelChoice::Role(role)) => self.roles.of(*role),
            None => self.roles.of(Role::Default),
            named => named,
        }
    }

    /// Returns which model the name of a task's model means, where it does not say so itself.
    pub fn meaning(&self, own: Option<&'a ModelChoice>, model: &ModelRoute) -> Option<String> {
        meaning(self.choice(own)?, model)
    }

    /// Returns the model of a task; `own` is the one that the task names.
    ///
    /// # Errors
    /// No source names a model, or the settings name no model for the role.
    pub fn route(&self, own: Option<&ModelChoice>) -> Result<ModelRoute, Error> {
        let choice = self.typed.model.or(own).or(self.planned.model);
        let mut route = match choice.unwrap_or(&ModelChoice::Role(Role::Default)) {
            ModelChoice::Route(route) => route.clone(),
            ModelChoice::Role(role) => {
                let found = self.roles.found.as_ref();
                let model = self.roles.model_of(*role);
                model.ok_or_else(|| no_model_for_role(*role, choice, found))??
            }
            ModelChoice::Name(name) => self.roles.directory.named(name)?,
        };
        let planned = self.planned.base_url.filter(|(provider, _)| *provider == route.provider);
        let planned = planned.map(|(_, url)| url);
        let typed = self.typed.base_url.filter(|_| self.is_meant_by_url(&route));
        if let Some(url) = typed
            && is_scenario(&route)
        {
            return Err(Error::usage(format!("`--base-url {url}` cannot be used with {route}"))
                .because("a scenario needs no server")
                .hint("leave --base-url out"));
        }
        route.base_url = typed.or(planned).map(|url| url.as_str().to_owned());
        if route.base_url.is_some() {
            return Ok(route);
        }
        self.roles.directory.checked(route)
    }
}

impl ModelSelection<'_> {
    /// Returns the model with the role `smol`, whatever model does the work; `None` if the settings
    /// name none. The addresses of providers hold for it, too.
    pub fn small(&self) -> Option<ModelRoute> {
        let small = self.roles.model_of(Role::Smol)?.ok()?;
        let is_there = self.typed.model.is_none_or(|typed| self.is_of(typed, &small.provider));
        let base_url = self.typed.base_url.filter(|_| is_there);
        let typed = ModelOption { model: None, base_url };
        Self { typed, ..*self }.route(Some(&ModelChoice::Role(Role::Smol))).ok()
    }

    /// Returns whether `--base-url` holds for a model: for each one with `--model`, else for those
    /// of the plan's provider, and for each one if the plan names none.
    fn is_meant_by_url(&self, route: &ModelRoute) -> bool {
        match (self.typed.model, self.planned.model) {
            (Some(_), _) | (None, None) => true,
            (None, Some(planned)) => self.is_of(planned, &route.provider),
        }
    }

    /// Returns whether a choice means a model of this provider.
    fn is_of(&self, choice: &ModelChoice, provider: &str) -> bool {
        match choice {
            ModelChoice::Route(route) => route.provider == provider,
            ModelChoice::Name(name) => {
                let named = self.roles.directory.named(name);
                named.is_ok_and(|named| named.provider == provider)
            }
            ModelChoice::Role(role) => {
                let named = self.roles.model_of(*role);
                named.is_some_and(|it| it.is_ok_and(|named| named.provider == provider))
            }
        }
    }
}

fn no_model_for_role(
    role: Role,
    choice: Option<&ModelChoice>,
    found: Option<&FoundModels>,
) -> Error {
    match (role, choice) {
        (Role::Default, None) => no_model(found),
        _ => Error::new(ErrorKind::Settings, format!("no model has the role `{role}`"))
            .because(format!("the setting modelRoles.{role} is not set"))
            .hint("regatta run --model PROVIDER/ID")
            .hint(format!("modelRoles: {{ {role}: PROVIDER/ID }} in config.yml")),
    }
}

/// How many of the models that were found are proposed.
const PROPOSED: usize = 3;

/// Returns the error about a run without a model, with those that were found, or else the three easiest ways
/// to get one.
fn no_model(found: Option<&FoundModels>) -> Error {
    let error = Error::usage("no model is named")
        .because("neither --model, nor a plan, nor the setting modelRoles.default names one");
    let error = found.into_iter().fold(error, |error, found| error.because(&found.said));
    let models = found.into_iter().flat_map(|found| &found.models).take(PROPOSED);
    let models: Vec<_> = models.map(|model| format!("--model {}", shell_word(model))).collect();
    if !models.is_empty() {
        return models.into_iter().fold(error, Error::hint).hint("regatta models");
    }
    providers::setup_hints().into_iter().fold(error, Error::hint)
}

#[cfg(test)]
mod tests {
    use super::super::ListedModel;
    use super::*;

    fn choice(text: &str) -> ModelChoice {
        text.parse().unwrap()
    }

    fn named<'a>(model: Option<&'a ModelChoice>, base_url: Option<&'a BaseUrl>) -> ModelOption<'a> {
        ModelOption { model, base_url }
    }

    fn resolved_text(route: Result<ModelRoute, Error>) -> String {
        let route = route.unwrap();
        let at = route.base_url.as_ref().map(|url| format!(" at {url}")).unwrap_or_default();
        format!("{route}{at}")
    }

    #[test]
    fn the_command_line_goes_before_the_task_that_before_the_plan_and_that_before_the_settings() {
        let roles = Roles { default: Some("set/a".parse().unwrap()), ..Roles::default() };
        let (typed, own, planned) = (choice("typed/a"), choice("own/a"), choice("planned/a"));
        let selection = |typed, planned| ModelSelection {
            typed: named(typed, None),
            planned: PlannedModel { model: planned, base_url: None },
            roles: &roles,
        };
        let all = selection(Some(&typed), Some(&planned));
        assert_eq!(resolved_text(all.route(Some(&own))), "typed/a");
        let untyped = selection(None, Some(&planned));
        assert_eq!(resolved_text(untyped.route(Some(&own))), "own/a");
        assert_eq!(resolved_text(untyped.route(None)), "planned/a");
        assert_eq!(resolved_text(selection(None, None).route(None)), "set/a");
    }

    #[test]
    fn where_a_provider_is_holds_for_its_own_models_only() {
        let roles = Roles::default();
        let (at, there) = ("http://at/v1".parse().unwrap(), "http://there".parse().unwrap());
        let (planned, same, other) = (choice("local/a"), choice("local/b"), choice("openai/c"));
        let by_plan = ModelSelection {
            typed: ModelOption::default(),
            planned: PlannedModel { model: Some(&planned), base_url: Some(("local", &at)) },
            roles: &roles,
        };
        assert_eq!(resolved_text(by_plan.route(None)), "local/a at http://at/v1");
        assert_eq!(resolved_text(by_plan.route(Some(&same))), "local/b at http://at/v1");
        assert_eq!(resolved_text(by_plan.route(Some(&other))), "openai/c");
        let url_only = ModelSelection { typed: named(None, Some(&there)), ..by_plan };
        assert_eq!(resolved_text(url_only.route(None)), "local/a at http://there");
        assert_eq!(resolved_text(url_only.route(Some(&same))), "local/b at http://there");
        assert_eq!(resolved_text(url_only.route(Some(&other))), "openai/c");
        let typed = ModelSelection { typed: named(Some(&other), Some(&there)), ..by_plan };
        assert_eq!(resolved_text(typed.route(Some(&same))), "openai/c at http://there");
    }

    #[test]
    fn the_small_model_is_that_of_the_settings_whatever_model_does_the_work() {
        let roles = Roles { smol: Some("ollama/tiny".parse().unwrap()), ..Roles::default() };
        let at = "http://at/v1".parse().unwrap();
        let (same, other) = (choice("ollama/large"), choice("openai/large"));
        let small = |typed, url| {
            let (typed, planned) = (named(typed, url), PlannedModel::default());
            let small = ModelSelection { typed, planned, roles: &roles }.small().unwrap();
            resolved_text(Ok(small))
        };
        assert_eq!(small(Some(&other), None), "ollama/tiny");
        assert_eq!(small(Some(&other), Some(&at)), "ollama/tiny");
        assert_eq!(small(Some(&same), Some(&at)), "ollama/tiny at http://at/v1");
        assert_eq!(small(None, Some(&at)), "ollama/tiny at http://at/v1");
    }

    #[test]
    fn a_role_is_the_model_that_the_settings_give_it() {
        let roles = Roles { smol: Some("ollama/tiny".parse().unwrap()), ..Roles::default() };
        let nothing = ModelSelection {
            typed: ModelOption::default(),
            planned: PlannedModel::default(),
            roles: &roles,
        };
        assert_eq!(resolved_text(nothing.route(Some(&choice("smol")))), "ollama/tiny");
        let said = nothing.route(Some(&choice("slow"))).unwrap_err().to_string();
        assert!(said.starts_with("error: no model has the role `slow`\n  because the setting"));
    }

    #[test]
    fn a_role_may_be_a_family_and_its_newest_model_is_told() {
        let model = |id: &str| ListedModel {
            provider: "a".to_owned(),
            id: id.to_owned(),
            facts: providers::ModelFacts::default(),
            obstacle: None,
        };
        let models = vec![model("claude-sonnet-4-5"), model("claude-sonnet-5")];
        let roles = Roles {
            default: "sonnet:high".parse().ok(),
            smol: "a/claude-sonnet".parse().ok(),
            slow: "sonet".parse().ok(),
            plan: "smol".parse().ok(),
            directory: Arc::new(ModelDirectory::new(models)),
            ..Roles::default()
        };
        let (typed, planned) = (ModelOption::default(), PlannedModel::default());
        let selection = ModelSelection { typed, planned, roles: &roles };
        let newest = selection.route(None).unwrap();
        assert_eq!(newest.to_string(), "a/claude-sonnet-5:high");
        let said = "`sonnet:high` is the model a/claude-sonnet-5:high";
        assert_eq!(selection.meaning(None, &newest).as_deref(), Some(said));
        let (smol, slow, plan) = (choice("smol"), choice("slow"), choice("plan"));
        let small = selection.route(Some(&smol)).unwrap();
        assert_eq!(
            (small.to_string().as_str(), selection.small()),
            ("a/claude-sonnet-5", Some(small.clone()))
        );
        let said = "`a/claude-sonnet` is the model a/claude-sonnet-5";
        assert_eq!(selection.meaning(Some(&smol), &small).as_deref(), Some(said));
        for (role, name) in [(slow, "sonet"), (plan, "smol")] {
            let said = selection.route(Some(&role)).unwrap_err().to_string();
            assert!(said.starts_with(&format!("error: no model is called `{name}`")), "{said}");
            assert!(said.contains(" names it"), "{said}");
        }
    }

    #[test]
    fn without_any_model_the_three_easiest_ways_to_one_are_told() {
        let nothing = ModelSelection {
            typed: ModelOption::default(),
            planned: PlannedModel::default(),
            roles: &Roles::default(),
        };
        let error = nothing.route(None).unwrap_err();
        let said = error.to_string();
        assert_eq!((said.lines().count(), error.hints.len()), (7, 5), "{said}");
        for way in ["ollama/", "OPENROUTER_API_KEY", "regatta demo"] {
            assert!(said.contains(way), "{said}");
        }
        let models = ["toys/toy", "toys/toy-slow"].map(str::to_owned).to_vec();
        let found = Some(FoundModels { said: "found: two".to_owned(), models });
        let roles = Roles { found, ..Roles::default() };
        let error = ModelSelection { roles: &roles, ..nothing }.route(None).unwrap_err();
        assert_eq!(error.hints, ["--model toys/toy", "--model toys/toy-slow", "regatta models"]);
    }
}
