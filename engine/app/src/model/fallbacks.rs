//! The models that answer in place of the model of a task where that cannot be had: the plan names
//! them, else the setting `retry.fallbackChains`.

use protocol::ModelRoute;

use super::selection::Roles;
use super::{ModelChoice, ModelOption, ModelSelection, Obstacle};
use crate::error::Error;

/// The models that answer where another cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FallbackChain {
    /// The other: a role, or a model.
    pub of: ModelChoice,
    /// The models, in the order in which they are asked.
    pub models: Vec<ModelChoice>,
}

impl ModelSelection<'_> {
    /// Returns the fallbacks of a model. `planned` are those of the plan; without them, those of the
    /// settings that can be used.
    ///
    /// # Errors
    /// The plan names a model that is not known or cannot do tasks.
    pub fn fallbacks(
        &self,
        model: &ModelRoute,
        planned: Option<&[ModelChoice]>,
    ) -> Result<Vec<ModelRoute>, Error> {
        let named = match planned {
            None => {
                let chain = self.roles.chain_of(model).iter();
                chain.filter_map(|choice| self.roles.usable(choice).ok()).collect()
            }
            Some(planned) => {
                let untyped = Self { typed: ModelOption::default(), ..*self };
                let named = planned.iter().map(|choice| untyped.route(Some(choice)));
                named.collect::<Result<Vec<_>, Error>>()?
            }
        };
        let mut fallbacks: Vec<ModelRoute> = Vec::new();
        for mut fallback in named {
            if fallback.provider == model.provider {
                fallback.base_url.clone_from(&model.base_url);
            }
            fallback.thinking = fallback.thinking.or(model.thinking);
            let is_new = fallbacks.iter().all(|known| known.name() != fallback.name());
            if is_new && fallback.name() != model.name() {
                fallbacks.push(fallback);
            }
        }
        Ok(fallbacks)
    }
}

impl ModelSelection<'_> {
    /// Returns which models the names of a model's fallbacks mean, where they do not say so themselves.
    pub fn meant_fallbacks(
        &self,
        model: &ModelRoute,
        planned: Option<&[ModelChoice]>,
    ) -> Vec<String> {
        let untyped = Self { typed: ModelOption::default(), ..*self };
        let meaning = |choice: &ModelChoice| {
            let meant = match planned {
                None => self.roles.usable(choice).ok()?,
                Some(_) => untyped.route(Some(choice)).ok()?,
            };
            untyped.meaning(Some(choice), &meant)
        };
        let choices = planned.unwrap_or_else(|| self.roles.chain_of(model));
        choices.iter().filter_map(meaning).collect()
    }
}

impl Roles {
    /// Returns the models that the settings name for a model, or else for its role.
    fn chain_of(&self, model: &ModelRoute) -> &[ModelChoice] {
        let name = model.name();
        let is_it = |named: Result<ModelRoute, Error>| named.is_ok_and(|it| it.name() == name);
        let chains = || self.fallback_chains.iter();
        let of_name = |chain: &&FallbackChain| match &chain.of {
            ModelChoice::Role(_) => false,
            named => self.named(named).is_some_and(is_it),
        };
        let of_role = |chain: &&FallbackChain| match &chain.of {
            ModelChoice::Role(role) => self.model_of(*role).is_some_and(is_it),
            ModelChoice::Route(_) | ModelChoice::Name(_) => false,
        };
        let chain = chains().find(of_name).or_else(|| chains().find(of_role));
        chain.map(|chain| chain.models.as_slice()).unwrap_or_default()
    }

    /// Returns the model that a name in a chain means; `None` for a role that no model has.
    fn named(&self, choice: &ModelChoice) -> Option<Result<ModelRoute, Error>> {
        match choice {
            ModelChoice::Route(route) => Some(self.directory.checked(route.clone())),
            ModelChoice::Name(name) => Some(self.directory.named(name)),
            ModelChoice::Role(role) => self.model_of(*role),
        }
    }

    /// Returns the model that a name in a chain means, or why none can be used.
    fn usable(&self, choice: &ModelChoice) -> Result<ModelRoute, Obstacle> {
        let unusable = |error: Error| {
            let Error { what, because, .. } = error;
            Obstacle::new(because.into_iter().next().unwrap_or(what))
        };
        let no_role = || Err(Error::usage(format!("no model has the role `{choice}`")));
        let model = self.named(choice).unwrap_or_else(no_role).map_err(unusable)?;
        match self.directory.obstacle(&model) {
            Some(obstacle) => Err(obstacle),
            None => Ok(model),
        }
    }
}

/// Returns which models of the settings are left out of the fallbacks of a model, and why, and which
/// fallbacks are those of no model.
pub fn left_out_fallbacks(
    (model, fallbacks): (&ModelRoute, &[ModelRoute]),
    roles: &Roles,
) -> Vec<String> {
    let chain = roles.chain_of(model);
    let usable: Vec<_> = chain.iter().map(|choice| roles.usable(choice)).collect();
    let is_of_chain =
        |used: &ModelRoute| usable.iter().flatten().any(|named| named.name() == used.name());
    if !fallbacks.iter().all(is_of_chain) {
        return Vec::new(); // a plan names others
    }
    let left_out = chain.iter().zip(usable).filter_map(|(choice, usable)| {
        let why = usable.err()?;
        Some(format!("the fallback {choice} of {} is not used: {why}", model.name()))
    });
    let of_nothing = roles.fallback_chains.iter().filter_map(|FallbackChain { of, .. }| match of {
        ModelChoice::Name(name) => {
            let why = roles.directory.named(name).err()?.what;
            Some(format!("the fallbacks of `{name}` are not used: {why}"))
        }
        ModelChoice::Route(_) | ModelChoice::Role(_) => None,
    });
    left_out.chain(of_nothing).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use providers::ModelFacts;

    use super::super::{ListedModel, ModelDirectory, PlannedModel};
    use super::*;

    fn listed(name: &str, obstacle: Option<&str>) -> ListedModel {
        let (provider, id) = name.split_once('/').unwrap();
        ListedModel {
            provider: provider.to_owned(),
            id: id.to_owned(),
            facts: ModelFacts::default(),
            obstacle: obstacle.map(Obstacle::new),
        }
    }

    fn roles() -> Roles {
        let chain = |of: &str, models: &[&str]| {
            let models = models.iter().map(|it| it.parse().unwrap()).collect();
            FallbackChain { of: of.parse().unwrap(), models }
        };
        Roles {
            default: Some("main/a".parse().unwrap()),
            fallback_chains: vec![
                chain("default", &["spare/b", "keyless/c", "main/a"]),
                chain("main/d", &["main/a:low"]),
                chain("sonnet", &["opus:low", "b", "smol", "haiku"]),
                chain("sonet", &["b"]),
            ],
            directory: Arc::new(ModelDirectory::new(vec![
                listed("main/a", None),
                listed("spare/b", None),
                listed("keyless/c", Some("no key")),
                listed("main/claude-sonnet-4-5", None),
                listed("main/claude-sonnet-5", None),
                listed("main/claude-opus-5", None),
                listed("keyless/claude-haiku-5", Some("no key")),
            ])),
            ..Roles::default()
        }
    }

    fn fallbacks(model: &str, planned: Option<&[ModelChoice]>) -> Vec<String> {
        let roles = roles();
        let (typed, planned_model) = (ModelOption::default(), PlannedModel::default());
        let selection = ModelSelection { typed, planned: planned_model, roles: &roles };
        let found = selection.fallbacks(&model.parse().unwrap(), planned).unwrap();
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_settings_name_fallbacks_by_model_or_role_and_those_without_a_key_are_left_out() {
        assert_eq!(fallbacks("main/a", None), ["spare/b"]);
        assert_eq!(fallbacks("main/a:high", None), ["spare/b:high"], "it thinks as much");
        assert_eq!(fallbacks("main/d:high", None), ["main/a:low"]);
        assert_eq!(fallbacks("other/e", None), Vec::<String>::new());
        assert_eq!(fallbacks("main/claude-sonnet-5", None), ["main/claude-opus-5:low", "spare/b"]);
        assert_eq!(fallbacks("main/claude-sonnet-4-5", None), Vec::<String>::new());
        let planned: Vec<ModelChoice> =
            ["b", "spare/x", "main/a"].map(|it| it.parse().unwrap()).into();
        assert_eq!(fallbacks("main/a", Some(&planned)), ["spare/b", "spare/x"]);
        assert_eq!(fallbacks("main/a", Some(&[])), Vec::<String>::new(), "the plan wants none");
    }

    #[test]
    fn what_is_left_out_is_told_unless_the_plan_names_others() {
        let (roles, model) = (roles(), "main/a".parse().unwrap());
        let left_out = |fallbacks: &[&str]| {
            let fallbacks: Vec<_> = fallbacks.iter().map(|it| it.parse().unwrap()).collect();
            left_out_fallbacks((&model, &fallbacks), &roles)
        };
        let unknown = "the fallbacks of `sonet` are not used: no model is called `sonet`";
        let expected = ["the fallback keyless/c of main/a is not used: no key", unknown];
        assert_eq!(left_out(&["spare/b"]), expected);
        let sonnet = "main/claude-sonnet-5".parse().unwrap();
        let of_sonnet = |why: &str| format!("the fallback {why}");
        let expected = [
            of_sonnet("smol of main/claude-sonnet-5 is not used: no model has the role `smol`"),
            of_sonnet("haiku of main/claude-sonnet-5 is not used: no key"),
            unknown.to_owned(),
        ];
        assert_eq!(left_out_fallbacks((&sonnet, &[]), &roles), expected);
        let selection = ModelSelection {
            typed: ModelOption::default(),
            planned: PlannedModel::default(),
            roles: &roles,
        };
        let meant = ["`opus:low` is the model main/claude-opus-5:low", "`b` is the model spare/b"];
        assert_eq!(selection.meant_fallbacks(&sonnet, None), meant);
        assert_eq!(left_out(&["other/x"]), Vec::<String>::new());
    }
}
