//! The easiest ways to have a model, for who has none.

/// One way to have a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// What it is.
    pub what: &'static str,
    /// What to type, line by line.
    pub lines: &'static [&'static str],
}

/// Returns the three easiest ways to have a model, the one without cost or key first.
#[must_use]
pub fn easiest_ways() -> [Way; 3] {
    [
        Way {
            what: "a model on this machine, with Ollama (no key, no cost)",
            lines: &["ollama pull qwen3:8b", "regatta run --model ollama/qwen3:8b \"…\""],
        },
        Way {
            what: "a hosted model, with a key (or OPENAI_API_KEY and openai/MODEL)",
            lines: &[
                "export OPENROUTER_API_KEY=…",
                "regatta run --model openrouter/qwen/qwen3-coder \"…\"",
            ],
        },
        Way {
            what: "a rehearsal: a script plays the model, offline",
            lines: &["regatta demo", "regatta run --model offline/scenario.toml \"…\""],
        },
    ]
}
