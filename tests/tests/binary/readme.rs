//! What the README says can be typed, typed.

use tests::sandbox::Repository;

use super::sandbox;

fn readme() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    std::fs::read_to_string(path).expect("there is a README")
}

/// Returns the block of the README that is a file of this name.
fn file(name: &str) -> String {
    let readme = readme();
    let mut lines = readme.lines();
    let fence = format!("```toml {name}");
    assert!(lines.any(|line| line == fence), "the README has no block `{fence}`");
    let block: Vec<_> = lines.take_while(|line| *line != "```").collect();
    block.join("\n") + "\n"
}

#[test]
fn the_plan_of_the_readme_can_be_rehearsed_as_it_says() {
    let place = sandbox();
    let repository = Repository::init(&place.folder().join("mine"));
    repository.write("src/lib.rs", "pub const TIMEOUT: u64 = 30;\n");
    repository.write("docs/years.txt", "2024\n");
    repository.commit("begin");
    repository.write("plan.toml", file("plan.toml"));
    repository.write("scenario.toml", file("scenario.toml"));
    let command = "run --plan plan.toml --model offline/scenario.toml";
    assert!(readme().lines().any(|line| line == format!("regatta {command}")), "{command}");
    let finished = place.regatta(repository.root()).words(command).arg("--json").run();
    let finished = finished.expect_code(0);
    assert_eq!(repository.text("src/timeouts.rs"), "pub const TIMEOUT: u64 = 30;\n");
    assert_eq!(repository.text("docs/timeouts.md"), "After 30 s.\n");
    assert_eq!(repository.text("docs/years.txt").lines().count(), 2);
    assert_eq!(finished.names_in("contract_reminded"), ["timeouts"], "{finished}");
    assert_eq!(finished.landed().len(), 3, "{finished}");
}
