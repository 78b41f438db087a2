//! What the command line takes from our crates besides the library, and what the library passes on of them.

use std::collections::BTreeSet;

use super::workspace::{Source, sources};

/// Crates that the command line is to do without, each with the number of its files that name it still. A
/// number only goes down.
const LEFT: &[(&str, usize)] = &[
    ("actors", 12),
    ("config", 32),
    ("engine", 60),
    ("exec", 3),
    ("isolation", 12),
    ("providers", 5),
    ("schema", 3),
    ("store", 35),
    ("syntax", 1),
    ("tools", 6),
];

/// What the library passes on of our other crates: the types that its signatures name.
const PASSED_ON: &[&str] = &[
    "actors::Answerer",
    "actors::ChosenMode",
    "actors::Engine",
    "actors::Events",
    "actors::OpenSessionError",
    "actors::RunControls",
    "actors::RunHandle",
    "actors::RunOutcome",
    "actors::SessionHandle",
    "actors::SessionSpec",
    "actors::Submission",
    "actors::SubmitError",
    "actors::ToolSetup",
    "engine::ports::Access",
    "engine::ports::AccessClass",
    "engine::ports::Concurrency",
    "engine::ports::Repository",
    "engine::ports::Tool",
    "engine::ports::ToolBuildError",
    "engine::ports::ToolContext",
    "engine::ports::ToolEnv",
    "engine::ports::ToolFactory",
    "engine::ports::ToolOutcome",
    "engine::ports::ToolOutput",
    "engine::ports::ToolSpec",
    "engine::ports::Visibility",
    "engine::texts::counted as count",
    "protocol::Agent",
    "protocol::Command",
    "protocol::Event",
    "protocol::EventKind",
    "protocol::Failure",
    "protocol::InputId",
    "protocol::Message",
    "protocol::ModelRoute",
    "protocol::RunSpec",
    "protocol::SessionEvent",
    "protocol::TaskName",
    "protocol::TaskSpec",
    "protocol::ToolCall",
    "protocol::UserInput",
    "protocol::Work",
    "store::RepositoryTrust",
    "store::TrustedPower",
    "tools::ImageSizes",
];

/// Returns whether a line of code names something of a crate.
fn names(line: &str, krate: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let path = format!("{krate}::");
    line.match_indices(&path).any(|(at, _)| !line[..at].ends_with(is_part))
}

fn is_product(source: &&Source, folder: &str) -> bool {
    source.path.starts_with(folder) && !source.is_test() && !source.path.ends_with("task_tests.rs")
}

#[test]
fn the_command_line_takes_ever_less_from_other_crates_than_the_library() {
    let all = sources();
    let cli: Vec<_> = all.iter().filter(|source| is_product(source, "cli/src")).collect();
    for (krate, left) in LEFT {
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        let takes = |source: &Source| {
            source.production().lines().filter(is_code).any(|it| names(it, krate))
        };
        let files = cli.iter().filter(|source| takes(source)).count();
        assert!(
            files <= *left,
            "{files} files of cli name `{krate}`, and {left} may: take it from `regatta`"
        );
        assert!(files == *left, "only {files} files of cli name `{krate}`: write that down");
    }
}

#[test]
fn the_library_passes_on_what_is_listed_and_no_crate_whole() {
    let krates = LEFT.iter().map(|(krate, _)| *krate).chain(["protocol", "shell_syntax"]);
    let krates: Vec<_> = krates.collect();
    let all = sources();
    let mut found = BTreeSet::new();
    for source in all.iter().filter(|source| is_product(source, "engine/app/src")) {
        for uses in source.production().split("pub use ").skip(1) {
            let uses = uses.split(';').next().unwrap_or_default();
            let krate = uses.split("::").next().unwrap_or_default();
            if krates.contains(&krate) {
                let (path, names) = uses
                    .split_once("::")
                    .map_or((uses, ""), |(_, rest)| rest.split_once('{').unwrap_or(("", rest)));
                let names = names.trim_end_matches('}').split(',').map(str::trim);
                let names = names.filter(|name| !name.is_empty());
                found.extend(names.map(|name| format!("{krate}::{path}{name}")));
            }
        }
    }
    let listed: BTreeSet<_> = PASSED_ON.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(found, listed);
    assert!(!found.iter().any(|name| name.ends_with('*')), "{found:?}");
}
