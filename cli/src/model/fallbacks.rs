//! The models that answer in place of the model of a task where that cannot be had: the plan names
//! them, else the setting `retry.fallbackChains`.

use protocol::ModelRoute;

use super::selection::Roles;
use super::{ModelChoice, ModelOption, ModelSelection, Obstacle, Role};
use crate::error::Error;

impl ModelSelection<'_> {
    /// Returns the fallbacks of a model. `planned` are those of the plan; without them, those of the
    /// settings that can be used.
    ///
    /// # Errors
    /// The plan names a model that is not known or cannot do tasks.
    pub(crate) fn fallbacks(
        &self,
        model: &ModelRoute,
        planned: Option<&[ModelChoice]>,
    ) -> Result<Vec<ModelRoute>, Error> {
        let named = match planned {
            None => {
                self.roles.chain_of(model).filter(|it| self.roles.obstacle(it).is_none()).collect()
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

impl Roles {
    /// Returns the models that the settings name for a model, or for its role.
    fn chain_of(&self, model: &ModelRoute) -> impl Iterator<Item = ModelRoute> + use<> {
        let name = model.name();
        let of_role = || {
            let has = |role: &Role| {
                let named = self.model_of(*role);
                named.is_some_and(|it| it.is_ok_and(|named| named.name() == name))
            };
            let roles = Role::ALL.into_iter().filter(has);
            roles.filter_map(|role| self.fallback_chains.get(role.as_str())).next()
        };
        let chain = self.fallback_chains.get(&name).or_else(of_role);
        chain.cloned().unwrap_or_default().into_iter()
    }

    /// Returns why a model that the settings name cannot be used.
    fn obstacle(&self, model: &ModelRoute) -> Option<Obstacle> {
        self.directory.obstacle(model)
    }
}

/// Returns which models of the settings are left out of the fallbacks of a model, and why.
pub(crate) fn left_out_fallbacks(
    (model, fallbacks): (&ModelRoute, &[ModelRoute]),
    roles: &Roles,
) -> Vec<String> {
    let chain: Vec<ModelRoute> = roles.chain_of(model).collect();
    let is_of_chain = |used: &ModelRoute| chain.iter().any(|named| named.name() == used.name());
    if !fallbacks.iter().all(is_of_chain) {
        return Vec::new(); // a plan names others
    }
    let note = |left_out: &ModelRoute| {
        let why = roles.obstacle(left_out)?;
        Some(format!("the fallback {} of {} is not used: {why}", left_out.name(), model.name()))
    };
    chain.iter().filter_map(note).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
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
        let chain = |models: &[&str]| models.iter().map(|it| it.parse().unwrap()).collect();
        Roles {
            default: Some("main/a".parse().unwrap()),
            fallback_chains: BTreeMap::from([
                ("default".to_owned(), chain(&["spare/b", "keyless/c", "main/a"])),
                ("main/d".to_owned(), chain(&["main/a:low"])),
            ]),
            directory: Arc::new(ModelDirectory::new(vec![
                listed("main/a", None),
                listed("spare/b", None),
                listed("keyless/c", Some("no key")),
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
        let expected = ["the fallback keyless/c of main/a is not used: no key"];
        assert_eq!(left_out(&["spare/b"]), expected);
        assert_eq!(left_out(&["other/x"]), Vec::<String>::new());
    }
}
