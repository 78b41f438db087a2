//! The fields of the file of an agent: ours, and those of other programs.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use protocol::{AgentLimits, MappedWord, Spawns, ThinkingLevel, quote_within};
use serde_json::Value as Json;

use super::field_names::{IDLE, plain};
use super::frontmatter::Field;
use super::model_words::{is_of_caller, level, model};
use super::tool_words::{CHANGING, Separator, split_list, tool};
use crate::nearest::nearest;
use crate::quantity::{parse_cost, parse_count, parse_duration, parse_size};
use crate::raw_json::to_json;
use crate::yaml::{Node, Value};

/// The most words of a list.
const MOST_WORDS: usize = 200;

/// What was read of an agent.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) prompt: String,
    pub(super) tools: Option<Vec<String>>,
    pub(super) denied_tools: Vec<String>,
    pub(super) spawns: Option<Spawns>,
    pub(super) models: Vec<String>,
    pub(super) thinking: Option<ThinkingLevel>,
    /// The level behind the word for the model of the caller.
    pub(super) inherited_thinking: Option<ThinkingLevel>,
    pub(super) output: Option<Json>,
    pub(super) isolated: Option<bool>,
    pub(super) apply: Option<bool>,
    pub(super) max_turns: Option<NonZeroU32>,
    pub(super) limits: AgentLimits,
    /// Whether it works on another server.
    pub(super) is_remote: bool,
    pub(super) mapped: Vec<MappedWord>,
    /// The mistakes, each with its line.
    pub(super) warnings: Vec<(u64, String)>,
}

impl Draft {
    /// Adds a mistake.
    pub(super) fn warn(&mut self, line: u64, message: impl Into<String>) {
        self.warnings.push((line, message.into()));
    }

    /// Reads one field.
    pub(super) fn set(&mut self, field: Field) {
        let Field { key, line, value } = &field;
        if *value == Value::Null {
            return;
        }
        match plain(key).as_str() {
            "name" => self.name = self.text(&field),
            "description" => self.description = self.text(&field),
            "prompt" | "developerinstructions" => {
                self.prompt = self.text(&field).unwrap_or_default();
            }
            "tools" | "allowedtools" => self.set_tools(&field),
            "disallowedtools" | "deniedtools" => {
                let denied = self.listed(&field, Separator::CommaOrSpace).into_iter();
                let denied: Vec<_> = denied.map(|word| self.tool_of(&field, &word)).collect();
                self.denied_tools.extend(denied);
            }
            "spawns" => {
                let names = self.listed(&field, Separator::Comma);
                self.spawns = Some(spawns(names));
            }
            "model" | "models" => self.set_models(&field),
            "thinking"
            | "thinkinglevel"
            | "effort"
            | "reasoningeffort"
            | "modelreasoningeffort" => self.set_thinking(&field),
            "output" | "outputschema" | "schema" => self.set_output(&field),
            "isolated" => self.isolated = self.flag(&field),
            "isolation" => self.set_isolation(&field),
            "apply" => self.apply = self.flag(&field),
            "maxturns" | "turns" | "maxsteps" => self.set_turns(&field),
            "limits" => self.set_limits(&field),
            "timeoutmins" => {
                let minutes =
                    self.count(&field).map(|it| Duration::from_secs(it.get().saturating_mul(60)));
                if let Some(wall) = minutes {
                    self.limits.wall = Some(wall);
                    self.map(key, value.as_name().unwrap_or_default(), "limits.wall");
                }
            }
            "permissionmode" | "sandboxmode" => self.set_permissions(&field),
            "kind" => self.is_remote = self.text(&field).as_deref() == Some("remote"),
            name if IDLE.contains(&name) => self.map(key, "…", "nothing"),
            _ => {
                let names =
                    ["name", "description", "tools", "spawns", "model", "thinking", "output"];
                let more = ["isolated", "apply", "maxTurns", "limits", "disallowedTools"];
                let near = nearest(key, names.into_iter().chain(more));
                let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                self.warn(*line, format!("unknown field {}{hint}", ticked(key)));
            }
        }
    }

    /// Keeps what a word of another program is here.
    fn map(&mut self, field: &str, from: impl Into<String>, to: &str) {
        let word = MappedWord { field: field.to_owned(), from: from.into(), to: to.to_owned() };
        if word.from != word.to && !self.mapped.contains(&word) {
            self.mapped.push(word);
        }
    }

    fn text(&mut self, field: &Field) -> Option<String> {
        let text = field.value.as_name().map(|text| text.trim().to_owned());
        if text.is_none() {
            self.warn(field.line, format!("{} must be a text", ticked(&field.key)));
        }
        text.filter(|text| !text.is_empty())
    }

    fn flag(&mut self, field: &Field) -> Option<bool> {
        let word = field.value.as_name().unwrap_or_default().to_ascii_lowercase();
        match word.as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _other => {
                self.warn(field.line, format!("{} must be true or false", ticked(&field.key)));
                None
            }
        }
    }

    fn count(&mut self, field: &Field) -> Option<NonZeroU64> {
        let word = field.value.as_name().unwrap_or_default();
        let count = parse_count(&word);
        if count.is_err() {
            self.warn(field.line, format!("{} must be a number of at least 1", ticked(&field.key)));
        }
        count.ok()
    }

    /// Returns the words of a list, or of a text with commas.
    fn listed(&mut self, field: &Field, separator: Separator) -> Vec<String> {
        let mut found = match &field.value {
            Value::List(nodes) => {
                let names = nodes.iter().filter_map(|node| node.value.as_name());
                let names: Vec<_> = names.map(|name| name.trim().to_owned()).collect();
                if names.len() < nodes.len() {
                    self.warn(
                        field.line,
                        format!("{} must be a list of names", ticked(&field.key)),
                    );
                }
                names.into_iter().filter(|name| !name.is_empty()).collect()
            }
            value => match value.as_name() {
                Some(text) => split_list(&text, separator),
                None => {
                    self.warn(
                        field.line,
                        format!("{} must be a list of names", ticked(&field.key)),
                    );
                    Vec::new()
                }
            },
        };
        if found.len() > MOST_WORDS {
            let message = format!("{} has more than {MOST_WORDS} words", ticked(&field.key));
            self.warn(field.line, message);
            found.truncate(MOST_WORDS);
        }
        found
    }

    /// Returns the tool that a word means.
    fn tool_of(&mut self, field: &Field, word: &str) -> String {
        let found = tool(word);
        if !found.is_known {
            let message = format!("there is no tool {}; it is left out", ticked(&found.tool));
            self.warn(field.line, message);
        }
        self.map(&field.key, word, &found.tool);
        found.tool
    }

    fn set_tools(&mut self, field: &Field) {
        let given = self.listed(field, Separator::CommaOrSpace);
        if given.iter().any(|word| word == "*") {
            self.tools = None;
            return;
        }
        let mut tools: Vec<String> = Vec::new();
        for word in given {
            let found = self.tool_of(field, &word);
            match (found.as_str(), tool(&word).only) {
                ("task", Some(names)) => {
                    self.spawns = Some(spawns(split_list(&names, Separator::Comma)))
                }
                (_, Some(only)) if !only.is_empty() => {
                    let message = format!(
                        "{} gives the whole tool {found}; its calls follow the rules of the caller",
                        ticked(&word)
                    );
                    self.warn(field.line, message);
                }
                _whole => {}
            }
            if !tools.contains(&found) {
                tools.push(found);
            }
        }
        self.tools = Some(tools);
    }

    fn set_models(&mut self, field: &Field) {
        self.models.clear();
        for word in self.listed(field, Separator::Comma) {
            let here = model(&word);
            self.map(&field.key, &word, &here);
            if is_of_caller(&here) {
                let (_, suffix) = here.split_once(':').unwrap_or_default();
                self.inherited_thinking = suffix.parse().ok();
                // What follows can never count.
                break;
            }
            self.models.push(here);
        }
    }

    fn set_thinking(&mut self, field: &Field) {
        let word = field.value.as_name().unwrap_or_default();
        match level(&word) {
            Some(level) => {
                self.map(&field.key, &word, level.as_str());
                self.thinking = Some(level);
            }
            None => {
                let message = format!(
                    "{} is off, minimal, low, medium, high or xhigh, not {}",
                    ticked(&field.key),
                    ticked(&word)
                );
                self.warn(field.line, message);
            }
        }
    }

    fn set_output(&mut self, field: &Field) {
        let schema = match &field.value {
            Value::Text(text) => serde_json::from_str(text).ok(),
            value => Some(to_json(value)),
        };
        match schema {
            Some(schema @ (Json::Object(_) | Json::Bool(_))) => self.output = Some(schema),
            _other => {
                self.warn(field.line, format!("{} must be a schema", ticked(&field.key)));
            }
        }
    }

    fn set_isolation(&mut self, field: &Field) {
        let word = field.value.as_name().unwrap_or_default();
        match word.as_str() {
            "worktree" | "auto" | "true" => {
                self.map(&field.key, word, "isolated");
                self.isolated = Some(true);
            }
            "none" | "false" => {
                self.map(&field.key, word, "not isolated");
                self.isolated = Some(false);
            }
            _other => {
                let message =
                    format!("{} is worktree or none, not {}", ticked(&field.key), ticked(&word));
                self.warn(field.line, message);
            }
        }
    }

    fn set_turns(&mut self, field: &Field) {
        if let Some(count) = self.count(field) {
            let turns = u32::try_from(count.get()).unwrap_or(u32::MAX);
            self.max_turns = NonZeroU32::new(turns);
        }
    }

    /// Reads how much another program lets its agent do. Here the rules of the caller hold for it, so all that
    /// counts is that it only reads.
    fn set_permissions(&mut self, field: &Field) {
        let word = field.value.as_name().unwrap_or_default();
        if matches!(plain(&word).as_str(), "plan" | "readonly") {
            self.map(&field.key, word, "no tools that change files or run commands");
            self.denied_tools.extend(CHANGING.map(str::to_owned));
        } else {
            self.map(&field.key, word, "the rules of the caller");
        }
    }

    fn set_limits(&mut self, field: &Field) {
        let Value::Map(members) = &field.value else {
            let message = "`limits` must be a mapping, such as `{ wall: 10m, cost: 1.00USD }`";
            self.warn(field.line, message);
            return;
        };
        for (key, node) in members {
            let name = key.value.as_name().unwrap_or_default();
            let Node { value, .. } = node;
            let text = value.as_name().unwrap_or_default();
            let line = key.line.saturating_add(1);
            let field = Field { key: format!("limits.{name}"), line, value: value.clone() };
            let failed = match name.as_str() {
                "wall" => keep(&mut self.limits.wall, parse_duration(&text)),
                "output" => keep(&mut self.limits.output, parse_size(&text)),
                "tokens" => keep(&mut self.limits.tokens, parse_count(&text)),
                "cost" => keep(&mut self.limits.cost, parse_cost(&text)),
                "turns" => {
                    self.set_turns(&field);
                    None
                }
                _other => Some("there are wall, output, turns, tokens and cost".to_owned()),
            };
            if let Some(error) = failed {
                self.warn(line, format!("{}: {error}", ticked(&field.key)));
            }
        }
    }
}

/// Returns a word of the file as a message names it.
fn ticked(word: &str) -> String {
    format!("`{}`", quote_within(word, 60))
}

/// Keeps a value, or returns why it is none.
fn keep<T, E: ToString>(place: &mut Option<T>, parsed: Result<T, E>) -> Option<String> {
    match parsed {
        Ok(value) => {
            *place = Some(value);
            None
        }
        Err(error) => Some(error.to_string()),
    }
}

fn spawns(names: Vec<String>) -> Spawns {
    if names.iter().any(|name| name == "*") {
        return Spawns::Any;
    }
    let names: Vec<_> =
        names.into_iter().filter(|it| !matches!(it.as_str(), "none" | "\"\"" | "false")).collect();
    if names.is_empty() { Spawns::None } else { Spawns::Only(names) }
}
