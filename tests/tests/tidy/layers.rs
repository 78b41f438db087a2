//! The allowed dependencies: between our crates, on third-party crates, and between modules.

use std::collections::{BTreeMap, BTreeSet};

use super::workspace::{packages, sources};

/// The crates of the workspace, each with those it may depend on.
const LAYERS: &[(&str, &[&str])] = &[
    ("regatta-protocol", &[]),
    ("regatta-engine", &["regatta-protocol"]),
    ("regatta-config", &["regatta-protocol"]),
    ("regatta-group-log", &[]),
    ("regatta-store", &["regatta-engine", "regatta-group-log", "regatta-protocol"]),
    ("regatta-exec", &["regatta-engine", "regatta-protocol"]),
    ("regatta-schema", &["regatta-engine", "regatta-protocol"]),
    ("regatta-shell-syntax", &["regatta-engine", "regatta-protocol"]),
    ("regatta-syntax", &["regatta-engine"]),
    (
        "regatta-peers",
        &[
            "regatta-engine",
            "regatta-protocol",
            // For its tests only.
            "regatta-exec",
            "regatta-tests",
        ],
    ),
    ("regatta-providers", &["regatta-engine", "regatta-protocol"]),
    ("regatta-tools", &["regatta-engine", "regatta-protocol"]),
    ("regatta-isolation", &["regatta-engine", "regatta-group-log", "regatta-protocol"]),
    ("regatta-actors", &["regatta-engine", "regatta-protocol"]),
    (
        "regatta",
        &[
            "regatta-actors",
            "regatta-config",
            "regatta-engine",
            "regatta-exec",
            "regatta-isolation",
            "regatta-peers",
            "regatta-protocol",
            "regatta-providers",
            "regatta-schema",
            "regatta-shell-syntax",
            "regatta-store",
            "regatta-tools",
            // For its tests only; `the_tests_are_a_dependency_of_tests_only` holds that.
            "regatta-tests",
        ],
    ),
    (
        "regatta-cli",
        &[
            "regatta",
            "regatta-actors",
            "regatta-config",
            "regatta-engine",
            "regatta-exec",
            "regatta-isolation",
            "regatta-protocol",
            "regatta-providers",
            "regatta-schema",
            "regatta-shell-syntax",
            "regatta-store",
            "regatta-syntax",
            "regatta-tools",
            "regatta-tests",
        ],
    ),
    (
        "regatta-tests",
        &[
            "regatta-actors",
            "regatta-engine",
            "regatta-protocol",
            // For the tests of the built-in tools, which use the real ones.
            "regatta-isolation",
            "regatta-schema",
            "regatta-store",
            "regatta-syntax",
            "regatta-tools",
        ],
    ),
    ("regatta-test-limit", &["regatta-test-limit-macros"]),
    ("regatta-test-limit-macros", &[]),
    (
        "regatta-benches",
        // The launcher is measured alone, and so are the reading of answers and the files of sessions.
        // Idle sessions are those of the program itself. Calls are decided about with the adapters of it.
        &[
            "regatta",
            "regatta-actors",
            "regatta-config",
            "regatta-engine",
            "regatta-exec",
            "regatta-isolation",
            "regatta-protocol",
            "regatta-providers",
            "regatta-schema",
            "regatta-shell-syntax",
            "regatta-store",
            "regatta-tests",
            "regatta-tools",
        ],
    ),
];

/// What the tests of every crate may use, and nothing else in it.
const LIMIT: &str = "regatta-test-limit";

/// Which crates of others may be named, and by whom; an empty list means by everyone. Who is not
/// on a list goes through a port. A crate that is missing here may not be used.
const THIRD_PARTY: &[(&str, &[&str])] = &[
    ("adler2", &["regatta-isolation"]),
    ("aho-corasick", &["regatta-tools"]),
    ("async-trait", &[]),
    ("base64", &["regatta", "regatta-tools"]),
    ("image", &["regatta", "regatta-cli", "regatta-tools"]),
    // For an example of the library only.
    ("axum", &["regatta", "regatta-providers", "regatta-tests"]),
    ("bytes", &["regatta-providers", "regatta-tests"]),
    ("clap", &["regatta-cli"]),
    ("clap_complete", &["regatta-cli"]),
    ("clap_mangen", &["regatta-cli"]),
    ("crc32fast", &["regatta-isolation"]),
    // The terminal of a session: only the view.
    ("crossterm", &["regatta-cli"]),
    ("flate2", &["regatta-providers"]),
    (
        "futures-util",
        &[
            "regatta-actors",
            "regatta-benches",
            "regatta-engine",
            "regatta-providers",
            "regatta-tests",
            "regatta",
            "regatta-cli",
        ],
    ),
    ("encoding_rs", &["regatta-tools"]),
    ("globset", &["regatta", "regatta-cli", "regatta-isolation", "regatta-tools"]),
    // The search of ripgrep, over the files of a view.
    ("grep-regex", &["regatta-tools"]),
    ("grep-searcher", &["regatta-tools"]),
    ("icu_normalizer", &["regatta"]),
    ("git2", &["regatta-isolation"]),
    ("httpdate", &["regatta-providers"]),
    // Chooses the proxy of a request as the HTTP client does.
    ("hyper-util", &["regatta-providers"]),
    // Git's ignore rules and the file types of ripgrep; not its walk.
    ("ignore", &["regatta-tools"]),
    ("indicatif", &["regatta-cli"]),
    ("jiff", &["regatta-protocol", "regatta-cli"]),
    ("jsonschema", &["regatta-schema"]),
    // For the tests of our own conversion.
    ("jtd", &["regatta-schema", "regatta-tests"]),
    ("libc", &["regatta-exec", "regatta-isolation"]),
    ("libmimalloc-sys", &["regatta-cli"]),
    ("mimalloc", &["regatta-cli", "regatta-benches"]),
    ("minijinja", &["regatta-engine"]),
    ("nucleo-matcher", &["regatta-cli"]),
    ("oauth2", &["regatta-providers"]),
    ("proc-macro2", &["regatta-tests"]),
    ("proptest", &[]),
    ("pulldown-cmark", &["regatta-cli"]),
    ("ractor", &["regatta-actors"]),
    ("ratatui", &["regatta-cli"]),
    ("ratatui-textarea", &["regatta-cli"]),
    ("regex", &["regatta-providers"]),
    ("reqwest", &["regatta-peers", "regatta-providers", "regatta-benches"]),
    // The SDK of the Model Context Protocol.
    ("rmcp", &["regatta-peers"]),
    ("rpassword", &["regatta-cli"]),
    ("rusqlite", &["regatta-store", "regatta-tests"]),
    (
        "rustix",
        &[
            "regatta-exec",
            "regatta-isolation",
            "regatta-providers",
            "regatta-store",
            "regatta-tests",
            "regatta-benches",
            "regatta",
            "regatta-cli",
        ],
    ),
    ("rustls", &["regatta-peers", "regatta-providers", "regatta-tests", "regatta-benches"]),
    ("schemars", &["regatta", "regatta-cli", "regatta-protocol", "regatta-tools"]),
    ("serde", &[]),
    ("serde-saphyr", &["regatta-config"]),
    ("serde_json", &[]),
    ("serde_spanned", &["regatta"]),
    ("sha1", &["regatta-isolation"]),
    (
        "sha2",
        &[
            "regatta",
            "regatta-group-log",
            "regatta-isolation",
            "regatta-providers",
            "regatta-store",
            "regatta-tests",
        ],
    ),
    ("similar", &["regatta-tools"]),
    ("strsim", &["regatta-config", "regatta-providers"]),
    ("tempfile", &[]),
    ("syn", &["regatta-tests"]),
    ("syntect", &["regatta-cli"]),
    ("thiserror", &[]),
    (
        "tokio",
        &[
            "regatta-actors",
            "regatta-exec",
            "regatta-isolation",
            "regatta-peers",
            "regatta-providers",
            "regatta-store",
            "regatta-tests",
            "regatta-tools",
            "regatta-benches",
            "regatta",
            "regatta-cli",
        ],
    ),
    ("tokio-util", &[]),
    ("toml", &["regatta", "regatta-cli", "regatta-config", "regatta-providers"]),
    ("tracing", &[]),
    ("ast-grep-core", &["regatta-syntax"]),
    ("ast-grep-language", &["regatta-syntax"]),
    ("tree-sitter", &["regatta-shell-syntax", "regatta-syntax"]),
    ("tree-sitter-bash", &["regatta-shell-syntax"]),
    ("tracing-subscriber", &["regatta-cli"]),
    ("unicode-width", &["regatta-cli"]),
    ("url", &["regatta-peers", "regatta-providers"]),
    ("uuid", &["regatta-protocol"]),
    // What a terminal shows.
    ("vt100", &["regatta-tests", "regatta", "regatta-cli"]),
];

/// Modules, each with the paths that it must not name.
const MODULES: &[(&str, &[&str])] = &[
    ("actors/src/session", &["crate::task", "crate::worker", "crate::runs", "crate::run::"]),
    ("actors/src/worker", &["crate::task", "crate::sessions", "crate::runs", "crate::run::"]),
    ("engine/core/src/task", &["crate::agent"]),
    ("engine/core/src/schedule", &["crate::agent"]),
    ("engine/core/src/restarts", &["crate::agent"]),
    ("engine/core/src/agent", &["crate::task"]),
    ("engine/core/src/request", &["crate::agent", "crate::task"]),
    ("engine/core/src/compaction", &["crate::agent", "crate::task", "crate::ports"]),
    ("cli/src/render", &["isolation::", "store::", "exec::", "actors::"]),
    ("cli/src/view", &["isolation::", "store::", "exec::", "providers::"]),
    ("cli/src/args", &["isolation::", "store::", "exec::", "actors::"]),
];

/// The files that start processes themselves, each with the reason.
const COMMANDS: &[(&str, &str)] = &[
    ("cli/src/commands/login_oauth.rs", "the browser of the user outlives the login"),
    (
        "cli/src/notifier/command.rs",
        "what it leaves running, such as a notification, is the user's",
    ),
    ("cli/src/commands/tool_terminal.rs", "the shell has the terminal of the user"),
    (
        "engine/app/src/model/key_command.rs",
        "what it leaves running, such as an agent with keys, is the user's",
    ),
    ("engine/app/src/launcher.rs", "it starts the launcher"),
    ("engine/exec/src/child.rs", "it is the launcher"),
    ("isolation/src/testing.rs", "it is for tests"),
];

#[test]
fn dependencies_point_one_way() {
    let layers: BTreeMap<_, _> = LAYERS.iter().copied().collect();
    let third_party: BTreeMap<_, _> = THIRD_PARTY.iter().copied().collect();
    let mut broken = Vec::new();
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        let Some(allowed) = layers.get(name) else {
            broken.push(format!("{name} has no place in LAYERS"));
            continue;
        };
        for dependency in package["dependencies"].as_array().unwrap() {
            let on = dependency["name"].as_str().unwrap();
            if layers.contains_key(on) {
                if on != LIMIT && !allowed.contains(&on) {
                    broken.push(format!("{name} must not depend on {on}"));
                }
                continue;
            }
            match third_party.get(on) {
                None => broken.push(format!("{name} uses {on}, which has no line in THIRD_PARTY")),
                Some(hosts) if !hosts.is_empty() && !hosts.contains(&name) => {
                    broken.push(format!("{name} must reach {on} through a port"));
                }
                Some(_allowed) => {}
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

#[test]
fn the_tables_have_no_entry_that_nothing_uses() {
    let packages = packages();
    let uses: BTreeSet<(&str, &str)> = packages
        .iter()
        .flat_map(|package| {
            let name = package["name"].as_str().unwrap();
            let dependencies = package["dependencies"].as_array().unwrap();
            dependencies.iter().map(move |on| (name, on["name"].as_str().unwrap()))
        })
        .collect();
    let mut idle = Vec::new();
    for (layer, allowed) in LAYERS {
        if !packages.iter().any(|package| package["name"] == *layer) {
            idle.push(format!("{layer} is in LAYERS and not in the workspace"));
        }
        let unused = allowed.iter().filter(|on| !uses.contains(&(*layer, **on)));
        idle.extend(unused.map(|on| format!("{layer} may depend on {on} and does not")));
    }
    for (dependency, hosts) in THIRD_PARTY {
        if !uses.iter().any(|(_, on)| on == dependency) {
            idle.push(format!("{dependency} is in THIRD_PARTY and nothing depends on it"));
        }
        let unused = hosts.iter().filter(|host| !uses.contains(&(**host, *dependency)));
        idle.extend(unused.map(|host| format!("{host} may name {dependency} and does not")));
    }
    let sources = sources();
    for (module, _) in MODULES {
        if !sources.iter().any(|source| source.path.to_string_lossy().starts_with(module)) {
            idle.push(format!("{module} is in MODULES and is not there"));
        }
    }
    assert_eq!(idle, Vec::<String>::new());
}

#[test]
fn the_tests_are_a_dependency_of_tests_only() {
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        for dependency in package["dependencies"].as_array().unwrap() {
            let tests = dependency["name"] == "regatta-tests" && name != "regatta-benches";
            let limit = dependency["name"] == LIMIT && name != "regatta-tests";
            assert!(!(tests || limit) || dependency["kind"] == "dev", "{name} ships the tests");
        }
    }
}

#[test]
fn modules_of_one_crate_do_not_name_each_other() {
    let mut broken = Vec::new();
    for source in sources() {
        let path = source.path.to_string_lossy();
        for (module, words) in MODULES.iter().filter(|(module, _)| path.starts_with(module)) {
            let uses = source.production().lines().filter(|line| !line.trim().starts_with("//"));
            for line in uses {
                for word in words.iter().filter(|word| names(line, word)) {
                    broken.push(format!("{path}: {module} must not name {word}"));
                }
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

/// Returns whether a line has `word` at the beginning of a path.
fn names(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, '_' | ':'))
    })
}

#[test]
fn commands_are_started_by_the_launcher() {
    let product = ["actors/", "cli/", "engine/", "isolation/"];
    let found: BTreeSet<_> = sources()
        .iter()
        .map(|source| (source.path.to_string_lossy(), source.production()))
        .filter(|(path, _)| product.iter().any(|crates| path.starts_with(crates)))
        .filter(|(path, _)| !path.contains("/tests/") && !path.ends_with("tests.rs"))
        .filter(|(_, code)| code.lines().any(starts_process))
        .map(|(path, _)| path.into_owned())
        .collect();
    let expected = COMMANDS.iter().map(|(path, _)| (*path).to_owned()).collect();
    assert_eq!(found, expected, "use an owner of commands");
}

/// Returns whether a line makes a process, or a command that can.
fn starts_process(line: &str) -> bool {
    // The commands of the grammar have the same name.
    let is_command = names(line, "Command::new(") && !line.contains(".hide(");
    is_command || line.contains("process::Command::new(") || line.contains("libc::fork(")
}
