//! The command line beside its commands: what it says of itself, and of what it does not know.

use std::process::Command;

use super::sandbox;

#[test]
fn without_a_command_it_prints_what_it_can_do_today() {
    let place = sandbox();
    let said = place.regatta(place.folder()).run().expect_code(0);
    for word in ["Examples:", "regatta demo", "regatta run --", "\n  logs ", "\n  completions "] {
        assert!(said.stdout.contains(word), "{word} in {said}");
    }
    assert!(!said.stdout.contains("not implemented"), "{said}");
    assert_eq!(said.stderr, "");
}

#[test]
fn an_unknown_command_gets_the_nearest_name() {
    let place = sandbox();
    for (given, meant) in [("lgos", "logs"), ("rnu", "run"), ("conflict", "conflicts")] {
        let refused = place.regatta(place.folder()).words(given).run().expect_code(1);
        let told = format!("error: no such command: `{given}`\n  try: regatta {meant}\n");
        let ask = format!("  try: regatta -p {given}, which asks a model\n");
        assert_eq!(refused.stderr, told + &ask);
    }
    let prompt = place.regatta(place.folder()).arg("fix the tests").run().expect_code(1);
    assert!(prompt.stderr.starts_with("error: no model is named"), "{prompt}");
}

#[test]
fn what_does_not_exist_yet_is_one_line() {
    let place = sandbox();
    for words in [
        "resume",
        "--agent explore hello",
        "run --exec true --detach",
        "run --exec true --isolation overlayfs",
        "run --exec true --limit memory=3",
    ] {
        let refused = place.regatta(place.folder()).words(words).run().expect_code(1);
        assert_eq!(refused.stderr.lines().count(), 1, "{refused}");
        assert!(refused.stderr.contains("not implemented yet"), "{refused}");
    }
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
    let complete = "source \"$0\"; COMP_WORDS=(regatta con); COMP_CWORD=1
        _regatta regatta con regatta; echo \"${COMPREPLY[@]}\"";
    let output = Command::new("/bin/bash").args(["-c", complete]).arg(&file).output();
    let output = output.expect("bash can be run");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "conflicts\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn the_manual_has_a_page_for_the_program_and_for_each_command() {
    let place = sandbox();
    let page = |words: &str| place.regatta(place.folder()).words(words).run().expect_code(0).stdout;
    let whole = page("man");
    assert!(whole.contains(".TH regatta 1") && whole.contains("regatta\\-conflicts"), "{whole}");
    assert!(!whole.contains("replay") && !whole.contains("__launcher"), "{whole}");
    let run = page("man run");
    assert!(run.contains(".TH regatta-run 1") && run.contains("\\-\\-pass\\-env"), "{run}");
    assert!(page("man runs show").contains(".TH regatta-runs-show 1"));
    let refused = place.regatta(place.folder()).words("man replay").run();
    refused.expect_refusal(&["there is no manual page of `replay`", "regatta man"]);
}
