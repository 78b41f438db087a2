//! Which tool a model changes parts of files with.

/// Which tool a model changes parts of files with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EditMode {
    /// The one that the model is used to.
    #[default]
    Auto,
    /// `edit`.
    Replace,
    /// `apply_patch`.
    ApplyPatch,
}

impl EditMode {
    /// Finds the mode with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "replace" => Some(Self::Replace),
            "apply_patch" => Some(Self::ApplyPatch),
            _ => None,
        }
    }

    /// Returns what it is for the model with this id, which is never [`EditMode::Auto`]: GPT models write patches.
    #[must_use]
    pub fn for_model(self, id: &str) -> Self {
        let id = id.to_ascii_lowercase();
        let writes_patches = ["gpt", "codex"].iter().any(|part| id.contains(part));
        match self {
            Self::Auto if writes_patches => Self::ApplyPatch,
            Self::Auto => Self::Replace,
            chosen => chosen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpt_models_write_patches_unless_a_mode_is_chosen() {
        let cases = [
            ("auto", "gpt-5.1", EditMode::ApplyPatch),
            ("auto", "openai/GPT-OSS-120b", EditMode::ApplyPatch),
            ("auto", "codex-mini-latest", EditMode::ApplyPatch),
            ("auto", "claude-opus-4-5", EditMode::Replace),
            ("replace", "gpt-5.1", EditMode::Replace),
            ("apply_patch", "qwen3:8b", EditMode::ApplyPatch),
        ];
        for (mode, model, expected) in cases {
            assert_eq!(EditMode::named(mode).unwrap().for_model(model), expected, "{mode} {model}");
        }
        assert_eq!(EditMode::named("patch"), None);
    }
}
