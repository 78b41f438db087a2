//! What tasks yielded, as people and programs get it.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};
use test_limit::by_depth;
use tests::model::{Answer, Asked, LoopbackModel, marker};
use tests::sandbox::{Finished, Plan, Repository, Sandbox};

use crate::binary::sandbox;

/// Runs `regatta results` with these words.
fn results(place: &Sandbox, repository: &Repository, words: &str) -> Finished {
    place.regatta(repository.root()).words("results").words(words).run()
}

/// Returns the objects of `results --jsonl`.
fn objects(place: &Sandbox, repository: &Repository, words: &str) -> Vec<Value> {
    let finished = results(place, repository, &format!("--jsonl {words}")).expect_code(0);
    let line = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    finished.stdout.lines().map(line).collect()
}

/// Returns the word that only this task of this test yields.
fn nonce(task: usize) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    format!("nonce{task}x{:x}end", now.expect("the epoch is over").as_nanos())
}

/// Returns every piece of a text that begins like a nonce, up to where one would end.
fn nonces_in(text: &str) -> Vec<String> {
    let pieces = text.split("nonce").skip(1);
    let word = |rest: &str| {
        rest.split(|letter: char| !letter.is_ascii_alphanumeric()).next().map(str::to_owned)
    };
    pieces.filter_map(word).map(|rest| format!("nonce{rest}")).collect()
}

#[test]
fn nonces_yielded_by_thirty_models_are_all_in_the_results_and_those_shown_are_whole() {
    const TASKS: usize = 30;
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let nonces: Vec<String> = (0..TASKS).map(nonce).collect();
    let mut plan = Plan::default();
    for (task, nonce) in nonces.iter().enumerate() {
        // Short texts, long texts of many lines and of one, and data.
        let value = match task % 4 {
            0 => json!(nonce),
            1 => json!(format!("It is this:\n\n{}", format!("- {nonce}\n").repeat(40))),
            2 => json!(format!("{nonce} ").repeat(500)),
            _ => json!({ "word": nonce, "more": vec![nonce; 300] }),
        };
        let name = format!("task-{task}");
        model.talk(&name, move |_asked: &Asked| Answer::yields(&value));
        plan = plan.agent(&name, &format!("Find it. {}", marker(&name)));
    }
    let run = place.regatta(repository.root()).words("run --plan - --model").arg(model.route());
    let run = run.arg("--base-url").arg(model.base_url()).stdin(plan.text());
    let finished = run.run().expect_code(0);

    let objects = objects(&place, &repository, "@");
    assert_eq!(objects.len(), TASKS);
    for ((task, nonce), object) in nonces.iter().enumerate().zip(&objects) {
        assert_eq!(object["name"], format!("task-{task}"));
        assert_eq!(object["outcome"], "done");
        assert!(object["yield"].to_string().contains(nonce), "{nonce} in {object}");
        assert!(object["usage"]["input"].as_u64() > Some(0), "{object}");
    }
    let (table, answers) = finished.stdout.split_once("\n\n").expect("answers below the table");
    assert_eq!(nonces_in(table), Vec::<String>::new(), "{finished}");
    let known: BTreeSet<_> = nonces.iter().cloned().collect();
    let shown: BTreeSet<_> = nonces_in(answers).into_iter().collect();
    assert!(shown.is_subset(&known), "each is whole: {:?}", shown.difference(&known));
    assert_eq!(shown, nonces[..20].iter().cloned().collect(), "of the first twenty tasks");
    assert!(
        answers.contains(&format!("\nand 10 answers more: regatta results {}", run_of(&place)))
    );
    place.expect_nothing_left(&repository);
}

/// Returns the name of the only run in the ledger.
fn run_of(place: &Sandbox) -> String {
    let names = place.home().ledger("SELECT name FROM run", |row| row.get::<_, String>(0));
    assert_eq!(names.len(), 1, "{names:?}");
    names.into_iter().next().expect("there is one")
}

#[test]
fn one_task_that_changes_nothing_prints_its_whole_answer_and_no_table() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let lines: String = (1..=60).map(|line| format!("line {line} of the answer\n")).collect();
    let value = json!(lines);
    model.talk("t1", move |_asked: &Asked| Answer::yields(&value));
    let run = place.regatta(repository.root()).words("run --model").arg(model.route());
    let run = run.arg("--base-url").arg(model.base_url());
    let finished = run.arg(format!("What is it? {}", marker("t1"))).run().expect_code(0);
    assert_eq!(finished.stdout, lines);

    let of_command =
        |script: &str| place.regatta(repository.root()).words("run -q").exec(script).run();
    assert_eq!(of_command("echo thinking; echo 42").expect_code(0).stdout, "42\n");
    let changes = of_command("echo x > x.txt; echo 42").expect_code(0);
    assert!(changes.stdout.contains("1 landed"), "work is told: {changes}");
    assert!(changes.stdout.ends_with("\nt1  42\n"), "{changes}");
    assert_eq!(changes.stderr, "", "nothing went wrong: {changes}");
    let fails = of_command("echo 42; exit 3").expect_code(5);
    assert!(fails.stdout.contains("failed: command"), "{fails}");
}

#[test]
fn answers_stand_below_the_table_in_its_order_and_say_how_the_rest_is_had() {
    let place = sandbox();
    let repository = place.repository();
    // The first task is the last to end.
    let ready = place.folder().join("ready").display().to_string();
    let waits = format!("until test -e {ready}; do sleep 0.02; done");
    let plan = Plan::default()
        .task("late", &format!("{waits}; echo '{{\"bugs\": [1, 2], \"ok\": false}}'"))
        .task("long", "printf '\"'; seq 1 40 | awk '{printf \"row %s\\\\n\", $0}'; echo '\"'")
        .task("silent", "true")
        .task("broken", &format!("echo no answer; : > {ready}; exit 1"));
    let run = place.regatta(repository.root()).words("run --plan -").stdin(plan.text());
    let finished = run.run().expect_code(3);
    let rows: String = (1..=12).map(|row| format!("    row {row}\n")).collect();
    let run = run_of(&place);
    let answers = format!(
        "\n\nlate\n    {{\"bugs\":[1,2],\"ok\":false}}\n\nlong\n{rows}    \
         … 40 lines and 270 bytes in all: regatta results {run}/long\n"
    );
    assert!(finished.stdout.contains(&answers), "{answers} in {finished}");
    let (_, below) = finished.stdout.split_once("\nlate\n").expect("there are answers");
    assert!(!below.contains("\nbroken\n"), "what failed has none: {finished}");
    let whole = results(&place, &repository, &format!("{run}/long")).expect_code(0);
    let rows: String = (1..=40).map(|row| format!("row {row}\n")).collect();
    assert_eq!(whole.stdout, rows);
}

#[test]
fn results_are_text_one_document_or_lines_and_only_what_is_asked_for() {
    let place = sandbox();
    let repository = place.repository();
    let run = place.run_in(&repository).words("--each src/*.rs");
    let finished = run.exec("wc -l < {{item}}; case {{item}} in *run*) exit 3;; esac").run();
    let run = finished.expect_code(3).run_name();

    let text = results(&place, &repository, "").expect_code(0).stdout;
    let expected = "src-main-rs\n    3\n\nsrc-run-rs  failed: command\n    1 (code 3)";
    assert!(text.starts_with(expected), "{text}");
    let document = results(&place, &repository, "@ --json").expect_code(0).json();
    let lines = objects(&place, &repository, &run);
    assert_eq!(document, Value::Array(lines.clone()));
    let keys: Vec<_> = lines[0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["id", "name", "item", "outcome", "failure", "yield", "changes", "usage"]);
    let changes = json!({ "files": 0, "added": 0, "removed": 0 });
    assert_eq!(
        lines[0],
        json!({
            "id": lines[0]["id"], "name": "src-main-rs", "item": "src/main.rs",
            "outcome": "done", "failure": null, "yield": 3, "changes": changes, "usage": null,
        })
    );
    let shown = place.regatta(repository.root()).words("runs show --json").run();
    let shown = shown.expect_code(0).json();
    let ids = |tasks: &[Value]| tasks.iter().map(|task| task["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(shown["tasks"].as_array().unwrap()), ids(&lines));
    assert_eq!((&lines[1]["outcome"], &lines[1]["yield"]), (&json!("failed"), &Value::Null));
    assert_eq!(lines[1]["failure"]["class"], "command");

    assert_eq!(objects(&place, &repository, "@ --only done"), lines[..1]);
    assert_eq!(objects(&place, &repository, "@ --only failed"), lines[1..]);
    assert_eq!(objects(&place, &repository, &format!("{run}/src-main-rs")), lines[..1]);
    assert_eq!(objects(&place, &repository, "@ src/main.rs"), lines[..1]);
    results(&place, &repository, "--only some").expect_refusal(&["some", "--only"]);
    results(&place, &repository, "--json --jsonl").expect_refusal(&["--json", "--jsonl"]);
}

#[test]
fn a_fan_out_with_a_schema_is_a_pipeline() {
    let place = sandbox();
    let repository = place.repository();
    let schema = r#"{"type": "object", "required": ["finding"]}"#;
    std::fs::write(place.folder().join("finding.json"), schema).unwrap();
    // The binary is `$0`, as for a user who types this.
    let script = "\"$0\" run -q --each 'src/*.rs' --schema ../finding.json \
                  --exec 'printf '\\''{\"finding\": \"%s\"}'\\'' {{item}}' > /dev/null \
                  && \"$0\" results @ --jsonl | sed 's/.*\"finding\":\"\\([^\"]*\\)\".*/\\1/'";
    let mut shell = place.regatta(repository.root()).into_command();
    let variables: Vec<_> = shell
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    shell = std::process::Command::new("/bin/sh");
    shell.env_clear().envs(variables).current_dir(repository.root());
    let output = shell.arg("-c").arg(script).arg(place.binary()).output().expect("sh can be run");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, "src/main.rs\nsrc/run.rs\n", "{}", String::from_utf8_lossy(&output.stderr));
    let help = place.regatta(repository.root()).words("results --help").run().expect_code(0);
    assert!(help.stdout.contains("regatta results @ --jsonl | jq"), "{help}");
}

#[test]
fn a_yield_of_megabytes_is_cut_and_says_so() {
    let place = sandbox();
    let repository = place.repository();
    let endless = format!("head -c {} /dev/zero | tr '\\0' x", by_depth(2_000_000, 10_000_000));
    let finished = place.regatta(repository.root()).words("run x y").exec(&endless).run();
    let finished = finished.expect_code(0);
    assert!(finished.stdout.len() < 20_000, "{} bytes", finished.stdout.len());
    assert_eq!(finished.stdout.matches("500 KB in all").count(), 2, "{finished}");
    let whole = results(&place, &repository, "@/t1").expect_code(0).stdout;
    let cut = "x… (cut here: the line is longer than 500000 bytes; regatta logs prints all of it, \
               from output.log)\n";
    assert!(whole.ends_with(cut), "{}", &whole[whole.len() - 200..]);
    let output = place.home().output(&run_of(&place), "x");
    assert!(output.len() > 1_900_000, "{} bytes are there", output.len());
    std::fs::write(place.folder().join("any.json"), r#"{"type": "object"}"#).unwrap();
    let run = place.run_in(&repository).words("--schema ../any.json").exec(&endless);
    let failure = run.run().expect_code(5).task("t1")["failure"].clone();
    assert_eq!(failure["class"], "contract", "{failure}");
    assert!(failure["message"].as_str().unwrap().contains("longer than 500000 bytes"), "{failure}");
}

#[test]
fn a_yield_of_control_characters_moves_no_cursor() {
    let place = sandbox();
    let repository = place.repository();
    let hostile = "printf 'a\\033[2J\\033]0;title\\007b\\302\\233c\\342\\200\\256d\\re\\n'";
    let run = place.regatta(repository.root()).words("run x y --color always").exec(hostile);
    let finished = run.run().expect_code(0);
    let text = results(&place, &repository, "@ --color always").expect_code(0).stdout;
    let one = results(&place, &repository, "@/t1").expect_code(0).stdout;
    for said in [&finished.stdout, &text, &one] {
        let ours = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[32m"];
        let rest = ours.iter().fold(said.clone(), |said, ours| said.replace(ours, ""));
        let odd = rest.chars().find(|letter| letter.is_control() && *letter != '\n');
        assert_eq!(odd, None, "{said:?}");
        assert!(!rest.contains('\u{202e}') && rest.contains("ab�c�d"), "{said:?}");
    }
    let lines = results(&place, &repository, "@ --jsonl").expect_code(0).stdout;
    let document = results(&place, &repository, "@ --json").expect_code(0).stdout;
    for json in [lines, document] {
        let odd = |letter: char| letter != '\n' && (letter.is_control() || letter == '\u{202e}');
        assert!(!json.contains(odd), "{json:?}");
    }
    let exact = "a\u{1b}[2J\u{1b}]0;title\u{7}b\u{9b}c\u{202e}d\re";
    assert_eq!(objects(&place, &repository, "@/t1")[0]["yield"], exact);
}

#[test]
fn results_of_thousands_of_tasks_are_streamed() {
    let tasks = by_depth(300, 10_000);
    let place = sandbox();
    let repository = place.repository();
    let run = place.run_in(&repository).words("--each src/run.rs").exec("echo x").run();
    let _ended = run.expect_code(0);
    // The ledger of thousands of such tasks, of which each yielded 4 KB.
    place.home().change_ledger(&format!(
        "WITH RECURSIVE more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more WHERE n < {last})
         INSERT INTO task (id, run, position, name, title, state, attempt, started, finished, ms,
                           report, capture, files, added, removed, spec)
         SELECT 'task_' || printf('%032x', n), run, n, name || '-' || n, title, state, attempt,
                started, finished, ms,
                json_set(report, '$.yield', printf('yield %d ', n) || hex(zeroblob(2000))),
                capture, files, added, removed, spec
         FROM task, more",
        last = tasks - 1
    ));
    let (lines, most) = lines_and_most_memory(&place, &repository, "results @ --jsonl");
    assert_eq!(lines.len(), tasks);
    for (number, line) in lines.iter().enumerate().skip(1) {
        let object: Value = serde_json::from_str(line).unwrap();
        let said = object["yield"].as_str().unwrap();
        assert!(said.starts_with(&format!("yield {number} ")), "{number}: {said:.40}");
    }
    assert!(most < 70_000, "{most} KiB, and all yields have 40 MB in full depth");
    let (lines, most) = lines_and_most_memory(&place, &repository, "runs show --json");
    assert_eq!(lines.iter().filter(|line| line.contains("\"yield\": \"yield ")).count(), tasks - 1);
    assert!(most < 70_000, "{most} KiB");
    assert_eq!(objects(&place, &repository, "@ --only failed"), [] as [Value; 0]);
}

/// Returns what the binary prints, and the most memory that it had by then, in KiB.
fn lines_and_most_memory(
    place: &Sandbox,
    repository: &Repository,
    words: &str,
) -> (Vec<String>, u64) {
    let mut call = place.regatta(repository.root()).words(words).into_command();
    let mut child =
        call.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it can be started");
    let lines = BufReader::new(child.stdout.take().expect("it is a pipe")).lines();
    let status = format!("/proc/{}/status", child.id());
    let (mut printed, mut most) = (Vec::new(), 0);
    for line in lines {
        printed.push(line.expect("it is text"));
        if printed.len() % 100 == 0 {
            // It has none any more when it has ended.
            let status = std::fs::read_to_string(&status).unwrap_or_default();
            let line = status.lines().find(|line| line.starts_with("VmHWM:"));
            let size = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
            most = size.unwrap_or(most);
        }
    }
    assert!(child.wait().is_ok_and(|status| status.success()), "{words}");
    assert!(most > 0, "{words}: it lived while it was read");
    (printed, most)
}
