//! How a server departs from Chat Completions as OpenAI documents it. Each switch is one field.

use std::collections::BTreeMap;

use protocol::ThinkingLevel;
use serde_json::{Map, Value};

use crate::call_ids::CallIds;
use crate::history::Images;

/// How a server departs from Chat Completions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Compat {
    /// `requiresMistralToolIds`: the form of call ids.
    pub(crate) call_ids: CallIds,
    /// `requiresToolResultName`: whether the message of a tool result has the name of the tool.
    pub(crate) result_names: Presence,
    /// `supportsToolChoice`: how a request forces a call of one tool.
    pub(crate) forcing: Forcing,
    /// `supportsStore`: whether requests say `store: false`.
    pub(crate) store: Presence,
    /// `supportsDeveloperRole`: the role of the system prompt for models that think.
    pub(crate) system_role: SystemRole,
    /// `supportsUsageInStreaming`: whether requests ask for the usage.
    pub(crate) usage: Presence,
    /// `maxTokensField`: the name of the limit of an answer.
    pub(crate) limit_field: &'static str,
    /// `thinkingFormat` and `supportsReasoningEffort`: how a request states the level of thinking.
    pub(crate) thinking: ThinkingFormat,
    /// `reasoningEffortMap`: the names of levels where they are others.
    pub(crate) efforts: BTreeMap<ThinkingLevel, String>,
    /// `disableReasoningOnForcedToolChoice`, `disableReasoningOnToolChoice`.
    pub(crate) thinking_with_choice: ThinkingWithChoice,
    /// `reasoningContentField`, `requiresThinkingAsText`: how earlier thinking is given back.
    pub(crate) replay: ThinkingReplay,
    /// `requiresReasoningContentForToolCalls`: whether an answer with calls has the field of
    /// thinking even if there was none (`allowsSyntheticReasoningContentForToolCalls`).
    pub(crate) thinking_of_calls: Presence,
    /// `requiresAssistantContentForToolCalls`: whether an answer with calls has a text.
    pub(crate) text_of_calls: Presence,
    /// `requiresAssistantAfterToolResult`: whether an answer stands between results and the user.
    pub(crate) answer_after_results: Presence,
    /// `supportsStrictMode`, `toolStrictMode`: what tools say of `strict`.
    pub(crate) strict: Strict,
    /// Whether the model sees images.
    pub(crate) images: Images,
    /// `openRouterRouting`: the `provider` object of a request to OpenRouter.
    pub(crate) open_router: Map<String, Value>,
    /// `vercelGatewayRouting`: the `providerOptions.gateway` object of a request.
    pub(crate) vercel_gateway: Map<String, Value>,
    /// `extraBody`: keys that are added to each request.
    pub(crate) extra_body: Map<String, Value>,
}

/// Whether something is part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Omitted,
    Included,
}

/// How a request forces a call of one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forcing {
    /// By naming the tool.
    Named,
    /// By requiring a call and offering that tool only.
    OnlyTool,
    /// By offering that tool only: the server knows no `tool_choice`.
    Never,
}

/// The role of the system prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SystemRole {
    System,
    /// `developer`, if the model thinks.
    Developer,
}

/// How a request tells how much to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThinkingFormat {
    /// Not at all.
    Unsupported,
    /// `reasoning_effort`.
    OpenAi,
    /// `reasoning: { effort }`.
    OpenRouter,
    /// `thinking: { type }`.
    Zai,
    /// `enable_thinking`.
    Qwen,
    /// `chat_template_kwargs: { enable_thinking }`.
    QwenChatTemplate,
}

/// Whether a request that restricts the choice of tools may tell how much to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThinkingWithChoice {
    Allowed,
    /// Not if a call is forced.
    NotForced,
    /// Not with any `tool_choice`.
    Never,
}

/// How earlier thinking of the model is given back to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThinkingReplay {
    /// In the field of the message in which it came, if it came in one.
    AsReceived,
    /// Not at all, because the server has refused it.
    Dropped,
    /// In this field of the message.
    Field(&'static str),
    /// As a text before the others.
    Text,
}

/// What tools say of `strict`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strict {
    Omitted,
    /// Each tool says `strict: true`.
    All,
    /// Each tool says `strict: false`.
    None,
}

impl Compat {
    /// Returns the switches of a server that follows the standard and of which nothing is known.
    pub(crate) fn standard() -> Self {
        Self {
            call_ids: CallIds::Plain(40),
            result_names: Presence::Omitted,
            forcing: Forcing::Named,
            store: Presence::Omitted,
            system_role: SystemRole::System,
            usage: Presence::Included,
            limit_field: "max_tokens",
            thinking: ThinkingFormat::OpenAi,
            efforts: BTreeMap::new(),
            thinking_with_choice: ThinkingWithChoice::Allowed,
            replay: ThinkingReplay::AsReceived,
            thinking_of_calls: Presence::Omitted,
            text_of_calls: Presence::Omitted,
            answer_after_results: Presence::Omitted,
            strict: Strict::Omitted,
            images: Images::Seen,
            open_router: Map::new(),
            vercel_gateway: Map::new(),
            extra_body: Map::new(),
        }
    }
}
