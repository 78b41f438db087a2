//! The providers that are known by name: one table.

/// A provider that speaks OpenAI's Chat Completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its name, as in `NAME/MODEL`.
    pub id: &'static str,
    /// Where it is.
    pub base_url: &'static str,
    /// Where its models run.
    pub site: Site,
    /// How it departs from the rest.
    pub(crate) dialect: Dialect,
}

/// Where models run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// On this machine, started like this. No key is needed.
    Local {
        /// What starts it.
        start: &'static str,
    },
    /// Elsewhere.
    Hosted {
        /// The environment variable that holds its key.
        key: &'static str,
    },
}

/// How a provider departs from the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) call_ids: CallIds,
    pub(crate) result_names: ResultNames,
    pub(crate) forcing: Forcing,
    /// The field of an assistant's message that has its earlier thinking, where it is wanted.
    pub(crate) thinking: Option<&'static str>,
}

/// What identifies a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallIds {
    /// Up to 40 letters, digits, `_` and `-`.
    Plain,
    /// Nine letters and digits.
    Nine,
}

/// Whether a result names its tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultNames {
    Left,
    Given,
}

/// How a call of one tool is forced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forcing {
    /// By its name.
    Named,
    /// By requiring a call, and offering nothing else.
    Alone,
}

/// How a provider speaks that departs in nothing.
pub(crate) const PLAIN: Dialect = Dialect {
    call_ids: CallIds::Plain,
    result_names: ResultNames::Left,
    forcing: Forcing::Named,
    thinking: None,
};

const LOCAL: Dialect = Dialect { forcing: Forcing::Alone, ..PLAIN };

const MISTRAL: Dialect =
    Dialect { call_ids: CallIds::Nine, result_names: ResultNames::Given, ..PLAIN };

/// The name of the provider that plays scripts.
pub(crate) const OFFLINE: &str = "offline";

const KNOWN: &[Known] = &[
    local("ollama", "http://127.0.0.1:11434/v1", "ollama serve", LOCAL),
    local(
        "llama.cpp",
        "http://127.0.0.1:8080/v1",
        "llama-server --jinja -m model.gguf --port 8080",
        LOCAL,
    ),
    local("lm-studio", "http://127.0.0.1:1234/v1", "lms server start", LOCAL),
    local(
        "vllm",
        "http://127.0.0.1:8000/v1",
        "vllm serve MODEL --enable-auto-tool-choice --tool-call-parser PARSER",
        PLAIN,
    ),
    hosted(
        "openrouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        Dialect { thinking: Some("reasoning"), ..PLAIN },
    ),
    hosted("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", PLAIN),
    hosted("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", PLAIN),
    hosted("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", PLAIN),
    hosted("xai", "https://api.x.ai/v1", "XAI_API_KEY", PLAIN),
    hosted("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", MISTRAL),
    hosted(
        "deepseek",
        "https://api.deepseek.com/v1",
        "DEEPSEEK_API_KEY",
        Dialect { thinking: Some("reasoning_content"), ..PLAIN },
    ),
    hosted("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY", PLAIN),
    hosted("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", PLAIN),
];

const fn local(
    id: &'static str,
    base_url: &'static str,
    start: &'static str,
    dialect: Dialect,
) -> Known {
    Known { id, base_url, site: Site::Local { start }, dialect }
}

const fn hosted(
    id: &'static str,
    base_url: &'static str,
    key: &'static str,
    dialect: Dialect,
) -> Known {
    Known { id, base_url, site: Site::Hosted { key }, dialect }
}

/// Returns the providers that are known by name.
pub fn known() -> impl Iterator<Item = &'static Known> {
    KNOWN.iter()
}

impl Known {
    /// Returns the provider of this name.
    #[must_use]
    pub fn find(id: &str) -> Option<&'static Self> {
        KNOWN.iter().find(|known| known.id == id)
    }

    /// Returns whether its models run on this machine.
    #[must_use]
    pub fn is_local(&self) -> bool {
        matches!(self.site, Site::Local { .. })
    }

    /// Returns the environment variable that holds its key, if it needs one.
    #[must_use]
    pub fn key(&self) -> Option<&'static str> {
        match self.site {
            Site::Local { .. } => None,
            Site::Hosted { key } => Some(key),
        }
    }
}

/// Returns the environment variables that the key of a provider of this name may be in.
#[must_use]
pub fn key_variables(provider: &str) -> [String; 2] {
    let own = Known::find(provider).and_then(Known::key).map(str::to_owned);
    [own.unwrap_or_else(|| own_variable(provider)), ANY_KEY.to_owned()]
}

/// The key of any provider at an address of the user's that has none of its own.
pub(crate) const ANY_KEY: &str = "REGATTA_API_KEY";

/// Returns the environment variable that a provider of this name would have its key in.
pub(crate) fn own_variable(provider: &str) -> String {
    let letter = |it: char| if it.is_ascii_alphanumeric() { it.to_ascii_uppercase() } else { '_' };
    provider.chars().map(letter).chain("_API_KEY".chars()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_name_can_be_in_a_route_and_each_address_is_one() {
        let mut names = BTreeSet::new();
        for known in known() {
            let route: protocol::ModelRoute = format!("{}/x", known.id).parse().unwrap();
            assert_eq!(route.provider, known.id);
            assert!(names.insert(known.id), "{} twice", known.id);
            let url = url::Url::parse(known.base_url).unwrap();
            let local = url.host_str() == Some("127.0.0.1");
            assert_eq!(local, known.is_local(), "{}", known.id);
            assert_eq!(url.scheme(), if local { "http" } else { "https" });
            if let Some(key) = known.key() {
                assert_eq!(key, own_variable(known.id));
            }
            assert_eq!(Known::find(known.id), Some(known));
        }
        assert_eq!(names.len(), 13);
        assert_eq!(Known::find(OFFLINE), None);
    }

    #[test]
    fn a_provider_of_any_name_may_have_a_key() {
        assert_eq!(own_variable("my-gate.way2"), "MY_GATE_WAY2_API_KEY");
        assert_eq!(key_variables("my-gate"), ["MY_GATE_API_KEY", "REGATTA_API_KEY"]);
        assert_eq!(key_variables("groq"), ["GROQ_API_KEY", "REGATTA_API_KEY"]);
    }
}
