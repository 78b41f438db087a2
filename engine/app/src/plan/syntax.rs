//! The syntaxes of plans: TOML, JSON and YAML. All have the same keys and values.

mod json;
#[cfg(test)]
mod tests;
mod toml;
mod yaml;

use std::path::Path;

use config::Mistake;

use super::node::Node;

/// The syntax of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlanSyntax {
    Toml,
    Json,
    Yaml,
}

impl PlanSyntax {
    /// Returns the syntax of a text: by the ending of its file, or else by its first line.
    pub(super) fn of(name: &str, text: &str) -> Self {
        let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
        match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("toml") => Self::Toml,
            Some("json") => Self::Json,
            Some("yaml" | "yml") => Self::Yaml,
            Some(_) | None => Self::guess(text).unwrap_or(Self::Toml),
        }
    }

    /// Returns the syntax that a text seems to have; `None` if it has remarks at most.
    pub(super) fn guess(text: &str) -> Option<Self> {
        let mut lines = text.lines().map(str::trim_end);
        let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'))?;
        let is_key = |key: &str| {
            let word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
            !key.is_empty() && key.chars().all(word)
        };
        let has_yaml_key = first.split_once(':').is_some_and(|(key, value)| {
            is_key(key) && (value.is_empty() || value.starts_with(' '))
        });
        Some(match first {
            _ if first.trim_start().starts_with('{') => Self::Json,
            _ if has_yaml_key || first.starts_with("---") || first.starts_with("- ") => Self::Yaml,
            _ => Self::Toml,
        })
    }

    /// Parses a text.
    ///
    /// # Errors
    /// The text does not have this syntax.
    pub(super) fn parse(self, text: &str) -> Result<Node, Mistake> {
        match self {
            Self::Toml => toml::parse(text).map_err(|error| error.in_text(text)),
            Self::Json => json::parse(text).map_err(|error| error.in_text(text)),
            Self::Yaml => yaml::parse(text),
        }
    }

    /// Returns how an entry of a plan is written, whose value is this text: a number, a list, or a text in
    /// double quotes.
    pub(super) fn entry(self, key: &str, value: &str) -> String {
        match self {
            Self::Toml => format!("{key} = {value}"),
            Self::Json => format!("\"{key}\": {value}"),
            Self::Yaml => format!("{key}: {value}"),
        }
    }

    /// Returns how a plan begins a task.
    pub(super) fn first_task(self) -> String {
        match self {
            Self::Toml => "[[task]]".to_owned(),
            Self::Json | Self::Yaml => {
                self.entry("task", &format!("[{{ {} }}]", self.entry("prompt", "\"…\"")))
            }
        }
    }

    /// Returns its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Toml => "TOML",
            Self::Json => "JSON",
            Self::Yaml => "YAML",
        }
    }
}
