//! One agent from the text of its file.

use std::path::PathBuf;

use protocol::{AgentDefinition, AgentFamily, AgentSource, AgentWarning, Spawns, is_unseen};

use super::codex;
use super::field_names::is_field;
use super::fields::Draft;
use super::frontmatter::{self, Field, FrontMatter};
use crate::mistake::Mistake;

/// The longest name of an agent, in characters.
const LONGEST_NAME: usize = 64;

/// Where the file of an agent is.
pub(super) struct FileOrigin {
    pub(super) path: PathBuf,
    pub(super) family: AgentFamily,
    pub(super) source: AgentSource,
}

impl FileOrigin {
    /// Returns a warning about the file.
    pub(super) fn warning(&self, line: Option<u64>, message: String) -> AgentWarning {
        AgentWarning { path: self.path.clone(), line, message }
    }
}

/// Returns the agent that a file describes, or why it is skipped; `None` for a README.
pub(super) fn of_file(
    origin: &FileOrigin,
    text: &str,
) -> Option<Result<AgentDefinition, AgentWarning>> {
    let skipped =
        |line, why: &str| Some(Err(origin.warning(line, format!("it is skipped: {why}"))));
    let is_toml = origin.path.extension().is_some_and(|it| it.eq_ignore_ascii_case("toml"));
    let (fields, body, mistake) = if is_toml {
        match codex::fields(text) {
            Ok(fields) => (fields, "", None),
            Err(Mistake { line, message, .. }) => return skipped(Some(line), &message),
        }
    } else if let Some(FrontMatter { fields, body, mistake }) = frontmatter::split(text, is_field) {
        (fields, body, mistake)
    } else if origin.path.file_stem().is_some_and(|it| it.eq_ignore_ascii_case("readme")) {
        return None;
    } else {
        return skipped(None, "it has no front matter between two lines `---`");
    };
    let mut draft = Draft { prompt: body.to_owned(), ..Draft::default() };
    if let Some(Mistake { line, message, .. }) = mistake {
        draft.warn(
            line,
            format!("its front matter is not YAML, and is read line by line: {message}"),
        );
    }
    Some(agent(origin, draft, fields))
}

/// Returns an agent of its fields.
pub(super) fn agent(
    origin: &FileOrigin,
    mut draft: Draft,
    fields: Vec<Field>,
) -> Result<AgentDefinition, AgentWarning> {
    let lines: Vec<_> = fields.iter().map(|field| (field.key.clone(), field.line)).collect();
    for field in fields {
        draft.set(field);
    }
    let skipped = |field: &str, why: &str| {
        let line = lines.iter().find(|(key, _)| key.eq_ignore_ascii_case(field));
        Err(origin.warning(line.map(|(_, line)| *line), format!("it is skipped: {why}")))
    };
    if draft.is_remote {
        return skipped("kind", "agents on other servers are not implemented");
    }
    let Some(name) = draft.name.take() else {
        return skipped("name", "it has no `name`");
    };
    if name.chars().count() > LONGEST_NAME
        || name.contains([',', '/'])
        || name.chars().any(is_unseen)
    {
        let why = format!(
            "a name has at most {LONGEST_NAME} characters, and no comma, slash or control character"
        );
        return skipped("name", &why);
    }
    let Some(description) = draft.description.take() else {
        return skipped("description", "it has no `description`");
    };
    let may_spawn = draft.tools.iter().flatten().any(|tool| tool == "task");
    let spawns = draft.spawns.take();
    let spawns = spawns.unwrap_or(if may_spawn { Spawns::Any } else { Spawns::None });
    let warnings = draft.warnings.into_iter();
    Ok(AgentDefinition {
        name,
        description,
        prompt: draft.prompt,
        tools: draft.tools,
        denied_tools: draft.denied_tools,
        spawns,
        models: draft.models,
        thinking: draft.thinking.or(draft.inherited_thinking),
        output: draft.output,
        isolated: draft.isolated,
        apply: draft.apply,
        max_turns: draft.max_turns,
        limits: draft.limits,
        source: origin.source,
        family: Some(origin.family),
        path: Some(origin.path.clone()),
        mapped: draft.mapped,
        warnings: warnings.map(|(line, message)| origin.warning(Some(line), message)).collect(),
    })
}
