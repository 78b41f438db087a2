//! The environment of commands: the variables of the engine, filtered by rules.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use engine::ports::VariableChoice;

/// The variables that every command starts with, determined once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaseEnvironment {
    variables: BTreeMap<OsString, OsString>,
    /// The variables that a rule withholds, and that can be passed on all the same.
    withheld: BTreeMap<OsString, OsString>,
}

/// The user's rules for the environment of commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvironmentRules {
    /// The names of variables that are removed.
    pub remove: Vec<String>,
    /// If not empty, the only variables that are kept. It does not override `remove`.
    pub keep_only: Vec<String>,
}

/// Variables that select a repository or a configuration for git. With them, a run started from a git
/// hook would work on the user's repository.
const GIT_REPOSITORY: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INDEX_VERSION",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// The prefixes of the numbered variables with configuration for git, such as `GIT_CONFIG_KEY_0`.
const CONFIGURATION_PAIRS: [&str; 2] = ["GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"];

/// The API keys of model providers, which commands do not need. Tokens of build tools are not among
/// them.
const PROVIDER_KEYS: &[&str] = &[
    "AI_GATEWAY_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_OAUTH_TOKEN",
    "AZURE_OPENAI_API_KEY",
    "CEREBRAS_API_KEY",
    "COHERE_API_KEY",
    "DEEPSEEK_API_KEY",
    "FIREWORKS_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "GROQ_API_KEY",
    "KIMI_API_KEY",
    "MINIMAX_API_KEY",
    "MISTRAL_API_KEY",
    "MOONSHOT_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "PERPLEXITY_API_KEY",
    "REGATTA_API_KEY",
    "TOGETHER_API_KEY",
    "XAI_API_KEY",
    "ZAI_API_KEY",
];

/// Variables that keep git from waiting for a person: it asks for no password, and takes each text
/// that it would open in an editor as it is.
const WITHOUT_QUESTIONS: [(&str, &str); 3] =
    [("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", "true"), ("GIT_SEQUENCE_EDITOR", "true")];

/// Variables that only the engine process uses. Without debug assertions there are none.
const INTERNAL: &[&str] = if cfg!(debug_assertions) { &["REGATTA_FAULT"] } else { &[] };

impl BaseEnvironment {
    /// Returns the variables that the rules keep.
    #[must_use]
    pub fn new(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        rules: &EnvironmentRules,
    ) -> Self {
        let (variables, withheld): (BTreeMap<_, _>, BTreeMap<_, _>) =
            variables.into_iter().partition(|(name, _)| rules.keep(name));
        let can_be_passed = |name: &OsString| {
            name.to_str().is_some_and(|name| !EnvironmentRules::is_never_passed(name))
        };
        let withheld = withheld.into_iter().filter(|(name, _)| can_be_passed(name)).collect();
        Self { variables, withheld }
    }

    /// Returns the variables for the commands of one owner.
    pub(crate) fn of_owner(&self, choice: &VariableChoice) -> Self {
        let mut own = self.clone();
        for name in &choice.withhold {
            if let Some((name, value)) = own.variables.remove_entry(OsStr::new(name)) {
                own.withheld.insert(name, value);
            }
        }
        for name in &choice.pass {
            if let Some((name, value)) = own.withheld.remove_entry(OsStr::new(name)) {
                own.variables.insert(name, value);
            }
        }
        own
    }

    /// Returns the same variables, and those that keep git from waiting for a person. What is set
    /// already stays.
    #[must_use]
    pub fn without_questions(mut self) -> Self {
        for (name, value) in WITHOUT_QUESTIONS {
            self.variables.entry(name.into()).or_insert_with(|| value.into());
        }
        self
    }

    /// Returns the variables, by name.
    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// Returns the variables of a command: the base variables and `added`, which takes precedence.
    pub(crate) fn with(&self, added: &BTreeMap<String, OsString>) -> BTreeMap<OsString, OsString> {
        let added = added.iter().map(|(name, value)| (OsStr::new(name), value.as_os_str()));
        let all = self.variables().chain(added);
        all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}

impl EnvironmentRules {
    /// Returns whether no rule can pass this variable on: it selects a repository for git, or is for
    /// this process only.
    #[must_use]
    pub fn is_never_passed(name: &str) -> bool {
        [GIT_REPOSITORY, INTERNAL].iter().any(|list| list.contains(&name))
            || CONFIGURATION_PAIRS.iter().any(|prefix| name.starts_with(prefix))
    }

    /// Returns whether this variable is the API key of a model provider, which is removed unless
    /// [`VariableChoice::pass`] names it.
    #[must_use]
    pub fn is_provider_key(name: &str) -> bool {
        PROVIDER_KEYS.contains(&name)
    }

    fn keep(&self, name: &OsStr) -> bool {
        // No list contains a name that is not UTF-8.
        let Some(name) = name.to_str() else { return self.keep_only.is_empty() };
        if Self::is_never_passed(name) {
            return false;
        }
        let taken =
            Self::is_provider_key(name) || self.remove.iter().any(|removed| removed == name);
        !taken && (self.keep_only.is_empty() || self.keep_only.iter().any(|kept| kept == name))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    fn left(names: &[&str], rules: &EnvironmentRules) -> Vec<String> {
        let base = BaseEnvironment::new(of_names(names), rules);
        base.variables.into_keys().map(|name| name.into_string().unwrap()).collect()
    }

    fn of_names(names: &[&str]) -> impl Iterator<Item = (OsString, OsString)> {
        names.iter().map(|name| (OsString::from(name), OsString::from("1")))
    }

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn nothing_that_names_a_repository_reaches_a_command() {
        let names = ["GIT_DIR", "GIT_INDEX_FILE", "GIT_CONFIG_KEY_0", "GIT_QUARANTINE_PATH"];
        assert_eq!(left(&names, &EnvironmentRules::default()), Vec::<String>::new());
        assert_eq!(left(GIT_REPOSITORY, &EnvironmentRules::default()), Vec::<String>::new());
    }

    #[test]
    fn no_key_of_a_model_provider_and_no_fault_reaches_a_command() {
        assert_eq!(left(PROVIDER_KEYS, &EnvironmentRules::default()), Vec::<String>::new());
        assert_eq!(left(&["REGATTA_FAULT"], &EnvironmentRules::default()), Vec::<String>::new());
    }

    #[test]
    fn what_a_build_needs_stays() {
        let names = ["CARGO_REGISTRY_TOKEN", "GIT_AUTHOR_NAME", "GIT_SSH_COMMAND", "HOME", "PATH"];
        assert_eq!(left(&names, &EnvironmentRules::default()), names);
    }

    #[test]
    fn the_settings_take_out_more() {
        let rules =
            EnvironmentRules { remove: owned(&["NPM_TOKEN"]), ..EnvironmentRules::default() };
        assert_eq!(left(&["NPM_TOKEN", "PATH"], &rules), ["PATH"]);
    }

    #[test]
    fn the_strict_keep_only_what_they_name_and_never_a_key() {
        let rules = EnvironmentRules {
            remove: owned(&["HOME"]),
            keep_only: owned(&["HOME", "OPENAI_API_KEY", "PATH"]),
        };
        assert_eq!(left(&["HOME", "LANG", "OPENAI_API_KEY", "PATH"], &rules), ["PATH"]);
    }

    #[test]
    fn what_is_passed_on_stays_whatever_else_is_set_but_never_what_names_a_repository() {
        let never = ["GIT_CONFIG_VALUE_0", "GIT_DIR", "REGATTA_FAULT"];
        let passed = ["NPM_TOKEN", "OPENAI_API_KEY"];
        let rules = EnvironmentRules {
            remove: owned(&["NPM_TOKEN"]),
            keep_only: owned(&["LANG", "MY_KEY", "PATH"]),
        };
        let choice = VariableChoice {
            pass: owned(&[&never[..], &passed[..]].concat()),
            withhold: owned(&["MY_KEY", "NPM_TOKEN", "UNSET"]),
        };
        let names =
            [&never[..], &passed[..], &["HOME", "LANG", "MY_KEY", "PATH", "XAI_API_KEY"]].concat();
        let base = BaseEnvironment::new(of_names(&names), &rules);
        let own: Vec<_> = base.of_owner(&choice).variables.into_keys().collect();
        assert_eq!(own, ["LANG", "NPM_TOKEN", "OPENAI_API_KEY", "PATH"]);
        let others: Vec<_> =
            base.of_owner(&VariableChoice::default()).variables.into_keys().collect();
        assert_eq!(others, ["LANG", "MY_KEY", "PATH"], "the choice of one owner is its own");
        assert!(never.iter().all(|name| EnvironmentRules::is_never_passed(name)));
        assert!(!passed.iter().any(|name| EnvironmentRules::is_never_passed(name)));
    }

    #[test]
    fn a_name_that_is_not_text_stays_unless_names_are_given() {
        let odd = (OsString::from_vec(vec![b'A', 0xff]), OsString::from("1"));
        let all = BaseEnvironment::new([odd.clone()], &EnvironmentRules::default());
        assert_eq!(all.variables.len(), 1);
        let rules = EnvironmentRules { keep_only: owned(&["PATH"]), ..EnvironmentRules::default() };
        assert_eq!(BaseEnvironment::new([odd], &rules).variables.len(), 0);
    }

    #[test]
    fn git_waits_for_nobody_unless_the_user_says_so() {
        let all = ["GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_TERMINAL_PROMPT"];
        for own in all {
            let user = [(OsString::from(own), OsString::from("mine"))];
            let base = BaseEnvironment::new(user, &EnvironmentRules::default());
            let expected = all.map(|name| match name {
                name if name == own => (name, "mine"),
                "GIT_TERMINAL_PROMPT" => (name, "0"),
                name => (name, "true"),
            });
            let expected = expected.map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
            assert_eq!(base.without_questions().variables().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn what_is_added_wins_over_what_is_inherited() {
        let inherited = [("A".into(), "old".into()), ("B".into(), "kept".into())];
        let base = BaseEnvironment::new(inherited, &EnvironmentRules::default());
        let added = BTreeMap::from([("A".to_owned(), OsString::from("new"))]);
        let expected = BTreeMap::from([
            (OsStr::new("A"), OsStr::new("new")),
            (OsStr::new("B"), OsStr::new("kept")),
        ]);
        let with = base.with(&added);
        let with = with.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        assert_eq!(with.collect::<BTreeMap<_, _>>(), expected);
    }
}
