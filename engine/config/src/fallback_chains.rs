//! The models that answer where another cannot be had: the setting `retry.fallbackChains`.

use std::collections::BTreeMap;

use crate::value::{Expected, RawValue, names_model};
use crate::yaml::{self, Value};

/// The names of the models that answer in place of others, in the order in which they are asked, by the role
/// or a name of the others. Which models the names mean, only those can tell that there are.
pub type FallbackChains = BTreeMap<String, Vec<String>>;

/// When a model that could not be had is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevertPolicy {
    /// When it may be had again.
    CooldownExpiry,
    /// Never.
    Never,
}

const EXPECTED: Expected = "a mapping of models, or of the roles `default`, `smol`, `slow` and `plan`, to lists of models: \
     `PROVIDER/ID` or `sonnet` (a family)";

impl RawValue {
    /// Parses chains of fallbacks.
    pub(crate) fn fallback_chains(&self) -> Result<FallbackChains, Expected> {
        match self {
            Self::Yaml(value) => chains(value),
            Self::Text(words) => match yaml::read(words) {
                Ok(node) => chains(&node.value),
                Err(_malformed) => Err(EXPECTED),
            },
        }
    }

    /// Parses when a model is asked again.
    pub(crate) fn revert_policy(&self) -> Result<RevertPolicy, Expected> {
        match self.text() {
            Some("cooldown-expiry") => Ok(RevertPolicy::CooldownExpiry),
            Some("never") => Ok(RevertPolicy::Never),
            _ => Err("`cooldown-expiry` or `never`"),
        }
    }
}

fn chains(value: &Value) -> Result<FallbackChains, Expected> {
    let Value::Map(members) = value else { return Err(EXPECTED) };
    let mut chains = FallbackChains::new();
    for (name, node) in members {
        let model = |value: &Value| match value {
            Value::Text(name) if names_model(name) => Ok(name.clone()),
            _ => Err(EXPECTED),
        };
        let name = model(&name.value)?;
        let Value::List(models) = &node.value else { return Err(EXPECTED) };
        let models = models.iter().map(|node| model(&node.value)).collect::<Result<_, _>>()?;
        if chains.insert(name, models).is_some() {
            return Err(EXPECTED);
        }
    }
    Ok(chains)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_for_a_role_or_a_model_and_lists_models() {
        let read = |text: &str| RawValue::Text(text.to_owned()).fallback_chains();
        let chains =
            read("{ default: [openai/a, local/b:high, gpt-5], acme/c: [], sonnet: [smol] }");
        let chains = chains.unwrap();
        assert_eq!(chains["default"], ["openai/a", "local/b:high", "gpt-5"]);
        assert_eq!((chains["acme/c"].len(), chains["sonnet"].len(), chains.len()), (0, 1, 3));
        for wrong in [
            "[a/b]",
            "{ default: a/b }",
            "{ default: [''] }",
            "{ default: [/b] }",
            "{ '': [a/b] }",
            "{ 3: [a/b] }",
            "a: [b/c",
            "{ a/b: [1] }",
        ] {
            assert_eq!(read(wrong), Err(EXPECTED), "{wrong}");
        }
    }
}
