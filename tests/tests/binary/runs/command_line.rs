//! The command line beside its commands: what it says of itself, and of what it does not know.

use std::process::Command;

use tests::sandbox::Finished;

use crate::binary::sandbox;

#[test]
fn it_prints_its_help_its_version_its_exit_codes_its_schemas_and_its_manual() {
    let place = sandbox();
    let said = place.regatta(place.folder()).run().expect_code(0);
    for word in ["Examples:", "regatta demo", "regatta run --", "\n  logs ", "\n  completions "] {
        assert!(said.stdout.contains(word), "{word} in {said}");
    }
    assert!(!said.stdout.contains("not implemented"), "{said}");
    assert_eq!(said.stderr, "");
    let print =
        |words: &str| place.regatta(place.folder()).words(words).run().expect_code(0).stdout;
    assert_eq!(print("--version"), format!("regatta {}\n", env!("CARGO_PKG_VERSION")));
    // That every command and every code has its text is tested beside the grammar and the table.
    let help = print("runs --help");
    assert!(help.contains("Usage: regatta"), "{help}");
    let codes = print("help exit-codes");
    assert!(codes.lines().any(|line| line.split_whitespace().next() == Some("143")), "{codes}");
    let schema: serde_json::Value = serde_json::from_str(&print("schema plan")).unwrap();
    assert!(schema["properties"]["task"].is_object(), "{schema}");
    let whole = print("man");
    assert!(whole.contains(".TH regatta 1") && whole.contains("regatta\\-conflicts"), "{whole}");
    assert!(!whole.contains("replay") && !whole.contains("__launcher"), "{whole}");
    let run = print("man run");
    assert!(run.contains(".TH regatta-run 1") && run.contains("\\-\\-pass\\-env"), "{run}");
    let refused = place.regatta(place.folder()).words("man replay").run();
    refused.expect_refusal(&["no manual page for `replay`", "regatta man"]);
}

#[test]
fn completions_of_each_shell_name_every_command_and_bash_completes_with_them() {
    let place = sandbox();
    let print =
        |words: &str| place.regatta(place.folder()).words(words).run().expect_code(0).stdout;
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = print(&format!("completions {shell}"));
        for name in ["demo", "runs", "logs", "conflicts", "man", "pass-env", "undo"] {
            assert!(script.contains(name), "{name} in {shell}: {script}");
        }
        assert!(!script.contains("__launcher") && !script.contains("replay"), "{script}");
    }
    let refused = place.regatta(place.folder()).words("completions csh").run().expect_code(1);
    for word in ["csh", "bash", "zsh", "fish"] {
        assert!(refused.stderr.contains(word), "{refused}");
    }
    let file = place.folder().join("completions.bash");
    std::fs::write(&file, print("completions bash")).expect("a file can be written");
    let complete = "source \"$0\"; COMP_WORDS=(regatta conf); COMP_CWORD=1
        _regatta regatta conf regatta; echo \"${COMPREPLY[@]}\"";
    let output = Command::new("/bin/bash").args(["-c", complete]).arg(&file).output();
    let output = output.expect("bash can be run");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "conflicts config\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn lines_of_other_programs_that_a_command_reads_itself_lead_to_what_does_the_same_here() {
    let place = sandbox();
    let repository = place.repository();
    for file in ["a/one.rs", "b/two.rs"] {
        repository.write(file, "fn f() {}\n");
    }
    repository.commit("two folders");
    let typed = |line: &str| place.regatta(repository.root()).words(line).stdin("").run();
    for (line, said) in [
        (
            "run --exec rustfmt {}",
            &[
                "`{}` is behind the command",
                "try: regatta run --each SPEC --exec 'rustfmt {{item}}'",
            ][..],
        ),
        (
            "run --exec rustfmt a/one.rs",
            &["`a/one.rs` is behind the command", "try: regatta run --exec 'rustfmt a/one.rs'"],
        ),
        ("run --repo a,b --exec true", &["cannot open a,b", "try: --repo a --repo b"]),
        ("a/", &["`a/` is a folder", "try: "]),
        ("run a/", &["`a/` is a folder, and a TASK is a prompt", "try: "]),
        ("run nowhere/", &["`nowhere/` is not a folder here", "try: "]),
        ("config edit", &["this command only lists settings", "try: "]),
        ("models list a b", &["this command takes one PATTERN", "try: regatta models a"]),
    ] {
        typed(line).expect_refusal(said);
    }
    for (line, same) in [
        ("models list", "models"),
        ("models show opus", "models opus"),
        ("models list opus", "models opus"),
        ("config list", "config"),
        ("config get limits.wall", "config limits.wall"),
    ] {
        let (other, own) = (typed(line).expect_code(0), typed(same).expect_code(0));
        let both = |done: &Finished| format!("{}{}", done.stdout, done.stderr);
        assert_eq!(both(&other), both(&own), "{line}");
        assert!(!both(&own).is_empty(), "{line}");
    }
}
