//! A folder of the tree that changes places with a symlink while work lands below it.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::fault::Faults;
use protocol::RepoPath;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::kit::{Kit, write};
use crate::file_entry::{Change, Entry, Mode};

/// How many landings are tried, in quick and in full depth.
const TRIES: (usize, usize) = (100, 1_000);

#[test]
fn landings_into_a_folder_that_is_swapped_with_a_symlink_write_nothing_elsewhere() {
    let kit = Kit::in_memory(&[("d/file", "0\n"), ("other", "0\n")]);
    let outside = kit.folder.path().join("outside");
    write(&outside, "file", "0\n");
    symlink(&outside, kit.root.join("link")).unwrap();
    let store = kit.store();
    let entry = |content: &str| {
        Some(Entry { mode: Mode::File, oid: store.write(content.as_bytes()).unwrap() })
    };
    let change = |path: String, base, task| Change::new(RepoPath::new(path).unwrap(), base, task);
    let (mut landed, stop) = (0, AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (folder, link) = (kit.root.join("d"), kit.root.join("link"));
        let stop = &stop;
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                std::thread::yield_now();
            }
        });
        for number in 0..test_limit::by_depth(TRIES.0, TRIES.1) {
            // A task may find neither version, and then conflicts.
            let (old, new) = (format!("{landed}\n"), format!("{}\n", landed + 1));
            let changes = [
                change("d/file".to_owned(), entry(&old), entry(&new)),
                change(format!("d/new-{number}/file"), None, entry("new\n")),
            ];
            let task = kit.captured(&format!("t{number}"), &[], &changes);
            if let Ok(report) = kit.land_with(&Faults::default(), &[task])
                && matches!(report.tasks[0].landed, protocol::Landed::Landed { .. })
            {
                landed += 1;
            }
            let names: Vec<_> =
                fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(names, ["file"], "landing {number}");
            assert_eq!(fs::read(outside.join("file")).unwrap(), b"0\n", "landing {number}");
        }
        stop.store(true, Ordering::Relaxed);
    });
    kit.recover();
    assert_eq!(kit.open_journals(), Vec::<String>::new());
}
