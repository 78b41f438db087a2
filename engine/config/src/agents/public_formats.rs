//! Files of agents as people have them, in the formats of five programs and in our own, mean what their
//! authors meant.

use std::path::Path;

use protocol::{AgentDefinition, AgentSource, AgentWarning, Spawns};

use super::discover;
use crate::data_paths::DataPaths;

/// What each file says, in the order in which the agents are found.
const EXPECTED: &str = "\
migrator: tools read grep find edit write bash; spawns explore; models sonnet:low ollama/qwen3:8b; \
thinking high; output; isolated true; apply false; turns 30; wall 900; tokens 400000; cost $1.50
minimal:
mute: tools; thinking xhigh; turns 1
judge: tools read grep lsp bash report_finding; spawns scout worker; models slow:high gpt-5.2-codex opus; output
oracle: tools read grep find bash task; spawns *; models plan default
scout: tools read grep find web_search; models smol haiku-4.5 haiku; thinking minimal; output
worker: spawns *; thinking medium
pi-scout: tools read grep find ls bash; models claude-haiku-4-5
pi-worker: models claude-sonnet-4-5
code-reviewer: tools read grep find bash
coordinator: tools task read mcp__tracker__list_issues; spawns code-reviewer test-runner; models claude-opus-4-5-20251101
docs-writer: not bash web_search; models sonnet; thinking high; isolated true
planner: not write edit notebook bash eval task; models opus
security-auditor: tools read grep find fetch web_search; models opus
test-runner: tools bash read edit job todo_write; models haiku; turns 25
docs_researcher:
pr_explorer: not write edit notebook bash eval task; models gpt-5.3-codex-spark; thinking medium
fixer: thinking xhigh
auditor: tools read grep bash; models gemini-3-flash-preview; turns 10; wall 300
everything:
";

/// Returns what an agent has, in one line.
fn line(agent: &AgentDefinition) -> String {
    let mut parts = Vec::new();
    let mut part = |name: &str, value: Option<String>| {
        parts.extend(value.map(|value| format!(" {name} {value}").trim_end().to_owned()));
    };
    part("tools", agent.tools.as_ref().map(|tools| tools.join(" ")));
    let denied = agent.denied_tools.join(" ");
    part("not", Some(denied).filter(|it| !it.is_empty()));
    part(
        "spawns",
        match &agent.spawns {
            Spawns::None => None,
            Spawns::Any => Some("*".to_owned()),
            Spawns::Only(names) => Some(names.join(" ")),
        },
    );
    part("models", Some(agent.models.join(" ")).filter(|it| !it.is_empty()));
    part("thinking", agent.thinking.map(|it| it.to_string()));
    part("output", agent.output.as_ref().map(|_| String::new()));
    part("isolated", agent.isolated.map(|it| it.to_string()));
    part("apply", agent.apply.map(|it| it.to_string()));
    part("turns", agent.max_turns.map(|it| it.to_string()));
    part("wall", agent.limits.wall.map(|it| it.as_secs().to_string()));
    part("tokens", agent.limits.tokens.map(|it| it.to_string()));
    part("cost", agent.limits.cost.map(|it| it.to_string()));
    format!("{}:{}\n", agent.name, parts.join(";"))
}

#[test]
fn agents_as_people_have_them_mean_what_they_mean_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/agents");
    let home = tempfile::tempdir().unwrap();
    let places = DataPaths::resolve(|name| (name == "HOME").then(|| home.path().into())).unwrap();
    let catalog = discover(&places, &root, &root);
    let own: Vec<_> =
        catalog.agents.iter().filter(|it| it.source == AgentSource::Project).collect();
    let lines: String = own.iter().map(|agent| line(agent)).collect();
    assert_eq!(lines, EXPECTED);
    assert_eq!((own.len(), catalog.shadowed.len()), (20, 0));
    assert_eq!(catalog.warnings, []);
    let mut warnings = Vec::new();
    for agent in own {
        assert!(!agent.prompt.is_empty() && !agent.description.is_empty(), "{}", agent.name);
        warnings.extend(&agent.warnings);
    }
    assert_eq!(warnings, Vec::<&AgentWarning>::new());
    let reviewer = catalog.find("code-reviewer").unwrap();
    let mapped = reviewer.mapped.iter();
    let mapped: Vec<_> =
        mapped.map(|it| format!("{}: {} → {}", it.field, it.from, it.to)).collect();
    assert_eq!(
        mapped,
        [
            "tools: Read → read",
            "tools: Grep → grep",
            "tools: Glob → find",
            "tools: Bash → bash",
            "color: … → nothing"
        ]
    );
    assert!(reviewer.description.ends_with("it finds bugs before they land."));
}
