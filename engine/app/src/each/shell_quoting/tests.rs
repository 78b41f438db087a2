//! The shell itself as judge: names arrive whole and are never run.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use protocol::Item;

use super::super::items::ItemKind;
use super::super::task_drafts::{DraftWork, FanOut, WorkTemplate, drafts};

/// Names that try to be programs.
const HOSTILE: [&str; 16] = [
    "plain.txt",
    "two words",
    "it's",
    "say \"hi\"",
    "$(touch PWNED)",
    "`touch PWNED`",
    "; touch PWNED #",
    "a\nb\ntouch PWNED",
    "-rf",
    "*",
    "~root",
    "${IFS}touch${IFS}PWNED",
    "'; touch PWNED; '",
    "\"; touch PWNED; \"",
    "\\",
    "'\"'\"$(touch PWNED)",
];

/// Returns each script with each name. In quick depth that is a part of the pairs, in which each script
/// and each name are.
fn pairs<'a>(scripts: &[&'a str]) -> Vec<(&'a str, &'static str)> {
    let pairs = scripts.iter().flat_map(|script| HOSTILE.map(|name| (*script, name)));
    // The number of names does not divide this one.
    test_limit::sample(pairs, 75)
}

/// Runs a script made for `item` as the engine would, and returns what it printed. Fails where the
/// item ran.
fn run(script: &str, item: &str) -> String {
    let (pattern, items) = (&WorkTemplate::Command(script.to_owned()), vec![item.to_owned()]);
    let fanout = FanOut { pattern, items, naming: ItemKind::Path, chunk: None };
    let DraftWork::Command(command) = drafts(fanout).unwrap().remove(0).work else {
        panic!("a command was asked for")
    };
    let item = command.item.as_ref().unwrap();
    let said: Vec<_> = shells().map(|shell| say(shell, &command, item, script)).collect();
    assert!(said.iter().all(|one| *one == said[0]), "{script}: shells disagree: {said:?}");
    said[0].clone()
}

/// The shells that `/bin/sh` is on one system or another.
fn shells() -> impl Iterator<Item = &'static str> {
    ["/bin/sh", "/bin/bash"].into_iter().filter(|shell| Path::new(shell).exists())
}

fn say(shell: &str, command: &protocol::Command, item: &Item, script: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(shell)
        .arg0("sh")
        .args(["-c", &command.script, "sh"])
        .args(&command.arguments)
        .env("REGATTA_ITEM", &item.item)
        .env("REGATTA_ITEM_STEM", &item.stem)
        .env("REGATTA_ITEM_DIR", &item.dir)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let ran = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(ran, 0, "{shell}: {script}: {item:?} ran");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_name_arrives_whole_in_every_kind_of_quotes() {
    let scripts = [
        "printf '<%s>' {{item}}",
        "printf '<%s>' \"{{item}}\"",
        "printf '<%s>' '{{item}}'",
        "printf '<%s>' \"$(printf %s {{item}})\"",
        "printf '<%s>' \"$(printf %s \"{{item}}\")\"",
        "printf '<%s>' \"$(printf %s '{{item}}')\"",
        "printf '<%s>' \"`printf %s {{item}}`\"",
        "sh -c 'printf \"<%s>\" {{item}}'",
        "sh -c 'printf \"<%s>\" \"{{item}}\"'",
        "sh -c \"printf '<%s>' {{item}}\"",
        "sh -c \"printf '<%s>' '{{item}}'\"",
        "sh -c 'printf \"<%s>\" \"$1\"' sh {{item}}",
        "eval 'printf \"<%s>\" {{item}}'",
        "eval printf '\"<%s>\"' \"{{item}}\"",
        "printf '<%s>' {{items}}",
        "printf '<%s>' '{{items}}'",
        "printf '<%s>' \"{{items}}\"",
        "sh -c 'printf \"<%s>\" \"$@\"' sh {{items}}",
        "# it's a trap\nprintf '<%s>' {{item}}",
        "( printf '<%s>' {{item}} ) | cat",
        "x={{item}}; printf '<%s>' \"$x\"",
        "case {{item}} in *) printf '<%s>' {{item}};; esac",
    ];
    for (script, name) in pairs(&scripts) {
        let expected =
            if name.starts_with('-') { format!("<./{name}>") } else { format!("<{name}>") };
        assert_eq!(run(script, name), expected, "{script}");
    }
}

#[test]
fn a_name_stays_one_word_beside_other_text() {
    for name in HOSTILE.into_iter().filter(|name| !name.starts_with('-')) {
        for script in [
            "printf '<%s>' a/{{item}}/z",
            "printf '<%s>' \"a/{{item}}/z\"",
            "printf '<%s>' 'a/{{item}}/z'",
            "sh -c 'printf \"<%s>\" a/{{item}}/z'",
        ] {
            assert_eq!(run(script, name), format!("<a/{name}/z>"), "{script}");
        }
    }
}

#[test]
fn a_name_is_never_run_even_where_it_cannot_be_read_whole() {
    let scripts = [
        "cat <<EOF\nit's {{item}}\nEOF",
        "cat <<'EOF'\n\"{{item}} \nEOF",
        "printf '%s' \"${x:-{{item}}}\"",
        "printf '%s' \"${x:-'{{item}}'}\"",
        "case x in x) printf '%s' \"$(case x in x) echo {{item}};; esac)\";; esac",
        "sh -c {{item}}",
        "eval {{item}}",
        "echo {{item}} | sh -c 'cat > /dev/null'",
        "printf %s \"{{item}}",
        "printf %s '{{item}}",
        "trap 'echo {{item}}' EXIT",
    ];
    for (script, name) in pairs(&scripts) {
        let _whatever = run(script, name);
    }
}
