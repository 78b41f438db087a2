//! The archives of a release: what `.ci/archive` puts into them, and where `cargo binstall` finds them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tests::sandbox::write_program;

use crate::binary::sandbox;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The targets of the release workflow.
const TARGETS: [&str; 4] = [
    "x86_64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-gnu",
    "aarch64-unknown-linux-musl",
];

fn project_file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    fs::read_to_string(path).expect("the project has this file")
}

/// Returns a value of `[package.metadata.binstall]` for a target, its placeholders replaced.
fn binstall(key: &str, target: &str) -> String {
    let manifest = project_file("cli/Cargo.toml");
    let section =
        manifest.split("[package.metadata.binstall]\n").nth(1).expect("it has this section");
    let line = section
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{key} = \"")))
        .expect("the section has this key");
    [
        ("{ repo }", "https://forge.test/regatta"),
        ("{ version }", VERSION),
        ("{ target }", target),
        ("{ bin }", "regatta"),
        ("{ binary-ext }", ""),
    ]
    .iter()
    .fold(line.trim_end_matches('"').to_owned(), |text, (name, value)| text.replace(name, value))
}

fn output_of(command: &mut Command) -> String {
    let output = command.output().expect("the program can be started");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {error}");
    String::from_utf8(output.stdout).expect("it prints text")
}

/// Makes the archive for a target of a program that is the built binary, in few bytes.
fn archive(binary: &Path, folder: &Path, target: &str) -> PathBuf {
    let program = folder.join("program");
    write_program(&program, &format!("#!/bin/sh\nexec '{}' \"$@\"\n", binary.display()));
    let mut script =
        Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(".ci/archive"));
    script.env("REGATTA_ARCHIVE_BINARY", &program).env("TMPDIR", folder);
    output_of(script.arg(target).arg(folder.join("archives")));
    folder.join("archives")
}

#[test]
fn an_archive_has_the_program_completions_and_a_page_per_command_and_stands_where_binstall_looks() {
    let place = sandbox();
    let target = TARGETS[0];
    let folder = archive(place.binary(), place.folder(), target);
    let url = binstall("pkg-url", target);
    let (place_of_release, file) = url.rsplit_once('/').unwrap();
    assert_eq!(
        place_of_release,
        format!("https://forge.test/regatta/releases/download/v{VERSION}")
    );
    assert_eq!(binstall("pkg-fmt", target), "tgz");
    let sum = format!("{file}.sha256");
    output_of(Command::new("sha256sum").current_dir(&folder).args(["--check", &sum]));

    output_of(Command::new("tar").current_dir(&folder).args(["xzf", file]));
    let program = folder.join(binstall("bin-dir", target));
    assert_eq!(output_of(Command::new(&program).arg("--version")), format!("regatta {VERSION}\n"));
    let unpacked = program.parent().unwrap();
    for name in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        assert_eq!(fs::read_to_string(unpacked.join(name)).unwrap(), project_file(name));
    }
    for (shell, name) in [
        ("bash", "regatta.bash"),
        ("elvish", "regatta.elv"),
        ("fish", "regatta.fish"),
        ("zsh", "_regatta"),
    ] {
        let script = fs::read_to_string(unpacked.join("completions").join(name)).unwrap();
        let printed = output_of(Command::new(place.binary()).args(["completions", shell]));
        assert_eq!(script, printed, "{shell}");
    }
    let page = |name: &str| fs::read_to_string(unpacked.join("man/man1").join(name)).unwrap();
    for name in ["regatta.1", "regatta-run.1", "regatta-runs.1", "regatta-runs-show.1"] {
        assert!(page(name).contains(&format!(".TH {} 1", name.trim_end_matches(".1"))), "{name}");
    }
    let pages = fs::read_dir(unpacked.join("man/man1")).unwrap().count();
    assert!(pages > 20, "{pages} pages");
}

#[test]
fn the_release_workflow_makes_the_archive_of_each_target_that_binstall_asks_for() {
    let workflow = project_file(".github/workflows/release.yml");
    let targets = workflow.lines().filter_map(|line| line.trim().strip_prefix("- { target: "));
    let targets: Vec<_> = targets.filter_map(|line| line.split(',').next()).collect();
    assert_eq!(targets, TARGETS);
    assert!(workflow.contains("- run: .ci/archive \"$TARGET\" archives\n"), "{workflow}");
    let tested = workflow.lines().find_map(|line| line.trim().strip_prefix("- run: test -e \""));
    let tested = tested.unwrap().trim_end_matches('"');
    for target in TARGETS {
        let made = tested.replace("${GITHUB_REF_NAME#v}", VERSION).replace("$TARGET", target);
        let url = binstall("pkg-url", target);
        assert_eq!(made.strip_prefix("archives/"), url.rsplit('/').next());
    }
}
