//! What is written for people must be true: the table of features names tests that exist, the
//! switches name features and tests, the README's commands are the ones that CI runs.

use std::collections::BTreeMap;

use super::workspace::text;

/// What a test takes that runs over each view of a workspace.
const OVER_VIEWS: &str = "(kind: ViewKind)";

/// One row of docs/features.md.
struct Feature {
    id: String,
    sentence: String,
    tests: Vec<String>,
}

fn features() -> Vec<Feature> {
    let table = text("docs/features.md").expect("there is a table of features");
    let rows = table.lines().filter(|line| line.starts_with("| F"));
    let feature = |row: &str| {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 3, "id, sentence and test in {row}");
        let tests = cells[2].split("<br>").map(|test| test.trim().trim_matches('`').to_owned());
        Feature { id: cells[0].into(), sentence: cells[1].into(), tests: tests.collect() }
    };
    rows.map(feature).collect()
}

/// Returns why `PATH::NAME` is not a test; nothing if it is one.
fn fault(test: &str) -> Option<String> {
    let Some((path, name)) = test.rsplit_once("::") else {
        return Some(format!("{test} is not PATH::NAME"));
    };
    let Some(file) = text(path) else { return Some(format!("{path} does not exist")) };
    let lines: Vec<_> = file.lines().map(str::trim).collect();
    let named = |line: &&str| {
        let line = line.trim_start_matches("async ");
        line.strip_prefix("fn ").and_then(|rest| rest.strip_prefix(name)).is_some_and(|rest| {
            // A test of many random inputs has them in the lines that follow.
            rest.starts_with("()") || rest == "(" || rest.starts_with(OVER_VIEWS)
        })
    };
    let Some(at) = lines.iter().position(named) else {
        return Some(format!("{path} has no `{name}`"));
    };
    if lines[at].contains(OVER_VIEWS) && lines.contains(&format!("{name},").as_str()) {
        return None; // declared as a test over each view of a workspace
    }
    let attributes = lines[..at].iter().rev().take_while(|line| line.starts_with("#["));
    let mut attributes = attributes.filter(|line| line.contains("test"));
    attributes.next().is_none().then(|| format!("{test} is not a test"))
}

#[test]
fn each_feature_names_a_test_that_exists() {
    let features = features();
    let faults: Vec<_> = features
        .iter()
        .flat_map(|row| row.tests.iter().filter_map(|test| Some((row.id.clone(), fault(test)?))))
        .collect();
    assert_eq!(faults, []);
    for row in &features {
        assert!(row.sentence.ends_with('.'), "{} is a sentence", row.id);
        assert!(!row.tests.is_empty(), "{} names a test", row.id);
    }
    let ids: BTreeMap<_, _> = features.iter().map(|row| (&row.id, ())).collect();
    assert_eq!(ids.len(), features.len(), "each feature has one row");
}

#[test]
fn each_switch_takes_a_feature_away_and_names_the_test_that_notices() {
    let features = features();
    let table = text("tests/switches.txt").expect("there is a table of switches");
    let rows = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut count = 0;
    for row in rows {
        let words: Vec<_> = row.split_whitespace().collect();
        let [id, fault, test] = words[..] else { panic!("id, fault and test in {row}") };
        // A part of a feature has a name behind a dot.
        let off = fault.strip_prefix("off@").and_then(|off| off.split('.').next());
        assert_eq!(off, Some(id), "{row}");
        let feature = features.iter().find(|feature| feature.id == id);
        let feature = feature.unwrap_or_else(|| panic!("{id} is a feature that works"));
        let (module, name) = test.rsplit_once("::").expect("a test is MODULE::NAME");
        let path = format!("tests/tests/binary/{module}.rs::{name}");
        assert!(feature.tests.contains(&path), "{id} names {path}");
        count += 1;
    }
    assert!(count >= 10, "{count} switches");
}

#[test]
fn each_mistake_for_the_model_of_sessions_is_made_in_one_line_of_the_code() {
    let table = text("tests/mutants.txt").expect("there is a table of mistakes");
    let rows: Vec<_> =
        table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let (mistakes, rest) = rows.as_chunks::<3>();
    assert!(mistakes.len() >= 10 && rest.is_empty(), "{} mistakes, {rest:?}", mistakes.len());
    for [head, line, mistake] in mistakes {
        let (_name, file) = head.split_once(' ').expect("a mistake has a name and a file");
        let code = text(file).expect("the file is there");
        assert_eq!(code.matches(line.trim()).count(), 1, "{head}: {}", line.trim());
        assert!(line.starts_with("  ") && mistake.starts_with("  "), "{head}");
        assert_eq!(mistake.matches("MUTANT").count(), 1, "{head}: {mistake}");
    }
}

#[test]
fn the_readme_has_the_two_commands_that_ci_runs() {
    let readme = text("README.md").expect("there is a README");
    for command in ["cargo run", "cargo test"] {
        let lines = readme.lines().filter(|line| line.starts_with(command));
        assert_eq!(lines.count(), 1, "one line of the README begins with `{command}`");
    }
}

#[test]
fn the_architecture_fits_on_four_screens_and_its_flows_on_two() {
    let text = text("docs/ARCHITECTURE.md").expect("there is an architecture");
    let flows = |section: &&str| section.starts_with("Six flows");
    let (flows, rest): (Vec<_>, Vec<_>) = text.split("\n## ").partition(flows);
    let lines = |sections: &[&str]| sections.iter().map(|text| text.lines().count()).sum::<usize>();
    assert!(lines(&rest) <= 200, "{} lines", lines(&rest));
    assert!((20..=100).contains(&lines(&flows)), "{} lines", lines(&flows));
}
