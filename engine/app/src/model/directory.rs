//! The models that can be named: those of the catalogue and of the user's file, with the reason why
//! one cannot be used.

mod refusals;

use std::collections::BTreeMap;

use config::Equivalence;
use globset::GlobBuilder;
use protocol::{ModelRoute, ThinkingLevel};
use providers::{KnownProvider, ModelFacts};

use super::family::{ModelName, newest, without_dated};
use super::{Obstacle, is_scenario};
use crate::error::{Error, ErrorKind};
use refusals::ambiguous;

/// The models that can be named, in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelDirectory {
    models: Vec<ListedModel>,
    /// Which models are the same one, as the user says.
    equivalence: Equivalence,
    /// The first provider of the account of each provider that shares one.
    accounts: BTreeMap<String, String>,
    /// Why nothing in the file of models is used; `None` if it is.
    file_fault: Option<String>,
}

/// One model of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedModel {
    /// The provider.
    pub provider: String,
    /// The id of the model at its provider.
    pub id: String,
    /// What is known about the model.
    pub facts: ModelFacts,
    /// Why it cannot be used; `None` if it can.
    pub obstacle: Option<Obstacle>,
}

/// The models that a session may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelScope {
    /// The models, each once.
    pub models: Vec<ModelRoute>,
    /// The patterns that name none.
    pub unmatched: Vec<String>,
}

/// The provider whose models are called `NAME:TAG`.
const OLLAMA: &str = "ollama";

/// Returns whether a name is the id of a model but for capitals and hyphens: `GPT-5` and `gpt5` are `gpt-5`.
fn is_spelled_like(id: &str, name: &str) -> bool {
    let letters = |text: &str| {
        let letters = text.chars().filter(|it| !['-', '_', ' '].contains(it));
        letters.flat_map(char::to_lowercase).collect::<String>()
    };
    letters(id) == letters(name)
}

impl ModelDirectory {
    /// Returns a directory of these models.
    #[must_use]
    pub fn new(mut models: Vec<ListedModel>) -> Self {
        let key = |model: &ListedModel| (model.provider.clone(), model.id.clone());
        models.sort_by_key(key);
        models.dedup_by_key(|model| key(model));
        Self { models, ..Self::default() }
    }

    /// Returns this directory, in which these models are the same.
    #[must_use]
    pub fn with_equivalence(self, equivalence: Equivalence) -> Self {
        Self { equivalence, ..self }
    }

    /// Returns this directory, in which these providers are accounts of others: the same models over
    /// another API.
    #[must_use]
    pub fn with_accounts(self, accounts: BTreeMap<String, String>) -> Self {
        Self { accounts, ..self }
    }

    /// Returns this directory, in which nothing of the file of models is, for this reason.
    #[must_use]
    pub fn with_file_fault(self, file_fault: Option<String>) -> Self {
        Self { file_fault, ..self }
    }

    /// Returns this directory with these models.
    #[must_use]
    pub fn with_models(self, models: Vec<ListedModel>) -> Self {
        Self { models: Self::new(models).models, ..self }
    }

    /// Returns the models.
    pub fn models(&self) -> &[ListedModel] {
        &self.models
    }

    /// Returns what is known about a model.
    pub fn find(&self, provider: &str, id: &str) -> Option<&ListedModel> {
        self.models.iter().find(|model| model.provider == provider && model.id == id)
    }

    /// Returns why a model cannot be used, as far as that is known before it is asked. A model that is
    /// not listed is asked all the same, if its provider can be.
    pub fn obstacle(&self, route: &ModelRoute) -> Option<Obstacle> {
        if let Some(model) = self.find(&route.provider, &route.id) {
            return model.obstacle.clone();
        }
        let mut others = self.models.iter().filter(|model| model.provider == route.provider);
        // Why a model without tools cannot be used says nothing about its provider.
        match others.find(|model| model.facts.tools != Some(false)) {
            Some(other) => other.obstacle.clone(),
            None if KnownProvider::find(&route.provider).is_some() || is_scenario(route) => None,
            None => Some(Obstacle::new(
                self.file_fault
                    .clone()
                    .unwrap_or_else(|| format!("no provider is called `{}`", route.provider)),
            )),
        }
    }

    /// Returns the level of thinking that a model gets in place of the one asked for, if it is
    /// another one.
    pub fn other_level(&self, route: &ModelRoute) -> Option<ThinkingLevel> {
        let level = route.thinking?;
        let model = self.find(&route.provider, &route.id).filter(|_| route.base_url.is_none())?;
        Some(level.of_model(&model.facts.thinking_levels())).filter(|other| *other != level)
    }

    /// Checks a model that is named by its provider and id. What looks like a thinking level is a part
    /// of the id where there is a model of that id, and what looks like a provider is so where no
    /// provider has that name. Where the provider has no such id, but a family of that name, it is the
    /// newest model of the family.
    ///
    /// # Errors
    /// The model cannot call tools.
    pub fn checked(&self, mut route: ModelRoute) -> Result<ModelRoute, Error> {
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
        if self.find(&route.provider, &route.id).is_none()
            && ModelName::parse(&route.id).is_family()
            && let [newest] = self.of_family(&route).as_slice()
        {
            route.id.clone_from(&newest.id);
        }
        if self.find(&route.provider, &route.id).is_none() {
            let own = self.models.iter().filter(|model| model.provider == route.provider);
            let mut same = own.filter(|model| is_spelled_like(&model.id, &route.id));
            if let (Some(only), None) = (same.next(), same.next()) {
                route.id.clone_from(&only.id);
            }
        }
        if let Some(model) = self.find(&route.provider, &route.id) {
            model.check()?;
        }
        Ok(route)
    }

    /// Returns the one model that `name` names: by its id, by a glob, by its family, of which the newest
    /// is meant, or by a part of its name; a thinking level may follow after a colon. Models that can be
    /// used go before the others. `NAME:TAG`, where no model is called that, is a model of Ollama.
    ///
    /// # Errors
    /// No model has the name, several have it, or the one cannot be used.
    pub fn named(&self, name: &str) -> Result<ModelRoute, Error> {
        let (mut name, mut thinking) = (name, None);
        let mut found = self.matching(name);
        if found.is_empty()
            && let Some((before, level)) = name.rsplit_once(':')
            && let Ok(level) = level.parse::<ThinkingLevel>()
        {
            (found, thinking, name) = (self.matching(before), Some(level), before);
        }
        let model = match found.as_slice() {
            [] => return of_ollama(name, thinking).ok_or_else(|| self.unknown(name)),
            several if several.iter().all(|model| model.obstacle.is_some()) => {
                return Err(self.unusable(name, several));
            }
            [model] => *model,
            several => return Err(ambiguous(name, several)),
        };
        model.check()?;
        let (provider, id) = (model.provider.clone(), model.id.clone());
        Ok(ModelRoute { provider, id, base_url: None, thinking })
    }

    /// Returns the models that can be used and that one of these patterns names, in the order of the
    /// patterns; a thinking level may follow after a colon.
    ///
    /// # Errors
    /// There is none.
    pub fn scope(&self, patterns: &[String]) -> Result<ModelScope, Error> {
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
                .because("no model that can be used has such a name")
                .hint("regatta models (those that can be used)"));
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

    /// Returns the models that `name` may name: those that can be used, else the others; of these, those
    /// that the first way finds that finds any.
    fn matching(&self, name: &str) -> Vec<&ListedModel> {
        let whole = self.models.iter().find(|model| model.to_string() == name);
        if let Some(model) = whole.or_else(|| self.equivalent(name)) {
            return vec![model];
        }
        let found = self.best(|models| self.named_in(models, name));
        if !found.is_empty() || name.is_empty() {
            return found;
        }
        let lower = name.to_lowercase();
        self.best(|models| {
            let has_part = |model: &&ListedModel| model.to_string().to_lowercase().contains(&lower);
            without_dated(models.iter().copied().filter(has_part).collect())
        })
    }

    /// Returns those of `models` that have this id, or match this glob; else the newest of a family.
    fn named_in<'a>(&self, models: &[&'a ListedModel], name: &str) -> Vec<&'a ListedModel> {
        let glob = GlobBuilder::new(&name.to_lowercase()).literal_separator(false).build().ok();
        let glob = glob.filter(|_| name.contains(['*', '?', '['])).map(|it| it.compile_matcher());
        let last = |model: &ListedModel| model.id.rsplit('/').next().unwrap_or_default().to_owned();
        let ways: [&dyn Fn(&ListedModel) -> bool; 5] = [
            &|model| model.id == name && self.is_named_by_id(model),
            // Providers that pass on the models of others name these in their ids.
            &|model| last(model) == name && self.is_named_by_id(model),
            &|model| is_spelled_like(&model.id, name) && self.is_named_by_id(model),
            &|model| is_spelled_like(&last(model), name) && self.is_named_by_id(model),
            &|model| {
                let (id, shown) = (model.id.to_lowercase(), model.to_string().to_lowercase());
                glob.as_ref().is_some_and(|it| it.is_match(id) || it.is_match(shown))
            },
        ];
        let by = |way: &&dyn Fn(&ListedModel) -> bool| {
            models.iter().copied().filter(|model| way(model)).collect::<Vec<_>>()
        };
        let first = ways.iter().map(by).find(|found| !found.is_empty());
        first.map_or_else(|| self.newest(models, name), without_dated)
    }

    /// Returns what `find` finds among the models that can be used, else among all; a model of one
    /// account over several APIs once.
    fn best<'a>(
        &'a self,
        find: impl Fn(&[&'a ListedModel]) -> Vec<&'a ListedModel>,
    ) -> Vec<&'a ListedModel> {
        let all: Vec<_> = self.models.iter().collect();
        let usable: Vec<_> = all.iter().copied().filter(|it| it.obstacle.is_none()).collect();
        let found = [usable, all].into_iter().map(|models| find(&models));
        self.each_once(found.into_iter().find(|found| !found.is_empty()).unwrap_or_default())
    }

    /// Removes the models that another provider of the same account has too: the first one that can be
    /// used stays.
    pub fn each_once<'a>(&self, models: Vec<&'a ListedModel>) -> Vec<&'a ListedModel> {
        let key = |model: &'a ListedModel| {
            let account = self.accounts.get(&model.provider).unwrap_or(&model.provider);
            (account.clone(), model.id.as_str())
        };
        let mut kept: BTreeMap<_, &ListedModel> = BTreeMap::new();
        for model in &models {
            let kept = kept.entry(key(model)).or_insert(*model);
            if kept.obstacle.is_some() && model.obstacle.is_none() {
                *kept = *model;
            }
        }
        let is_kept = |model: &&'a ListedModel| {
            kept.get(&key(model)).is_some_and(|it| std::ptr::eq(*it, *model))
        };
        models.into_iter().filter(is_kept).collect()
    }

    /// Returns the newest model of each family of its provider that a route may name.
    fn of_family(&self, route: &ModelRoute) -> Vec<&ListedModel> {
        self.best(|models| {
            let own = models.iter().copied().filter(|model| model.provider == route.provider);
            newest(own, &ModelName::parse(&route.id))
        })
    }

    /// Returns the newest model of each family that `name` may name, a provider before it included.
    fn newest<'a>(&self, models: &[&'a ListedModel], name: &str) -> Vec<&'a ListedModel> {
        let prefix = name.rsplit_once('/').map(|(before, _)| format!("{before}/"));
        let is_there = |model: &&ListedModel| {
            let prefix = prefix.as_deref().unwrap_or_default();
            self.is_named_by_id(model)
                && (model.to_string().starts_with(prefix) || model.id.starts_with(prefix))
        };
        newest(models.iter().copied().filter(is_there), &ModelName::parse(name))
    }

    /// Returns whether something else than its whole name may mean a model, as the user says.
    fn is_named_by_id(&self, model: &ListedModel) -> bool {
        !self.equivalence.exclude.contains(&model.to_string())
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
}

impl std::fmt::Display for ListedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.provider, self.id)
    }
}

/// Returns the model of Ollama with this name, if that is how Ollama writes one: `qwen3:8b`.
fn of_ollama(name: &str, thinking: Option<ThinkingLevel>) -> Option<ModelRoute> {
    let (before, tag) = name.split_once(':')?;
    let is_word = |text: &str| {
        let is_of_word = |it: char| it.is_ascii_alphanumeric() || "._-".contains(it);
        !text.is_empty() && text.chars().all(is_of_word)
    };
    // A tag without a digit is more likely a thinking level that is written wrong.
    let is_tag = tag == "latest" || tag.contains(|it: char| it.is_ascii_digit());
    (is_word(before) && is_word(tag) && is_tag).then(|| ModelRoute {
        provider: OLLAMA.to_owned(),
        id: name.to_owned(),
        base_url: None,
        thinking,
    })
}

#[cfg(test)]
mod tests;
