//! What `regatta gc` does when it is killed, has no room, finds damage or is not alone: nothing that
//! has to stay is lost.

use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tests::made_tasks::{packed_size, stored_size};
use tests::sandbox::{Home, Sandbox, SmallDisk, eventually, skip};

use super::gc_kit::{gc, has_log, is_sound, three_tasks};
use crate::binary::sandbox;

#[test]
fn a_removal_that_is_killed_anywhere_loses_nothing_and_is_completed_by_the_next() {
    let points = [
        "gc.pack",
        "gc.packed",
        "ledger.append",
        "gc.references",
        "gc.lists",
        "gc.packs",
        "gc.packs.next",
        "gc.loose",
        "gc.files",
    ];
    for point in test_limit::sample(points, 2) {
        let place = sandbox();
        let repository = place.repository().watched();
        let run = three_tasks(&place, &repository);
        let diff = || place.regatta(repository.root()).words("diff b").run().expect_code(0).stdout;
        let patch = diff();
        if point.starts_with("gc.packs") {
            // Then there is an old pack to be removed.
            let _packed = place.home().store_git(&["repack", "-q", "-a", "-d"]);
        }
        let killed = gc(&place, &repository, "--older-than 0s").fault(&format!("kill@{point}"));
        let killed = killed.run();
        assert_eq!(killed.code, 128 + 9, "{point}: {killed}");
        is_sound(place.home());
        assert_eq!(diff(), patch, "{point}");
        let _completed = gc(&place, &repository, "--older-than 0s").run().expect_code(0);
        is_sound(place.home());
        assert_eq!(diff(), patch, "{point}");
        assert_eq!(place.home().captures(), [format!("{run}/b/1")], "{point}");
        assert!(!has_log(place.home(), &run, "a"), "{point}");
        let store = &place.home().stores()[0];
        assert!(stored_size(store) <= 2 * packed_size(store), "{point}");
    }
}

#[test]
fn beside_a_running_engine_which_is_not_swept_what_can_go_goes_and_the_rest_is_told() {
    let place = sandbox();
    let repository = place.repository().watched();
    let old = three_tasks(&place, &repository);
    let gate = place.folder().join("gate");
    std::fs::write(&gate, "").expect("it can be written");
    let script =
        format!("while [ -e {} ]; do sleep 0.05; done; echo late > late.txt", gate.display());
    let mut running = place.run_in(&repository).exec(&script).start();
    let _started = running.until("workspace_ready");
    let listed = place.regatta(repository.root()).words("runs --json").run().expect_code(0);
    assert!(listed.stdout.contains("running"), "{listed}");
    let beside = gc(&place, &repository, "--older-than 0s --json").run().expect_code(0).json();
    let report = &beside["repositories"][0];
    assert!(report["left"].as_str().is_some_and(|left| left.contains("goes on")), "{beside}");
    assert_eq!(place.home().captures(), [format!("{old}/b/1")], "{beside}");
    std::fs::remove_file(&gate).expect("it is there");
    let ended = running.wait().expect_code(0);
    assert_eq!(ended.landed(), ["t1"], "{ended}");
    assert_eq!(repository.text("late.txt"), "late\n");
    let store = place.home().stores()[0].clone();
    let alone = gc(&place, &repository, "--older-than 0s").run().expect_code(0);
    assert!(stored_size(&store) <= 2 * packed_size(&store), "{alone}");
    is_sound(place.home());
}

#[test]
fn of_two_removals_at_once_one_leaves_the_store_to_the_other() {
    let place = sandbox();
    let repository = place.repository().watched();
    let run = three_tasks(&place, &repository);
    let gate = place.folder().join("gate");
    let first = gc(&place, &repository, "--older-than 0s").wait_at("gc.pack", &gate).start();
    eventually(Duration::from_secs(60), "the first one waits", || gate.exists());
    let second = gc(&place, &repository, "--older-than 0s").env("REGATTA_FAULT", "").run();
    let second = second.expect_code(0);
    assert!(second.stdout.contains("another `regatta gc` is clearing it"), "{second}");
    assert_eq!(place.home().captures().len(), 3, "{second}");
    std::fs::remove_file(&gate).expect("it is there");
    let _first = first.wait().expect_code(0);
    assert_eq!(place.home().captures(), [format!("{run}/b/1")]);
    is_sound(place.home());
}

/// Expects one error, and that nothing was removed.
fn expect_nothing_removed(place: &Sandbox, said: &tests::sandbox::Finished, words: &[&str]) {
    assert_eq!(said.code, 1, "{said}");
    let errors = said.stderr.lines().filter(|line| line.starts_with("error: ")).count();
    assert_eq!(errors, 1, "{said}");
    for word in words {
        assert!(said.stderr.contains(word), "`{word}` in {said}");
    }
    let kinds = place.home().ledger("SELECT type FROM transition", |row| row.get::<_, String>(0));
    assert!(!kinds.iter().any(|kind| kind == "task_collected"), "{said}");
}

/// Damages the object with this id, which is not in a pack. Returns its file and what was in it.
fn damage(store: &Path, object: &str) -> (PathBuf, Vec<u8>) {
    let file = store.join("objects").join(&object[..2]).join(&object[2..]);
    let sound = std::fs::read(&file).expect("it is alone");
    let _writable = std::process::Command::new("chmod").arg("u+w").arg(&file).status();
    std::fs::write(&file, "damaged").expect("it can be written");
    (file, sound)
}

#[test]
fn a_damaged_store_and_one_of_another_user_is_one_error_and_nothing_is_removed() {
    let place = sandbox();
    let repository = place.repository().watched();
    let run = three_tasks(&place, &repository);
    let store = place.home().stores()[0].clone();
    let before = place.home().captures();
    let remove = || gc(&place, &repository, "--older-than 0s").run();
    for what in ["b/1^{tree}", "b/1:task/b.txt"] {
        let object = place.home().store_git(&["rev-parse", &format!("refs/tasks/{run}/{what}")]);
        let (file, sound) = damage(&store, object.trim());
        expect_nothing_removed(&place, &remove(), &["cannot", "task store"]);
        assert_eq!(place.home().captures(), before, "{what}");
        assert!(has_log(place.home(), &run, "a"), "{what}");
        std::fs::write(file, sound).expect("it can be written");
    }
    is_sound(place.home());

    if let Err(why) = chown(&store, Some(12_345), None) {
        return skip("a_store_of_another_user_is_one_error", &why.to_string());
    }
    let said = remove();
    let back = chown(&store, Some(rustix::process::geteuid().as_raw()), None);
    back.expect("it can be given back");
    expect_nothing_removed(&place, &said, &["belongs to another user", "12345"]);
    assert_eq!(place.home().captures(), before);
    assert!(has_log(place.home(), &run, "a"));
}

#[test]
fn a_full_disk_is_one_error_and_nothing_is_removed() {
    let place = sandbox();
    let repository = place.repository().watched();
    let run = three_tasks(&place, &repository);
    for fault in ["full@gc.pack", "full@ledger.append"] {
        let said = gc(&place, &repository, "--older-than 0s").fault(fault).run();
        expect_nothing_removed(&place, &said, &["cannot"]);
        assert_eq!(place.home().captures().len(), 3, "{said}");
        assert!(has_log(place.home(), &run, "a"), "{said}");
        is_sound(place.home());
    }
    let folder = place.folder().join("small");
    let disk = match SmallDisk::mount(&folder, 48 << 10) {
        Ok(disk) => disk,
        Err(why) => return skip("a_full_disk_is_one_error_and_nothing_is_removed", &why),
    };
    let script = "head -c 9000000 /dev/urandom > large.bin; exit 3";
    let failed = place.run_in(&repository).home(&folder).exec(script).run().expect_code(5);
    let home = Home::at(&folder);
    disk.fill(4_000);
    let said = gc(&place, &repository, "--older-than 0s").home(&folder).run();
    assert_eq!(said.code, 1, "{said}");
    assert!(said.stderr.contains("cannot rewrite the task store"), "{said}");
    assert_eq!(home.captures(), [format!("{}/t1/1", failed.run_name())]);
    is_sound(&home);
    drop(disk);
}
