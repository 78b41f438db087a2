//! The models that answer where another cannot be had: the setting `retry.fallbackChains`.

use std::collections::BTreeMap;

use protocol::ModelRoute;

use crate::value::{Expected, RawValue};
use crate::yaml::{self, Value};

/// The models that answer in place of others, in the order in which they are asked: by the role of the
/// others, or by `PROVIDER/ID`.
pub type FallbackChains = BTreeMap<String, Vec<ModelRoute>>;

/// When a model that could not be had is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevertPolicy {
    /// When it may be had again.
    CooldownExpiry,
    /// Never.
    Never,
}

/// The roles that a chain may be for.
const ROLES: [&str; 4] = ["default", "smol", "slow", "plan"];

const EXPECTED: Expected = "a mapping of `PROVIDER/ID`, or of the roles `default`, `smol`, `slow` and `plan`, to a list of \
     `PROVIDER/ID`";

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
        let is_key =
            |name: &String| ROLES.contains(&name.as_str()) || name.parse::<ModelRoute>().is_ok();
        let name = name.value.as_name().filter(is_key).ok_or(EXPECTED)?;
        let Value::List(models) = &node.value else { return Err(EXPECTED) };
        let model = |node: &yaml::Node| node.value.as_name().and_then(|name| name.parse().ok());
        let models = models.iter().map(model).collect::<Option<Vec<_>>>().ok_or(EXPECTED)?;
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
        let chains = read("{ default: [openai/a, local/b:high], acme/c: [] }").unwrap();
        let names = |key: &str| chains[key].iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names("default"), ["openai/a", "local/b:high"]);
        assert_eq!((names("acme/c"), chains.len()), (Vec::new(), 2));
        for wrong in [
            "[a/b]",
            "{ default: a/b }",
            "{ default: [b] }",
            "{ nobody: [a/b] }",
            "a: [b/c",
            "{ a/b: [1] }",
        ] {
            assert_eq!(read(wrong), Err(EXPECTED), "{wrong}");
        }
    }
}
