//! Agents as text: a table of all, and one as a whole.

use protocol::{AgentCatalog, AgentDefinition, AgentLimits, AgentWarning, Spawns};

use super::printable::{cut, fit, one_line, width};
use super::terminal::OutputWidth;

/// What stands for the model of the caller.
const CALLER: &str = "the caller's";

/// The widest columns of names and of models.
const NAME: usize = 24;
const MODEL: usize = 28;

/// Returns the table of the agents: a line for each, and below it what it is for.
pub fn agent_table(catalog: &AgentCatalog, room: OutputWidth) -> String {
    let cells = |agent: &AgentDefinition| {
        [
            one_line(&agent.name),
            agent.source.as_str().to_owned(),
            models(agent),
            agent.tools.as_ref().map_or_else(|| "all".to_owned(), |tools| listed(tools)),
        ]
    };
    let head = ["name", "source", "model", "tools"].map(str::to_owned);
    let rows: Vec<_> = [head].into_iter().chain(catalog.agents.iter().map(cells)).collect();
    let widest = |at: usize| rows.iter().map(|row| width(&row[at])).max().unwrap_or_default();
    let widths = [widest(0).min(NAME), widest(1), widest(2).min(MODEL)];
    let columns = match room {
        OutputWidth::Columns(columns) => columns,
        OutputWidth::Pipe => usize::MAX,
    };
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let fixed = row.iter().zip(widths).map(|(cell, width)| fit(cell, width) + "  ");
        let line: String = fixed.chain([row[3].clone()]).collect();
        text += &format!("{}\n", cut(line.trim_end(), columns));
        if let Some(agent) = number.checked_sub(1).and_then(|at| catalog.agents.get(at)) {
            let description = one_line(agent.description.lines().next().unwrap_or_default());
            text += &format!("{}\n", cut(&format!("  {description}"), columns));
        }
    }
    text
}

/// Returns which agents are not used because of others, and what is wrong with the files.
pub fn agent_notes(catalog: &AgentCatalog) -> Vec<String> {
    let shadowed = catalog.shadowed.iter().map(|agent| {
        let by = catalog.find(&agent.name).map(place).unwrap_or_default();
        format!("{} of {} is not used: {by} has one of the same name", name(agent), place(agent))
    });
    let disabled = catalog.disabled.iter().map(|agent| {
        format!("{} of {} is disabled by `task.disabledAgents`", name(agent), place(agent))
    });
    let of_agents = catalog.agents.iter().flat_map(|agent| &agent.warnings);
    let warnings = catalog.warnings.iter().chain(of_agents).map(warning);
    shadowed.chain(disabled).chain(warnings).collect()
}

/// Returns an agent as a whole.
pub fn agent_text(agent: &AgentDefinition) -> String {
    let mut lines = vec![one_line(&agent.name)];
    let mut line = |name: &str, value: String| {
        lines.push(format!("  {name:<12} {}", one_line(&value)).trim_end().to_owned());
    };
    line("source", format!("{} ({})", place(agent), agent.source.as_str()));
    line("model", models(agent));
    if let Some(level) = agent.thinking {
        line("thinking", level.to_string());
    }
    line(
        "tools",
        agent.tools.as_ref().map_or_else(|| "all of the caller".to_owned(), |it| listed(it)),
    );
    if !agent.denied_tools.is_empty() {
        line("never", listed(&agent.denied_tools));
    }
    let spawns = match &agent.spawns {
        Spawns::None => "none".to_owned(),
        Spawns::Any => "all agents".to_owned(),
        Spawns::Only(names) => names.join(", "),
    };
    line("spawns", spawns);
    let yes_or_no = |flag: bool| if flag { "yes" } else { "no" }.to_owned();
    if let Some(isolated) = agent.isolated {
        line("isolated", yes_or_no(isolated));
    }
    if let Some(apply) = agent.apply {
        line("apply", yes_or_no(apply));
    }
    let limits = limits(agent);
    if !limits.is_empty() {
        line("limits", limits);
    }
    if let Some(schema) = &agent.output {
        line("output", schema.to_string());
    }
    for word in &agent.mapped {
        line("read as", format!("{}: {} → {}", word.field, word.from, word.to));
    }
    for mistake in &agent.warnings {
        line("warning", warning(mistake));
    }
    let text = |text: &str| -> String {
        text.lines().map(|line| format!("{}\n", one_line(line).trim_end())).collect()
    };
    format!("{}\n\n{}\n{}", lines.join("\n"), text(&agent.description), text(&agent.prompt))
        .trim_end()
        .to_owned()
}

fn name(agent: &AgentDefinition) -> String {
    format!("`{}`", one_line(&agent.name))
}

/// Returns where an agent is from.
fn place(agent: &AgentDefinition) -> String {
    agent.path.as_ref().map_or_else(|| "Regatta".to_owned(), |it| one_line(&it.to_string_lossy()))
}

fn models(agent: &AgentDefinition) -> String {
    if agent.models.is_empty() { CALLER.to_owned() } else { listed(&agent.models) }
}

fn listed(words: &[String]) -> String {
    if words.is_empty() { "none".to_owned() } else { one_line(&words.join(", ")) }
}

fn limits(agent: &AgentDefinition) -> String {
    let AgentLimits { wall, output, tokens, cost } = agent.limits;
    let parts = [
        agent.max_turns.map(|turns| format!("{turns} turns")),
        wall.map(|wall| format!("{} s", wall.as_secs())),
        tokens.map(|tokens| format!("{tokens} tokens")),
        cost.map(|cost| cost.to_string()),
        output.map(|bytes| format!("{bytes} bytes of output")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn warning(warning: &AgentWarning) -> String {
    let line = warning.line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("{}{line}: {}", one_line(&warning.path.to_string_lossy()), one_line(&warning.message))
}
