//! What the user says about how a server departs from Chat Completions: each switch of `compat` changes
//! one field of what is known about the server.

use std::collections::BTreeMap;

use protocol::ThinkingLevel;
use serde_json::{Map, Value};

use super::compat::{
    Compat, Forcing, Presence, Strict, SystemRole, ThinkingFormat, ThinkingReplay,
    ThinkingWithChoice,
};
use super::thinking_fields::thinking_field;
use crate::call_ids::CallIds;

impl Compat {
    /// Applies the switches of a user, in the order of their names. A value that a switch cannot have
    /// changes nothing.
    pub(crate) fn with(mut self, switches: &BTreeMap<String, Value>) -> Self {
        for (name, value) in switches {
            match value {
                Value::Bool(true) => self.turn(name, Presence::Included),
                Value::Bool(false) => self.turn(name, Presence::Omitted),
                Value::String(word) => self.choose(name, word),
                Value::Object(members) => self.fill(name, members),
                Value::Null | Value::Number(_) | Value::Array(_) => {}
            }
        }
        self
    }

    fn turn(&mut self, name: &str, presence: Presence) {
        let is_on = presence == Presence::Included;
        match name {
            "supportsStore" => self.store = presence,
            "supportsDeveloperRole" => {
                self.system_role = if is_on { SystemRole::Developer } else { SystemRole::System };
            }
            "supportsReasoningEffort" => match (is_on, self.thinking) {
                (true, ThinkingFormat::Unsupported) => self.thinking = ThinkingFormat::OpenAi,
                (true, _) => {}
                (false, _) => self.thinking = ThinkingFormat::Unsupported,
            },
            "supportsUsageInStreaming" => self.usage = presence,
            "requiresToolResultName" => self.result_names = presence,
            "requiresAssistantAfterToolResult" => self.answer_after_results = presence,
            "requiresThinkingAsText" => match (is_on, self.replay) {
                (true, _) => self.replay = ThinkingReplay::Text,
                (false, ThinkingReplay::Text) => self.replay = ThinkingReplay::AsReceived,
                (
                    false,
                    ThinkingReplay::AsReceived | ThinkingReplay::Dropped | ThinkingReplay::Field(_),
                ) => {}
            },
            "requiresMistralToolIds" => {
                self.call_ids = if is_on { CallIds::Nine } else { CallIds::Plain(40) };
            }
            "requiresReasoningContentForToolCalls" => self.thinking_of_calls = presence,
            // Named before the one that requires it, which then has the last word: a server that does
            // not take what it demands cannot be asked.
            "allowsSyntheticReasoningContentForToolCalls" if !is_on => {
                self.thinking_of_calls = Presence::Omitted;
            }
            "requiresAssistantContentForToolCalls" => self.text_of_calls = presence,
            "supportsToolChoice" => {
                self.forcing = if is_on { Forcing::Named } else { Forcing::Never };
            }
            "disableReasoningOnForcedToolChoice" => {
                self.thinking_with_choice =
                    if is_on { ThinkingWithChoice::NotForced } else { ThinkingWithChoice::Allowed };
            }
            "disableReasoningOnToolChoice" => match (is_on, self.thinking_with_choice) {
                (true, _) => self.thinking_with_choice = ThinkingWithChoice::Never,
                (false, ThinkingWithChoice::Never) => {
                    self.thinking_with_choice = ThinkingWithChoice::Allowed;
                }
                (false, ThinkingWithChoice::NotForced | ThinkingWithChoice::Allowed) => {}
            },
            "supportsStrictMode" => {
                self.strict = if is_on { Strict::None } else { Strict::Omitted };
            }
            // There is one system message anyway.
            _ => {}
        }
    }

    fn choose(&mut self, name: &str, word: &str) {
        match (name, word) {
            ("maxTokensField", "max_tokens") => self.limit_field = "max_tokens",
            ("maxTokensField", "max_completion_tokens") => {
                self.limit_field = "max_completion_tokens";
            }
            ("thinkingFormat", "openai") => self.thinking = ThinkingFormat::OpenAi,
            ("thinkingFormat", "openrouter") => self.thinking = ThinkingFormat::OpenRouter,
            ("thinkingFormat", "zai") => self.thinking = ThinkingFormat::Zai,
            ("thinkingFormat", "qwen") => self.thinking = ThinkingFormat::Qwen,
            ("thinkingFormat", "qwen-chat-template") => {
                self.thinking = ThinkingFormat::QwenChatTemplate;
            }
            ("reasoningContentField", word) => {
                if let Some(field) = thinking_field(word) {
                    self.replay = ThinkingReplay::Field(field);
                }
            }
            ("toolStrictMode", "all_strict") => self.strict = Strict::All,
            ("toolStrictMode", "none") => self.strict = Strict::None,
            _ => {}
        }
    }

    fn fill(&mut self, name: &str, members: &Map<String, Value>) {
        match name {
            "reasoningEffortMap" => {
                let effort = |(level, name): (&String, &Value)| {
                    Some((level.parse::<ThinkingLevel>().ok()?, name.as_str()?.to_owned()))
                };
                self.efforts.extend(members.iter().filter_map(effort));
            }
            "openRouterRouting" => self.open_router.clone_from(members),
            "vercelGatewayRouting" => self.vercel_gateway.clone_from(members),
            "extraBody" => self.extra_body.clone_from(members),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(name: &str, value: Value) -> Compat {
        Compat::standard().with(&[(name.to_owned(), value)].into())
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "it is a list")]
    fn each_switch_changes_what_is_known_about_a_server() {
        let standard = Compat::standard;
        let object = |value: Value| value.as_object().unwrap().clone();
        let field = ThinkingReplay::Field("reasoning");
        let cases = [
            ("supportsStore", json!(true), Compat { store: Presence::Included, ..standard() }),
            (
                "supportsDeveloperRole",
                json!(true),
                Compat { system_role: SystemRole::Developer, ..standard() },
            ),
            ("supportsMultipleSystemMessages", json!(false), standard()),
            (
                "supportsReasoningEffort",
                json!(false),
                Compat { thinking: ThinkingFormat::Unsupported, ..standard() },
            ),
            (
                "reasoningEffortMap",
                json!({ "high": "max" }),
                Compat { efforts: [(ThinkingLevel::High, "max".to_owned())].into(), ..standard() },
            ),
            (
                "supportsUsageInStreaming",
                json!(false),
                Compat { usage: Presence::Omitted, ..standard() },
            ),
            (
                "maxTokensField",
                json!("max_completion_tokens"),
                Compat { limit_field: "max_completion_tokens", ..standard() },
            ),
            (
                "requiresToolResultName",
                json!(true),
                Compat { result_names: Presence::Included, ..standard() },
            ),
            (
                "requiresAssistantAfterToolResult",
                json!(true),
                Compat { answer_after_results: Presence::Included, ..standard() },
            ),
            (
                "requiresThinkingAsText",
                json!(true),
                Compat { replay: ThinkingReplay::Text, ..standard() },
            ),
            (
                "requiresMistralToolIds",
                json!(true),
                Compat { call_ids: CallIds::Nine, ..standard() },
            ),
            (
                "thinkingFormat",
                json!("zai"),
                Compat { thinking: ThinkingFormat::Zai, ..standard() },
            ),
            ("reasoningContentField", json!("reasoning"), Compat { replay: field, ..standard() }),
            (
                "requiresReasoningContentForToolCalls",
                json!(true),
                Compat { thinking_of_calls: Presence::Included, ..standard() },
            ),
            ("allowsSyntheticReasoningContentForToolCalls", json!(false), standard()),
            (
                "requiresAssistantContentForToolCalls",
                json!(true),
                Compat { text_of_calls: Presence::Included, ..standard() },
            ),
            ("supportsToolChoice", json!(false), Compat { forcing: Forcing::Never, ..standard() }),
            (
                "disableReasoningOnForcedToolChoice",
                json!(true),
                Compat { thinking_with_choice: ThinkingWithChoice::NotForced, ..standard() },
            ),
            (
                "disableReasoningOnToolChoice",
                json!(true),
                Compat { thinking_with_choice: ThinkingWithChoice::Never, ..standard() },
            ),
            ("supportsStrictMode", json!(true), Compat { strict: Strict::None, ..standard() }),
            ("toolStrictMode", json!("all_strict"), Compat { strict: Strict::All, ..standard() }),
            (
                "openRouterRouting",
                json!({ "only": ["a"] }),
                Compat { open_router: object(json!({ "only": ["a"] })), ..standard() },
            ),
            (
                "vercelGatewayRouting",
                json!({ "order": ["b"] }),
                Compat { vercel_gateway: object(json!({ "order": ["b"] })), ..standard() },
            ),
            (
                "extraBody",
                json!({ "seed": 1 }),
                Compat { extra_body: object(json!({ "seed": 1 })), ..standard() },
            ),
        ];
        for (name, value, expected) in cases {
            assert_eq!(with(name, value), expected, "{name}");
        }
    }

    #[test]
    fn a_switch_takes_back_what_is_known_by_the_name_of_a_server() {
        let of = |provider: &str, name: &str| {
            let known = Compat::detect(provider, "http://127.0.0.1:1/v1", "m");
            known.with(&[(name.to_owned(), json!(false))].into())
        };
        assert_eq!(of("mistral", "requiresMistralToolIds").call_ids, CallIds::Plain(40));
        assert_eq!(of("mistral", "requiresThinkingAsText").replay, ThinkingReplay::AsReceived);
        let kept = ThinkingReplay::Field("reasoning_content");
        assert_eq!(of("deepseek", "requiresThinkingAsText").replay, kept);
        let choice = of("deepseek", "disableReasoningOnToolChoice").thinking_with_choice;
        assert_eq!(choice, ThinkingWithChoice::Allowed);
        let synthetic = of("kimi", "allowsSyntheticReasoningContentForToolCalls");
        assert_eq!(synthetic.thinking_of_calls, Presence::Omitted);
        let on = Compat::detect("xai", "http://127.0.0.1:1/v1", "m");
        let on = on.with(&[("supportsReasoningEffort".to_owned(), json!(true))].into());
        assert_eq!(on.thinking, ThinkingFormat::OpenAi);
    }
}
