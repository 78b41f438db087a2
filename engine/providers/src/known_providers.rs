//! The table of providers known by name, and the hints shown to users without a model.

use crate::api::Api;

/// A provider known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownProvider {
    /// The name, as in `NAME/MODEL`.
    pub id: &'static str,
    /// The base URL of its API.
    pub base_url: &'static str,
    /// Where its models run.
    pub site: Site,
    /// The API that it speaks.
    pub(crate) api: Api,
}

/// Where models run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// On this machine. No API key is needed.
    Local {
        /// The command that starts the server.
        start: &'static str,
    },
    /// On servers of the provider.
    Hosted {
        /// The environment variable that holds the API key.
        key: &'static str,
        /// Another variable, which is read if the first is not set.
        other_key: Option<&'static str>,
    },
}

/// The name of the offline provider, which plays scenario files.
pub(crate) const OFFLINE: &str = "offline";

const KNOWN: &[KnownProvider] = &[
    local("ollama", "http://127.0.0.1:11434/v1", "ollama serve"),
    local(
        "llama.cpp",
        "http://127.0.0.1:8080/v1",
        "llama-server --jinja -m model.gguf --port 8080",
    ),
    local("lm-studio", "http://127.0.0.1:1234/v1", "lms server start"),
    local(
        "vllm",
        "http://127.0.0.1:8000/v1",
        "vllm serve MODEL --enable-auto-tool-choice --tool-call-parser PARSER",
    ),
    hosted("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    KnownProvider {
        api: Api::AnthropicMessages,
        ..hosted("anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY")
    },
    KnownProvider {
        api: Api::OpenAiResponses,
        ..hosted("openai", "https://api.openai.com/v1", "OPENAI_API_KEY")
    },
    hosted("openai-completions", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    KnownProvider {
        api: Api::GoogleGenerativeAi,
        site: Site::Hosted { key: "GEMINI_API_KEY", other_key: Some("GOOGLE_API_KEY") },
        ..hosted("google", "https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY")
    },
    hosted("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    hosted("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    hosted("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
    hosted("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    hosted("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    hosted("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    hosted("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
];

const fn local(id: &'static str, base_url: &'static str, start: &'static str) -> KnownProvider {
    KnownProvider { id, base_url, site: Site::Local { start }, api: Api::OpenAiCompletions }
}

const fn hosted(id: &'static str, base_url: &'static str, key: &'static str) -> KnownProvider {
    let site = Site::Hosted { key, other_key: None };
    KnownProvider { id, base_url, site, api: Api::OpenAiCompletions }
}

/// Returns the providers that are known by name.
pub fn known_providers() -> impl Iterator<Item = &'static KnownProvider> {
    KNOWN.iter()
}

impl KnownProvider {
    /// Finds a provider by name.
    #[must_use]
    pub fn find(id: &str) -> Option<&'static Self> {
        KNOWN.iter().find(|known| known.id == id)
    }

    /// Returns whether its models run on this machine.
    #[must_use]
    pub fn is_local(&self) -> bool {
        matches!(self.site, Site::Local { .. })
    }

    /// Returns the environment variable that holds the API key, if the provider needs one.
    #[must_use]
    pub fn key(&self) -> Option<&'static str> {
        self.keys().next()
    }

    /// Returns the environment variables that may hold the API key. The first that is set counts.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        let keys = match self.site {
            Site::Local { .. } => [None, None],
            Site::Hosted { key, other_key } => [Some(key), other_key],
        };
        keys.into_iter().flatten()
    }
}

/// Returns the environment variables that may hold the API key of a provider.
#[must_use]
pub fn key_variables(provider: &str) -> Vec<String> {
    let mut variables = own_key_variables(provider);
    variables.push(ANY_API_KEY.to_owned());
    variables
}

/// Returns the environment variables that may hold the API key of a provider and of no other.
#[must_use]
pub fn own_key_variables(provider: &str) -> Vec<String> {
    let known = KnownProvider::find(provider).into_iter().flat_map(KnownProvider::keys);
    let mut variables: Vec<_> = known.map(str::to_owned).collect();
    if variables.is_empty() {
        variables.push(api_key_variable(provider));
    }
    variables
}

/// The environment variable that holds the API key of a provider at a base URL if the provider's
/// own variable is not set.
pub(crate) const ANY_API_KEY: &str = "REGATTA_API_KEY";

/// Returns the environment variable that holds the API key of a provider, for instance
/// `MY_GATE_API_KEY` for `my-gate`.
pub(crate) fn api_key_variable(provider: &str) -> String {
    let letter = |it: char| if it.is_ascii_alphanumeric() { it.to_ascii_uppercase() } else { '_' };
    provider.chars().map(letter).chain("_API_KEY".chars()).collect()
}

/// Returns the three easiest ways to set up a model, the one without cost or key first: what to type, with what
/// it is for in parentheses.
#[must_use]
pub fn setup_hints() -> [&'static str; 5] {
    [
        "ollama pull qwen3:8b (a model on this machine, with Ollama: no key, no cost)",
        "--model ollama/qwen3:8b (with it)",
        "export OPENROUTER_API_KEY=KEY (a hosted model; ANTHROPIC_API_KEY and others, too)",
        "--model openrouter/qwen/qwen3-coder (with this key)",
        "regatta demo (scripted models, offline)",
    ]
}

/// Returns the name most similar to `given`, ignoring case, if one is similar enough.
pub(crate) fn nearest_name<'a>(
    given: &str,
    names: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let start = |text: &str| text.chars().take(64).collect::<String>().to_ascii_lowercase();
    let given = start(given);
    let allowed = (given.chars().count() / 3).clamp(1, 4);
    let rated = names.map(|name| (strsim::levenshtein(&given, &start(name)), name));
    rated.filter(|(distance, _)| *distance <= allowed).min().map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_name_can_be_in_a_route_and_each_address_is_one() {
        let mut names = BTreeSet::new();
        for known in known_providers() {
            let route: protocol::ModelRoute = format!("{}/x", known.id).parse().unwrap();
            assert_eq!(route.provider, known.id);
            assert!(names.insert(known.id), "{} twice", known.id);
            let url = url::Url::parse(known.base_url).unwrap();
            let local = url.host_str() == Some("127.0.0.1");
            assert_eq!(local, known.is_local(), "{}", known.id);
            assert_eq!(url.scheme(), if local { "http" } else { "https" });
            let others = ["openai-completions", "google"];
            if let Some(key) = known.key().filter(|_| !others.contains(&known.id)) {
                assert_eq!(key, api_key_variable(known.id));
            }
            assert_eq!(KnownProvider::find(known.id), Some(known));
        }
        assert_eq!(names.len(), 16);
        assert_eq!(KnownProvider::find(OFFLINE), None);
    }

    #[test]
    fn a_provider_of_any_name_may_have_a_key() {
        assert_eq!(api_key_variable("my-gate.way2"), "MY_GATE_WAY2_API_KEY");
        assert_eq!(key_variables("my-gate"), ["MY_GATE_API_KEY", "REGATTA_API_KEY"]);
        assert_eq!(key_variables("groq"), ["GROQ_API_KEY", "REGATTA_API_KEY"]);
        let google = ["GEMINI_API_KEY", "GOOGLE_API_KEY", "REGATTA_API_KEY"];
        assert_eq!(key_variables("google"), google);
    }

    #[test]
    fn a_slip_of_the_hand_is_understood_and_another_word_is_not() {
        let names = ["ollama", "openai", "openrouter"];
        assert_eq!(nearest_name("olama", names.into_iter()), Some("ollama"));
        assert_eq!(nearest_name("OpenAI", names.into_iter()), Some("openai"));
        assert_eq!(nearest_name("opneai", names.into_iter()), Some("openai"));
        assert_eq!(nearest_name("gemini", names.into_iter()), None);
        assert_eq!(nearest_name("", names.into_iter()), None);
    }
}
