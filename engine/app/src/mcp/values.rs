//! The values of an entry: references to variables and to folders, which are resolved when a server starts.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use config::mcp::{ServerLevel, ServerPlace, ServerProgram};
use exec::EnvironmentRules;
use providers::known_providers;

/// The shortest value of a key that is recognised under another name.
const SHORTEST_KEY: usize = 8;

/// The references to the folder of the project, in the words of other programs.
const PROJECT: [&str; 4] =
    ["workspaceFolder", "workspaceRoot", "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"];

/// What references lead to.
pub(super) struct Values {
    variables: BTreeMap<OsString, OsString>,
    /// The names of the variables that hold keys of model providers, and their values.
    keys: BTreeSet<String>,
    key_values: BTreeSet<OsString>,
    pub(super) root: PathBuf,
    pub(super) home: Option<PathBuf>,
}

impl Values {
    /// Returns the values in the project at `root`. `keys` are the variables that hold keys of the user's providers.
    pub(super) fn new(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        keys: impl IntoIterator<Item = String>,
        root: &Path,
        home: Option<&Path>,
    ) -> Self {
        let variables: BTreeMap<_, _> = variables.into_iter().collect();
        let mut keys: BTreeSet<_> = keys.into_iter().collect();
        keys.extend(known_providers().flat_map(|it| it.keys()).map(str::to_owned));
        let is_key = |name: &OsString| {
            let name = name.to_str().unwrap_or_default();
            keys.contains(name) || EnvironmentRules::is_provider_key(name)
        };
        let held =
            variables.iter().filter(|(name, value)| is_key(name) && value.len() >= SHORTEST_KEY);
        let key_values = held.map(|(_, value)| value.clone()).collect();
        Self { variables, keys, key_values, root: root.to_owned(), home: home.map(Path::to_owned) }
    }

    /// Returns all variables.
    pub(super) fn variables(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.variables.iter().map(|(name, value)| (name.clone(), value.clone()))
    }

    /// Returns the value of the variable that a whole text names, if there is one.
    pub(super) fn named(&self, name: &str) -> Option<&str> {
        self.variables.get(OsStr::new(name)).and_then(|value| value.to_str())
    }

    /// Returns a text with its references resolved: `${NAME}`, `${NAME:-default}`, and the words of other programs.
    ///
    /// # Errors
    /// A variable is not set and has no default, or a server of a project names a key. The error has no value.
    pub(super) fn resolved(&self, text: &str, place: &ServerPlace) -> Result<String, String> {
        let mut resolved = String::new();
        let mut rest = text;
        loop {
            let dollar = rest.find("${").map(|at| (at, "${"));
            let brace = (place.program == ServerProgram::Opencode)
                .then(|| rest.find("{env:").map(|at| (at, "{env:")))
                .flatten();
            let Some((start, opening)) = [dollar, brace].into_iter().flatten().min() else { break };
            let inner = &rest[start + opening.len()..];
            let Some(end) = inner.find('}') else { break };
            resolved.push_str(&rest[..start]);
            match self.reference(&inner[..end], place)? {
                Some(value) => resolved.push_str(&value),
                None => resolved.push_str(&rest[start..start + opening.len() + end + 1]),
            }
            rest = &inner[end + 1..];
        }
        resolved.push_str(rest);
        Ok(resolved)
    }

    /// Returns what a reference leads to; `None` if it is not one.
    fn reference(&self, reference: &str, place: &ServerPlace) -> Result<Option<String>, String> {
        if PROJECT.contains(&reference) {
            return text_of(&self.root).map(Some);
        }
        match (reference, &self.home) {
            ("userHome", Some(home)) => return text_of(home).map(Some),
            ("workspaceFolderBasename", _) => {
                let name = self.root.file_name().unwrap_or_default();
                return text_of(Path::new(name)).map(Some);
            }
            ("pathSeparator" | "/", _) => return Ok(Some("/".to_owned())),
            _ => {}
        }
        let reference = reference.strip_prefix("env:").unwrap_or(reference);
        let (name, default) = match reference.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (reference, None),
        };
        if !is_variable_name(name) {
            return Ok(None);
        }
        let value = self.variables.get(OsStr::new(name));
        if place.level == ServerLevel::Project && self.is_key(name, value) {
            return Err(format!(
                "`{name}` is a key of a model provider, which no server of a repository gets"
            ));
        }
        match (value.map(|value| value.to_str()), default) {
            (Some(Some("")) | None, Some(default)) => Ok(Some(default.to_owned())),
            (Some(Some(value)), _) => Ok(Some(value.to_owned())),
            (Some(None), _) => Err(format!("the variable `{name}` is not UTF-8")),
            (None, None) => Err(format!("the variable `{name}` is not set")),
        }
    }

    fn is_key(&self, name: &str, value: Option<&OsString>) -> bool {
        self.keys.contains(name)
            || EnvironmentRules::is_provider_key(name)
            || value.is_some_and(|value| self.key_values.contains(value))
    }
}

/// Returns whether a variable can have this name.
pub(super) fn is_variable_name(name: &str) -> bool {
    let is_first = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    let is_next = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    name.starts_with(is_first) && name.chars().all(is_next)
}

fn text_of(path: &Path) -> Result<String, String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| format!("the path {} is not UTF-8", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Values {
        let variables = [
            ("TOKEN", "t"),
            ("EMPTY", ""),
            ("OPENAI_API_KEY", "sk-canary-1"),
            ("MINE", "sk-canary-2"),
            ("SAME", "sk-canary-1"),
        ];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        Values::new(variables, ["MINE".to_owned()], Path::new("/r"), Some(Path::new("/h")))
    }

    fn place(program: ServerProgram, level: ServerLevel) -> ServerPlace {
        ServerPlace { program, level, file: "/f".into(), line: 1 }
    }

    #[test]
    fn references_are_resolved_in_the_words_of_each_program() {
        let user = place(ServerProgram::Opencode, ServerLevel::User);
        for (text, resolved) in [
            ("plain", "plain"),
            ("a${TOKEN}b${TOKEN}", "atbt"),
            ("${NONE:-d}${EMPTY:-e}${NONE:-}", "de"),
            ("${env:TOKEN} {env:TOKEN}", "t t"),
            ("${workspaceFolder}/s.js", "/r/s.js"),
            ("${CLAUDE_PROJECT_DIR:-}", ""),
            ("${userHome}/x", "/h/x"),
            ("${a b} ${ $TOKEN", "${a b} ${ $TOKEN"),
            ("${OPENAI_API_KEY}", "sk-canary-1"),
        ] {
            assert_eq!(values().resolved(text, &user).as_deref(), Ok(resolved), "{text}");
        }
        let claude = place(ServerProgram::Claude, ServerLevel::User);
        assert_eq!(values().resolved("{env:TOKEN}", &claude).as_deref(), Ok("{env:TOKEN}"));
        let unset = values().resolved("${NONE}", &claude).unwrap_err();
        assert_eq!(unset, "the variable `NONE` is not set");
    }

    #[test]
    fn no_key_reaches_a_server_of_a_repository() {
        let project = place(ServerProgram::Regatta, ServerLevel::Project);
        for text in [
            "${OPENAI_API_KEY}",
            "x${OPENAI_API_KEY:-y}",
            "${env:OPENAI_API_KEY}",
            "${MINE}",
            "${SAME}",
            "${ANTHROPIC_API_KEY:-none}",
        ] {
            let error = values().resolved(text, &project).unwrap_err();
            assert!(error.contains("key of a model provider"), "{text}: {error}");
            assert!(!error.contains("canary"), "{error}");
        }
        assert_eq!(values().resolved("${TOKEN}", &project).as_deref(), Ok("t"));
    }
}
