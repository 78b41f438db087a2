//! The model that a user names: a model of a provider or a role, and the base URL of the provider.

use std::fmt;
use std::str::FromStr;

use protocol::{ModelRoute, is_api_version};

/// The value of `--model`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelChoice {
    /// A model of a provider.
    Route(ModelRoute),
    /// The model that the settings name for a role.
    Role(Role),
    /// The one model that has this id or name, or the newest one of this family.
    Name(String),
}

/// A role of models. The settings `modelRoles` name the model of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// For every task that names no model.
    Default,
    /// For small tasks.
    Smol,
    /// For hard tasks.
    Slow,
    /// For planning.
    Plan,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::Default, Self::Smol, Self::Slow, Self::Plan];

    /// Returns its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Smol => "smol",
            Self::Slow => "slow",
            Self::Plan => "plan",
        }
    }
}

/// Returns whether a scenario plays the model.
pub fn is_scenario(route: &ModelRoute) -> bool {
    route.is_scripted()
}

/// Makes the path of a scenario absolute, so that the model is the same from every folder. Leaves
/// other models as they are.
pub fn anchor_scenario(route: &mut ModelRoute) {
    if is_scenario(route)
        && let Ok(path) = std::path::absolute(&route.id)
        && let Some(path) = path.to_str()
    {
        route.id = path.to_owned();
    }
}

/// Returns which model a choice means, where it does not say so itself.
pub(super) fn meaning(choice: &ModelChoice, model: &ModelRoute) -> Option<String> {
    let typed = match choice {
        ModelChoice::Name(name) => name.clone(),
        ModelChoice::Route(route) => {
            let same = route.name() == model.name() || route.to_string() == model.to_string();
            Some(route.name()).filter(|_| !same && !is_scenario(model))?
        }
        ModelChoice::Role(_) => return None,
    };
    Some(format!("`{typed}` is the model {model}"))
}

impl fmt::Display for ModelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Route(route) => f.pad(&route.name()),
            Self::Role(role) => role.fmt(f),
            Self::Name(name) => f.pad(name),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ModelChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // No id has a star in it: it is a glob.
        if text.contains('/') && !text.contains('*') {
            return text.parse().map(Self::Route).map_err(|_not_a_route| {
                "a model is PROVIDER/ID, as in ollama/qwen3:8b".to_owned()
            });
        }
        if let Some(role) = Role::ALL.into_iter().find(|role| role.as_str() == text) {
            return Ok(Self::Role(role));
        }
        if !text.trim().is_empty() && text.len() <= 256 && !text.chars().any(char::is_control) {
            return Ok(Self::Name(text.to_owned()));
        }
        Err("a model is PROVIDER/ID, as in ollama/qwen3:8b, the name of a model or of a family, or one \
             of the roles default, smol, slow and plan"
            .to_owned())
    }
}

/// The value of `--base-url`: http or https, a host, and maybe a path and an API version. It holds no
/// user name, no password and no other query, so it can be displayed and logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(String);

/// The longest URL, in bytes.
const LONGEST: usize = 2_000;

impl BaseUrl {
    /// Returns the URL without a slash at its end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for BaseUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = |why: &str| Err(why.to_owned());
        let Some((scheme, rest)) = text.split_once("://") else {
            return refused("it must begin with http:// or https://");
        };
        if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
            return refused("it must begin with http:// or https://");
        }
        if text.len() > LONGEST || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return refused("it has a space, or is longer than 2000 bytes");
        }
        let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            return refused(
                "it must not have a user name or a password; a key comes from a variable",
            );
        }
        if path.contains(['#', '\\']) {
            return refused("it must not have `#` or `\\`");
        }
        let (address, query) = text.split_once('?').unwrap_or((text, ""));
        if !query.is_empty() && !is_api_version(query) {
            return refused("its query may be `?api-version=…` only: another may have a key");
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (authority, None),
        };
        if host.is_empty() {
            return refused("it has no host");
        }
        if port.is_some_and(|port| port.parse::<u16>().is_err()) {
            return refused("its port is not a number up to 65535");
        }
        let query = if query.is_empty() { String::new() } else { format!("?{query}") };
        Ok(Self(format!("{}{query}", address.trim_end_matches('/'))))
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_one_of_a_provider_or_one_that_has_a_role() {
        let route = ModelChoice::Route("ollama/qwen3:8b".parse().unwrap());
        assert_eq!("ollama/qwen3:8b".parse(), Ok(route));
        let nested = ModelChoice::Route("openrouter/a/b".parse().unwrap());
        assert_eq!("openrouter/a/b".parse(), Ok(nested));
        for role in Role::ALL {
            assert_eq!(role.as_str().parse(), Ok(ModelChoice::Role(role)));
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_it_has_to_be() {
        for text in ["", " ", "/a", "ollama/", "a b/c", "a/\u{1b}[2J", "\u{1b}[2J"] {
            assert!(text.parse::<ModelChoice>().is_err(), "{text}");
        }
        let said = "".parse::<ModelChoice>().unwrap_err();
        assert!(said.contains("PROVIDER/ID") && said.contains("smol"), "{said}");
        assert_eq!("smoll".parse(), Ok(ModelChoice::Name("smoll".to_owned())));
    }

    #[test]
    fn an_address_is_taken_without_the_slash_at_its_end() {
        for (text, address) in [
            ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1"),
            ("HTTPS://models.example", "HTTPS://models.example"),
            ("http://[::1]:11434", "http://[::1]:11434"),
            ("http://[::1]/v1", "http://[::1]/v1"),
            (
                "https://a.openai.azure.com/openai/v1/?api-version=preview",
                "https://a.openai.azure.com/openai/v1?api-version=preview",
            ),
            (
                "https://a/d/chat/completions?api-version=2024-10-21",
                "https://a/d/chat/completions?api-version=2024-10-21",
            ),
        ] {
            assert_eq!(text.parse::<BaseUrl>().unwrap().as_str(), address);
        }
    }

    #[test]
    fn what_is_no_address_or_holds_a_secret_is_refused() {
        for (text, why) in [
            ("localhost:8080", "must begin with http://"),
            ("ftp://a", "must begin with http://"),
            ("", "must begin with http://"),
            ("http://", "no host"),
            ("http:///v1", "no host"),
            ("http://:80", "no host"),
            ("http://a:port", "port"),
            ("http://a:99999", "port"),
            ("http://a:", "port"),
            ("http://me:secret@a/v1", "a password"),
            ("http://a b", "a space"),
            ("http://a/\n", "a space"),
            ("http://a/v1?key=secret", "`?api-version=…` only"),
            ("http://a/v1?api-version=1&key=secret", "`?api-version=…` only"),
            ("http://a#b", "not have `#`"),
        ] {
            let said = text.parse::<BaseUrl>().unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
            assert!(!said.contains("secret"), "{said}");
        }
        assert!(format!("http://{}", "a".repeat(3_000)).parse::<BaseUrl>().is_err());
    }
}
