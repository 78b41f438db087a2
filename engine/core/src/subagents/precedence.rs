//! Which model, level of thinking and schema a subagent gets, where several say one.

use protocol::{AgentDefinition, ModelRoute};
use serde_json::Value;

/// The roles of models, which need not be set.
const ROLES: [&str; 4] = ["default", "smol", "slow", "plan"];

/// What is said about one subagent.
#[derive(Clone, Copy, Debug)]
pub struct Preferences<'a> {
    /// Its agent.
    pub agent: &'a AgentDefinition,
    /// The models that the user's settings give the agent, the first that can be had.
    pub models: &'a [String],
    /// The schema of the call.
    pub schema: Option<&'a Value>,
    /// The model of the caller.
    pub caller_model: &'a ModelRoute,
    /// The schema of the caller's own result.
    pub caller_schema: Option<&'a Value>,
}

/// What a subagent gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Its model, with the level of thinking.
    pub model: ModelRoute,
    /// The schema of its result.
    pub schema: Option<Value>,
    /// The models that were wanted more and cannot be had, in their order.
    pub unavailable: Vec<String>,
}

/// Decides what a subagent gets. `named` finds the model of a name, with the level that stands behind it.
///
/// - Model: the settings, then the file of the agent, then the caller's.
/// - Thinking: what stands behind the model, then the file of the agent, then what is usual for the model.
/// - Schema: the file of the agent, then the call, then the caller's.
pub fn choose(preferences: Preferences<'_>, named: impl Fn(&str) -> Option<ModelRoute>) -> Choice {
    let Preferences { agent, models, schema, caller_model, caller_schema } = preferences;
    let mut unavailable: Vec<String> = Vec::new();
    let mut wanted = models.iter().chain(&agent.models);
    let found = wanted.find_map(|name| {
        let found = named(name);
        let is_role = name.split(':').next().is_some_and(|role| ROLES.contains(&role));
        if found.is_none() && !is_role && !unavailable.contains(name) {
            unavailable.push(name.clone());
        }
        found
    });
    let level = found.as_ref().and_then(|model| model.thinking).or(agent.thinking);
    let mut model = found.unwrap_or_else(|| caller_model.clone());
    model.thinking = level.or(model.thinking);
    let schema = agent.output.as_ref().or(schema).or(caller_schema).cloned();
    Choice { model, schema, unavailable }
}

#[cfg(test)]
mod tests {
    use protocol::{AgentLimits, AgentSource, Spawns, ThinkingLevel};
    use serde_json::json;

    use super::*;

    pub(super) fn agent(models: &[&str], thinking: Option<ThinkingLevel>) -> AgentDefinition {
        AgentDefinition {
            name: "it".to_owned(),
            description: String::new(),
            prompt: String::new(),
            tools: None,
            denied_tools: Vec::new(),
            spawns: Spawns::None,
            models: models.iter().map(|it| (*it).to_owned()).collect(),
            thinking,
            output: None,
            isolated: None,
            apply: None,
            max_turns: None,
            limits: AgentLimits::default(),
            source: AgentSource::User,
            family: None,
            path: None,
            mapped: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn route(text: &str) -> ModelRoute {
        text.parse().unwrap()
    }

    /// Finds the models of one provider.
    fn named(name: &str) -> Option<ModelRoute> {
        name.starts_with("here/").then(|| route(name))
    }

    #[test]
    fn the_model_is_that_of_the_settings_then_of_the_file_then_of_the_caller() {
        for (settings, file, expected, unavailable) in [
            (&["here/set"][..], &["here/file"][..], "here/set", &[][..]),
            (&["gone/set"], &["here/file"], "here/file", &["gone/set"]),
            (&[], &["here/file", "here/other"], "here/file", &[]),
            (&[], &["gone/a", "here/other"], "here/other", &["gone/a"]),
            (&[], &["gone/a", "gone/a", "gone/b"], "here/caller:low", &["gone/a", "gone/b"]),
            (&[], &[], "here/caller:low", &[]),
            // A role that is not set is no mistake of anybody.
            (&[], &["smol"], "here/caller:low", &[]),
            (&[], &["slow:high", "here/file"], "here/file", &[]),
        ] {
            let settings: Vec<_> = settings.iter().map(|it| (*it).to_owned()).collect();
            let preferences = Preferences {
                agent: &agent(file, None),
                models: &settings,
                schema: None,
                caller_model: &route("here/caller:low"),
                caller_schema: None,
            };
            let choice = choose(preferences, named);
            assert_eq!(choice.model, route(expected), "{settings:?} {file:?}");
            assert_eq!(choice.unavailable, unavailable, "{settings:?} {file:?}");
        }
    }

    #[test]
    fn the_level_of_thinking_is_that_behind_the_model_then_of_the_file_then_the_usual_one() {
        let (low, high) = (ThinkingLevel::Low, ThinkingLevel::High);
        for (model, file, expected) in [
            ("here/m:high", Some(low), Some(high)),
            ("here/m", Some(low), Some(low)),
            ("here/m", None, None),
            ("gone/m:high", Some(high), Some(high)),
            // The caller's model goes on as the caller has it.
            ("gone/m:high", None, Some(low)),
        ] {
            let preferences = Preferences {
                agent: &agent(&[model], file),
                models: &[],
                schema: None,
                caller_model: &route("here/caller:low"),
                caller_schema: None,
            };
            assert_eq!(choose(preferences, named).model.thinking, expected, "{model} {file:?}");
        }
    }

    #[test]
    fn the_schema_is_that_of_the_file_then_of_the_call_then_of_the_caller() {
        let [file, call, caller] = ["file", "call", "caller"].map(|it| json!({ "title": it }));
        for (of_file, of_call, of_caller, expected) in [
            (Some(&file), Some(&call), Some(&caller), Some(&file)),
            (None, Some(&call), Some(&caller), Some(&call)),
            (None, None, Some(&caller), Some(&caller)),
            (None, None, None, None),
        ] {
            let agent = AgentDefinition { output: of_file.cloned(), ..agent(&[], None) };
            let preferences = Preferences {
                agent: &agent,
                models: &[],
                schema: of_call,
                caller_model: &route("here/caller"),
                caller_schema: of_caller,
            };
            assert_eq!(choose(preferences, named).schema.as_ref(), expected);
        }
    }
}
