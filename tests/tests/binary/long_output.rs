//! Output longer than what is kept of it: its beginning and its end are, and both are shown.

use std::time::Duration;

use serde_json::{Value, json};
use tests::sandbox::{Repository, Sandbox, eventually};

use super::sandbox;

/// Prints 30 MB of numbered lines.
const FLOOD: &str = "seq 1 4000000";

fn logs(place: &Sandbox, repository: &Repository, words: &str) -> String {
    place.regatta(repository.root()).words("logs").words(words).run().expect_code(0).stdout
}

/// Checks that this is a flood with its middle left out, told in one line, and returns how long
/// it is.
fn expect_both_ends(output: &str, last: &str) -> usize {
    assert!(output.starts_with("1\n2\n3\n"), "{:?}", &output[..40]);
    let end = format!("3999999\n4000000\n{last}");
    assert!(output.ends_with(&end), "{:?}", &output[output.len().saturating_sub(200)..]);
    let notices: Vec<_> = output.lines().filter(|line| line.contains("left out")).collect();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].starts_with("… ") && notices[0].ends_with(" bytes left out …"));
    output.len()
}

#[test]
fn of_30_megabytes_both_ends_are_kept_and_the_last_line_is_the_yield() {
    let place = sandbox();
    let repository = place.repository();
    // How much memory the engine has used at most: before, and after.
    let memory = r"sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' /proc/$PPID/status";
    let last = r#"echo "{\"before\": $before, \"after\": $after}""#;
    let script = format!("before=$({memory}); {FLOOD}; after=$({memory}); {last}");
    let finished = place.run_in(&repository).exec(&script).run().expect_code(0);
    let value = &finished.task("t1")["yield"];
    let kb = |name: &str| value[name].as_u64().unwrap_or_else(|| panic!("no yield: {finished}"));
    let grown = kb("after").saturating_sub(kb("before"));
    assert!(grown < 4 << 10, "{grown} KB more than before: {finished}");

    let output = place.home().output(&finished.run_name(), "t1");
    let output = String::from_utf8(output).expect("it is text");
    let length = expect_both_ends(&output, &format!("{}\n", value_line(value)));
    assert!((9_999_000..10_001_000).contains(&length), "10 MB are kept: {length}");
    assert!(logs(&place, &repository, "t1").contains(&output), "all of it is shown");
}

fn value_line(value: &Value) -> String {
    format!("{{\"before\": {}, \"after\": {}}}", value["before"], value["after"])
}

#[test]
fn output_beyond_the_limit_is_left_out_and_told_and_the_task_goes_on() {
    let place = sandbox();
    let repository = place.repository();
    let script = "yes | head -c 3000000; echo; echo done";
    let run = place.run_in(&repository).words("--limit output=100KB").exec(script);
    let finished = run.run().expect_code(0);
    assert_eq!(finished.task("t1")["yield"], "done", "{finished}");
    let output = place.home().output(&finished.run_name(), "t1");
    let output = String::from_utf8(output).expect("it is text");
    assert!((99_000..101_000).contains(&output.len()), "{}", output.len());
    let told = "\n… 2900006 bytes left out …\n";
    assert!(output.contains(told), "{:?}", &output[49_900..50_100]);
    assert!(output.ends_with("y\ny\n\ndone\n"), "{:?}", &output[output.len() - 100..]);
}

#[test]
fn a_model_reads_both_ends_of_long_output_and_where_the_rest_is() {
    let place = sandbox();
    let repository = place.repository();
    let scenario = place.folder().join("scenario.toml");
    let script = format!(
        "version = 1\n[[turn]]\ncalls = [{{ tool = 'bash', arguments = {{ command = '{FLOOD}' }} }}]\n\
         [[turn]]\ncalls = [{{ tool = 'yield', arguments = {{ result = {{ data = 1 }} }} }}]\n"
    );
    std::fs::write(&scenario, script).expect("a scenario can be written");
    let model = format!("offline/{}", scenario.display());
    let finished = place.run_in(&repository).arg("--model").arg(model).arg("Flood.").run();
    let run = finished.expect_code(0).run_name();
    let artifact = place.home().data().join(format!("artifacts/{run}/t1/0.bash.log"));
    let kept = std::fs::read_to_string(&artifact).expect("it is kept");
    let length = expect_both_ends(&kept, "");
    assert!((9_999_000..10_001_000).contains(&length), "10 MB are kept: {length}");

    let messages = place.home().messages(&run, "t1");
    let result = messages.iter().find(|message| message["toolName"] == "bash");
    let result = result.expect("the command was answered");
    assert_eq!(result["isError"], json!(false), "{result}");
    let text = result["content"][0]["text"].as_str().expect("it is text");
    assert!(text.len() <= 50 << 10, "{}", text.len());
    assert!(text.starts_with("1\n2\n3\n"), "{:?}", &text[..100]);
    let (shown, told) = text.split_once("\n4000000\n\n[").expect("the end is there");
    assert!(told.contains(&artifact.display().to_string()), "{told}");
    assert!(told.contains(" bytes "), "{told}");
    assert!(shown.contains(" left out …]\n"), "{shown}");
    assert!(shown.ends_with("\n3999998\n3999999"), "{:?}", &shown[shown.len() - 100..]);
}

#[test]
fn when_the_engine_is_killed_both_ends_of_a_flood_are_in_the_file() {
    let place = sandbox();
    let repository = place.repository();
    let script = format!("{FLOOD}; while :; do sleep 1; done");
    let mut running = place.run_in(&repository).exec(&script).start();
    let run = running.until("workspace_ready")["run"].as_str().expect("it has a name").to_owned();
    let file = place.home().data().join(format!("artifacts/{run}/t1/output.log"));
    let output = || std::fs::read_to_string(&file).unwrap_or_default();
    let arrived = || output().ends_with("\n4000000\n");
    eventually(Duration::from_secs(120), "all of the flood has come", arrived);
    let _killed = running.kill();
    let output = output();
    let length = expect_both_ends(&output, "");
    assert!(length < 16_000_000, "{length}");
    assert!(logs(&place, &repository, "t1").contains(&output), "all of it is shown");
    place.expect_nothing_left(&repository);
}
