//! The agents that come with the program.

use std::path::PathBuf;
use std::sync::LazyLock;

use protocol::{AgentDefinition, AgentFamily, AgentSource};

use super::definition::{FileOrigin, of_file};

/// The files, each with the one whose text it has, if not its own.
const FILES: [(&str, &str, Option<&str>); 7] = [
    ("explore", include_str!("bundled/explore.md"), None),
    ("plan", include_str!("bundled/plan.md"), None),
    ("designer", include_str!("bundled/designer.md"), None),
    ("reviewer", include_str!("bundled/reviewer.md"), None),
    ("task", include_str!("bundled/task.md"), None),
    ("quick_task", include_str!("bundled/quick_task.md"), Some("task")),
    ("librarian", include_str!("bundled/librarian.md"), None),
];

/// Returns the agents.
pub(super) fn agents() -> &'static [AgentDefinition] {
    static AGENTS: LazyLock<Vec<AgentDefinition>> = LazyLock::new(|| {
        let mut agents: Vec<AgentDefinition> = Vec::new();
        for (name, text, same) in FILES {
            let origin = FileOrigin {
                path: PathBuf::from(format!("{name}.md")),
                family: AgentFamily::Regatta,
                source: AgentSource::Bundled,
            };
            let Some(Ok(mut agent)) = of_file(&origin, text) else {
                unreachable!("a test reads every bundled agent")
            };
            let same = agents.iter().find(|agent| Some(agent.name.as_str()) == same);
            if let Some(same) = same {
                agent.prompt.clone_from(&same.prompt);
            }
            (agent.family, agent.path) = (None, None);
            agents.push(agent);
        }
        agents
    });
    &AGENTS
}
