//! Checks, before a run starts, that each of its models can be used.

use engine::ports::Models as _;
use futures_util::future::join_all;
use protocol::{Agent, Cost, Failure, FailureClass, ModelRoute, RunSpec, TaskName, Usage, Work};
use providers::{Catalogue, KnownProvider};

use super::UserModels;
use crate::error::{Error, ErrorKind};

/// Opens every model of a run, its fallbacks among them, and checks that local ones and those at a base
/// URL answer, except those that the user's file defines completely. Returns notes about those that do not, where others can be asked.
///
/// # Errors
/// A model cannot be used.
pub async fn check_models(
    catalogue: &Catalogue,
    user: &UserModels,
    spec: &RunSpec,
) -> Result<Vec<String>, Error> {
    check_listed_models(catalogue, user, spec).await?;
    let routes = all_routes(spec);
    let looks = routes
        .iter()
        .filter(|(route, _)| !user.defines(route))
        .map(|(route, task)| async move { (*route, *task, catalogue.preflight(route).await) });
    let mut notes = Vec::new();
    for (route, task, looked) in join_all(looks).await {
        match looked {
            Ok(()) => {}
            // It may answer later, and until then another one does.
            Err(failure)
                if failure.class == FailureClass::Transient && is_replaced(spec, route) =>
            {
                notes.push(format!("the model {route} is not available now: {}", failure.message));
            }
            Err(failure) => return Err(unusable(route, Some(task), &failure)),
        }
    }
    Ok(notes)
}

/// Opens every model of a run that is only listed. No server is asked.
///
/// # Errors
/// A model cannot be used.
pub async fn check_listed_models(
    catalogue: &Catalogue,
    user: &UserModels,
    spec: &RunSpec,
) -> Result<(), Error> {
    let routes = all_routes(spec);
    user.prepare(routes.iter().map(|(route, _)| route.provider.as_str())).await;
    routes.iter().try_for_each(|(route, task)| open(catalogue, (route, task), spec))
}

/// Opens a model of a run.
fn open(
    catalogue: &Catalogue,
    (route, task): (&ModelRoute, &TaskName),
    spec: &RunSpec,
) -> Result<(), Error> {
    let provider =
        catalogue.open(route).map_err(|failure| unusable(route, Some(task), &failure))?;
    match cost_limit(spec, route) {
        Some((limited, limit)) if provider.cost_of(&Usage::ZERO).is_none() => {
            Err(unpriced(route, limited, limit))
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns whether every task that may ask a model may ask another one.
fn is_replaced(spec: &RunSpec, route: &ModelRoute) -> bool {
    agents(spec).all(|(_, agent)| agent.model != *route || !agent.fallback.is_empty())
}

/// Returns the first task with a limit of its cost that may ask this model, also as a fallback, and
/// its limit.
fn cost_limit<'a>(spec: &'a RunSpec, route: &ModelRoute) -> Option<(&'a TaskName, Cost)> {
    let mut limits = spec.tasks.iter().filter_map(|task| Some((task, task.limits.cost?)));
    limits.find_map(|(task, limit)| match &task.work {
        Work::Agent(agent) if agent.model == *route || agent.fallback.contains(route) => {
            Some((&task.name, limit))
        }
        Work::Agent(_) | Work::Command(_) | Work::Conversation(_) => None,
    })
}

/// Opens the model of a session. Its server is not asked: what is wrong with it shows in the first answer.
///
/// # Errors
/// The model cannot be used.
pub async fn check_model(
    catalogue: &Catalogue,
    user: &UserModels,
    route: &ModelRoute,
) -> Result<(), Error> {
    user.prepare([route.provider.as_str()]).await;
    catalogue.open(route).map(drop).map_err(|failure| unusable(route, None, &failure))
}

/// Returns the models of a run, each once, with the first task that uses it.
pub fn routes(spec: &RunSpec) -> Vec<(&ModelRoute, &TaskName)> {
    each_once(agents(spec).map(|(task, agent)| (&agent.model, task)))
}

/// Returns the models of a run and their fallbacks.
pub fn all_routes(spec: &RunSpec) -> Vec<(&ModelRoute, &TaskName)> {
    let fallbacks = agents(spec)
        .flat_map(|(task, agent)| agent.fallback.iter().map(move |fallback| (fallback, task)));
    each_once(routes(spec).into_iter().chain(fallbacks))
}

fn each_once<'a>(
    all: impl Iterator<Item = (&'a ModelRoute, &'a TaskName)>,
) -> Vec<(&'a ModelRoute, &'a TaskName)> {
    let mut routes: Vec<(&ModelRoute, &TaskName)> = Vec::new();
    for (route, task) in all {
        if !routes.iter().any(|(known, _)| *known == route) {
            routes.push((route, task));
        }
    }
    routes
}

/// Returns the tasks that a model does.
fn agents(spec: &RunSpec) -> impl Iterator<Item = (&TaskName, &Agent)> {
    spec.tasks.iter().filter_map(|task| match &task.work {
        Work::Agent(agent) => Some((&task.name, &**agent)),
        Work::Command(_) | Work::Conversation(_) => None,
    })
}

/// Returns the error that a task has a limit of its cost, and the price of its model is not known.
fn unpriced(route: &ModelRoute, task: &TaskName, limit: Cost) -> Error {
    let what = format!("cannot hold the cost of task `{task}` to {limit}");
    let name = route.name();
    Error::new(ErrorKind::Model, what)
        .because(format!("the price of the model {name} is not known"))
        .hint(format!("the setting `prices`: {{ {name}: {{ input: …, output: … }} }}"))
        .hint("--limit tokens=2M (in place of the cost)")
}

/// Returns the error about a model that cannot be used.
fn unusable(route: &ModelRoute, task: Option<&TaskName>, failure: &Failure) -> Error {
    let of = task.map(|task| format!(" of task `{task}`")).unwrap_or_default();
    let what = format!("cannot use the model {route}{of}");
    let error = Error::new(ErrorKind::Model, what).because_of(failure);
    if failure.class != FailureClass::Auth || failure.advice.is_some() {
        return error;
    }
    let key = KnownProvider::find(&route.provider).and_then(KnownProvider::key);
    let export = |error: Error, key| error.hint(format!("export {key}=…"));
    let error = key.into_iter().fold(error, export);
    error.hint(format!("regatta login {}", route.provider))
}

#[cfg(test)]
mod tests {
    use ::tests::fakes::{run_of, task};

    use super::*;

    fn spec(models: &[&str]) -> RunSpec {
        let mut spec = run_of(["a", "b", "c"].map(|name| task(name, "true")).to_vec());
        for (task, model) in spec.tasks.iter_mut().zip(models) {
            let model = model.parse().unwrap();
            task.work = Work::from(Agent {
                model,
                prompt: "Do it.".to_owned(),
                yields: Vec::new(),
                context: None,
                approvals: Default::default(),
                fallback: Vec::new(),
                subagent: None,
                servers: Default::default(),
            });
        }
        spec
    }

    #[test]
    fn each_model_is_looked_at_once() {
        let run = spec(&["local/a", "offline/b", "local/a"]);
        let found: Vec<_> = routes(&run).iter().map(|(_, task)| task.as_str()).collect();
        assert_eq!(found, ["a", "b"]);
        assert_eq!(routes(&spec(&[])), []);
    }

    #[test]
    fn the_price_of_a_model_matters_to_the_tasks_that_may_ask_it_and_have_a_limit_of_their_cost() {
        let mut run = spec(&["local/free", "priced/a", "priced/a"]);
        let cost = |nanodollars: u64| Some(Cost::from_nanodollars(nanodollars));
        (run.tasks[1].limits.cost, run.tasks[2].limits.cost) = (cost(3), cost(2));
        let asked = |run: &RunSpec, model: &str| {
            let limit = cost_limit(run, &model.parse().unwrap());
            limit.map(|(task, limit)| (task.to_string(), limit))
        };
        assert_eq!(asked(&run, "local/free"), None, "the limits are those of other tasks");
        assert_eq!(asked(&run, "priced/a"), Some(("b".to_owned(), cost(3).unwrap())));
        if let Work::Agent(agent) = &mut run.tasks[2].work {
            agent.fallback.push("local/free".parse().unwrap());
        }
        assert_eq!(asked(&run, "local/free"), Some(("c".to_owned(), cost(2).unwrap())));
        run.tasks[0].work = Work::Command(protocol::Command {
            script: "true".to_owned(),
            item: None,
            arguments: Vec::new(),
        });
        run.tasks[0].limits.cost = cost(1);
        assert_eq!(asked(&run, "priced/a"), Some(("b".to_owned(), cost(3).unwrap())));
    }

    #[test]
    fn a_failure_is_told_with_what_to_do_about_it() {
        let told_of = |route: &str, failure: &Failure| {
            let (route, task) = (route.parse().unwrap(), "t1".parse().unwrap());
            let said = unusable(&route, Some(&task), failure).to_string();
            said.split_once("of task `t1`\n").unwrap().1.to_owned()
        };
        let told =
            |route: &str, class, message: &str| told_of(route, &Failure::new(class, message));
        let refused = "ollama is silent: Connection refused (os error 111)";
        let refused = Failure::new(FailureClass::Transient, refused);
        assert_eq!(
            told_of("ollama/a", &refused.advise("start it with `x`")),
            "  because ollama is silent: Connection refused\n  try: start it with `x`"
        );
        let unknown = Failure::new(FailureClass::Invalid, "there is no a (it has b; try: c)");
        assert_eq!(
            told_of("ollama/a", &unknown.advise("try: ollama pull a")),
            "  because there is no a (it has b; try: c)\n  try: ollama pull a"
        );
        assert_eq!(
            told("openai/a", FailureClass::Auth, "a key is wanted"),
            "  because a key is wanted\n  try: export OPENAI_API_KEY=…\n  try: regatta login openai"
        );
        let unknown =
            Failure::new(FailureClass::Invalid, "no provider is called nope (known are a)");
        assert_eq!(
            told_of("nope/a", &unknown.advise("try: --model note/a")),
            "  because no provider is called nope (known are a)\n  try: --model note/a"
        );
    }
}
