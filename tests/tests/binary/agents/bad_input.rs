//! What cannot be meant of agents: one clear message, exit code 1, and nothing was started.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;
use test_limit::by_depth;
use tests::model::{Answer, Asked, LoopbackModel, marker, steps};
use tests::sandbox::{Invocation, Plan, skip};

use crate::binary::sandbox;

/// Checks that each of `calls` refuses with its words and leaves everything as it was.
fn refuse(calls: &[(Call, &[&str])]) {
    let place = sandbox();
    let repository = place.repository();
    let before = (repository.tree(), repository.dot_git());
    let none = Vec::<String>::new();
    for (call, words) in calls {
        let finished = call(place.regatta(repository.root()).words("run")).run();
        finished.expect_refusal(words);
        assert_eq!(before.0.differences(&repository.tree()), none, "{finished}");
        assert_eq!(before.1.differences(&repository.dot_git()), none, "{finished}");
        place.expect_nothing_left(&repository);
    }
}

/// What is added to `regatta run`.
type Call = Box<dyn Fn(Invocation) -> Invocation>;

#[test]
fn a_local_model_without_its_server_is_told_in_less_than_a_second_with_what_to_do() {
    if TcpStream::connect("127.0.0.1:11434").is_ok() {
        return skip("agents_bad_input", "something listens where Ollama would");
    }
    let asked = |call: Invocation| call.words("--model ollama/qwen3:8b").arg("fix it");
    let words = ["ollama/qwen3:8b", "127.0.0.1:11434", "try: ", "ollama serve"];
    refuse(&[(Box::new(asked), &words)]);
    // What else the machine does only adds to it: the quickest of a few tries tells.
    let place = sandbox();
    let repository = place.repository();
    let mut fastest = Duration::MAX;
    for _try in 0..10 {
        let began = Instant::now();
        asked(place.regatta(repository.root()).words("run")).run().expect_refusal(&words);
        fastest = fastest.min(began.elapsed());
        if fastest < Duration::from_secs(1) {
            break;
        }
    }
    test_limit::took_at_most(fastest, Duration::from_secs(1), "the fastest of ten tries");
}

/// Returns `regatta run` with these words and arguments.
fn call(words: &'static str, arguments: &'static [&'static str]) -> Call {
    let arguments = arguments.iter();
    Box::new(move |call| arguments.clone().fold(call.words(words), Invocation::arg))
}

#[test]
fn a_model_an_address_or_a_prompt_that_cannot_be_meant_is_named_before_anything_starts() {
    // Every wrong word has its row in the tests of `cli/src` and `engine/app/src`.
    refuse(&[
        (
            call("--model openrouter/some/model", &["fix it"]),
            &["openrouter/some/model", "`fix-it`", "OPENROUTER_API_KEY", "try: export"],
        ),
        // An unknown provider is refused with those that are known.
        (
            call("--model olama/x", &["fix it"]),
            &["`olama`", "--model ollama/", "openrouter", "base url"],
        ),
        (call("--model offline/gone.toml", &["fix it"]), &["gone.toml", "no such"]),
        (
            call("--model offline/s.toml --base-url http://127.0.0.1:1/v1", &["fix it"]),
            &["--base-url", "scenario", "offline/s.toml"],
        ),
    ]);
    // So is a scenario that cannot be played, with its place.
    let place = sandbox();
    let repository = place.repository();
    let file = place.folder().join("scenario.toml");
    std::fs::write(&file, "version = 1\n[[turn]]\ntxt = \"hello\"\n").expect("it can be written");
    let model = format!("offline/{}", file.display());
    let finished = place.run_in(&repository).arg("--model").arg(&model).arg("fix it").run();
    finished.expect_refusal(&["txt", "3", "scenario.toml"]);
    place.expect_nothing_left(&repository);
}

#[test]
fn a_prompt_of_megabytes_arrives_whole() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let lines = by_depth(50_000, 200_000);
    let long = format!("{}\n{}", marker("t1"), "Tell no one: ä {{item}}.\n".repeat(lines));
    assert!(long.len() > by_depth(1_000_000, 5_000_000));
    std::fs::write(repository.root().with_extension("prompt.md"), &long)
        .expect("it can be written");
    let prompt = long.clone();
    model.talk("t1", move |asked: &Asked| {
        assert!(asked.prompt().contains(&prompt), "the prompt is whole");
        Answer::yields(&json!("read"))
    });
    let file = repository.root().with_extension("prompt.md");
    let plan = Plan::default()
        .top(&format!("model = {:?}\nbase_url = {:?}", model.route(), model.base_url()))
        .with("[[task]]")
        .with(&format!("prompt_file = {:?}", file.display().to_string()));
    let finished = place.run_plan(&repository, &plan).run().expect_code(0);
    assert_eq!(model.take_violations(), Vec::<String>::new(), "{finished}");
    assert_eq!(finished.events_of("run_started")[0]["jobs"], 32, "{finished}");
    assert_eq!(finished.task("app-prompt")["yield"], "read");
}

#[test]
fn no_key_of_the_models_reaches_what_an_agent_or_a_command_runs() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let say = json!({ "command": "env | grep -c -e sk-secre[t] -e API_KEY" });
    model.talk("t1", steps(vec![Answer::call("bash", &say), Answer::yields(&json!("seen"))]));
    let plan = Plan::default()
        .top(&format!("model = {:?}\nbase_url = {:?}", model.route(), model.base_url()))
        .agent("t1", &marker("t1"))
        .task("t2", "env | grep -c -e sk-secre[t] -e API_KEY || true");
    let run = place.run_plan(&repository, &plan);
    let run = [
        "LOOPBACK_API_KEY",
        "REGATTA_API_KEY",
        "OPENAI_API_KEY",
        "OPENROUTER_API_KEY",
        "MISTRAL_API_KEY",
    ]
    .into_iter()
    .fold(run, |run, key| run.env(key, "sk-secret"));
    let finished = run.run().expect_code(0);
    assert_eq!(finished.task("t2")["yield"], 0, "{finished}");
    let asked = model.asked("t1");
    assert!(asked[1].result().starts_with("0\n"), "{}", asked[1].result());
    assert!(!finished.stdout.contains("sk-secret"), "{finished}");
}
