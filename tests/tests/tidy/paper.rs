//! What is written for people must be true: the table of features names tests that exist, the
//! mistakes name lines of the code and tests, the README's commands are the ones that CI runs.

use std::collections::{BTreeMap, BTreeSet};

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

/// One row of tests/mutants.txt.
struct Mutant<'a> {
    name: &'a str,
    file: &'a str,
    /// The test that notices it, as `TARGET::TEST`; `None` for the model of sessions.
    test: Option<&'a str>,
    /// Lines of the file, each with the same line with the mistake.
    lines: Vec<(&'a str, &'a str)>,
}

fn mutants(table: &str) -> Vec<Mutant<'_>> {
    let mut mutants: Vec<Mutant<'_>> = Vec::new();
    let mut rows = table.lines().filter(|row| !row.is_empty() && !row.starts_with('#'));
    while let Some(row) = rows.next() {
        if let Some(line) = row.strip_prefix("  ") {
            let mistake = rows.next().and_then(|row| row.strip_prefix("  "));
            let mistake = mistake.unwrap_or_else(|| panic!("a mistake follows {line}"));
            mutants.last_mut().expect("a name comes first").lines.push((line, mistake));
        } else {
            let mut words = row.split(' ');
            let (name, file) = (words.next(), words.next());
            let [Some(name), Some(file)] = [name, file] else { panic!("name and file in {row}") };
            mutants.push(Mutant { name, file, test: words.next(), lines: Vec::new() });
            assert_eq!(words.next(), None, "{row}");
        }
    }
    mutants
}

#[test]
fn each_mistake_that_tests_must_notice_is_made_in_lines_of_the_code() {
    let table = text("tests/mutants.txt").expect("there is a table of mistakes");
    let mutants = mutants(&table);
    for Mutant { name, file, lines, .. } in &mutants {
        let code = text(file).expect("the file is there");
        assert!(!lines.is_empty(), "{name}");
        for (line, mistake) in lines {
            assert_eq!(code.matches(line).count(), 1, "{name}: {line}");
            assert_eq!(mistake.matches("MUTANT").count(), 1, "{name}: {mistake}");
        }
    }
    let names: BTreeSet<_> = mutants.iter().map(|mutant| mutant.name).collect();
    assert_eq!(names.len(), mutants.len(), "each mistake has a name of its own");
    let of_sessions = mutants.iter().filter(|mutant| mutant.test.is_none()).count();
    assert!(of_sessions >= 10, "{of_sessions} mistakes in sessions");
}

#[test]
fn each_mistake_that_removes_a_capability_names_a_test_of_that_feature() {
    let features = features();
    let table = text("tests/mutants.txt").expect("there is a table of mistakes");
    let mut count = 0;
    for Mutant { name, test, .. } in mutants(&table) {
        let Some(test) = test else { continue };
        let (id, _what) = name.split_once('_').expect("a name begins with the id of a feature");
        let feature = features.iter().find(|feature| feature.id == id);
        let feature = feature.unwrap_or_else(|| panic!("{id} is a feature that works"));
        let parts: Vec<_> = test.split("::").collect();
        let path = match parts[..] {
            ["binary", folder, module, test] => {
                format!("tests/tests/binary/{folder}/{module}.rs::{test}")
            }
            // Those with one part more are over one of the views.
            ["runner", folder, module, test] | ["runner", folder, module, test, _] => {
                format!("tests/tests/{folder}/{module}.rs::{test}")
            }
            ["runner", module, test] => format!("tests/tests/{module}.rs::{test}"),
            _ => panic!("{test} of {name}"),
        };
        assert!(feature.tests.contains(&path), "{id} names {path}");
        count += 1;
    }
    assert!(count >= 10, "{count} mistakes that remove a capability");
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
