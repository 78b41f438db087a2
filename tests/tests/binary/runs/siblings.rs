//! What the tasks of a run have in common, and what a provider that caches makes of it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use protocol::CacheSaving;
use serde_json::{Value, json};
use test_limit::by_depth;
use tests::model::{Answer, Asked, LoopbackModel, Tokens, Wire, marker};
use tests::sandbox::{Finished, Plan, Repository, Sandbox};

use crate::binary::models::directory::write_models;
use crate::binary::sandbox;

/// How long the first answer takes.
const THINKING: Duration = Duration::from_millis(500);

/// Returns the names of the tasks, of one letter each.
fn names() -> impl Iterator<Item = String> {
    ('a'..='p').take(by_depth(5, 16)).map(String::from)
}

/// Returns the part that all texts begin with.
fn common_prefix(texts: &[Vec<u8>]) -> &[u8] {
    let first = texts.first().map_or(&[][..], Vec::as_slice);
    let same = |at: usize| texts.iter().all(|text| text.get(at) == first.get(at));
    let length = (0..first.len()).take_while(|at| same(*at)).count();
    &first[..length]
}

/// Runs tasks with a context that is worth caching, and returns when each request came. What the
/// caches have saved must be what they have by the model's own count.
fn run_siblings(wire: Wire, api: &str) -> Vec<Instant> {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.cache();
    write_models(
        &place,
        &format!(
            "providers:\n  gate: {{ baseUrl: '{}', auth: none, api: {api}, \
             models: [{{ id: m, cost: {{ input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }} \
             }}] }}\n",
            model.url_of(wire)
        ),
    );
    let came: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let context = "All of them know this. ".repeat(300);
    let mut plan = Plan::default().top("jobs = 16").top("model = \"gate/m\"");
    plan = plan.top(&format!("context = \"{context}\""));
    for name in names() {
        let times = Arc::clone(&came);
        model.talk(&name, move |_: &Asked| {
            let mut times = times.lock().expect("nobody panics");
            times.push(Instant::now());
            let think = if times.len() == 1 { THINKING } else { Duration::ZERO };
            Answer::yields(&json!("done")).after(think)
        });
        plan = plan.agent(&name, &marker(&name));
    }
    let done = place.run_plan(&repository, &plan).run().expect_code(0);
    check_savings(&place, &repository, &model, &done);
    let bodies: Vec<Vec<u8>> = names().map(|name| model.asked(&name).remove(0).bytes).collect();
    let prefix = String::from_utf8_lossy(common_prefix(&bodies)).into_owned();
    // A marker is two brackets and the name.
    assert!(prefix.ends_with(&marker("")[..2]), "{api}: …{}", &prefix[prefix.len() - 200..]);
    assert!(prefix.contains(context.trim_end()), "{api}: the context goes first");
    assert_eq!(bodies.len(), names().count());
    let came = came.lock().expect("nobody panics");
    came.clone()
}

/// Compares what caches have saved with the count of the model: the tokens that it has read from its
/// cache and written there, by their prices.
fn check_savings(place: &Sandbox, repository: &Repository, model: &LoopbackModel, done: &Finished) {
    let used: Vec<Tokens> = names().map(|name| model.used(&name)).collect();
    let sum = |of: fn(&Tokens) -> u64| used.iter().map(of).sum::<u64>();
    let (cached, written) = (sum(|it| it.cached), sum(|it| it.written));
    let others = u64::try_from(used.len() - 1).expect("few");
    assert!(cached > others * 1_500, "the others find their beginning in the cache: {used:?}");
    let saved = i64::try_from(cached).expect("few") * 2_700;
    let saved = saved - i64::try_from(written).expect("few") * 750;
    let nanodollars = |usage: &Value| {
        let told = usage["cache_saving"].as_f64().expect("it is known");
        (usage["cache_read"].as_u64(), (told * 1e9).round().to_string())
    };
    let expected = (Some(cached), saved.to_string());
    let end = &done.events_of("run_finished")[0];
    assert_eq!(nanodollars(&end["usage"]), expected, "{end}");
    let tasks = done.events_of("task_finished");
    let each = tasks.iter().map(|task| task["usage"]["cache_saving"].as_f64().unwrap_or(0.0));
    assert_eq!((each.sum::<f64>() * 1e9).round().to_string(), saved.to_string());
    let show = |words| place.regatta(repository.root()).words(words).run().expect_code(0);
    let shown = show("runs show @ --json").json();
    assert_eq!(nanodollars(&shown["run"]["usage"]), expected, "{shown}");
    let amount = CacheSaving::from_nanodollars(saved);
    let (shown, line) =
        (show("runs show @"), format!("tokens read from caches · {amount} by caches"));
    assert!(shown.stdout.contains(&line), "{line}: {shown}");
}

#[test]
fn siblings_send_the_same_bytes_up_to_their_own_prompt_and_one_goes_ahead_of_the_others() {
    let apis = [
        (Wire::Completions, "openai-completions"),
        (Wire::Responses, "openai-responses"),
        (Wire::Messages, "anthropic-messages"),
        (Wire::Gemini, "google-generative-ai"),
    ];
    std::thread::scope(|scope| {
        for (wire, api) in apis {
            scope.spawn(move || {
                let came = run_siblings(wire, api);
                let waited = came.iter().filter(|at| **at >= came[0] + THINKING).count();
                assert_eq!(waited, names().count() - 1, "{api}: {came:?}");
            });
        }
    });
}
