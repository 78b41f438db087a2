//! The models that can be named: those of the catalogue and of the user's file, with the reason why
//! one cannot be used.

use std::collections::{BTreeMap, BTreeSet};

use config::{Equivalence, ModelsFile};
use globset::GlobBuilder;
use protocol::{ModelRoute, ThinkingLevel};
use providers::{FactsTable, KnownProvider, ModelFacts, known_providers};

use super::is_scenario;
use super::user_models::{KeyPlace, UserModels, facts_of, facts_of_own};
use crate::error::{Error, ErrorKind};

/// The models that can be named, in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelDirectory {
    models: Vec<ListedModel>,
    /// Which models are the same one, as the user says.
    equivalence: Equivalence,
}

/// One model of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedModel {
    pub(crate) provider: String,
    pub(crate) id: String,
    pub(crate) facts: ModelFacts,
    /// Why it cannot be used; `None` if it can.
    pub(crate) obstacle: Option<String>,
}

/// The models that a session may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModelScope {
    /// The models, each once.
    pub(crate) models: Vec<ModelRoute>,
    /// The patterns that name none.
    pub(crate) unmatched: Vec<String>,
}

/// The maximum number of models that an error lists.
const LISTED: usize = 5;

impl ModelDirectory {
    /// Returns a directory of these models.
    #[must_use]
    pub(crate) fn new(mut models: Vec<ListedModel>) -> Self {
        let key = |model: &ListedModel| (model.provider.clone(), model.id.clone());
        models.sort_by_key(key);
        models.dedup_by_key(|model| key(model));
        Self { models, equivalence: Equivalence::default() }
    }

    /// Returns this directory, in which these models are the same.
    #[must_use]
    pub(crate) fn with_equivalence(self, equivalence: Equivalence) -> Self {
        Self { equivalence, ..self }
    }

    /// Returns the directory of the user's models.
    pub(crate) fn of_user(user: &UserModels) -> Self {
        let (file, facts) = (user.file(), user.facts());
        let known = known_providers().map(|known| known.id);
        let names: BTreeSet<&str> =
            known.chain(file.providers.keys().map(String::as_str)).collect();
        let models = names.into_iter().flat_map(|name| {
            let obstacle = provider_obstacle(file, name, &user.key_place(name));
            let models = models_of(file, facts, name).into_iter();
            models.map(move |(id, facts)| {
                let toolless = facts.tools == Some(false);
                let toolless = toolless.then(|| "it cannot call tools".to_owned());
                let obstacle = toolless.or_else(|| obstacle.clone());
                ListedModel { provider: name.to_owned(), id, facts, obstacle }
            })
        });
        Self::new(models.collect()).with_equivalence(file.equivalence.clone())
    }

    /// Returns the models.
    pub(crate) fn models(&self) -> &[ListedModel] {
        &self.models
    }

    /// Returns what is known about a model.
    pub(crate) fn find(&self, provider: &str, id: &str) -> Option<&ListedModel> {
        self.models.iter().find(|model| model.provider == provider && model.id == id)
    }

    /// Returns why a model cannot be used, as far as that is known before it is asked. A model that is
    /// not listed is asked all the same, if its provider can be.
    pub(crate) fn obstacle(&self, route: &ModelRoute) -> Option<String> {
        if let Some(model) = self.find(&route.provider, &route.id) {
            return model.obstacle.clone();
        }
        let mut others = self.models.iter().filter(|model| model.provider == route.provider);
        // Why a model without tools cannot be used says nothing about its provider.
        match others.find(|model| model.facts.tools != Some(false)) {
            Some(other) => other.obstacle.clone(),
            None if KnownProvider::find(&route.provider).is_some() || is_scenario(route) => None,
            None => Some(format!("no provider is called `{}`", route.provider)),
        }
    }

    /// Returns the level of thinking that a model gets in place of the one asked for, if it is
    /// another one.
    pub(crate) fn other_level(&self, route: &ModelRoute) -> Option<ThinkingLevel> {
        let level = route.thinking?;
        let model = self.find(&route.provider, &route.id).filter(|_| route.base_url.is_none())?;
        Some(level.of_model(&model.facts.thinking_levels())).filter(|other| *other != level)
    }

    /// Checks a model that is named by its provider and id. What looks like a thinking level is a part
    /// of the id where there is a model of that id, and what looks like a provider is so where no
    /// provider has that name.
    ///
    /// # Errors
    /// The model cannot call tools.
    pub(crate) fn checked(&self, mut route: ModelRoute) -> Result<ModelRoute, Error> {
        if let Some(level) = route.thinking {
            let whole = format!("{}:{level}", route.id);
            if self.find(&route.provider, &whole).is_some() {
                (route.id, route.thinking) = (whole, None);
            }
        }
        let has = |provider: &str| self.models.iter().any(|model| model.provider == provider);
        let whole = route.name();
        if !has(&route.provider)
            && KnownProvider::find(&route.provider).is_none()
            && self.models.iter().any(|model| model.id == whole)
        {
            return self.named(&route.to_string());
        }
        if let Some(model) = self.find(&route.provider, &route.id) {
            model.check()?;
        }
        Ok(route)
    }

    /// Returns the one model that `name` names: by its id, by a glob, or by a part of its name; a
    /// thinking level may follow after a colon. Models that can be used go before the others.
    ///
    /// # Errors
    /// No model has the name, several have it, or the one cannot be used.
    pub(crate) fn named(&self, name: &str) -> Result<ModelRoute, Error> {
        let mut found = self.matching(name);
        let mut thinking = None;
        if found.is_empty()
            && let Some((before, level)) = name.rsplit_once(':')
            && let Ok(level) = level.parse::<ThinkingLevel>()
        {
            (found, thinking) = (self.matching(before), Some(level));
        }
        let model = match found.as_slice() {
            [] => return Err(self.unknown(name)),
            [model] => *model,
            several => return Err(ambiguous(name, several)),
        };
        if let Some(obstacle) = &model.obstacle {
            return Err(Error::new(ErrorKind::Model, format!("cannot use the model {model}"))
                .because(obstacle.clone())
                .hint("regatta models, for those that can be used"));
        }
        model.check()?;
        let (provider, id) = (model.provider.clone(), model.id.clone());
        Ok(ModelRoute { provider, id, base_url: None, thinking })
    }

    /// Returns the models that can be used and that one of these patterns names, in the order of the
    /// patterns; a thinking level may follow after a colon.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn scope(&self, patterns: &[String]) -> Result<ModelScope, Error> {
        let mut scope = ModelScope::default();
        for pattern in patterns.iter().map(|pattern| pattern.trim()).filter(|it| !it.is_empty()) {
            let found = self.of_pattern(pattern);
            if found.is_empty() {
                scope.unmatched.push(pattern.to_owned());
            }
            for model in found {
                if scope.models.iter().all(|known| known.name() != model.name()) {
                    scope.models.push(model);
                }
            }
        }
        if scope.models.is_empty() {
            let named = patterns.join(",");
            return Err(Error::new(ErrorKind::Model, format!("`--models {named}` names no model"))
                .because("none that can be used has such a name")
                .hint("regatta models, for those that can be used"));
        }
        Ok(scope)
    }

    fn of_pattern(&self, pattern: &str) -> Vec<ModelRoute> {
        let (mut found, mut thinking) = (self.matching(pattern), None);
        if found.is_empty()
            && let Some((before, level)) = pattern.rsplit_once(':')
            && let Ok(level) = level.parse::<ThinkingLevel>()
        {
            (found, thinking) = (self.matching(before), Some(level));
        }
        if found.is_empty() {
            // A model that is not listed is asked all the same, if its provider can be.
            let route = pattern.parse::<ModelRoute>().ok();
            let route =
                route.filter(|route| !pattern.contains('*') && self.obstacle(route).is_none());
            return route.into_iter().collect();
        }
        let usable = found.into_iter().filter(|model| model.obstacle.is_none());
        let usable = usable.filter(|model| model.facts.tools != Some(false));
        let route = |model: &ListedModel| {
            let (provider, id) = (model.provider.clone(), model.id.clone());
            ModelRoute { provider, id, base_url: None, thinking }
        };
        usable.map(route).collect()
    }

    /// Returns the models that `name` may name: of the first way that finds any, those that can be
    /// used, else the others.
    fn matching(&self, name: &str) -> Vec<&ListedModel> {
        let lower = name.to_lowercase();
        let glob = GlobBuilder::new(&lower).literal_separator(false).build().ok();
        let glob = glob.filter(|_| name.contains(['*', '?', '['])).map(|it| it.compile_matcher());
        let shown = |model: &ListedModel| model.to_string().to_lowercase();
        let whole = self.models.iter().find(|model| model.to_string() == name);
        if let Some(model) = whole.or_else(|| self.equivalent(name)) {
            return vec![model];
        }
        let ways: [&dyn Fn(&ListedModel) -> bool; 3] = [
            &|model| model.id == name && !self.equivalence.exclude.contains(&model.to_string()),
            &|model| {
                let id = model.id.to_lowercase();
                glob.as_ref().is_some_and(|it| it.is_match(id) || it.is_match(shown(model)))
            },
            &|model| !lower.is_empty() && shown(model).contains(&lower),
        ];
        for way in ways {
            let all: Vec<_> = self.models.iter().filter(|model| way(model)).collect();
            let usable: Vec<_> =
                all.iter().copied().filter(|model| model.obstacle.is_none()).collect();
            let best = if usable.is_empty() { all } else { usable };
            if !best.is_empty() {
                return without_dated(best);
            }
        }
        Vec::new()
    }

    /// Returns the model that is meant by an id that the user has given to several: the first of them
    /// that can be used, the one whose own id it is before the others.
    fn equivalent(&self, id: &str) -> Option<&ListedModel> {
        let Equivalence { overrides, exclude } = &self.equivalence;
        if !overrides.values().any(|common| common == id) {
            return None;
        }
        let is_meant = |model: &&ListedModel| {
            let name = model.to_string();
            let common = overrides.get(&name).map_or(model.id.as_str(), String::as_str);
            common == id && !exclude.contains(&name)
        };
        let same = self.models.iter().filter(is_meant);
        same.min_by_key(|model| (model.obstacle.is_some(), model.id != id))
    }

    fn unknown(&self, name: &str) -> Error {
        let ids = self.models.iter().map(|model| model.id.as_str());
        let near = config::nearest(name, ids);
        let error = Error::new(ErrorKind::Model, format!("no model is called `{name}`"))
            .because("a model is PROVIDER/ID, the id of one model, or a part of its name");
        let error = match near {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        };
        error.hint("regatta models --all")
    }
}

impl ListedModel {
    fn check(&self) -> Result<(), Error> {
        let refused = |why: String| {
            Error::new(ErrorKind::Model, format!("cannot use the model {self}")).because(why)
        };
        if self.facts.tools == Some(false) {
            return Err(refused("it cannot call tools, and tasks are done with tools".to_owned())
                .hint("regatta models, for those that can"));
        }
        Ok(())
    }
}

impl std::fmt::Display for ListedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.provider, self.id)
    }
}

fn ambiguous(name: &str, several: &[&ListedModel]) -> Error {
    let some = several.iter().take(LISTED).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let more = if several.len() > LISTED { ", …" } else { "" };
    let what = format!("`{name}` may name {} models", several.len());
    let error = Error::new(ErrorKind::Model, what).because(format!("{some}{more}"));
    error.hint(format!("--model {}", several[0]))
}

/// Removes the models whose name is that of another one with a date at its end.
fn without_dated(models: Vec<&ListedModel>) -> Vec<&ListedModel> {
    // As in `claude-opus-5-20260101` and `gpt-5-2026-01-01`.
    let dated = |id: &str| {
        let ends = |form: &str| {
            let end = id.len().checked_sub(form.len()).and_then(|at| id.get(at..));
            end.is_some_and(|end| {
                end.bytes().zip(form.bytes()).all(|(letter, form)| match form {
                    b'0' => letter.is_ascii_digit(),
                    other => letter == other,
                })
            })
        };
        ends("-00000000") || ends("-0000-00-00")
    };
    let alias = models.iter().any(|model| !dated(&model.id));
    models.into_iter().filter(|model| !alias || !dated(&model.id)).collect()
}

/// Returns why no model of a provider can be used.
fn provider_obstacle(file: &ModelsFile, name: &str, key: &KeyPlace) -> Option<String> {
    let fault = file.faults.iter().find(|fault| fault.provider.as_deref() == Some(name));
    if let Some(fault) = fault {
        return Some(fault.to_string());
    }
    match key {
        KeyPlace::Missing(variable) => {
            Some(format!("no key: regatta login {name}, or export {variable}=…"))
        }
        KeyPlace::Given
        | KeyPlace::Stored(_)
        | KeyPlace::Environment(_)
        | KeyPlace::File
        | KeyPlace::NotNeeded => None,
    }
}

/// Returns the models of a provider: those of the catalogue with the user's changes, and the user's
/// own.
fn models_of(file: &ModelsFile, facts: &FactsTable, name: &str) -> BTreeMap<String, ModelFacts> {
    let entry = file.providers.get(name);
    // A known provider at another address may have other models.
    let moved = entry.is_some_and(|it| it.base_url.is_some() && !it.models.is_empty());
    let is_known = KnownProvider::find(name).is_some();
    let known = facts.provider(name).filter(|_| is_known && !moved);
    let mut models: BTreeMap<String, ModelFacts> =
        known.map(|it| it.models.clone()).unwrap_or_default();
    if let Some(entry) = entry {
        for (id, said) in &entry.overrides {
            let known = models.remove(id).unwrap_or_default();
            models.insert(id.clone(), facts_of(said).or(&known));
        }
        for (id, said) in &entry.models {
            let known = models.remove(id).unwrap_or_default();
            models.insert(id.clone(), facts_of_own(said, &known, &facts.limits(id)));
        }
    }
    models
}

#[cfg(test)]
mod tests;
