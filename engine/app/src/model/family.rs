//! What the id of a model says: its family, its version and its date. `claude-opus-4-5-20251101` is
//! version 4.5 of the family `claude opus`, of a day in 2025.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::ListedModel;

/// What an id says, or a part of an id that a user types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ModelName {
    /// The words without version and date, in lower case.
    family: Vec<String>,
    /// The numbers of the version. Those after the first are decimals: 4.20 is older than 4.6.
    version: Vec<String>,
    /// The numbers of the date.
    date: Vec<String>,
    release: Release,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Release {
    Preview,
    #[default]
    Unmarked,
    /// The provider decides which version it is.
    Latest,
}

/// The variants of a family that its name alone means, as `gemini` means Gemini Pro; so does the model
/// without another word. Other words name smaller models, and those for a purpose of their own.
const MAIN: [&str; 4] = ["pro", "max", "large", "sonnet"];

/// The word after which a family is another one: GPT OSS is not a version of GPT.
const OTHER: &str = "oss";

impl ModelName {
    /// Returns what the id of a model says. The tag of a model of Ollama says its size.
    pub(super) fn of_id(id: &str) -> Self {
        Self::parse(id.split(':').next().unwrap_or_default())
    }

    /// Returns what the last part of an id says.
    pub(super) fn parse(id: &str) -> Self {
        let mut name = Self::default();
        let last = id.rsplit('/').next().unwrap_or_default().to_lowercase();
        for token in last.split(['-', '_', ' ']).filter(|token| !token.is_empty()) {
            match token {
                "preview" => name.release = Release::Preview,
                "latest" => name.release = Release::Latest,
                token => name.add(token),
            }
        }
        name
    }

    fn add(&mut self, token: &str) {
        let (letters, number) =
            token.split_at(token.find(|it: char| it.is_ascii_digit()).unwrap_or(token.len()));
        // Some providers write `5p2` for 5.2.
        let parts: Vec<&str> = number.split(['.', 'p']).collect();
        let is_digits =
            |part: &&str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
        if !parts.iter().all(is_digits) {
            return self.family.push(token.to_owned());
        }
        // A letter belongs to the version, as in `v4` and `k3`, except at the beginning, as in `o3`.
        let is_first = self.family.is_empty() && self.version.is_empty() && self.date.is_empty();
        if letters.chars().count() > 1 || is_first && !letters.is_empty() {
            self.family.push(letters.to_owned());
        }
        let begins_date = number.len() >= 4 || (number.len() == 2 && number.starts_with('0'));
        let is_date = letters.is_empty() && parts.len() == 1;
        let numbers = if is_date && (begins_date || !self.date.is_empty()) {
            &mut self.date
        } else {
            &mut self.version
        };
        numbers.extend(parts.into_iter().map(str::to_owned));
    }

    /// Returns whether it says nothing but a family.
    pub(super) fn is_family(&self) -> bool {
        let Self { family, version, date, release } = self;
        !family.is_empty() && version.is_empty() && date.is_empty() && *release == Release::Unmarked
    }

    /// Returns whether it is of the same family as a name that says a version or a date.
    pub(super) fn is_relative_of(&self, other: &Self) -> bool {
        self.family == other.family && !other.is_family() && !other.family.is_empty()
    }

    /// Returns whether its numbers begin with those that are typed.
    fn has_numbers_of(&self, typed: &Self) -> bool {
        self.version.starts_with(&typed.version)
            && (typed.date.is_empty() || self.date == typed.date)
            && (typed.release == Release::Unmarked || self.release == typed.release)
    }

    /// Returns the words of its family after those that are typed, if it begins with these.
    fn variant(&self, typed: &Self) -> Option<&[String]> {
        let variant = self.family.strip_prefix(typed.family.as_slice());
        variant.filter(|words| words.first().is_none_or(|word| word != OTHER))
    }

    /// Returns the order of the models that `typed` may mean, the one that is meant last: the main ones
    /// of a family, and then the newest. A name without a date comes after the same name with one, because
    /// its provider keeps it up to date.
    fn rank(&self, typed: &Self) -> impl Ord + use<> {
        let variant = self.variant(typed).unwrap_or_default();
        let is_main = match variant {
            [] => true,
            [word] => MAIN.contains(&word.as_str()),
            _several => false,
        };
        let major = self.version.first().and_then(|number| number.parse::<u64>().ok());
        let decimals = self.version.iter().skip(1).cloned().collect::<Vec<_>>();
        let is_dated = Reverse(!self.date.is_empty());
        let age = (major, decimals, Reverse(variant.len()), self.release, is_dated);
        (is_main, age, self.date.clone())
    }

    /// Returns the words with which the family can be typed: all of them, or the last one.
    pub(super) fn family_names(&self) -> [Option<String>; 2] {
        let all = Some(self.family.join("-")).filter(|all| !all.is_empty());
        [all, self.family.last().cloned()]
    }
}

/// Returns the newest model of each family that a user who types `typed` may mean; several of one family
/// if different providers have it. `typed` is the end of the name of a family, or else its begin: then it
/// is the newest of its variants. Where a provider passes on the models of another one, which its ids
/// name, the other one goes before.
pub(super) fn newest<'a>(
    models: impl IntoIterator<Item = &'a ListedModel>,
    typed: &ModelName,
) -> Vec<&'a ListedModel> {
    let named = models.into_iter().map(|model| (ModelName::of_id(&model.id), model));
    let mut meant: Vec<(ModelName, &ListedModel)> = Vec::new();
    if !typed.family.is_empty() {
        meant.extend(named.filter(|(name, _)| name.has_numbers_of(typed)));
    }
    let is_end = |name: &ModelName| name.family.ends_with(&typed.family);
    let is_begin = |name: &ModelName| name.variant(typed).is_some();
    let mut families: BTreeMap<Vec<String>, Vec<(ModelName, &ListedModel)>> = BTreeMap::new();
    if meant.iter().any(|(name, _)| is_end(name) && !is_begin(name)) {
        for (name, model) in meant.into_iter().filter(|(name, _)| is_end(name)) {
            families.entry(name.family.clone()).or_default().push((name, model));
        }
    } else {
        meant.retain(|(name, _)| is_begin(name));
        families.insert(typed.family.clone(), meant);
    }
    let best = families.into_values().flat_map(|models| {
        let rank = |(name, model): &(ModelName, &ListedModel)| {
            (name.rank(typed), Reverse(model.id.matches('/').count()))
        };
        let newest = models.iter().map(rank).max();
        models.into_iter().filter(move |model| Some(rank(model)) == newest)
    });
    best.map(|(_, model)| model).collect()
}

/// Removes the models with a date where another one has none.
pub(super) fn without_dated(models: Vec<&ListedModel>) -> Vec<&ListedModel> {
    let is_dated = |model: &&ListedModel| !ModelName::of_id(&model.id).date.is_empty();
    let has_undated = !models.iter().all(is_dated);
    models.into_iter().filter(|model| !has_undated || !is_dated(model)).collect()
}

#[cfg(test)]
mod tests {
    use providers::{FactsTable, ModelFacts};

    use super::*;

    #[test]
    fn the_family_of_a_model_is_its_id_without_version_and_date() {
        for (id, family, version, date) in [
            ("claude-opus-4-5-20251101", "claude opus", "4 5", "20251101"),
            ("anthropic/claude-opus-4.8", "claude opus", "4 8", ""),
            ("claude-3-5-sonnet-20241022", "claude sonnet", "3 5", "20241022"),
            ("gpt-4o-2024-08-06", "gpt 4o", "", "2024 08 06"),
            ("gpt-5.4-mini", "gpt mini", "5 4", ""),
            ("gemini-3.1-pro-preview", "gemini pro", "3 1", ""),
            ("gemini-flash-lite-latest", "gemini flash lite", "", ""),
            ("mistral-large-2512", "mistral large", "", "2512"),
            ("qwen/qwen3.5-flash-02-23", "qwen flash", "3 5", "02 23"),
            ("accounts/fireworks/models/glm-5p2", "glm", "5 2", ""),
            ("moonshotai/Kimi-K2.7-Code", "kimi code", "2 7", ""),
            ("meta-llama/Llama-3.3-70B-Instruct", "llama 70b instruct", "3 3", ""),
            ("o3", "o", "3", ""),
            ("openai/o4-mini", "o mini", "4", ""),
            ("deepseek-v4-pro", "deepseek pro", "4", ""),
            ("", "", "", ""),
        ] {
            let name = ModelName::parse(id);
            let found = (name.family.join(" "), name.version.join(" "), name.date.join(" "));
            assert_eq!(found, (family.to_owned(), version.to_owned(), date.to_owned()), "{id}");
        }
    }

    fn models<T: AsRef<str>>(names: &[T]) -> Vec<ListedModel> {
        let listed = names.iter().map(|name| {
            let (provider, id) = name.as_ref().split_once('/').unwrap();
            let (provider, id) = (provider.to_owned(), id.to_owned());
            ListedModel { provider, id, facts: ModelFacts::default(), obstacle: None }
        });
        listed.collect()
    }

    fn named(models: &[ListedModel], typed: &str) -> String {
        let newest = newest(models, &ModelName::parse(typed));
        newest.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_last_words_of_a_family_mean_its_newest_model() {
        let models = models(&[
            "a/claude-opus-4-8",
            "a/claude-opus-5",
            "a/claude-opus-5-fast",
            "a/claude-sonnet-4-5",
            "a/claude-sonnet-4-5-20250929",
            "g/gemini-2.5-pro",
            "g/gemini-3-flash",
            "g/gemini-3.1-pro-preview",
            "g/gemini-3.1-pro-preview-customtools",
            "g/gemini-flash-latest",
            "o/gpt-5",
            "o/gpt-5.6",
            "o/gpt-5.4-mini",
            "o/gpt-5-mini",
            "r/anthropic/claude-opus-4.9",
            "r/anthropic/claude-sonnet-4.5",
            "x/grok-4.20",
            "x/grok-4.6",
        ]);
        for (typed, expected) in [
            ("opus", "a/claude-opus-5"),
            ("claude-opus", "a/claude-opus-5"),
            ("Opus-4", "r/anthropic/claude-opus-4.9"),
            ("opus 4.8", "a/claude-opus-4-8"),
            ("fast", "a/claude-opus-5-fast"),
            ("sonnet", "a/claude-sonnet-4-5"),
            ("sonnet-4-5-20250929", "a/claude-sonnet-4-5-20250929"),
            ("gemini-pro", "g/gemini-3.1-pro-preview"),
            ("gemini-flash", "g/gemini-3-flash"),
            ("gemini-flash-latest", "g/gemini-flash-latest"),
            ("gpt", "o/gpt-5.6"),
            ("gpt-mini", "o/gpt-5.4-mini"),
            ("grok", "x/grok-4.6"),
            ("o5-mini", ""),
            ("opus-6", ""),
            ("pus", ""),
            ("claude", "a/claude-sonnet-4-5"),
            ("gemini", "g/gemini-3.1-pro-preview"),
            ("gemini-2.5", "g/gemini-2.5-pro"),
            ("5", ""),
            ("", ""),
        ] {
            assert_eq!(named(&models, typed), expected, "{typed}");
        }
    }

    #[test]
    fn the_begin_of_a_family_means_the_newest_of_its_main_variants() {
        let models = models(&[
            "a/deepseek-v3.2",
            "a/deepseek-v4-flash",
            "a/deepseek-v4-pro",
            "a/gpt-5.6-pro",
            "a/gpt-5.6",
            "a/gpt-oss-120b",
            "a/llama-3.1-8b",
            "a/llama-3.3-70b",
            "a/qwen3.8-27b",
            "a/qwen3.8-max",
            "a/qwen3.9-vl-8b",
            "ollama/gemma3:4b",
            "ollama/gemma2:latest",
        ]);
        for (typed, expected) in [
            ("deepseek", "a/deepseek-v4-pro"),
            ("deepseek-flash", "a/deepseek-v4-flash"),
            ("gpt", "a/gpt-5.6"),
            ("gpt-oss", "a/gpt-oss-120b"),
            ("llama", "a/llama-3.3-70b"),
            ("llama-3.1", "a/llama-3.1-8b"),
            ("qwen", "a/qwen3.8-max"),
            ("qwen3", "a/qwen3.8-max"),
            ("qwen-vl", "a/qwen3.9-vl-8b"),
            ("gemma", "ollama/gemma3:4b"),
            ("gemma3:4b", ""),
        ] {
            assert_eq!(named(&models, typed), expected, "{typed}");
        }
    }

    #[test]
    fn each_family_and_each_provider_with_the_newest_model_may_be_meant() {
        let models = models(&["a/one-flash-2", "b/two-flash-1", "b/two-flash-2", "c/one-flash-2"]);
        assert_eq!(named(&models, "flash"), "a/one-flash-2 c/one-flash-2 b/two-flash-2");
    }

    #[test]
    fn the_names_that_people_use_mean_one_model_of_the_catalogue() {
        let table = FactsTable::built_in();
        let of = |provider: &str| {
            let ids = table.provider(provider).unwrap().models.keys();
            models(&ids.map(|id| format!("{provider}/{id}")).collect::<Vec<_>>())
        };
        for (provider, typed, id) in [
            ("anthropic", "opus", "claude-opus-"),
            ("anthropic", "sonnet", "claude-sonnet-"),
            ("anthropic", "haiku", "claude-haiku-"),
            ("openai", "gpt", "gpt-5"),
            ("openai", "gpt-5-mini", "gpt-5"),
            ("openai", "codex", "gpt-5"),
            ("google", "gemini-pro", "gemini-3"),
            ("google", "gemini-flash", "gemini-3"),
            ("google", "flash-lite", "gemini-3"),
            ("xai", "grok", "grok-4"),
            ("deepseek", "deepseek-pro", "deepseek-v4"),
            ("mistral", "codestral", "codestral-latest"),
            ("openrouter", "opus", "anthropic/claude-opus-"),
            ("openrouter", "gpt-5-mini", "openai/gpt-5"),
            ("openrouter", "gemini-pro", "google/gemini-3"),
            ("openrouter", "kimi", "moonshotai/kimi-k3"),
            ("openrouter", "qwen", "qwen/qwen3.8-max"),
            ("openrouter", "qwen-coder", "qwen/qwen3-coder"),
            ("openrouter", "glm", "z-ai/glm-5"),
            ("openrouter", "deepseek", "deepseek/deepseek-v4"),
            ("openrouter", "gemini", "google/gemini-3.1-pro-preview"),
            ("openrouter", "claude", "anthropic/claude-sonnet-"),
            ("openrouter", "mistral", "mistralai/mistral-large"),
            ("together", "qwen", "Qwen/Qwen3.7-Max"),
            ("together", "llama", "meta-llama/Llama-3.3"),
            ("fireworks", "qwen", "accounts/fireworks/models/qwen3p8-max"),
            ("groq", "llama", "llama-3.3"),
            ("groq", "qwen", "qwen/qwen3"),
            ("mistral", "mistral", "mistral-large"),
            ("deepseek", "deepseek", "deepseek-v4-pro"),
            ("anthropic", "claude", "claude-sonnet-"),
            ("google", "gemini", "gemini-3.1-pro-preview"),
        ] {
            let named = named(&of(provider), typed);
            assert!(named.starts_with(&format!("{provider}/{id}")), "{typed}: {named}");
            assert!(!named.contains(' '), "{typed}: {named}");
        }
    }
}
