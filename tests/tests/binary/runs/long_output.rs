//! Output longer than what is kept of it: its beginning and its end are, and both are shown.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use test_limit::by_depth;
use tests::sandbox::{Repository, Sandbox, eventually};

use crate::binary::sandbox;

/// How many numbered lines a flood has: they are 30 MB in full depth, else 2.7 MB.
fn lines() -> u32 {
    by_depth(400_000, 4_000_000)
}

fn flood() -> String {
    format!("seq 1 {}", lines())
}

/// How much of a flood is kept, in MB. The limit is 10 MB where none is named.
fn kept() -> usize {
    by_depth(1, 10)
}

/// Checks that as much is kept as may be.
fn expect_limit(length: usize) {
    let limit = kept() * 1_000_000;
    assert!((limit - 1_000..limit + 1_000).contains(&length), "{} MB are kept: {length}", kept());
}

fn logs(place: &Sandbox, repository: &Repository, words: &str) -> String {
    place.regatta(repository.root()).words("logs").words(words).run().expect_code(0).stdout
}

/// Checks that this is a flood with its middle left out, told in one line, and returns how long
/// it is.
fn expect_both_ends(output: &str, last: &str) -> usize {
    assert!(output.starts_with("1\n2\n3\n"), "{:?}", &output[..40]);
    let end = format!("{}\n{}\n{last}", lines() - 1, lines());
    assert!(output.ends_with(&end), "{:?}", &output[output.len().saturating_sub(200)..]);
    let notices: Vec<_> = output.lines().filter(|line| line.contains("left out")).collect();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].starts_with("… ") && notices[0].ends_with(" bytes left out …"));
    output.len()
}

#[test]
fn of_megabytes_both_ends_are_kept_and_the_last_line_is_the_yield() {
    let place = sandbox();
    let repository = place.repository();
    // How much memory the engine has used at most: before, and after.
    let memory = r"sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' /proc/$PPID/status";
    let last = r#"echo "{\"before\": $before, \"after\": $after}""#;
    let flood = flood();
    let script = format!("before=$({memory}); {flood}; after=$({memory}); {last}");
    let run = place.run_in(&repository).words(&format!("--limit output={}MB", kept()));
    let finished = run.exec(&script).run().expect_code(0);
    let value = &finished.task("t1")["yield"];
    let kb = |name: &str| value[name].as_u64().unwrap_or_else(|| panic!("no yield: {finished}"));
    let grown = kb("after").saturating_sub(kb("before"));
    assert!(grown < 4 << 10, "{grown} KB more than before: {finished}");

    let output = place.home().output(&finished.run_name(), "t1");
    let output = String::from_utf8(output).expect("it is text");
    let length = expect_both_ends(&output, &format!("{}\n", value_line(value)));
    expect_limit(length);
    assert!(logs(&place, &repository, "t1").contains(&output), "all of it is shown");
}

fn value_line(value: &Value) -> String {
    format!("{{\"before\": {}, \"after\": {}}}", value["before"], value["after"])
}

#[test]
fn a_model_reads_both_ends_of_long_output_and_where_the_rest_is() {
    let place = sandbox();
    let repository = place.repository();
    let scenario = place.folder().join("scenario.toml");
    let flood = flood();
    let script = format!(
        "version = 1\n[[turn]]\ncalls = [{{ tool = 'bash', arguments = {{ command = '{flood}' }} }}]\n\
         [[turn]]\ncalls = [{{ tool = 'yield', arguments = {{ result = {{ data = 1 }} }} }}]\n"
    );
    std::fs::write(&scenario, script).expect("a scenario can be written");
    let model = format!("offline/{}", scenario.display());
    let finished = place.run_in(&repository).words(&format!("--limit output={}MB", kept()));
    let finished = finished.arg("--model").arg(model).words("-- Flood.").run();
    let run = finished.expect_code(0).run_name();
    let artifact = place.home().data().join(format!("artifacts/{run}/flood/0.bash.log"));
    let kept = std::fs::read_to_string(&artifact).expect("it is kept");
    let length = expect_both_ends(&kept, "");
    expect_limit(length);

    let messages = place.home().messages(&run, "flood");
    let result = messages.iter().find(|message| message["toolName"] == "bash");
    let result = result.expect("the command was answered");
    assert_eq!(result["isError"], json!(false), "{result}");
    let text = result["content"][0]["text"].as_str().expect("it is text");
    assert!(text.len() <= 50 << 10, "{}", text.len());
    assert!(text.starts_with("1\n2\n3\n"), "{:?}", &text[..100]);
    let (shown, told) = text.split_once(&format!("\n{}\n\n[", lines())).expect("the end is there");
    assert!(told.contains("artifact://0"), "{told}");
    assert!(!told.contains(&artifact.display().to_string()), "{told}");
    assert!(told.contains(" bytes of its middle"), "{told}");
    assert!(shown.contains(" left out …]\n"), "{shown}");
    assert!(
        shown.ends_with(&format!("\n{}\n{}", lines() - 2, lines() - 1)),
        "{:?}",
        &shown[shown.len() - 100..]
    );
}

/// Returns the last bytes of a file.
fn end_of(file: &Path, count: usize) -> std::io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(file)?;
    let back = i64::try_from(count).map_err(std::io::Error::other)?;
    file.seek(SeekFrom::End(-back))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    Ok(end)
}

#[test]
fn when_the_engine_is_killed_both_ends_of_a_flood_are_in_the_file() {
    let place = sandbox();
    let repository = place.repository();
    let script = format!("{}; while :; do sleep 1; done", flood());
    let run = place.run_in(&repository).words(&format!("--limit output={}MB", kept()));
    let mut running = run.exec(&script).start();
    let run = running.until("workspace_ready")["run"].as_str().expect("it has a name").to_owned();
    let file = place.home().data().join(format!("artifacts/{run}/t1/output.log"));
    let last = format!("\n{}\n", lines());
    // The file may be as long as the limit and more: only its end is looked at.
    let arrived = || end_of(&file, last.len()).is_ok_and(|end| end == last.as_bytes());
    eventually(Duration::from_secs(120), "all of the flood has come", arrived);
    let _killed = running.kill();
    let output = std::fs::read_to_string(&file).expect("it is there");
    let length = expect_both_ends(&output, "");
    assert!(length < kept() * 1_600_000, "{length}");
    assert!(logs(&place, &repository, "t1").contains(&output), "all of it is shown");
    place.expect_nothing_left(&repository);
}
