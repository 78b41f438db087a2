//! Records what the set-up of a workspace has changed, so that captures do not contain it. Only
//! paths that may have changed are read.

use std::collections::BTreeMap;
use std::path::Path;

use engine::failpoint;
use git2::{ObjectType, Oid};
use protocol::RepoPath;

use crate::baseline::{ContentReader, Snapshot};
use crate::capture::capture_workspace::ForceAdded;
use crate::capture::compare::{begin, is_certainly, read_with_stat};
use crate::capture::nested_works::moved_heads;
use crate::capture::own_commit;
use crate::capture::walk::{self, Candidate};
use crate::capture::work_rules::WorkRules;
use crate::error::{OrCannot, Result};
use crate::file_entry::Entry;
use crate::pool::Differences;
use crate::tree::Tree;
use crate::workspace::{
    GIT, LeftFile, LeftOrigin, Manifest, SetupChanges, SetupFile, SetupState, mark, must_be_there,
    tree_of,
};

/// The size in bytes above which a new file is not read: the task has changed it if its stat has
/// changed.
const LARGE: u64 = 16 << 20;

/// Makes the present contents of the workspace at `folder` the start of its task. No process may be
/// writing to it. `differences` says how it was found to differ from a new copy just now, if that is
/// known.
pub(crate) fn accept_setup(
    snapshot: &Snapshot,
    folder: &Path,
    manifest: Manifest,
    differences: Option<&Differences>,
) -> Result<()> {
    let accepted = after_setup(snapshot, folder, manifest, differences)?;
    let what = || format!("record what the set-up has left in {}", folder.display());
    failpoint!(snapshot.context.faults, "setup.manifest").or_cannot(what)?;
    accepted.write(&snapshot.context.folder)
}

/// Returns the manifest of the workspace at `folder` now that its set-up has ended.
pub(crate) fn after_setup(
    snapshot: &Snapshot,
    folder: &Path,
    manifest: Manifest,
    differences: Option<&Differences>,
) -> Result<Manifest> {
    must_be_there(folder)?;
    let tree = Tree::open_at(&tree_of(folder))?;
    let git = snapshot.context.repo.git()?;
    let rules = WorkRules::as_it_is(snapshot, &git, &tree);
    let bytes = ContentReader::open(snapshot)?;
    let before = Manifest { setup: SetupState::None, ..manifest };
    let force_added = ForceAdded::of(snapshot, folder);
    let walk::Walked { candidates, fingerprints, ignored, .. } =
        walk::candidates(snapshot, &before, &tree, &rules, &force_added, differences)?;
    let mut files = BTreeMap::new();
    for candidate in &candidates {
        if let Some(file) = change_of(&bytes, &tree, candidate)? {
            files.insert(candidate.path.clone(), file);
        }
    }
    drop(candidates);
    // Every later change of the task has a later time.
    let marker_ns = mark(folder)?;
    let head = own_commit::head(&folder.join(GIT));
    let (left_out, nested_heads) = (fingerprints, moved_heads(snapshot, folder));
    let changes = SetupChanges { files, ignored, left_out, head, nested_heads };
    Ok(Manifest { marker_ns, setup: SetupState::Done(changes), ..before })
}

/// Returns what the set-up did to a candidate; `None` if it is as before.
fn change_of(
    bytes: &ContentReader,
    tree: &Tree,
    candidate: &Candidate<'_>,
) -> Result<Option<SetupFile>> {
    let path = &candidate.path;
    let Some(stat) = candidate.now else {
        return Ok(candidate.original.map(|_| SetupFile::Removed));
    };
    if candidate.original.is_none() && stat.size > LARGE {
        let (content, origin) = (None, LeftOrigin::Made);
        return Ok(Some(SetupFile::Left(LeftFile { stat, content, origin })));
    }
    let Some((mode, after, stat)) = read_with_stat(tree, path)? else {
        return Ok(candidate.original.map(|_| SetupFile::Removed));
    };
    let entry = Entry { mode, oid: hash(path, &after)? };
    let left = |origin| SetupFile::Left(LeftFile { stat, content: Some(entry), origin });
    let Some(original) = candidate.original else { return Ok(Some(left(LeftOrigin::Made))) };
    if is_certainly(original, entry) || begin(bytes, path, original)? == Some(entry) {
        return Ok(None);
    }
    bytes.store.write(&after)?;
    Ok(Some(left(LeftOrigin::Changed)))
}

fn hash(path: &RepoPath, bytes: &[u8]) -> Result<Oid> {
    Oid::hash_object(ObjectType::Blob, bytes).or_cannot(|| format!("hash {path}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use engine::ports::{CancelToken, CarryRequest, WorkspaceRequest, WorkspaceStart};

    use crate::backends::{FrozenTree as _, LandingWait};
    use crate::testing::{Sample, faults, freeze_at, request, write};
    use crate::workspace::{Manifest, SetupState};

    #[test]
    fn a_setup_is_recorded_alike_whether_or_not_what_differs_is_known_before() {
        let sample = Sample::with(&[
            (".gitignore", "deps/\n*.log\nout/\n"),
            ("src/a", "one\n"),
            ("src/b", "one\n"),
            ("same/c", "one\n"),
        ]);
        sample.write("deps/lib/code", "carried\n");
        sample.write("same/x.log", "carried\n");
        let carry = CarryRequest {
            globs: vec!["deps/".into(), "*.log".into()],
            limit: 1 << 20,
            workspaces: 1,
            ..CarryRequest::default()
        };
        let request = engine::ports::FreezeRequest { carry, ..request("raaaa", 1 << 20) };
        let landings = LandingWait { cancel: &CancelToken::default(), notify: &|_| {} };
        let frozen =
            freeze_at(&sample.repo(), &sample.paths(), &faults(""), &request, landings).unwrap();
        let request = WorkspaceRequest {
            task: "a".parse().unwrap(),
            attempt: 1,
            predecessors: Vec::new(),
            start: WorkspaceStart::AfterSetup,
            carry: None,
        };
        let workspace = frozen.prepare(&request).unwrap();
        let folder = &frozen.context.folder;
        let pending = Manifest::read(folder, &workspace.task).unwrap();
        write(&workspace.root, "src/a", "changed in place\n");
        write(&workspace.root, "src/new", "made\n");
        write(&workspace.root, "src/out/made", "ignored\n");
        write(&workspace.root, "deps/lib/made", "ignored\n");
        fs::remove_file(workspace.root.join("src/b")).unwrap();
        let mut setups = Vec::new();
        for _ in 0..2 {
            frozen.accept_setup(&workspace).unwrap();
            setups.push(Manifest::read(folder, &workspace.task).unwrap().setup);
            pending.write(folder).unwrap();
            frozen.pool.forget(&workspace.task);
        }
        assert_eq!(setups[0], setups[1]);
        let SetupState::Done(changes) = &setups[0] else { panic!("{setups:?}") };
        assert_eq!(changes.files.len(), 3);
        let ignored: Vec<_> = changes.ignored.iter().map(ToString::to_string).collect();
        assert_eq!(ignored, ["deps", "src/out"]);
    }
}
