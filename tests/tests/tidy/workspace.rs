//! Reads the workspace as cargo and the file system have it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// One file of Rust.
pub(crate) struct Source {
    /// Its path, relative to the workspace.
    pub(crate) path: PathBuf,
    /// Its text.
    pub(crate) text: String,
}

impl Source {
    /// Returns the text before the unit tests.
    pub(crate) fn production(&self) -> &str {
        self.text.split("#[cfg(test)]").next().unwrap_or_default()
    }

    /// Returns whether the file holds tests and nothing else.
    pub(crate) fn is_test(&self) -> bool {
        let in_folder = self.path.components().any(|part| part.as_os_str() == "tests");
        in_folder || self.path.ends_with("tests.rs") || self.path.starts_with("benches/benches")
    }
}

/// Returns the folder of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests lies in the workspace")
}

/// Returns the packages of the workspace as `cargo metadata` prints them.
pub(crate) fn packages() -> Vec<Value> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--format-version=1", "--offline"]);
    let output = cargo.current_dir(root()).output().expect("cargo can be run");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    metadata["packages"].as_array().expect("a workspace has packages").clone()
}

/// Returns every file of Rust in the workspace, in order.
pub(crate) fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    visit(root(), &mut found);
    found.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(found.len() > 50, "the workspace was found");
    found
}

/// Returns a text of the workspace; nothing if it is not there.
pub(crate) fn text(path: &str) -> Option<String> {
    std::fs::read_to_string(root().join(path)).ok()
}

fn visit(folder: &Path, found: &mut Vec<Source>) {
    for entry in std::fs::read_dir(folder).expect("the workspace can be listed") {
        let path = entry.expect("the workspace can be listed").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" {
                visit(&path, found);
            }
        } else if name.ends_with(".rs") {
            let text = std::fs::read_to_string(&path).expect("a source can be read");
            let path = path.strip_prefix(root()).expect("it lies in the workspace").to_owned();
            found.push(Source { path, text });
        }
    }
}
