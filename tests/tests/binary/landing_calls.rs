//! A landing that is cut off at each of its calls to the system that writes: it is killed there, or
//! there is no room on the disk. `strace` counts the calls and strikes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tests::sandbox::{Fingerprint, Finished};

use super::sandbox;
use super::strace::{Straced, can_strike};

/// The calls by which files, folders and names change, and which may want room on the disk.
const CALLS: [&str; 19] = [
    "write",
    "pwrite64",
    "openat",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "mkdir",
    "mkdirat",
    "symlinkat",
    "ftruncate",
    "fsetxattr",
    "fsync",
    "fdatasync",
    "syncfs",
    "fchmod",
    "fchown",
    "utimensat",
];

/// The calls that need no room.
const REMOVALS: [&str; 3] = ["unlink", "unlinkat", "rmdir"];

/// A repository and a home with the work of one task that waits to land, and a copy of both.
struct Scene {
    straced: Straced,
    /// The tree before the landing and after it.
    trees: [Fingerprint; 2],
    dot_git: Fingerprint,
}

impl Scene {
    fn new() -> Self {
        Self::of("--merge none", "apply")
    }

    /// A scene in which the task has landed, and is to be taken back.
    fn landed() -> Self {
        Self::of("--merge patch", "undo @")
    }

    /// Makes a scene whose run has these options, and in which `words` change the tree.
    fn of(options: &str, words: &'static str) -> Self {
        let place = sandbox();
        let repository = place.repository().watched();
        for path in ["change", "remove", "d/gone", "folder-to-be", "file-to-be/x"] {
            repository.write(path, format!("{path} 1\n"));
        }
        repository.write("linked", "a file with two names\n");
        std::fs::hard_link(repository.path("linked"), repository.path("other-name"))
            .expect("a file can be written");
        repository.commit("files");
        let script = "echo 2 > change; rm remove d/gone folder-to-be file-to-be/x; rmdir file-to-be
            echo 2 > file-to-be; mkdir -p folder-to-be new/deep; echo 2 > folder-to-be/x
            echo 2 > new/deep/file; ln -s change link; chmod +x README.md; echo more >> linked";
        let at_first = repository.tree();
        let run = place.run_in(&repository).words(options).exec(script);
        let _ended = run.run().expect_code(0);
        let trees = [repository.tree(), repository.tree()];
        let dot_git = repository.dot_git();
        let mut scene = Self { straced: Straced::of(place, repository, words), trees, dot_git };
        let (landed, log) = scene.straced.run(&format!("-y -e trace={}", CALLS.join(",")));
        let _landed = landed.expect_code(0);
        scene.trees[1] = scene.straced.repository.tree();
        if words.starts_with("undo") {
            let differences = at_first.differences(&scene.trees[1]);
            assert_eq!(differences, Vec::<String>::new(), "taken back");
            assert_ne!(
                at_first.differences(&scene.trees[0]),
                Vec::<String>::new(),
                "it has landed"
            );
        }
        let concerned = scene.concerned(&log);
        scene.straced.only = concerned.iter().map(|path| format!(" -P '{path}'")).collect();
        scene
    }

    /// Returns which of a thread's calls of a name write, for the thread that lands. Strace counts
    /// those of each thread for itself.
    fn writing(&self, call: &str) -> Vec<usize> {
        self.straced.restore();
        let (landed, log) = self.straced.run(&format!("-e trace={call}"));
        let _landed = landed.expect_code(0);
        let mut threads: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for line in log.lines().filter(|line| line.contains('(')) {
            threads
                .entry(line.split_whitespace().next().unwrap_or_default())
                .or_default()
                .push(line);
        }
        let lands = threads.into_values().max_by_key(Vec::len).unwrap_or_default();
        let writes = |line: &str| call != "openat" || line.contains("O_CREAT");
        (1..=lands.len()).filter(|number| writes(lands[number - 1])).collect()
    }

    /// Returns the files and folders of the tree and of the journal that strace has seen.
    fn concerned(&self, log: &str) -> BTreeSet<String> {
        let journals = self.straced.place.home().data().join("landings");
        let roots = [self.straced.repository.root().to_owned(), journals];
        let words = log.split(['<', '>', '"']);
        let is_concerned = |word: &&str| {
            let is_below = roots.iter().any(|root| PathBuf::from(word).starts_with(root));
            is_below && !word.contains("/.git")
        };
        words.filter(is_concerned).map(str::to_owned).collect()
    }

    /// Lands as often as there are calls, and strikes at another one each time. Returns how often.
    fn strike(&self, calls: &[&str], how: &str, expect: impl Fn(&Finished, &str)) -> usize {
        test_limit::raise(Duration::from_secs(300), "the work lands at each of a hundred calls");
        let mut struck = 0;
        for call in calls {
            for number in self.writing(call) {
                self.straced.restore();
                let inject = format!("-e trace={call} -e inject={call}:{how}:when={number}");
                let (ended, log) = self.straced.run(&inject);
                let last = log.lines().rfind(|line| line.contains('(')).unwrap_or_default();
                let line = log.lines().find(|line| line.contains("INJECTED")).unwrap_or(last);
                let at = format!("{how} at {call} {number}: {line}");
                // It is not called as often each time, or only when everything else has ended.
                if ended.code != 0 || log.contains("INJECTED") {
                    expect(&ended, &at);
                    struck += 1;
                }
                self.expect_all_or_nothing(&at);
            }
        }
        struck
    }

    /// Starts the next command, and checks that the landing is complete or not begun.
    fn expect_all_or_nothing(&self, at: &str) {
        let _next = self.straced.regatta("runs").expect_code(0);
        let tree = self.straced.repository.tree();
        let differences = self.trees.each_ref().map(|tree_then| tree_then.differences(&tree));
        assert!(differences.iter().any(Vec::is_empty), "{at}: {differences:?}");
        assert_eq!(
            self.dot_git.differences(&self.straced.repository.dot_git()),
            Vec::<String>::new(),
            "{at}"
        );
        self.straced.place.expect_nothing_left(&self.straced.repository);
        let _landed = self
            .straced
            .place
            .regatta(self.straced.repository.root())
            .words(self.straced.words)
            .run()
            .expect_code(0);
        let after = self.trees[1].differences(&self.straced.repository.tree());
        assert_eq!(after, Vec::<String>::new(), "{at}");
    }
}

#[test]
fn a_landing_killed_at_any_call_that_writes_is_complete_or_not_begun_after_the_next_start() {
    if !can_strike("a_landing_killed_at_any_call_that_writes_is_complete_or_not_begun") {
        return;
    }
    let scene = Scene::new();
    let killed = |killed: &Finished, at: &str| assert_ne!(killed.code, 0, "{at}");
    let kills = scene.strike(&[&CALLS[..], &REMOVALS].concat(), "signal=KILL", killed);
    assert!(kills > 60, "only {kills} kills");
}

#[test]
fn a_landing_without_room_at_any_call_is_as_it_says_complete_or_not_begun() {
    if !can_strike("a_landing_without_room_at_any_call_is_as_it_says_complete_or_not_begun") {
        return;
    }
    strike_without_room(&Scene::new());
}

#[test]
fn an_undo_killed_at_any_call_that_writes_is_complete_or_not_begun_after_the_next_start() {
    if !can_strike("an_undo_killed_at_any_call_that_writes_is_complete_or_not_begun") {
        return;
    }
    let scene = Scene::landed();
    let killed = |killed: &Finished, at: &str| assert_ne!(killed.code, 0, "{at}");
    let kills = scene.strike(&[&CALLS[..], &REMOVALS].concat(), "signal=KILL", killed);
    assert!(kills > 60, "only {kills} kills");
}

#[test]
fn an_undo_without_room_at_any_call_is_as_it_says_complete_or_not_begun() {
    if !can_strike("an_undo_without_room_at_any_call_is_as_it_says_complete_or_not_begun") {
        return;
    }
    strike_without_room(&Scene::landed());
}

/// Lets each call that may want room on the disk have none.
fn strike_without_room(scene: &Scene) {
    let strikes = scene.strike(&CALLS, "error=ENOSPC", |ended, at| {
        let tree = scene.straced.repository.tree();
        let then = if ended.code == 0 { &scene.trees[1] } else { &scene.trees[0] };
        let mut differences = then.differences(&tree);
        if ended.code == 0 {
            // What it could not put away goes with the next start.
            differences.retain(|line| {
                !line.contains(".regatta-")
                    && line != "new: d"
                    && line != "new: new"
                    && line != "new: new/deep"
            });
        }
        assert_eq!(differences, Vec::<String>::new(), "{at}: {}", ended.stderr);
        assert!(
            ended.code == 0 || ended.to_string().contains("No space left"),
            "{at}: {}",
            ended.stderr
        );
    });
    assert!(strikes > 40, "only {strikes} strikes");
}

#[test]
fn where_files_cannot_be_exchanged_the_landing_is_the_same_and_that_is_told() {
    if !can_strike("where_files_cannot_be_exchanged_the_landing_is_the_same_and_that_is_told") {
        return;
    }
    let scene = Scene::new();
    scene.straced.restore();
    let (landed, log) = scene.straced.run("-e trace=renameat2 -e inject=renameat2:error=EINVAL");
    assert!(log.contains("INJECTED"), "{log}");
    let landed = landed.expect_code(0);
    assert!(landed.stderr.contains("cannot exchange two files"), "{landed}");
    scene.expect_all_or_nothing("without exchange");
}

#[test]
fn where_the_kernel_cannot_confine_a_path_it_is_opened_folder_by_folder() {
    if !can_strike("where_the_kernel_cannot_confine_a_path_it_is_opened_folder_by_folder") {
        return;
    }
    let scene = Scene::new();
    scene.straced.restore();
    let outside = scene.straced.place.folder().join("outside");
    std::fs::create_dir(&outside).expect("a folder can be made");
    let refused = "-e trace=openat2 -e inject=openat2:error=ENOSYS";
    // The user has put a symlink in the place of a folder: nothing is written through it.
    std::fs::remove_dir_all(scene.straced.repository.path("folder-to-be")).unwrap_or_default();
    let _file = std::fs::remove_file(scene.straced.repository.path("folder-to-be"));
    std::os::unix::fs::symlink(&outside, scene.straced.repository.path("folder-to-be"))
        .expect("a link can be made");
    let before = scene.straced.repository.tree();
    let (conflict, log) = scene.straced.run(refused);
    assert!(log.contains("INJECTED"), "{log}");
    let _conflict = conflict.expect_code(4);
    assert_eq!(before.differences(&scene.straced.repository.tree()), Vec::<String>::new());
    assert_eq!(std::fs::read_dir(&outside).expect("it is there").count(), 0);
    scene.straced.restore();
    let (landed, log) = scene.straced.run(refused);
    assert!(log.contains("INJECTED"), "{log}");
    let _landed = landed.expect_code(0);
    scene.expect_all_or_nothing("without openat2");
}

#[test]
fn new_folders_are_on_the_disk_before_a_landing_counts_as_landed() {
    if !can_strike("new_folders_are_on_the_disk_before_a_landing_counts_as_landed") {
        return;
    }
    let scene = Scene::new();
    scene.straced.restore();
    let (landed, log) = scene.straced.run("-y -e trace=fsync,rename,renameat2");
    let _landed = landed.expect_code(0);
    let lines: Vec<&str> = log.lines().collect();
    let end = lines.iter().position(|line| line.contains(".committed") && line.contains(".landed"));
    let end = end.expect("the journal says that the landing is complete");
    let moved = lines[..end].iter().rposition(|line| line.contains("renameat2("));
    let moved = moved.expect("new files are moved into place");
    for folder in ["", "/new", "/new/deep", "/folder-to-be"] {
        let synced = format!("<{}{folder}>)", scene.straced.repository.root().display());
        let is_synced = |line: &&str| line.contains("fsync(") && line.contains(&synced);
        assert!(lines[moved..end].iter().any(is_synced), "{folder}: {log}");
    }
}

#[test]
fn many_files_are_on_the_disk_by_one_sync_of_the_file_system_before_the_landing_is_committed_to() {
    if !can_strike("many_files_are_on_the_disk_by_one_sync_of_the_file_system") {
        return;
    }
    let place = sandbox();
    let repository = place.repository().watched();
    let script = "for file in $(seq 200); do echo $file > new-$file.txt; done";
    let [of_run, log] = ["run.log", "strace.log"].map(|name| place.folder().join(name));
    let strace = |log: &Path| {
        format!(
            "exec strace -f -qq -y -o {} -e trace=fsync,fdatasync,syncfs,rename \"$0\" \"$@\"",
            log.display()
        )
    };
    let run = place.run_in(&repository).words("--merge none").exec(script);
    let _kept = run.shell(&strace(&of_run)).run().expect_code(0);
    let applied = place.regatta(repository.root()).words("apply").shell(&strace(&log)).run();
    let _applied = applied.expect_code(0);
    assert_eq!(repository.text("new-200.txt"), "200\n");
    let read = |log| std::fs::read_to_string(log).expect("strace wrote it");
    let (of_run, log) = (read(of_run), read(log));
    let before = log.split(".committed\") = 0").next().unwrap_or_default();
    // The versions that the journal names are in a pack, which is synced as one file.
    let new_files = ("syncfs(", format!("<{}>)", repository.root().display()));
    let pack = place.home().stores()[0].join("objects/pack/.new-pack-");
    let pack = ("fsync(", format!("<{}", pack.display()));
    for (log, (call, synced)) in [(before, new_files), (of_run.as_str(), pack)] {
        let is_synced = |line: &str| line.contains(call) && line.contains(&synced);
        assert!(log.lines().any(is_synced), "{call}{synced}: {log}");
    }
    let syncs = log.lines().filter(|line| line.contains("sync(")).count();
    assert!(syncs < 60, "{syncs} files are synced one by one: {log}");
}
