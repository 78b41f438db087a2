//! Agents that sessions can give tasks to: what their files say, as data.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::{Cost, FINDING_TOOL, Spawns, TASK_TOOL, TaskLimits, ThinkingLevel};

/// One agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentDefinition {
    /// The name by which a session gives it tasks.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// The text before its task.
    pub prompt: String,
    /// The tools that it has of those of its caller; all of them if absent.
    pub tools: Option<Vec<String>>,
    /// Tools that it never has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied_tools: Vec<String>,
    /// The agents that it may give tasks to.
    pub spawns: Spawns,
    /// The models that it works with, of which the first that can be had counts; that of its caller if empty.
    pub models: Vec<String>,
    /// How much it thinks.
    pub thinking: Option<ThinkingLevel>,
    /// The schema of its results: a JSON Schema or a JTD schema.
    pub output: Option<Value>,
    /// Whether it works in a workspace of its own.
    pub isolated: Option<bool>,
    /// Whether the work of such a workspace lands in that of its caller.
    pub apply: Option<bool>,
    /// The maximum number of answers of its model.
    pub max_turns: Option<NonZeroU32>,
    /// Its other limits.
    pub limits: AgentLimits,
    /// Who has written it.
    pub source: AgentSource,
    /// The program whose folder it is in; none for the bundled ones.
    pub family: Option<AgentFamily>,
    /// Its file; none for the bundled ones.
    #[serde(serialize_with = "optional_path")]
    pub path: Option<PathBuf>,
    /// What its file says in the words of another program, and what that is here.
    pub mapped: Vec<MappedWord>,
    /// Mistakes of its file that it can be used in spite of.
    pub warnings: Vec<AgentWarning>,
}

/// The limits that the file of an agent has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AgentLimits {
    /// The maximum wall-clock time.
    #[serde(
        rename = "wall_ms",
        serialize_with = "milliseconds",
        skip_serializing_if = "Option::is_none"
    )]
    pub wall: Option<Duration>,
    /// The maximum number of bytes of its output that are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// The maximum number of tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<NonZeroU64>,
    /// The maximum cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// Who has written the file of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentSource {
    /// It comes with the program.
    Bundled,
    /// The user.
    User,
    /// Anyone who can write to the repository.
    Project,
}

/// A program whose folders have files of agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentFamily {
    /// Regatta: `.regatta`.
    Regatta,
    /// `.omp`.
    Omp,
    /// `.pi`.
    Pi,
    /// Claude Code: `.claude`.
    Claude,
    /// `.codex`.
    Codex,
    /// Gemini CLI: `.gemini`.
    Gemini,
}

/// A word of another program in the file of an agent, and what it is here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MappedWord {
    /// The field, as it stands in the file.
    pub field: String,
    /// The word.
    pub from: String,
    /// What it is here.
    pub to: String,
}

/// A mistake in the file of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgentWarning {
    /// The file.
    #[serde(serialize_with = "path")]
    pub path: PathBuf,
    /// The line, from 1, if the mistake is in one.
    pub line: Option<u64>,
    /// What is wrong, and what is done about it.
    pub message: String,
}

/// The agents that a session can give tasks to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AgentCatalog {
    /// The agents, each with a name of its own, in the order in which they were found.
    pub agents: Vec<AgentDefinition>,
    /// Those that have the name of one before them, and are not used.
    pub shadowed: Vec<AgentDefinition>,
    /// Those that the settings disable. They get no tasks.
    pub disabled: Vec<AgentDefinition>,
    /// What is wrong with the files that are skipped.
    pub warnings: Vec<AgentWarning>,
}

/// Writes a path that may not be UTF-8.
fn path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn optional_path<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn milliseconds<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    let milliseconds = time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    milliseconds.serialize(serializer)
}

/// The tool with which results are returned. Every agent has it.
const YIELD: &str = "yield";

/// Tools of which a model has one or the other, for the same work.
const SAME_WORK: [[&str; 2]; 1] = [["edit", "apply_patch"]];
/// Tools that are of no use without another one, which brings them.
const COMPANIONS: [(&str, &str); 1] = [("bash", "job")];

impl AgentDefinition {
    /// Returns the tools that this agent has below a caller with `caller_tools`: never one that the caller
    /// lacks, but for those that make up its result: `yield`, and `report_finding` if it names that.
    #[must_use]
    pub fn tools_for(&self, caller_tools: &[String]) -> Vec<String> {
        let is_listed = |tool: &str| match &self.tools {
            _ if tool == TASK_TOOL => self.spawns != Spawns::None,
            None => true,
            Some(wanted) => wanted.iter().any(|wanted| includes(wanted, tool)),
        };
        let is_denied = |tool: &str| self.denied_tools.iter().any(|denied| includes(denied, tool));
        let is_had = |tool: &&String| tool.as_str() != YIELD && is_listed(tool) && !is_denied(tool);
        let had = caller_tools.iter().filter(is_had).cloned();
        let wants_findings = self.tools.iter().flatten().any(|tool| tool == FINDING_TOOL);
        let had_findings = caller_tools.iter().any(|tool| tool == FINDING_TOOL);
        let findings = wants_findings && !had_findings && !is_denied(FINDING_TOOL);
        let own = findings.then_some(FINDING_TOOL).into_iter().chain([YIELD]);
        had.chain(own.map(str::to_owned)).collect()
    }

    /// Returns the limits of its tasks, where those of others are `usual`. A file of a project only lowers them.
    #[must_use]
    pub fn limits_for(&self, usual: &TaskLimits) -> TaskLimits {
        let tokens = self.limits.tokens.map(NonZeroU64::get);
        TaskLimits {
            wall: self.limit(self.limits.wall, usual.wall),
            output: self.limit(self.limits.output, usual.output),
            turns: self.limit(self.max_turns, usual.turns),
            tokens: self.open_limit(tokens, usual.tokens),
            cost: self.open_limit(self.limits.cost, usual.cost),
        }
    }

    fn limit<T: Ord>(&self, own: Option<T>, usual: T) -> T {
        match own {
            None => usual,
            Some(own) if self.source == AgentSource::Project => own.min(usual),
            Some(own) => own,
        }
    }

    /// Returns a limit, where none at all is the highest.
    fn open_limit<T: Ord>(&self, own: Option<T>, usual: Option<T>) -> Option<T> {
        match (own, usual) {
            (Some(own), Some(usual)) => Some(self.limit(Some(own), usual)),
            (own, usual) => own.or(usual),
        }
    }
}

/// Returns whether who may use `wanted` may use `tool`.
fn includes(wanted: &str, tool: &str) -> bool {
    let both = |pair: &[&str]| pair.contains(&wanted) && pair.contains(&tool);
    wanted == tool
        || SAME_WORK.iter().any(|pair| both(pair))
        || COMPANIONS.contains(&(wanted, tool))
}

impl AgentFamily {
    /// All families, the one that counts first at the beginning.
    pub const ALL: [Self; 6] =
        [Self::Regatta, Self::Omp, Self::Pi, Self::Claude, Self::Codex, Self::Gemini];

    /// Returns the name of its folder in a project.
    #[must_use]
    pub fn folder(self) -> &'static str {
        match self {
            Self::Regatta => ".regatta",
            Self::Omp => ".omp",
            Self::Pi => ".pi",
            Self::Claude => ".claude",
            Self::Codex => ".codex",
            Self::Gemini => ".gemini",
        }
    }
}

impl AgentSource {
    /// Returns its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bundled => "bundled",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

impl AgentCatalog {
    /// Returns the agent with a name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&AgentDefinition> {
        self.agents.iter().find(|agent| agent.name == name)
    }

    /// Returns the catalog in which the agents with these names are disabled.
    #[must_use]
    pub fn without(mut self, disabled: &[String]) -> Self {
        let (disabled, agents) =
            self.agents.into_iter().partition(|it| disabled.contains(&it.name));
        self.agents = agents;
        self.disabled = disabled;
        self
    }

    /// Adds an agent. The first with its name counts.
    pub fn add(&mut self, agent: AgentDefinition) {
        if self.find(&agent.name).is_some() {
            self.shadowed.push(agent);
        } else {
            self.agents.push(agent);
        }
    }
}

#[cfg(test)]
mod tests;
