//! What is said about the models of a run where their names do not say it.

use protocol::{ModelRoute, RunSpec, Work};

use regatta::model::{ModelDirectory, Roles, all_routes, left_out_fallbacks, routes};

/// Returns which model was chosen for a command that names none.
pub(super) fn chosen_model(spec: &RunSpec, chosen: Option<(ModelRoute, String)>) -> Vec<String> {
    let routes = routes(spec);
    let found = chosen.filter(|(model, _)| routes.iter().any(|(route, _)| *route == model));
    found.into_iter().map(|(model, why)| format!("the model is {model}: {why}")).collect()
}

/// Returns which models do not have the level of thinking that they are asked for.
pub(super) fn other_levels(spec: &RunSpec, directory: &ModelDirectory) -> Vec<String> {
    let routes = all_routes(spec);
    let others = routes.iter().filter_map(|(route, _task)| {
        let (asked, other) = route.thinking.zip(directory.other_level(route))?;
        Some(format!("{} has no thinking level `{asked}`: `{other}` is used", route.name()))
    });
    others.collect()
}

/// Returns which models of the settings are left out of the fallbacks of a run's models.
pub(super) fn left_out(spec: &RunSpec, roles: &Roles) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let mut seen: Vec<(&ModelRoute, &[ModelRoute])> = Vec::new();
    for task in &spec.tasks {
        let Work::Agent(agent) = &task.work else { continue };
        if seen.contains(&(&agent.model, &agent.fallback)) {
            continue;
        }
        seen.push((&agent.model, &agent.fallback));
        let left_out = left_out_fallbacks((&agent.model, &agent.fallback), roles);
        notes.extend(left_out.into_iter().filter(|note| !notes.contains(note)).collect::<Vec<_>>());
    }
    notes
}
