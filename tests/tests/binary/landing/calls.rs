//! A landing that is cut off at each of its calls to the system that writes: it is killed there, or
//! there is no room on the disk. `strace` counts the calls and strikes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use test_limit::{by_depth, sample};
use tests::sandbox::{Fingerprint, Finished};

use crate::binary::faults::strace::{Straced, calls_by_thread, can_strike};
use crate::binary::sandbox;

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
    /// What strace has written about a landing.
    log: String,
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
        let mut scene = Self {
            straced: Straced::of(place, repository, words),
            trees,
            dot_git,
            log: String::new(),
        };
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
        scene.log = log;
        scene
    }

    /// Returns which of a thread's calls of these names write, for the thread that lands: the name of
    /// each and its number among the calls of that name.
    fn writing(&self, calls: &[&'static str]) -> Vec<(&'static str, usize)> {
        self.straced.restore();
        let (landed, log) = self.straced.run(&format!("-e trace={}", calls.join(",")));
        let _landed = landed.expect_code(0);
        let mut writing = Vec::new();
        for &call in calls {
            let lands = calls_by_thread(&log, call).into_iter().max_by_key(Vec::len);
            let writes = |line: &str| call != "openat" || line.contains("O_CREAT");
            let lands = lands.unwrap_or_default();
            let numbers = (1..=lands.len()).filter(|number| writes(lands[number - 1]));
            writing.extend(numbers.map(|number| (call, number)));
        }
        writing
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

    /// Lands as often as there are calls, or in quick depth as `quick` says, and strikes at another
    /// one each time. Returns how often.
    fn strike(
        &self,
        calls: impl IntoIterator<Item = (&'static str, usize)>,
        how: &str,
        quick: usize,
        expect: impl Fn(&Finished, &str),
    ) -> usize {
        let mut struck = 0;
        for (call, number) in sample(calls, quick) {
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
        struck
    }

    /// Kills the command at each call that writes, and then lets each call that may want room on the
    /// disk have none.
    fn strike_everywhere(&self) {
        test_limit::raise(Duration::from_secs(600), "the work lands at each of two hundred calls");
        let killed = |killed: &Finished, at: &str| assert_ne!(killed.code, 0, "{at}");
        let all = [&CALLS[..], &REMOVALS].concat();
        let writing = self.writing(&all);
        let kills = self.strike(writing.clone(), "signal=KILL", 2, killed);
        assert!(kills >= by_depth(1, 61), "only {kills} kills");
        let want_room = writing.into_iter().filter(|(call, _)| CALLS.contains(call));
        let strikes =
            self.strike(want_room, "error=ENOSPC", 2, |ended, at| self.expect_as_said(ended, at));
        assert!(strikes >= by_depth(1, 41), "only {strikes} strikes");
    }

    /// Checks that a command without room on the disk has done what it says.
    fn expect_as_said(&self, ended: &Finished, at: &str) {
        let tree = self.straced.repository.tree();
        let then = if ended.code == 0 { &self.trees[1] } else { &self.trees[0] };
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
fn a_landing_cut_off_at_any_call_that_writes_is_as_it_says_complete_or_not_begun() {
    if can_strike("a_landing_cut_off_at_any_call_that_writes_is_as_it_says_complete_or_not_begun") {
        Scene::new().strike_everywhere();
    }
}

#[test]
fn an_undo_cut_off_at_any_call_that_writes_is_as_it_says_complete_or_not_begun() {
    if can_strike("an_undo_cut_off_at_any_call_that_writes_is_as_it_says_complete_or_not_begun") {
        Scene::landed().strike_everywhere();
    }
}

#[test]
fn a_landing_syncs_new_folders_and_is_the_same_where_files_cannot_be_exchanged_or_paths_confined() {
    if !can_strike("a_landing_is_the_same_where_files_cannot_be_exchanged_or_paths_confined") {
        return;
    }
    let scene = Scene::new();
    expect_new_folders_synced(&scene);

    scene.straced.restore();
    let (landed, log) = scene.straced.run("-e trace=renameat2 -e inject=renameat2:error=EINVAL");
    assert!(log.contains("INJECTED"), "{log}");
    let landed = landed.expect_code(0);
    assert!(landed.stderr.contains("cannot exchange two files"), "{landed}");
    scene.expect_all_or_nothing("without exchange");

    // Where the kernel cannot confine a path, it is opened folder by folder.
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

/// Checks that new folders were on the disk before the landing counted as landed.
fn expect_new_folders_synced(scene: &Scene) {
    let lines: Vec<&str> = scene.log.lines().collect();
    let end = lines.iter().position(|line| line.contains(".committed") && line.contains(".landed"));
    let end = end.expect("the journal says that the landing is complete");
    let moved = lines[..end].iter().rposition(|line| line.contains("renameat2("));
    let moved = moved.expect("new files are moved into place");
    for folder in ["", "/new", "/new/deep", "/folder-to-be"] {
        let synced = format!("<{}{folder}>)", scene.straced.repository.root().display());
        let is_synced = |line: &&str| line.contains("fsync(") && line.contains(&synced);
        assert!(lines[moved..end].iter().any(is_synced), "{folder}: {}", scene.log);
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
