//! Real sources as repositories to work on: this project's own, and those of what it depends on.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use test_limit::by_depth;

use super::Repository;

/// Makes a repository at `root` with this project's source in one commit; in quick depth with that of one
/// crate and the documentation.
#[must_use]
pub fn copy_of_this_source(root: &Path) -> Repository {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests lies in a folder");
    let copy = Repository::init(root);
    let folders = by_depth(vec!["docs", "isolation"], vec![""]);
    for folder in folders.iter().map(|folder| source.join(folder)) {
        let target = root.join(folder.strip_prefix(source).expect("it lies below the source"));
        std::fs::create_dir_all(target).expect("a folder can be made");
        copy_below(source, root, &folder);
    }
    copy.commit("the source as it is");
    copy
}

/// Makes a repository at `root` with the source of a crate that this project depends on in one
/// commit, as the registry had it.
///
/// # Panics
/// When this project does not depend on it.
#[must_use]
pub fn copy_of_a_dependency(name: &str, root: &Path) -> Repository {
    let source = source_of(name);
    let copy = Repository::init(root);
    copy_below(&source, root, &source);
    copy.git(&["add", "--all", "--force"]); // its authors may have ignored what they published
    copy.commit("the crate as it is");
    copy
}

/// Returns where cargo keeps the source of a crate.
fn source_of(name: &str) -> PathBuf {
    // What only other platforms need was never downloaded.
    let version = cargo(&["-vV"]);
    let version = String::from_utf8_lossy(&version);
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.expect("cargo knows its platform");
    let metadata =
        cargo(&["metadata", "--format-version=1", "--offline", "--filter-platform", host]);
    let metadata: Value = serde_json::from_slice(&metadata).expect("cargo prints JSON");
    let packages = metadata["packages"].as_array().expect("there are packages");
    let package = packages.iter().find(|package| package["name"] == name);
    let package = package.unwrap_or_else(|| panic!("{name} is no dependency"));
    let manifest = package["manifest_path"].as_str().expect("a package has a manifest");
    Path::new(manifest).parent().expect("it lies in a folder").to_owned()
}

fn cargo(arguments: &[&str]) -> Vec<u8> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = cargo.output().expect("cargo can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn copy_below(source: &Path, target: &Path, folder: &Path) {
    for entry in std::fs::read_dir(folder).expect("the source can be listed") {
        let path = entry.expect("the source can be listed").path();
        let relative = path.strip_prefix(source).expect("it lies below the source");
        let name = path.file_name().unwrap_or_default();
        let kind = path.symlink_metadata().expect("the source can be looked at");
        if kind.is_dir() && name != "target" && name != ".git" {
            std::fs::create_dir_all(target.join(relative)).expect("a folder can be made");
            copy_below(source, target, &path);
        } else if kind.is_file() && path.extension().is_some_and(|end| end != "swp") {
            let _vanished = std::fs::copy(&path, target.join(relative)); // an editor's, perhaps
        }
    }
}
