//! What models cost: per task and run, failed attempts included, and limits of it.

use serde_json::{Value, json};
use tests::model::{Answer, Asked, Cut, LoopbackModel, Said, marker};
use tests::sandbox::{Finished, Plan, Repository, Sandbox};

use crate::binary::models::directory::{run_model, write_models};
use crate::binary::sandbox;

/// An answer says that it used 800 tokens of input, 200 of the cache and 30 of output: 0.85 dollars.
const PRICE: &str = ", cost: { input: 1000, output: 1000, cacheRead: 100 }";
const ANSWER: f64 = 0.85;

fn write_gate(place: &Sandbox, model: &LoopbackModel, price: &str) {
    let url = model.base_url();
    write_models(
        place,
        &format!(
            "providers:\n  gate: {{ baseUrl: '{url}', auth: none, api: openai-completions, \
             models: [{{ id: m{price} }}] }}\n"
        ),
    );
}

/// Reads a file for ever.
fn never_yields(asked: &Asked) -> Answer {
    let answers = asked.answers();
    assert_eq!(asked.forced().is_some(), answers == 2, "after {answers} answers");
    Answer::call("read", &json!({ "path": "README.md", "offset": answers }))
}

fn is_about(cost: &Value, expected: f64) {
    let cost = cost.as_f64().unwrap_or_else(|| panic!("the cost is known, and not {cost}"));
    assert!((cost - expected).abs() < 1e-9, "{cost} is not {expected}");
}

fn expect_three_answers(place: &Sandbox, repository: &Repository, finished: &Finished) {
    let failure = finished.task("t1")["failure"].clone();
    assert_eq!(failure["class"], "budget", "{finished}");
    let message = failure["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("cost $") && message.contains(" of $1.00: "), "{failure}");
    assert_eq!(failure["detail"]["limit"], "cost", "{failure}");
    is_about(&finished.task("t1")["usage"]["cost"], 3.0 * ANSWER);
    place.expect_nothing_left(repository);
}

#[test]
fn at_its_limit_of_cost_a_model_is_asked_to_yield_once_and_then_it_is_over() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    write_gate(&place, &model, PRICE);
    model.talk("t1", never_yields);
    let run = run_model(&place, &repository, "gate/m").arg("--limit").arg("cost=1.00USD");
    expect_three_answers(&place, &repository, &run.run().expect_code(6));
    assert_eq!(model.requests(), 3);
    model.talk("t1", never_yields);
    let plan = Plan::default().top("model = \"gate/m\"").top("limits = { cost = \"1.00 USD\" }");
    let run = place.run_plan(&repository, &plan.agent("t1", &marker("t1")));
    expect_three_answers(&place, &repository, &run.run().expect_code(6));
    model.talk("t1", never_yields);
    let run = run_model(&place, &repository, "gate/m").env("REGATTA_LIMITS_COST", "1.00 USD");
    expect_three_answers(&place, &repository, &run.run().expect_code(6));
    assert_eq!(model.requests(), 9);
}

#[test]
fn a_limit_of_cost_where_a_price_is_not_known_is_refused_before_anything_begins() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    write_gate(&place, &model, "");
    model.talk("t1", |_: &Asked| Answer::yields(&json!("done")));
    let limited = || run_model(&place, &repository, "gate/m").words("--limit cost=1USD");
    limited().run().expect_code(1).expect_refusal(&[
        "cannot hold the cost of task `t1` to $1.00",
        "the price of the model gate/m is not known",
        "prices",
    ]);
    assert_eq!(model.requests(), 0);
    let runs = place.regatta(repository.root()).words("runs --json").run().expect_code(0);
    assert_eq!(runs.stdout.trim(), "[]");
    let euros = run_model(&place, &repository, "gate/m").words("--limit cost=1EUR").run();
    euros.expect_code(1).expect_refusal(&["--limit cost", "US dollars"]);
    // The setting says what the file of models does not.
    let priced = limited().env("REGATTA_PRICES", "{ gate/m: { input: 1, output: 1 } }");
    let _done = priced.run().expect_code(0);
}

#[test]
fn what_failed_attempts_cost_is_part_of_the_cost_of_a_task_and_of_its_run() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    write_gate(&place, &model, PRICE);
    place.home().configure("retry: { baseDelayMs: 10 }\n");
    let attempts = std::sync::atomic::AtomicUsize::new(0);
    model.talk("t1", move |_: &Asked| {
        match attempts.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 => Answer::Cut(long_text(), Cut::BeforeFinish),
            _ => Answer::yields(&json!("done")),
        }
    });
    model.talk("t2", |_: &Asked| Answer::yields(&json!("done")));
    let run = run_model(&place, &repository, "gate/m").arg(format!("t2=Do it. {}", marker("t2")));
    let finished = run.run().expect_code(0);
    let [one, two] = ["t1", "t2"]
        .map(|task| finished.task(task)["usage"]["cost"].as_f64().expect("it is known"));
    is_about(&json!(two), ANSWER);
    // The attempt sent no usage. Its request is estimated, four bytes to a token.
    assert!(one > ANSWER + 0.1, "{one}");
    let show = |words: &str| place.regatta(repository.root()).words(words).run().expect_code(0);
    let shown: Value = serde_json::from_str(&show("runs show --json").stdout).expect("it is JSON");
    is_about(&shown["run"]["totals"]["usage"]["cost"], one + two);
    let costs = shown["tasks"].as_array().expect("there are tasks").iter();
    for (task, cost) in costs.zip([one, two]) {
        is_about(&task["usage"]["cost"], cost);
        assert_eq!(task["usage"]["cost_source"], "priced");
    }
    let results: Value = serde_json::from_str(&show("results --json").stdout).expect("it is JSON");
    assert_eq!(results[0]["usage"]["cost_source"], "priced");
    let recorded = "SELECT group_concat(cost_source) FROM (SELECT cost_source FROM task UNION ALL \
                    SELECT cost_source FROM run)";
    let recorded = place.home().ledger(recorded, |row| row.get::<_, String>(0));
    assert_eq!(recorded, ["priced,priced,priced"]);
    let text = show("runs show").stdout;
    assert!(text.contains("$0.85") && text.contains(&format!("${:.2}", one + two)), "{text}");
    write_gate(&place, &model, "");
    model.talk("t1", |_: &Asked| Answer::yields(&json!("done")));
    let unpriced = run_model(&place, &repository, "gate/m").run().expect_code(0);
    assert_eq!(unpriced.task("t1")["usage"]["cost"], Value::Null);
    assert!(show("runs show").stdout.contains("cost unknown"), "never 0");
}

fn long_text() -> Said {
    match Answer::text("word ".repeat(100)) {
        Answer::Says(said) => said,
        other => panic!("{other:?} says nothing"),
    }
}
