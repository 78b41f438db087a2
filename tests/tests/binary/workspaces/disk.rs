//! A disk that is full: at preparing, at capturing, at landing.

use std::path::{Path, PathBuf};
use std::process::Command;

use tests::sandbox::{Repository, SmallDisk, skip};

use crate::binary::sandbox;

/// A folder bound over itself so that no program can write below it.
pub(crate) struct ReadOnly(PathBuf);

impl ReadOnly {
    /// Binds `folder`.
    pub(crate) fn over(folder: &Path) -> Result<Self, String> {
        mount(&["--bind"], &[folder, folder])?;
        let bound = Self(folder.to_owned());
        mount(&["-o", "remount,bind,ro"], &[folder])?;
        Ok(bound)
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        let _gone = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn mount(words: &[&str], places: &[&Path]) -> Result<(), String> {
    let output = Command::new("mount").args(words).args(places).output();
    let output = output.map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(said) }
}

#[test]
fn a_disk_that_is_full_at_preparing_fails_the_task_and_leaves_nothing() {
    let place = sandbox();
    let repository = place.repository().watched();
    repository.write("large.bin", vec![5; 12 << 20]);
    repository.commit("twelve megabytes");
    let home = place.folder().join("small");
    let disk = match SmallDisk::mount(&home, 8 << 10) {
        Ok(disk) => disk,
        Err(why) => {
            return skip(
                "a_disk_that_is_full_at_preparing_fails_the_task_and_leaves_nothing",
                &why,
            );
        }
    };
    let before = (repository.tree(), repository.dot_git());
    let run = place.run_in(&repository).home(&home).exec("echo x > x.txt");
    let finished = run.run().expect_code(5);
    let failure = finished.task("t1")["failure"].clone();
    assert_eq!(failure["class"], "resources", "{finished}");
    let message = failure["message"].as_str().unwrap().to_lowercase();
    assert!(message.contains("no space") || message.contains("full"), "{message}");
    assert_eq!(before.0.differences(&repository.tree()), Vec::<String>::new());
    assert_eq!(before.1.differences(&repository.dot_git()), Vec::<String>::new());
    let home = tests::sandbox::Home::at(&home);
    assert_eq!(home.leftovers(), Vec::<String>::new());
    place.expect_nothing_left(&repository);
    drop(disk);
}

#[test]
fn a_disk_that_is_full_at_capturing_keeps_the_workspace_and_the_next_start_captures_it() {
    let place = sandbox();
    let repository = place.repository().watched();
    let folder = place.folder().join("small");
    let disk = match SmallDisk::mount(&folder, 16 << 10) {
        Ok(disk) => disk,
        Err(why) => return skip("a_disk_that_is_full_at_capturing", &why),
    };
    let home = tests::sandbox::Home::at(&folder);
    // Nine megabytes fit once, not twice.
    let script = "head -c 9437184 /dev/urandom > large.bin; echo kept > small.txt";
    let before = repository.tree();
    let run = place.run_in(&repository).home(&folder).exec(script);
    let finished = run.run().expect_code(5);
    let failure = finished.task("t1")["failure"].clone();
    assert_eq!(failure["class"], "resources", "{finished}");
    let message = failure["message"].as_str().unwrap();
    let kept = message.rsplit("kept at ").next().unwrap_or_default();
    assert!(Path::new(kept).join("small.txt").exists(), "{message}");
    assert_eq!(before.differences(&repository.tree()), Vec::<String>::new());

    disk.resize(96 << 10);
    let listed = place.regatta(repository.root()).words("runs").home(&folder).run();
    let _listed = listed.expect_code(0);
    let capture = format!("{}/t1/1", finished.run_name());
    assert_eq!(home.captured(&capture, "small.txt"), "kept\n");
    assert_eq!(home.leftovers(), Vec::<String>::new());
    let target = format!("{}/t1", finished.run_name());
    let applied = place.regatta(repository.root()).words("apply").arg(target).home(&folder).run();
    let _applied = applied.expect_code(0);
    assert_eq!(repository.read("large.bin").len(), 9 << 20);
}

#[test]
fn a_run_that_fills_the_disk_of_the_ledger_is_said_to_have_done_so_by_the_next_start() {
    let place = sandbox();
    let repository = place.repository();
    let folder = place.folder().join("small");
    let disk = match SmallDisk::mount(&folder, 8 << 10) {
        Ok(disk) => disk,
        Err(why) => return skip("a_run_that_fills_the_disk_of_the_ledger", &why),
    };
    let ballast = folder.join("ballast");
    let script = format!("head -c 67108864 /dev/zero > {}; echo x > x.txt", ballast.display());
    let full = place.run_in(&repository).home(&folder).exec(&script).run().expect_code(5);
    std::fs::remove_file(&ballast).expect("the ballast is there");
    disk.resize(32 << 10);
    let words = format!("runs show {}", full.run_name());
    let shown = place.regatta(repository.root()).words(&words).home(&folder).run().expect_code(0);
    assert!(shown.stdout.contains("finished · exit 5"), "{shown}");
    assert!(shown.stdout.contains("failed: resources"), "{shown}");
    assert!(shown.stdout.contains("full"), "{shown}");
    assert!(!shown.stdout.contains("engine died"), "{shown}");
}

#[test]
fn a_disk_without_room_for_a_pack_kills_no_engine_and_loses_no_capture() {
    // Where a pack finds no room, loose objects may; with still less room, nothing does.
    for (free, fits) in [(300, false), (2_400, true)] {
        let place = sandbox();
        let repository = place.repository().watched();
        let folder = place.folder().join("small");
        let disk = match SmallDisk::mount(&folder, 64 << 10) {
            Ok(disk) => disk,
            Err(why) => return skip("a_disk_without_room_for_a_pack", &why),
        };
        let home = tests::sandbox::Home::at(&folder);
        let items: Vec<String> = (1..=8).map(|number| number.to_string()).collect();
        let run = place.run_in(&repository).words("--each - --jobs 2").stdin(items.join("\n"));
        let script = "head -c 200000 /dev/urandom > {{item}}.bin";
        let died = run.home(&folder).exec(script).fault("kill@settle.objects").run();
        assert_eq!(died.code, 128 + 9, "{died}");
        let journal = home.stores()[0].join("captures.journal");
        assert!(std::fs::metadata(&journal).unwrap().len() > 1_600_000, "{died}");
        let packs = home.stores()[0].join("objects/pack");
        let unfinished = packs.join("pack_git2_0123456789abcdef");
        std::fs::write(&unfinished, vec![1; 100 << 10]).unwrap();

        disk.fill(free);
        let listed = place.regatta(repository.root()).words("runs").home(&folder).run();
        assert!(listed.code < 128, "no signal ends it: {listed}");
        assert!(!unfinished.exists(), "what is left of a pack takes room");
        assert_eq!(std::fs::read_dir(&packs).unwrap().count(), 0, "no pack is written");
        if fits {
            assert_eq!(listed.code, 0, "{listed}");
            assert_eq!(std::fs::metadata(&journal).unwrap().len(), 0, "{listed}");
        } else {
            let told = format!("{}{}", listed.stdout, listed.stderr).to_lowercase();
            assert!(told.contains("no space") || told.contains("full"), "{listed}");
            assert!(std::fs::metadata(&journal).unwrap().len() > 1_600_000, "{listed}");
        }

        disk.resize(96 << 10);
        let listed = place.regatta(repository.root()).words("runs").home(&folder).run();
        let _listed = listed.expect_code(0);
        assert_eq!(home.captures().len(), 8);
        let target = died.run_name();
        let applied = place.regatta(repository.root()).words("apply").arg(target).home(&folder);
        let _applied = applied.run().expect_code(0);
        assert_eq!(repository.read("8.bin").len(), 200_000);
        let _clean = home.store_git(&["fsck", "--full", "--strict", "--no-dangling"]);
    }
}

#[test]
fn a_disk_that_is_full_at_landing_leaves_the_tree_as_it_was_and_keeps_the_work() {
    let place = sandbox();
    let folder = place.folder().join("small");
    let disk = match SmallDisk::mount(&folder, 6 << 10) {
        Ok(disk) => disk,
        Err(why) => return skip("a_disk_that_is_full_at_landing", &why),
    };
    let repository = Repository::init(&folder.join("app"));
    repository.write("notes.txt", "notes\n");
    repository.commit("begin");
    let before = (repository.tree(), repository.dot_git());
    let script = "head -c 8388608 /dev/zero > large.bin; echo more >> notes.txt";
    let finished = place.run_in(&repository).exec(script).run().expect_code(4);
    assert_eq!(finished.names_in("task_kept"), ["t1"], "{finished}");
    let why = finished.events_of("task_kept")[0]["why"].as_str().unwrap().to_lowercase();
    assert!(why.contains("no space") || why.contains("full"), "{why}");
    assert_eq!(before.0.differences(&repository.tree()), Vec::<String>::new());
    assert_eq!(before.1.differences(&repository.dot_git()), Vec::<String>::new());
    place.expect_nothing_left(&repository);

    disk.resize(24 << 10);
    let applied = place.regatta(repository.root()).words("apply").run().expect_code(0);
    assert_eq!(repository.text("notes.txt"), "notes\nmore\n", "{applied}");
    assert_eq!(repository.read("large.bin").len(), 8 << 20);
}
