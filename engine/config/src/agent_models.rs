//! The models that the user gives agents: the setting `task.agentModelOverrides`.

use std::collections::BTreeMap;

use crate::agents::model_names;
use crate::value::{Expected, RawValue};
use crate::yaml::{self, Value};

/// The names of the models of agents, by the name of the agent. The first that can be had counts.
pub type AgentModels = BTreeMap<String, Vec<String>>;

const EXPECTED: Expected = "a mapping of agents to models or lists of models: \
     `{ explore: ollama/qwen3:8b, reviewer: [opus:high, slow] }`";

impl RawValue {
    /// Parses the models of agents.
    pub(crate) fn agent_models(&self) -> Result<AgentModels, Expected> {
        match self {
            Self::Yaml(value) => models(value),
            Self::Text(words) => match yaml::read(words) {
                Ok(node) => models(&node.value),
                Err(_malformed) => Err(EXPECTED),
            },
        }
    }
}

fn models(value: &Value) -> Result<AgentModels, Expected> {
    let Value::Map(members) = value else { return Err(EXPECTED) };
    let mut models = AgentModels::new();
    for (name, node) in members {
        let text = |value: &Value| match value {
            Value::Text(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
            _ => Err(EXPECTED),
        };
        let given = match &node.value {
            Value::List(nodes) => nodes.iter().map(|node| text(&node.value)).collect(),
            value => text(value).map(|model| vec![model]),
        };
        models.insert(text(&name.value)?, model_names(&given?));
    }
    Ok(models)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_has_one_model_or_several() {
        let raw = |text: &str| RawValue::Text(text.to_owned());
        let given = "{ explore: ollama/qwen3:8b, reviewer: [opus:high, pi/slow], task: inherit }";
        let models = raw(given).agent_models().unwrap();
        let models: Vec<_> =
            models.iter().map(|(name, it)| format!("{name}={}", it.join("|"))).collect();
        assert_eq!(models, ["explore=ollama/qwen3:8b", "reviewer=opus:high|slow", "task="]);
        for bad in ["[a]", "{ a: 1 }", "{ a: [b, {}] }", "{ a: '' }", "{ [a]: b }"] {
            assert_eq!(raw(bad).agent_models(), Err(EXPECTED), "{bad}");
        }
    }
}
