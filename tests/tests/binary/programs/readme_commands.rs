//! What the README says can be typed, typed.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use serde_json::{Value, json};
use tests::model::{Answer, Asked, Checks, LoopbackModel, Pace};
use tests::sandbox::{
    Finished, Repository, Sandbox, copy_of_a_dependency, rustup_home, write_program,
};

use super::readme::{commands, file, readme};
use crate::binary::sandbox;

/// What begins the commands that need a network, build for minutes, or change the shell that they
/// are typed in. CI runs those of cargo.
const ELSEWHERE: &[&str] = &[
    "cargo run ",
    "cargo test ",
    "cargo install ",
    "cd ~/your/repository",
    "export OPENROUTER_API_KEY=",
    "llama-server ",
    "ollama pull ",
];

/// The commands that end with another code than 0, as the README says.
const CODES: &[(&str, i32)] = &[
    ("echo {{item}} > colour.txt", 4),
    ("echo {{item}} > shape.txt", 4),
    ("echo {{item}} > size.txt", 4),
];

/// Programs of others that the README calls. Here each writes a file whose name only its arguments
/// can give; `npm_workers.rs` has the real ones.
const PROGRAMS: &[&str] = &["claude", "codex", "npm", "npx", "opencode", "pi"];

const PROGRAM: &str =
    "#!/bin/sh\necho done > \"by-$(echo \"$0 $*\" | cksum | cut -d ' ' -f 1).txt\"\n";

fn repository(place: &Sandbox) -> Repository {
    for name in ["app", "lib"] {
        let other = Repository::init(&place.folder().join("user/src").join(name));
        other.write("LICENSE", "(c) 2025 Ada\n");
        other.commit("begin");
    }
    let repository = Repository::init(&place.folder().join("mine"));
    repository.write("src/lib.rs", "pub const TIMEOUT: u64 = 30;\n\npub mod   ugly;\n");
    repository.write("src/ugly.rs", "pub fn ugly( ) { }\n");
    repository.write("src/main.rs", "fn main() {}\n");
    repository.write("src/app.js", "let waits = true\n");
    repository.write("docs/years.txt", "2024\n");
    repository.write("notes.md", "It waits for ever.\n");
    repository.write(".gitignore", ".env\nnode_modules\n");
    repository.write(".env", "PORT=8080\n");
    repository.write("node_modules/eslint/index.js", "module.exports = {};\n");
    repository.write("finding.json", file("json finding.json"));
    for name in ["plan.toml", "scenario.toml"] {
        repository.write(name, file(&format!("toml {name}")));
    }
    repository.commit("begin");
    repository
}

/// Returns a model that writes a file of its own in each conversation and then yields.
fn model() -> LoopbackModel {
    let model = LoopbackModel::start();
    model.pace(Pace::Events);
    model.check(Checks::None); // all conversations are one here
    model.list(Some(&["qwen3:8b", "qwen3-8b", "qwen/qwen3-coder"]));
    let mut count = 0;
    model.talk("", move |asked: &Asked| {
        if !asked.tools().contains(&"yield") {
            return Answer::text("It is as it has to be."); // a session of a person
        }
        if asked.answers() == 0 && !asked.prompt().contains("Change nothing") {
            count += 1;
            let mut hasher = DefaultHasher::new();
            asked.prompt().hash(&mut hasher);
            let path = format!("by-{}.txt", hasher.finish());
            let content = format!("done as number {count}\n");
            return Answer::call("write", &json!({ "path": path, "content": content }));
        }
        Answer::yields(&yielded(&asked.prompt()))
    });
    model
}

/// Returns what the tasks of the README with a schema are to yield, or else a text.
fn yielded(prompt: &str) -> Value {
    match prompt {
        prompt if prompt.contains("Move every timeout") => json!({ "moved": 1 }),
        prompt if prompt.contains("Review src/") => {
            json!({ "severity": "high", "problem": "It waits for ever." })
        }
        _ => json!("done"),
    }
}

/// Puts the programs of others and the binary where a shell finds them, and returns its path.
fn path(place: &Sandbox) -> String {
    let own = std::env::var("PATH").unwrap_or_default();
    let folder = place.folder().join("bin");
    std::fs::create_dir(&folder).expect("a folder can be made");
    for program in PROGRAMS {
        write_program(&folder.join(program), PROGRAM);
    }
    if !std::env::split_paths(&own).any(|folder| folder.join("jq").exists()) {
        write_program(&folder.join("jq"), "#!/bin/sh\nexec cat\n");
    }
    let regatta = std::os::unix::fs::symlink(place.binary(), folder.join("regatta"));
    regatta.expect("a link can be made");
    format!("{}:{own}", folder.display())
}

/// Returns the command with the address of our model, where it asks one on a server.
fn with_our_model(command: &str, model: &LoopbackModel) -> String {
    let on_server = command.contains("--model ") && !command.contains("--model offline/");
    let of_program = PROGRAMS.iter().any(|program| command.contains(&format!("'{program} ")));
    let url = model.base_url();
    if command.starts_with("regatta run ") && on_server && !of_program {
        format!("{command} --base-url {url}")
    } else if command.starts_with("regatta run --plan") && !command.contains("--model ") {
        format!("{command} --model ollama/qwen3:8b --base-url {url}")
    } else if let Some((before, prompt)) = command.split_once("regatta -p ") {
        format!("{before}regatta -p --model ollama/qwen3:8b --base-url {url} {prompt}")
    } else {
        command.to_owned()
    }
}

fn typed(place: &Sandbox, folder: &Path, path: &str, command: &str) -> Finished {
    let call = place.regatta(folder).env("PATH", path).env("OPENROUTER_API_KEY", "sk-or-loopback");
    call.env("RUSTUP_HOME", rustup_home()).shell(command).run()
}

/// The command that rehearses the plan.
const REHEARSAL: &str = "regatta run --plan plan.toml --model offline/scenario.toml";

/// What a file has after a command: after those that keep a conflict, those that look at it, and those
/// that land the kept work, which follow each other.
const CONFLICTS: [(&str, &str); 9] = [
    ("colour.txt", "red\n"),
    ("colour.txt", "red\n"),
    ("colour.txt", "red\n"),
    ("colour.txt", "blue\n"),
    ("shape.txt", "round\n"),
    ("", ""),
    ("shape.txt", "square\n"),
    ("size.txt", "big\n"),
    ("size.txt", "small\n"),
];

/// Checks what has come of the command that rehearses the plan.
fn expect_rehearsed(finished: &Finished, repository: &Repository, years: usize) {
    assert_eq!(repository.text("src/timeouts.rs"), "pub const TIMEOUT: u64 = 30;\n");
    assert_eq!(repository.text("docs/timeouts.md"), "After 30 s.\n");
    assert_eq!(repository.text("docs/years.txt").lines().count(), years + 1);
    assert_eq!(finished.names_in("contract_reminded"), ["timeouts"], "{finished}");
    assert_eq!(finished.landed().len(), 3, "{finished}");
}

#[test]
fn every_command_of_the_readme_that_needs_no_network_does_what_it_says() {
    let place = sandbox();
    let (repository, model) = (repository(&place), model());
    let path = path(&place);
    let all = commands();
    let first = all.iter().position(|command| command.contains("> colour.txt"));
    let first = first.expect("the README makes a conflict");
    let (mut ran, mut rehearsed) = (0, 0);
    for (at, command) in all.iter().enumerate() {
        if ELSEWHERE.iter().any(|begin| format!("{command} ").starts_with(begin)) {
            continue;
        }
        let code = CODES.iter().find(|(words, _code)| command.contains(words));
        let code = code.map_or(0, |(_words, code)| *code);
        let years = repository.text("docs/years.txt").lines().count();
        let mut line = with_our_model(command, &model);
        if command == REHEARSAL {
            line += " --json";
        }
        let finished = typed(&place, repository.root(), &path, &line).expect_code(code);
        if command == REHEARSAL {
            expect_rehearsed(&finished, &repository, years);
            rehearsed += 1;
        } else if command.contains("| jq") {
            assert!(finished.stdout.contains("src/lib.rs"), "{finished}");
            assert!(finished.stdout.contains("It waits for ever."), "{finished}");
        } else if command.starts_with("regatta run ") && !command.contains("Change nothing") {
            assert!(finished.stdout.contains("landed"), "{finished}");
        }
        let after = at.checked_sub(first);
        if let Some((file, text)) = after.and_then(|at| CONFLICTS.get(at)) {
            let is_so = file.is_empty() || repository.text(file) == *text;
            assert!(is_so, "{file} is not {text:?}: {finished}");
            // The two that look at the conflict.
            let is_look = matches!(after, Some(1 | 2));
            assert!(!is_look || finished.stdout.contains("colour.txt"), "{finished}");
        }
        repository.commit(command);
        ran += 1;
    }
    assert!(ran >= 12, "{ran} commands");
    assert_eq!(rehearsed, 1, "the README rehearses its plan: {REHEARSAL}");
    assert!(model.requests() >= 10, "the commands with a model asked ours");
    place.expect_nothing_left(&repository);
}

/// Returns the cells of the rows of the eight tasks in the table of a run.
fn rows(stdout: &str) -> Vec<Vec<&str>> {
    let table = stdout.lines().skip_while(|line| !line.starts_with("task ")).skip(1);
    let cells = table.take(8).map(|line| line.split("  ").map(str::trim));
    cells.map(|cells| cells.filter(|cell| !cell.is_empty()).collect()).collect()
}

#[test]
fn the_picture_in_the_readme_shows_what_its_run_prints() {
    let place = sandbox();
    let picture = "docs/picture/demo.svg";
    assert!(readme().contains(&format!("]({picture})")), "the README shows it");
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests lies in a folder");
    let picture = std::fs::read_to_string(project.join(picture));
    let picture = picture.expect("`docs/picture/draw` has drawn it");
    let source = copy_of_a_dependency("bytes", &place.folder().join("source"));
    let (script, path) = (project.join("docs/picture/run"), path(&place));
    let command = format!("{} {}", script.display(), source.root().display());
    let finished = typed(&place, place.folder(), &path, &command).expect_code(3);
    let rows = rows(&finished.stdout);
    let outcomes: Vec<_> = rows.iter().filter_map(|cells| cells.get(1).copied()).collect();
    let expected = [["landed"; 6].as_slice(), &["conflict", "failed: gave up"]].concat();
    assert_eq!(outcomes, expected, "{finished}");
    for cells in rows {
        assert!(picture.contains(&format!(">{}</text>", cells[0])), "{} in {picture}", cells[0]);
        let without_time = cells.iter().enumerate().filter(|(column, _cell)| *column != 4);
        for (_column, cell) in without_time {
            assert!(picture.contains(cell), "{cell} in {picture}\n{finished}");
        }
    }
}
