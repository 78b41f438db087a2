//! Sees to it, before a run begins, that each of its models can be had.

use engine::ports::Models as _;
use futures_util::future::join_all;
use protocol::{Agent, Failure, FailureClass, ModelRoute, RunSpec, TaskName, Work};
use providers::{Catalogue, KnownProvider};

use super::is_scenario;
use crate::error::{Error, ErrorKind};

/// Opens every model of a run, and looks whether those on this machine, or at an address of the
/// user's, answer.
///
/// # Errors
/// Why one cannot be had.
pub(crate) async fn reach(catalogue: &Catalogue, spec: &RunSpec) -> Result<(), Error> {
    let routes = routes(spec);
    for (route, task) in &routes {
        catalogue.open(route).map_err(|failure| unhad(route, task, &failure))?;
    }
    let looks = routes.iter().map(|(route, task)| async move {
        catalogue.preflight(route).await.map_err(|failure| unhad(route, task, &failure))
    });
    join_all(looks).await.into_iter().collect()
}

/// Returns whether a scenario plays the model of some task.
pub(crate) fn is_rehearsed(spec: &RunSpec) -> bool {
    agents(spec).any(|(_, agent)| is_scenario(&agent.model))
}

/// Returns the models of a run, each once, with the first task that has it.
pub(crate) fn routes(spec: &RunSpec) -> Vec<(&ModelRoute, &TaskName)> {
    let mut routes: Vec<(&ModelRoute, &TaskName)> = Vec::new();
    for (task, agent) in agents(spec) {
        if !routes.iter().any(|(known, _)| **known == agent.model) {
            routes.push((&agent.model, task));
        }
    }
    routes
}

fn agents(spec: &RunSpec) -> impl Iterator<Item = (&TaskName, &Agent)> {
    spec.tasks.iter().filter_map(|task| match &task.work {
        Work::Agent(agent) => Some((&task.name, agent)),
        Work::Command(_) | Work::External(_) => None,
    })
}

/// A failure says what is wrong and, behind a semicolon, what else there is to know or to do.
fn unhad(route: &ModelRoute, task: &TaskName, failure: &Failure) -> Error {
    let what = format!("cannot use the model {route} of task `{task}`");
    let (why, rest) = failure.message.split_once("; ").unwrap_or((&failure.message, ""));
    // The number of an error says nothing that its name does not.
    let error = Error::new(ErrorKind::Model, what)
        .because(why.split(" (os error ").next().unwrap_or_default());
    let key = KnownProvider::find(&route.provider).and_then(KnownProvider::key);
    match (failure.class, key) {
        (FailureClass::Auth, Some(key)) => error.hint(format!("export {key}=…")),
        _ if rest.is_empty() => error,
        _ if DEEDS.iter().any(|deed| rest.starts_with(deed)) => {
            error.hint(rest.trim_start_matches("try: "))
        }
        _ => error.because(rest),
    }
}

/// What begins with one of these is something to do.
const DEEDS: [&str; 3] = ["try: ", "start it ", "is the base URL right"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::sample;

    fn spec(models: &[&str]) -> RunSpec {
        let mut spec = sample(&[("a", "true"), ("b", "true"), ("c", "true")]);
        for (task, model) in spec.tasks.iter_mut().zip(models) {
            let model = model.parse().unwrap();
            task.work = Work::Agent(Agent { model, prompt: "Do it.".to_owned(), context: None });
        }
        spec
    }

    #[test]
    fn each_model_is_looked_at_once() {
        let run = spec(&["local/a", "offline/b", "local/a"]);
        let found: Vec<_> = routes(&run).iter().map(|(_, task)| task.as_str()).collect();
        assert_eq!(found, ["a", "b"]);
        assert!(is_rehearsed(&run));
        assert!(!is_rehearsed(&spec(&["local/a"])));
        assert_eq!(routes(&spec(&[])), []);
    }

    #[test]
    fn a_failure_is_told_with_what_to_do_about_it() {
        let told = |route: &str, class, message: &str| {
            let (route, task) = (route.parse().unwrap(), "t1".parse().unwrap());
            let said = unhad(&route, &task, &Failure::new(class, message)).to_string();
            said.split_once("of task `t1`\n").unwrap().1.to_owned()
        };
        let refused = "ollama is silent: Connection refused (os error 111); start it with `x`";
        assert_eq!(
            told("ollama/a", FailureClass::Transient, refused),
            "  because ollama is silent: Connection refused\n  try: start it with `x`"
        );
        assert_eq!(
            told("acme/a", FailureClass::Transient, "acme is silent; is the base URL right?"),
            "  because acme is silent\n  try: is the base URL right?"
        );
        assert_eq!(
            told("ollama/a", FailureClass::Invalid, "there is no a; try: ollama pull a"),
            "  because there is no a\n  try: ollama pull a"
        );
        assert_eq!(
            told("openai/a", FailureClass::Auth, "a key is wanted"),
            "  because a key is wanted\n  try: export OPENAI_API_KEY=…"
        );
        assert_eq!(
            told("nope/a", FailureClass::Invalid, "no provider is called nope; known are a, b"),
            "  because no provider is called nope\n  because known are a, b"
        );
    }
}
