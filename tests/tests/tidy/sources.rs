//! What every file of Rust must be like.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::workspace::{Source, packages, root, sources};

/// The most lines of production code in one file.
const LONGEST: usize = 400;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] =
    &["utils", "util", "helpers", "helper", "common", "misc", "manager", "service"];

/// What is not written, with the reason. Split so that this file does not say it either.
const UNSAID: &[(&str, &str)] = &[
    (concat!("#[", "ignore"), "a test that does not run proves nothing"),
    (concat!("#[", "should_panic"), "a test says what it expects"),
    (concat!("#[", "allow("), "use expect with a reason"),
    (concat!("#![", "allow("), "use expect with a reason"),
    (concat!("#[", "tokio::test"), "#[test] is for async functions too, and has a time limit"),
    (concat!("todo", "!("), "what is not built is refused"),
    (concat!("unimplemented", "!("), "what is not built is refused"),
];

#[test]
fn files_are_short() {
    let all = sources();
    let production = all.iter().filter(|source| !source.is_test());
    let long: Vec<_> = production
        .map(|source| (source.production().lines().count(), &source.path))
        .filter(|(lines, _)| *lines > LONGEST)
        .collect();
    assert_eq!(long, []);
}

#[test]
fn each_file_begins_by_saying_what_it_is_responsible_for() {
    // Unit tests that have a file of their own are the other half of the file beside them.
    let all = sources().into_iter().filter(|source| !source.path.ends_with("tests.rs"));
    let silent = all.filter(|source| !source.text.starts_with("//! "));
    assert_eq!(silent.map(|source| source.path).collect::<Vec<_>>(), Vec::<PathBuf>::new());
}

#[test]
fn a_list_of_modules_holds_nothing_else() {
    let mut broken = Vec::new();
    for source in sources() {
        if !source.path.ends_with("lib.rs") && !source.path.ends_with("mod.rs") {
            continue;
        }
        let mut list = false;
        for line in source.production().lines().map(str::trim) {
            let comment = line.is_empty() || line.starts_with("//") || line.starts_with('#');
            let begins = line.starts_with("mod ")
                || line.starts_with("use ")
                || line.starts_with("pub ")
                || line.starts_with("pub(");
            let item = ["fn ", "struct ", "enum ", "trait ", "const ", "type ", "static "];
            let logic = item.iter().any(|item| line.contains(item));
            if !comment && !list && (!begins || logic) {
                broken.push(format!("{}: {line}", source.path.display()));
            }
            // A list of names may go over several lines.
            list = (list || begins) && !line.ends_with(';') && !line.is_empty();
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

#[test]
fn nothing_is_named_for_what_it_is_not() {
    let named = sources().into_iter().filter(|source| {
        let stem = source.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        EMPTY_NAMES.contains(&stem.as_str())
    });
    assert_eq!(named.map(|source| source.path).collect::<Vec<_>>(), Vec::<PathBuf>::new());
}

#[test]
fn what_is_not_written_is_not_there() {
    let mut broken = Vec::new();
    for source in sources() {
        for (word, why) in UNSAID {
            if source.text.contains(word) {
                broken.push(format!("{}: {word}: {why}", source.path.display()));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

#[test]
fn no_comment_has_an_example_since_none_is_run() {
    // Looking for examples takes as long as checking the crate, so no crate has them looked for.
    let mut broken = Vec::new();
    for source in sources() {
        let mut is_open = false;
        for line in source.text.lines().map(str::trim) {
            let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
            let Some(kind) = comment.and_then(|text| text.trim().strip_prefix("```")) else {
                continue;
            };
            if !is_open && !["text", "sh"].contains(&kind) {
                broken.push(format!("{}: {line}", source.path.display()));
            }
            is_open = !is_open;
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

#[test]
fn each_crate_with_tests_limits_their_time() {
    let all = sources();
    let has_tests = |place: &Path| {
        let mut inside = all.iter().filter(|source| source.path.starts_with(place));
        inside.any(|source| source.text.lines().any(|line| line.trim().starts_with("#[test")))
    };
    let mut broken = Vec::new();
    for package in packages() {
        for target in package["targets"].as_array().unwrap() {
            let file = Path::new(target["src_path"].as_str().unwrap()).canonicalize().unwrap();
            let file = file.strip_prefix(root().canonicalize().unwrap()).unwrap().to_owned();
            let root = all.iter().find(|source| source.path == file).expect("it is a source");
            let tests = match target["kind"][0].as_str() {
                Some("test") => true,
                Some("lib") => has_tests(file.parent().unwrap_or(Path::new(""))),
                _ => has_tests(&file),
            };
            // The tests of what limits them are limited by the harness of the others.
            let is_the_limit = root.path.starts_with("tests/limit");
            if tests
                && !is_the_limit
                && !root.text.contains("#[macro_use]\nextern crate test_limit;")
            {
                broken.push(file);
            }
        }
    }
    assert_eq!(broken, Vec::<PathBuf>::new(), "`#[macro_use] extern crate test_limit;` is missing");
}

#[test]
fn no_file_is_left_that_nobody_declared() {
    let all = sources();
    let mut declared = BTreeSet::new();
    for package in packages() {
        for target in package["targets"].as_array().unwrap() {
            let path = Path::new(target["src_path"].as_str().unwrap());
            let path = path.canonicalize().unwrap();
            let root = root().canonicalize().unwrap();
            follow(path.strip_prefix(&root).unwrap(), Place::Root, &all, &mut declared);
        }
    }
    let lost: Vec<_> = all.iter().filter(|source| !declared.contains(&source.path)).collect();
    let lost: Vec<_> = lost.iter().map(|source| source.path.display().to_string()).collect();
    assert_eq!(lost, Vec::<String>::new());
}

/// Where a file keeps the modules it declares: a root or `mod.rs` beside itself, any other in a
/// folder of its own name.
#[derive(Clone, Copy)]
enum Place {
    Root,
    Module,
}

fn follow(path: &Path, place: Place, all: &[Source], declared: &mut BTreeSet<PathBuf>) {
    let Some(source) = all.iter().find(|source| source.path == path) else { return };
    if !declared.insert(path.to_owned()) {
        return;
    }
    let beside = path.parent().unwrap_or(Path::new(""));
    let folder = match place {
        Place::Root => beside.to_owned(),
        Place::Module if path.ends_with("mod.rs") => beside.to_owned(),
        Place::Module => path.with_extension(""),
    };
    let mut inside = folder.clone();
    for line in source.text.lines() {
        if let Some(name) = module(line, " {") {
            inside = folder.join(name);
        } else if line == "}" {
            inside.clone_from(&folder);
        } else if let Some(name) = module(line.trim(), ";") {
            for file in [inside.join(format!("{name}.rs")), inside.join(name).join("mod.rs")] {
                follow(&file, Place::Module, all, declared);
            }
        }
    }
}

/// Returns the name of the module that a line declares, if it ends with `end`.
fn module<'line>(line: &'line str, end: &str) -> Option<&'line str> {
    let rest = line.strip_suffix(end)?;
    let (visibility, name) = rest.split_once("mod ")?;
    (visibility.is_empty() || visibility.starts_with("pub")).then_some(name)
}
