//! Who may start which subagents.

use protocol::Spawns;

use crate::ports::{Lineage, SpawnRefusal};

/// Checks that a session may start subagents at all: it is less than `most` calls deep.
///
/// # Errors
/// The text for the model.
pub fn may_call(lineage: &Lineage, most: u32) -> Result<(), SpawnRefusal> {
    if lineage.depth < most {
        return Ok(());
    }
    Err(SpawnRefusal(format!(
        "Subagents cannot start subagents here: calls are at most {most} deep (task.maxRecursionDepth)."
    )))
}

/// Checks that a session may start the agent `wanted`. The agent `usual` does what no other agent is for, so
/// it may start itself.
///
/// # Errors
/// The text for the model.
pub fn may_spawn(lineage: &Lineage, wanted: &str, usual: &str) -> Result<(), SpawnRefusal> {
    let allowed = match &lineage.spawns {
        Spawns::Only(names) if names.iter().any(|name| name == wanted) => {
            // An agent that names itself among those that it starts wants it so.
            return Ok(());
        }
        Spawns::Any if lineage.agent.as_deref() != Some(wanted) || wanted == usual => {
            return Ok(());
        }
        Spawns::Any => {
            return Err(SpawnRefusal(format!(
                "Cannot spawn {wanted} agent from within itself (recursion prevention). Use a different \
                 agent type."
            )));
        }
        Spawns::Only(names) => names.join(", "),
        Spawns::None => "none".to_owned(),
    };
    Err(SpawnRefusal(format!("Cannot spawn '{wanted}'. Allowed: {allowed}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(agent: Option<&str>, depth: u32, spawns: Spawns) -> Lineage {
        Lineage { agent: agent.map(str::to_owned), depth, spawns, ..Lineage::default() }
    }

    fn only(names: &[&str]) -> Spawns {
        Spawns::Only(names.iter().map(|it| (*it).to_owned()).collect())
    }

    #[test]
    fn an_agent_starts_those_that_it_may_and_itself_only_if_it_names_itself() {
        let itself = "Cannot spawn plan agent from within itself (recursion prevention). Use a different \
                      agent type.";
        for (agent, spawns, wanted, refusal) in [
            (None, Spawns::Any, "plan", None),
            (None, Spawns::None, "plan", Some("Cannot spawn 'plan'. Allowed: none")),
            (Some("plan"), Spawns::Any, "explore", None),
            (Some("plan"), Spawns::Any, "plan", Some(itself)),
            (Some("plan"), only(&["plan"]), "plan", None),
            (
                Some("plan"),
                only(&["explore", "task"]),
                "plan",
                Some("Cannot spawn 'plan'. Allowed: explore, task"),
            ),
            (
                Some("plan"),
                only(&["explore"]),
                "Explore",
                Some("Cannot spawn 'Explore'. Allowed: explore"),
            ),
            (Some("task"), Spawns::Any, "task", None),
            (Some("task"), Spawns::None, "task", Some("Cannot spawn 'task'. Allowed: none")),
        ] {
            let found = may_spawn(&below(agent, 1, spawns.clone()), wanted, "task");
            let found = found.err().map(|refusal| refusal.0);
            assert_eq!(found.as_deref(), refusal, "{agent:?} {spawns:?} {wanted}");
        }
    }

    #[test]
    fn calls_are_so_deep_and_no_deeper() {
        for (depth, most, allowed) in [(0, 0, false), (0, 1, true), (2, 3, true), (3, 3, false)] {
            let lineage = below(None, depth, Spawns::Any);
            assert_eq!(may_call(&lineage, most).is_ok(), allowed, "{depth} of {most}");
        }
    }
}
