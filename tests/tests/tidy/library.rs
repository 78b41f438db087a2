//! The library `regatta` as a program outside of the workspace sees it.

use std::fs;
use std::process::Command;

use super::workspace::root;

#[test]
fn a_program_that_embeds_the_library_gets_nothing_of_a_command_line_or_a_terminal() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let library = root().join("engine/app");
    let manifest = format!(
        "[package]\nname = \"outside\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n\
         [dependencies]\nregatta = {{ path = \"{}\" }}\n",
        library.display()
    );
    fs::write(folder.path().join("Cargo.toml"), manifest).expect("it can be written");
    fs::create_dir(folder.path().join("src")).expect("it can be made");
    fs::write(folder.path().join("src/lib.rs"), "").expect("it can be written");
    let lock = folder.path().join("Cargo.lock");
    fs::copy(root().join("Cargo.lock"), lock).expect("the workspace has a lock file");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--offline", "--prefix", "none", "--edges", "normal,build"]);
    let output = cargo.current_dir(folder.path()).output().expect("cargo can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8_lossy(&output.stdout);
    let names: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.contains(&"regatta") && names.contains(&"tokio"), "{tree}");
    for unwanted in ["clap", "crossterm", "ratatui", "indicatif", "regatta-cli"] {
        assert!(!names.contains(&unwanted), "{unwanted} is in\n{tree}");
    }
}

#[test]
fn the_page_about_embedding_has_the_programs_that_are_compiled_and_the_short_ones_are_short() {
    let page = fs::read_to_string(root().join("docs/embedding.md")).expect("there is a page");
    for (name, most) in [("own_tool", 40), ("three_tasks", 40)] {
        let path = root().join("engine/app/examples").join(name).with_extension("rs");
        let program = fs::read_to_string(path).expect("it is an example");
        assert!(page.contains(&format!("```rust\n{program}```")), "docs/embedding.md lacks {name}");
        assert!(program.lines().count() <= most, "{name} is longer than {most} lines");
    }
    assert!(page.contains("engine/app/examples/http_sessions.rs"), "{page}");
}
