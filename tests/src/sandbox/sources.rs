//! This project's own source, as a repository to work on.

use std::path::Path;

use super::Repository;

/// Makes a repository at `root` with this project's source in one commit.
#[must_use]
pub fn copy_of_this_source(root: &Path) -> Repository {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests lies in a folder");
    let copy = Repository::init(root);
    copy_below(source, root, source);
    copy.commit("the source as it is");
    copy
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
