//! What a run leaves in the data folder.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use test_limit::by_depth;

use crate::binary::sandbox_on_disk;

/// Returns the bytes that the files and folders below `folder` take on the disk.
fn allocated(folder: &Path) -> u64 {
    let own = std::fs::symlink_metadata(folder).expect("it is there").blocks() * 512;
    let Ok(entries) = std::fs::read_dir(folder) else { return own };
    own + entries.map(|entry| allocated(&entry.expect("it can be listed").path())).sum::<u64>()
}

#[test]
fn tasks_that_say_and_change_nothing_leave_at_most_4_kb_each() {
    let place = sandbox_on_disk();
    let repository = place.repository();
    let run = |tasks: usize| {
        let items: Vec<_> = (1..=tasks).map(|number| number.to_string()).collect();
        let run = place.run_in(&repository).words("--each - --jobs 8").exec("true");
        run.stdin(items.join("\n")).run().expect_code(0)
    };
    // The ledger and the task store are made by the first run.
    let first = run(1);
    let before = allocated(&place.home().data());
    let tasks = by_depth(60, 200);
    let finished = run(tasks);
    assert_eq!(finished.names_in("task_finished").len(), tasks);
    let after = allocated(&place.home().data());
    let each = after.saturating_sub(before) / u64::try_from(tasks).expect("few");
    assert!(each <= 4096, "{each} bytes per task");
    for name in [first.run_name(), finished.run_name()] {
        let folder = place.home().data().join("artifacts").join(&name);
        assert!(!folder.exists(), "{}", folder.display());
    }
    let logs = place.regatta(repository.root()).arg("logs").arg(first.run_name()).run();
    let logs = logs.expect_code(0);
    assert!(logs.stdout.contains("it printed nothing"), "{logs}");
    place.expect_nothing_left(&repository);
}
