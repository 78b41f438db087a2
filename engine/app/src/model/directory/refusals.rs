//! Why a name of a model is refused, and what to type.

use std::collections::{BTreeMap, BTreeSet};

use protocol::ThinkingLevel;
use providers::known_providers;

use super::super::family::ModelName;
use super::{ListedModel, ModelDirectory};
use crate::error::{Error, ErrorKind};

/// The maximum number of models that an error lists.
const LISTED: usize = 5;

impl ModelDirectory {
    /// Returns the error about a name of models of which none can be used: what each provider with such
    /// a model lacks. `found` are the best ones.
    pub(super) fn unusable(&self, name: &str, found: &[&ListedModel]) -> Error {
        let what = match found {
            [model] => format!("cannot use the model {model}"),
            _several => format!("cannot use a model called `{name}`"),
        };
        let mut of_providers: BTreeMap<&str, Vec<&ListedModel>> = BTreeMap::new();
        for model in &self.models {
            of_providers.entry(&model.provider).or_default().push(model);
        }
        let offered = of_providers.into_values().flat_map(|models| self.named_in(&models, name));
        let mut offered = self.each_once(offered.collect());
        if offered.is_empty() {
            offered = found.to_vec();
        }
        // Those who have made a model come before those who pass it on.
        offered.sort_by_key(|model| model.id.matches('/').count());
        let mut error = Error::new(ErrorKind::Model, what);
        let mut causes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for model in offered.iter().take(LISTED) {
            let Some(obstacle) = &model.obstacle else { continue };
            causes.entry(obstacle.why()).or_default().push(model.to_string());
            error = obstacle.remedy().into_iter().fold(error, Error::hint);
        }
        for (why, models) in causes {
            error = error.because(match offered.len() {
                1 => why.to_owned(),
                _several => format!("{why}: {}", models.join(", ")),
            });
        }
        let makers = offered.iter().filter_map(|model| model.id.split_once('/'));
        let is_known = |maker: &str| known_providers().any(|provider| provider.id == maker);
        let is_offered = |maker: &str| offered.iter().any(|model| model.provider == maker);
        let makers = makers.filter(|(maker, _)| is_known(maker) && !is_offered(maker));
        let made = makers
            .map(|(maker, id)| format!("--model {maker}/{id} (with a key: regatta login {maker})"));
        let local = is_of_local_family(name).then(|| {
            format!("--model ollama/{name} (on this machine, after `ollama pull {name}`)")
        });
        let instead: BTreeSet<String> = made.chain(local).collect();
        let error = instead.into_iter().fold(error, Error::hint);
        error.hint("regatta models (those that can be used)")
    }

    /// Returns the error about a name that no model has.
    pub(super) fn unknown(&self, name: &str) -> Error {
        if let Some((before, level)) = name.rsplit_once(':')
            && !self.matching(before).is_empty()
        {
            return unknown_level(before, level);
        }
        let family = |model: &ListedModel| ModelName::of_id(&model.id).family_names();
        let families: BTreeSet<String> = self.models.iter().flat_map(family).flatten().collect();
        let ids = self.models.iter().map(|model| model.id.as_str());
        let near = config::nearest(name, families.iter().map(String::as_str).chain(ids));
        let mut error = Error::new(ErrorKind::Model, format!("no model is called `{name}`"))
            .because(
                "a model is PROVIDER/ID, an id, a family such as `sonnet`, or a part of a name",
            )
            .because(self.file_fault.as_deref().unwrap_or_default());
        if let Some(near) = near {
            error = error.hint(format!("--model {near}"));
        }
        if let Some(relative) = self.relative(name) {
            let provider = &relative.provider;
            error = error.hint(format!("--model {provider}/{name} (if {provider} has it)"));
            let remedy = relative.obstacle.as_ref().and_then(|it| it.remedy());
            error = remedy.into_iter().fold(error, Error::hint);
        }
        error.hint("regatta models --all")
    }

    /// Returns a model of the same family as a name that says a version or a date.
    fn relative(&self, name: &str) -> Option<&ListedModel> {
        let name = ModelName::parse(name);
        let is_relative = |model: &&ListedModel| ModelName::of_id(&model.id).is_relative_of(&name);
        let relatives = self.models.iter().filter(is_relative);
        relatives.min_by_key(|model| (model.id.matches('/').count(), model.obstacle.is_some()))
    }
}

/// Returns whether a name without a provider is of a family whose models run on the user's machine.
fn is_of_local_family(name: &str) -> bool {
    let families = ["codellama", "gemma", "llama", "mistral", "phi", "qwen"];
    !name.contains('/') && families.iter().any(|family| name.starts_with(family))
}

impl ListedModel {
    pub(super) fn check(&self) -> Result<(), Error> {
        let refused = |why: String| {
            Error::new(ErrorKind::Model, format!("cannot use the model {self}")).because(why)
        };
        if self.facts.tools == Some(false) {
            return Err(refused("it cannot call tools, and tasks are done with tools".to_owned())
                .hint("regatta models (those that can)"));
        }
        Ok(())
    }
}

/// Returns the error about a model that exists, with a thinking level that does not.
fn unknown_level(model: &str, level: &str) -> Error {
    let levels = ThinkingLevel::ALL.map(ThinkingLevel::as_str);
    let near = match level {
        "max" | "maximum" | "ultra" | "highest" => Some(ThinkingLevel::XHigh.as_str()),
        "none" | "no" => Some(ThinkingLevel::Off.as_str()),
        _ => config::nearest(level, levels),
    };
    Error::new(ErrorKind::Model, format!("no thinking level is called `{level}`"))
        .because(format!("the levels are {}", levels.join(", ")))
        .hint(format!("--model {model}:{}", near.unwrap_or(ThinkingLevel::High.as_str())))
}

/// Returns the error about a name that several models have.
pub(super) fn ambiguous(name: &str, several: &[&ListedModel]) -> Error {
    let some = several.iter().take(LISTED).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let more = if several.len() > LISTED { ", …" } else { "" };
    let what = format!("`{name}` may name {} models", several.len());
    let error = Error::new(ErrorKind::Model, what).because(format!("{some}{more}"));
    error.hint(format!("--model {}", several[0]))
}
