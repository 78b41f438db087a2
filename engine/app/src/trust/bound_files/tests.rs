//! Which files commands are bound to.

use std::os::unix::fs::symlink;

use super::*;

fn repository(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("repository");
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    (folder, root)
}

/// Returns the bound files of a command, `*` among them if it may run others.
fn bound(root: &Path, command: &str) -> Vec<String> {
    let found = files_of_commands(root, [command].into_iter());
    let open = found.is_open.then(|| "*".to_owned());
    open.into_iter().chain(found.digests.into_keys()).collect()
}

#[test]
fn a_command_is_bound_to_the_scripts_that_it_runs_and_to_what_its_runner_reads() {
    let (_folder, root) = repository(&[
        ("setup.sh", "#!/bin/sh\n./tools/more.sh && ./build.sh\nsrc/main.c README.md\n"),
        ("tools/more.sh", "sh ../lib.sh; . beside.sh\n"),
        ("tools/beside.sh", ""),
        ("lib.sh", ""),
        ("build.sh", ""),
        ("lib.py", ""),
        ("build.js", ""),
        ("tool", "#!/usr/bin/env python3\n"),
        ("runs.sh", "node build.js\n"),
        ("src/main.c", ""),
        ("README.md", "setup.sh"),
        (
            "package.json",
            r#"{ "main": "src/index.js", "scripts": { "prepare": "sh scripts/p.sh" } }"#,
        ),
        ("package-lock.json", "{ \"setup.sh\": 1 }"),
        ("src/index.js", ""),
        ("scripts/p.sh", ""),
        ("web/package.json", "{}"),
        ("Makefile", "include rules.mk\nall:\n\tsh setup.sh\n"),
        ("Cargo.toml", ""),
        ("build.rs", ""),
        (".cargo/config.toml", ""),
        ("pyproject.toml", ""),
        (".env.example", ""),
        ("computed.sh", ". \"$(dirname \"$0\")/common.sh\"\n"),
        ("common.sh", ""),
        ("sourcing.sh", "#!/bin/sh\n. ./src/main.c\n"),
    ]);
    let setup = ["build.sh", "lib.sh", "setup.sh", "tools/beside.sh", "tools/more.sh"];
    let npm = ["package-lock.json", "package.json", "scripts/p.sh"];
    let with = |first: &[&str], more: &[&str]| {
        let mut all: Vec<_> = first.iter().chain(more).map(|path| (*path).to_owned()).collect();
        all.sort();
        all
    };
    for (command, expected) in [
        ("./setup.sh", with(&setup, &[])),
        ("sh setup.sh", with(&setup, &[])),
        ("./computed.sh", with(&["common.sh", "computed.sh"], &["*"])),
        ("./sourcing.sh", with(&["sourcing.sh", "src/main.c"], &[])),
        ("bash -e ./setup.sh fast", with(&setup, &[])),
        ("sh -c './setup.sh'", with(&setup, &[])),
        ("timeout 60 ./setup.sh", with(&setup, &[])),
        ("sh < setup.sh", with(&setup, &["*"])),
        (". ./setup.sh", with(&setup, &["*"])),
        ("npm ci", with(&npm, &[])),
        ("npx tsc", with(&npm, &[])),
        ("echo a && (npm ci) | cat", with(&npm, &[])),
        ("cd web && npm ci", with(&npm, &["web/package.json"])),
        ("npm --prefix=web ci", with(&npm, &["web/package.json"])),
        ("make", with(&setup, &["Makefile"])),
        ("make -C web", with(&setup, &["Makefile"])),
        ("/usr/bin/make", with(&setup, &["Makefile"])),
        ("cargo fetch", with(&[], &[".cargo/config.toml", "Cargo.toml", "build.rs"])),
        ("uv sync", with(&[], &["pyproject.toml"])),
        ("cp .env.example .env", with(&[], &[".env.example"])),
        ("touch /tmp/x", with(&[], &[])),
        // A script that may import others is bound to everything.
        ("python3 lib.py", with(&[], &["*", "lib.py"])),
        ("./tool", with(&[], &["*", "tool"])),
        ("sh runs.sh", with(&[], &["*", "build.js", "runs.sh"])),
        ("sh package-lock.json", with(&[], &["*", "package-lock.json"])),
        // What is not known is bound to everything.
        ("frobnicate setup.sh", with(&setup, &["*"])),
        ("$RUN", with(&[], &["*"])),
        ("echo $(cat README.md)", with(&[], &["*", "README.md"])),
        ("PATH=tools:$PATH npm ci", with(&npm, &["*"])),
        ("export NODE_OPTIONS=--require=./build.sh; npm ci", with(&npm, &["*"])),
        ("eval npm ci", with(&[], &["*"])),
        ("cd $X && npm ci", with(&npm, &["*"])),
        ("curl https://example.org | sh", with(&[], &["*"])),
        ("if", with(&[], &["*"])),
    ] {
        let mut found = bound(&root, command);
        // Words of what is not known may name files, too; the tree is enough.
        if expected.contains(&"*".to_owned()) && command != "frobnicate setup.sh" {
            found.retain(|path| expected.contains(path));
        }
        found.sort();
        assert_eq!(found, expected, "{command}");
    }
}

#[test]
fn one_byte_of_a_file_and_a_file_that_appears_change_what_is_bound() {
    let (_folder, root) = repository(&[("setup.sh", "./x.sh\n")]);
    let now = || files_of_commands(&root, ["./setup.sh", "npm ci"].into_iter());
    let before = now();
    assert_eq!(before.digests.len(), 1);
    for path in ["x.sh", ".npmrc"] {
        fs::write(root.join(path), "").unwrap();
        let with = now();
        assert!(with.digests.contains_key(path), "{path}");
        fs::remove_file(root.join(path)).unwrap();
        assert_eq!(now(), before, "{path}");
    }
    fs::write(root.join("setup.sh"), "./x.sh \n").unwrap();
    assert_ne!(now(), before);
}

#[test]
fn no_file_outside_of_the_repository_is_read_and_many_or_large_ones_are_bound_to_the_tree() {
    let (folder, root) = repository(&[("a.sh", "../outside.sh link.sh loop.sh pipe.sh")]);
    fs::write(folder.path().join("outside.sh"), "").unwrap();
    symlink(folder.path().join("outside.sh"), root.join("link.sh")).unwrap();
    symlink("loop.sh", root.join("loop.sh")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(root.join("pipe.sh")).status();
    assert!(made.unwrap().success());
    assert_eq!(bound(&root, "sh a.sh"), ["a.sh"]);
    assert_eq!(bound(&root, "sh ../outside.sh"), Vec::<String>::new());

    let names: Vec<_> = (0..=MOST).map(|number| format!("s{number}.sh")).collect();
    names.iter().for_each(|name| fs::write(root.join(name), "").unwrap());
    fs::write(root.join("a.sh"), names.join(" ")).unwrap();
    let found = files_of_commands(&root, ["sh a.sh"].into_iter());
    assert!(found.is_open && found.digests.len() == MOST);
    File::create(root.join("a.sh")).unwrap().set_len(LARGEST + 1).unwrap();
    assert!(files_of_commands(&root, ["sh a.sh"].into_iter()).is_open);
}

#[test]
fn a_scripted_model_is_bound_to_the_tree_and_a_file_that_a_value_names_to_its_bytes() {
    let (_folder, root) = repository(&[("models/x.yml", "")]);
    let bound = |value: &str| files_of_values(&root, [value].into_iter());
    assert!(bound("offline/models/x.yml").is_open);
    assert_eq!(bound("openai/gpt-x"), BoundFiles::default());
    assert_eq!(bound("models/x.yml").digests.into_keys().collect::<Vec<_>>(), ["models/x.yml"]);
}

#[test]
fn names_without_end_are_looked_for_up_to_a_limit_and_then_bound_to_the_tree() {
    let names: Vec<_> = (0..MOST_LOOKED_FOR).map(|number| format!("n{number}")).collect();
    let folders: String = (0..40).map(|number| format!("cd d{number}; ")).collect();
    let (_folder, root) = repository(&[("many.sh", &names.join(" ")), ("few.sh", "a b c")]);
    for command in ["sh many.sh", &format!("touch {}", names.join(" ")), &folders] {
        let found = files_of_commands(&root, [command].into_iter());
        assert!(found.is_open, "{}", &command[..20.min(command.len())]);
    }
    assert_eq!(bound(&root, "cd d0; cd d1; sh ../../few.sh"), ["few.sh"]);
}
