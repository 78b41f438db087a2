//! The flows of docs/ARCHITECTURE.md name files and functions that are there, and not too many.

use std::fs;

use super::workspace::root;

/// The most files of a flow, by how its heading begins; others have [`MOST`].
const LONGER: &[(&str, usize)] = &[("A task, from the command line", 16)];

/// The most files of a flow.
const MOST: usize = 8;

/// One step of a flow as the document has it: the words between backticks.
fn names(line: &str) -> Vec<&str> {
    let (name, _what) = line.split_once(": ").unwrap_or((line, ""));
    name.split('`').skip(1).step_by(2).collect()
}

fn steps(flow: &str) -> impl Iterator<Item = &str> {
    flow.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()))
}

#[test]
fn the_flows_of_the_architecture_name_what_is_there() {
    let text = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).expect("it can be read");
    let (_, section) = text.split_once("\n## Six flows").expect("it has flows");
    let section = section.split("\n## ").next().expect("a split has a first part");
    let flows: Vec<_> = section.split("\n### ").skip(1).collect();
    assert_eq!(flows.len(), 6);
    let mut wrong = Vec::new();
    for flow in flows {
        let most = LONGER.iter().find(|(begin, _)| flow.starts_with(begin)).map_or(MOST, |it| it.1);
        let count = steps(flow).count();
        assert!((3..=most).contains(&count), "{count} files of {most}: {flow}");
        for step in steps(flow) {
            let names = names(step);
            let (path, functions) = names.split_first().expect("a step names its file");
            let source = fs::read_to_string(root().join(path)).unwrap_or_default();
            let is_there = |name: &&str| {
                let begin = format!("fn {name}");
                ["(", "<"].iter().any(|next| source.contains(&format!("{begin}{next}")))
            };
            if functions.is_empty() || !functions.iter().all(is_there) {
                wrong.push(step.to_owned());
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
