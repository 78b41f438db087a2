//! Which switches a server needs, by the name of its provider, its address and its model.

use protocol::ThinkingLevel;

use super::compat::{
    Compat, Forcing, Presence, Strict, SystemRole, ThinkingFormat, ThinkingReplay,
    ThinkingWithChoice,
};
use crate::call_ids::CallIds;
use crate::history::Images;

impl Compat {
    /// Returns the switches of a server.
    pub(crate) fn detect(provider: &str, base_url: &str, model: &str) -> Self {
        let (url, model) = (base_url.to_ascii_lowercase(), model.to_ascii_lowercase());
        let is = |id: &str, host: &str| provider == id || url.contains(host);
        let standard = Self::standard();
        let templated = ["llama.cpp", "vllm"].contains(&provider) && model.contains("qwen3");
        let thinking =
            if templated { ThinkingFormat::QwenChatTemplate } else { ThinkingFormat::OpenAi };
        if ["ollama", "llama.cpp", "lm-studio"].contains(&provider) {
            return Self { forcing: Forcing::OnlyTool, thinking, ..standard };
        }
        if templated {
            return Self { thinking, ..standard };
        }
        if is("openai-completions", "api.openai.com") {
            return Self {
                store: Presence::Included,
                system_role: SystemRole::Developer,
                limit_field: "max_completion_tokens",
                strict: Strict::None,
                ..standard
            };
        }
        if is("openrouter", "openrouter.ai") {
            return Self {
                thinking: ThinkingFormat::OpenRouter,
                // Claude does not think where it has to call a tool.
                thinking_with_choice: if model.starts_with("anthropic/") {
                    ThinkingWithChoice::NotForced
                } else {
                    ThinkingWithChoice::Allowed
                },
                replay: ThinkingReplay::Field("reasoning"),
                ..standard
            };
        }
        if is("mistral", "api.mistral.ai") {
            return Self {
                call_ids: CallIds::Nine,
                result_names: Presence::Included,
                thinking: effort_of(&["mistral-small", "mistral-medium"], &model),
                replay: ThinkingReplay::Text,
                ..standard
            };
        }
        if is("deepseek", "api.deepseek.com") {
            return Self {
                replay: ThinkingReplay::Field("reasoning_content"),
                thinking_of_calls: Presence::Included,
                thinking_with_choice: ThinkingWithChoice::Never,
                efforts: [(ThinkingLevel::XHigh, "max".to_owned())].into(),
                images: Images::Replaced,
                ..standard
            };
        }
        if is("xai", "api.x.ai") {
            let thinking = effort_of(&["grok-3-mini", "grok-4.3"], &model);
            return Self { thinking, ..standard };
        }
        if is("groq", "api.groq.com") && model.contains("qwen") {
            // It knows `none` and `default` only.
            let levels = [ThinkingLevel::Minimal, ThinkingLevel::Low, ThinkingLevel::Medium];
            let levels = levels.into_iter().chain([ThinkingLevel::High, ThinkingLevel::XHigh]);
            let efforts = levels.map(|level| (level, "default".to_owned())).collect();
            return Self { efforts, ..standard };
        }
        if is("zai", "api.z.ai") {
            return Self { thinking: ThinkingFormat::Zai, ..standard };
        }
        if is("dashscope", "dashscope") || is("qwen", "portal.qwen.ai") {
            return Self { thinking: ThinkingFormat::Qwen, ..standard };
        }
        if is("moonshot", "api.moonshot") || is("kimi", "api.kimi.com") {
            return Self {
                replay: ThinkingReplay::Field("reasoning_content"),
                thinking_of_calls: Presence::Included,
                text_of_calls: Presence::Included,
                // It does not know `required`.
                forcing: Forcing::Never,
                thinking: ThinkingFormat::Unsupported,
                ..standard
            };
        }
        standard
    }
}

/// Returns how a request to a server states how much to think, of which only those with these names can
/// be.
fn effort_of(names: &[&str], model: &str) -> ThinkingFormat {
    let has_effort = names.iter().any(|name| model.contains(name));
    if has_effort { ThinkingFormat::OpenAi } else { ThinkingFormat::Unsupported }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_its_provider_or_its_address() {
        let of = |provider: &str, url: &str| Compat::detect(provider, url, "m");
        let by_name = [
            ("openrouter", "https://openrouter.ai/api/v1"),
            ("mistral", "https://api.mistral.ai/v1"),
            ("deepseek", "https://api.deepseek.com/v1"),
            ("xai", "https://api.x.ai/v1"),
            ("zai", "https://api.z.ai/api/paas/v4"),
            ("kimi", "https://api.kimi.com/coding/v1"),
            ("openai-completions", "https://api.openai.com/v1"),
        ];
        for (provider, url) in by_name {
            assert_ne!(of(provider, url), Compat::standard(), "{provider}");
            assert_eq!(of(provider, "http://127.0.0.1:1/v1"), of("other", url), "{provider}");
        }
        assert_eq!(of("other", "https://example.org/v1"), Compat::standard());
        assert_eq!(of("groq", "https://api.groq.com/openai/v1"), Compat::standard());
        assert_eq!(of("ollama", "http://127.0.0.1:11434/v1").forcing, Forcing::OnlyTool);
        let qwen =
            |provider| Compat::detect(provider, "http://127.0.0.1:1/v1", "Qwen3-8B").thinking;
        assert_eq!(qwen("vllm"), ThinkingFormat::QwenChatTemplate);
        assert_eq!(qwen("ollama"), ThinkingFormat::OpenAi);
        let claude = Compat::detect("openrouter", "https://openrouter.ai/api/v1", "anthropic/c");
        assert_eq!(claude.thinking_with_choice, ThinkingWithChoice::NotForced);
        let grok = |model| Compat::detect("xai", "https://api.x.ai/v1", model).thinking;
        assert_eq!(grok("grok-4"), ThinkingFormat::Unsupported);
        assert_eq!(grok("grok-3-mini"), ThinkingFormat::OpenAi);
        assert_eq!(grok("grok-4.3"), ThinkingFormat::OpenAi);
        let mistral =
            |model| Compat::detect("mistral", "https://api.mistral.ai/v1", model).thinking;
        assert_eq!(mistral("mistral-small-2603"), ThinkingFormat::OpenAi);
        assert_eq!(mistral("magistral-medium-latest"), ThinkingFormat::Unsupported);
        let groq = |model| Compat::detect("groq", "https://api.groq.com/openai/v1", model).efforts;
        assert_eq!(groq("qwen/qwen3-32b")[&ThinkingLevel::High], "default");
        assert!(groq("openai/gpt-oss-20b").is_empty());
        assert_eq!(of("minimax", "https://api.minimax.io/v1"), Compat::standard());
        assert_eq!(of("chutes", "https://llm.chutes.ai/v1"), Compat::standard());
        assert_eq!(of("kilo", "https://api.kilo.ai/api/gateway"), Compat::standard());
    }
}
