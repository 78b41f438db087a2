//! The machine stops, and what was not synced is lost.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use serde_json::Value;

use super::recovery::{killed_at, regatta, workspaces};
use crate::binary::sandbox;

#[test]
fn a_file_that_a_power_cut_emptied_is_no_work_and_its_workspace_is_kept_and_told() {
    let place = sandbox();
    let repository = place.repository();
    let text = repository.text("README.md");
    let run = killed_at(&place, &repository, "capture.begin:2");
    let folder = workspaces(&place, &run);
    // Copies are not synced: the machine stops, and an untouched file is empty.
    let emptied = folder.join("b/tree/README.md");
    let time = fs::metadata(&emptied).and_then(|meta| meta.modified()).expect("it is there");
    fs::write(&emptied, "").expect("it can be emptied");
    fs::File::open(&emptied).and_then(|file| file.set_modified(time)).expect("it has its time");
    // The time of the system cannot be set back, so the workspace is made younger than the file.
    let manifest = folder.join(".manifests/b.json");
    let mut written: Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    let younger = fs::metadata(&emptied).unwrap();
    written["marker_ns"] = (younger.ctime() * 1_000_000_000 + younger.ctime_nsec() + 1).into();
    fs::write(&manifest, written.to_string()).unwrap();

    for _ in 0..2 {
        let next = regatta(&place, &repository, "runs");
        assert!(next.stderr.contains(&format!("{run}/b is kept")), "{next}");
        assert!(next.stderr.contains("README.md") && next.stderr.contains("power cut"), "{next}");
        assert_eq!(fs::read_to_string(folder.join("b/tree/b.txt")).expect("it stays"), "b\n");
        assert_eq!(place.home().captures(), [format!("{run}/a/1")]);
    }
    let _applied = regatta(&place, &repository, &format!("apply {run}"));
    assert_eq!(repository.text("README.md"), text);
}
