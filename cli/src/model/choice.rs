//! A model, as it is typed: one of a provider, or one that has a role.

use std::fmt;
use std::str::FromStr;

use config::nearest;
use protocol::ModelRoute;

/// Which model is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelChoice {
    /// This one.
    Route(ModelRoute),
    /// The one that the settings give this role.
    Role(Role),
}

/// What a model is used for. The settings `modelRoles` say which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Everything where nothing else is said.
    Default,
    /// Small things.
    Smol,
    /// Hard things.
    Slow,
    /// Planning.
    Plan,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::Default, Self::Smol, Self::Slow, Self::Plan];

    /// Returns its word.
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

/// Returns whether a model is one that a scenario plays.
pub(crate) fn is_scenario(route: &ModelRoute) -> bool {
    route.provider == "offline"
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ModelChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains('/') {
            return text.parse().map(Self::Route).map_err(|_not_a_route| {
                "before the first slash stands the provider, behind it its name of the model"
                    .to_owned()
            });
        }
        if let Some(role) = Role::ALL.into_iter().find(|role| role.as_str() == text) {
            return Ok(Self::Role(role));
        }
        let words = "a model is PROVIDER/ID, as in ollama/qwen3:8b, or one of the roles default, \
                     smol, slow and plan";
        Err(match nearest(text, Role::ALL.map(Role::as_str)) {
            Some(near) => format!("{words}; did you mean `{near}`?"),
            None => words.to_owned(),
        })
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
        for text in ["", "qwen3:8b", "/a", "ollama/", "a b/c", "a/\u{1b}[2J"] {
            assert!(text.parse::<ModelChoice>().is_err(), "{text}");
        }
        let said = "smoll".parse::<ModelChoice>().unwrap_err();
        assert!(said.contains("PROVIDER/ID") && said.ends_with("did you mean `smol`?"), "{said}");
    }
}
