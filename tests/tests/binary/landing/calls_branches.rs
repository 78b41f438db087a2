//! Landings on branches, and their undo, that are cut off at each of their calls to the system that
//! changes `.git`: the branch is before or after, and nothing keeps git from going on.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use test_limit::{by_depth, sample};
use tests::sandbox::Finished;

use crate::binary::faults::strace::{Straced, calls_by_thread, can_strike};
use crate::binary::sandbox;

/// The calls by which files, folders and names change.
const CALLS: [&str; 16] = [
    "write",
    "pwrite64",
    "openat",
    "rename",
    "link",
    "linkat",
    "mkdir",
    "mkdirat",
    "ftruncate",
    "fsync",
    "chmod",
    "fchmod",
    "utimensat",
    "unlink",
    "unlinkat",
    "rmdir",
];

/// The calls among them that need no room on the disk.
const REMOVALS: [&str; 3] = ["unlink", "unlinkat", "rmdir"];

/// A repository and a home with work that waits to land on a branch, or to be taken back, and a copy
/// of both.
struct Scene {
    straced: Straced,
    /// The branches, each with its tree, and the state of the files, before and after.
    states: [String; 2],
    /// What strace has written about the command.
    log: String,
}

impl Scene {
    /// Makes a scene whose run has these options, and in which `words` change a branch.
    fn of(options: &str, words: &'static str) -> Self {
        let place = sandbox();
        let repository = place.repository();
        let run = place.run_in(&repository).words(options);
        let run = run.exec("echo work > work.txt; echo more >> README.md; rm src/run.rs");
        let _kept = run.fault("fail@landing.begin").run().expect_code(4);
        let regatta = |words| place.regatta(repository.root()).words(words).run();
        if words.starts_with("undo") {
            let _landed = regatta("apply").expect_code(0);
            repository.git(&["pack-refs", "--all"]);
        }
        let states = [String::new(), String::new()];
        let straced = Straced::of(place, repository, words);
        let mut scene = Self { straced, states, log: String::new() };
        scene.states[0] = scene.state();
        let (done, log) = scene.straced.run(&format!("-y -e trace={}", CALLS.join(",")));
        let _done = done.expect_code(0);
        scene.log = log;
        scene.states[1] = scene.state();
        assert_ne!(scene.states[0], scene.states[1]);
        scene
    }

    /// Returns the branches, each with its tree, and what git says about the files.
    fn state(&self) -> String {
        let refs = self.straced.repository.git(&["for-each-ref", "--format=%(refname) %(tree)"]);
        format!("{refs}{}", self.straced.repository.git(&["status", "--porcelain"]))
    }

    /// Leaves out the calls that are not about a file of `.git` with a name that is always the same:
    /// a runtime that cannot write to its own pipes waits for ever.
    fn only_dot_git(mut self) -> Self {
        let dot_git = self.straced.repository.path(".git");
        let paths: BTreeSet<&str> = self.log.split(['<', '>', '"']).collect();
        let paths = paths
            .into_iter()
            .filter(|path| PathBuf::from(path).starts_with(&dot_git) && !path.contains("pack"));
        self.straced.only = paths.map(|path| format!(" -P '{path}'")).collect();
        self.straced.restore();
        self.log = self.straced.run(&format!("-y -e trace={}", CALLS.join(","))).1;
        self
    }

    /// Returns which calls of this name change `.git`, of the thread that does so.
    fn writing(&self, call: &str) -> Vec<usize> {
        let dot_git = self.straced.repository.path(".git").display().to_string();
        let writes =
            |line: &&str| (call != "openat" || line.contains("O_CREAT")) && line.contains(&dot_git);
        let count = |lines: &Vec<&str>| lines.iter().filter(|line| writes(line)).count();
        let lines = calls_by_thread(&self.log, call).into_iter().max_by_key(count);
        let lines = lines.unwrap_or_default();
        (1..=lines.len()).filter(|number| writes(&lines[number - 1])).collect()
    }

    /// Runs the command as often as there are such calls, in quick depth at two of them, and strikes
    /// at another one each time. Returns how often.
    fn strike(&self, calls: &[&str], how: &str, expect: impl Fn(&Finished, &str)) -> usize {
        test_limit::raise(Duration::from_secs(600), "a command runs for each of its calls");
        let numbers = |call| self.writing(call).into_iter().map(move |number| (call, number));
        let all = calls.iter().copied().flat_map(numbers);
        let mut struck = 0;
        for (call, number) in sample(all, 2) {
            self.straced.restore();
            let inject = format!("-y -e trace={call} -e inject={call}:{how}:when={number}");
            let (ended, log) = self.straced.run(&inject);
            let last = log.lines().rfind(|line| line.contains('(')).unwrap_or_default();
            let line = log.lines().find(|line| line.contains("INJECTED")).unwrap_or(last);
            let at = format!("{how} at {call} {number}: {line}");
            // It is not called as often each time.
            if ended.code != 0 || log.contains("INJECTED") {
                expect(&ended, &at);
                struck += 1;
            }
            self.expect_all_or_nothing(&at);
        }
        struck
    }

    /// Starts the next command, and checks that the branch has moved or not, that nothing is locked,
    /// and that git goes on.
    fn expect_all_or_nothing(&self, at: &str) {
        let _next = self.straced.regatta("runs").expect_code(0);
        self.expect_nothing_left(at);
        let state = self.state();
        assert!(self.states.contains(&state), "{at}: {state}\n{:?}", self.states);
        self.straced.repository.git(&["commit", "--quiet", "--allow-empty", "--message", "mine"]);
        self.straced.repository.git(&["reset", "--quiet", "--soft", "HEAD^"]);
        let _done = self
            .straced
            .place
            .regatta(self.straced.repository.root())
            .words(self.straced.words)
            .run();
        assert_eq!(self.states[1], self.state(), "{at}");
        self.expect_nothing_left(at);
        assert_eq!(self.straced.repository.faults(), "", "{at}");
    }

    fn expect_nothing_left(&self, at: &str) {
        assert_eq!(self.straced.repository.leftovers(), Vec::<String>::new(), "{at}");
        let dot_git = self.straced.repository.dot_git();
        let ours = |path: &&std::path::Path| {
            let first = path.components().next().map(|first| first.as_os_str().to_string_lossy());
            first.is_some_and(|first| first.starts_with("regatta-"))
        };
        let left: Vec<PathBuf> = dot_git.paths().filter(ours).map(PathBuf::from).collect();
        assert_eq!(left, Vec::<PathBuf>::new(), "{at}");
        self.straced.place.expect_nothing_left(&self.straced.repository);
    }

    fn kill_everywhere(&self) {
        let killed = |killed: &Finished, at: &str| assert_ne!(killed.code, 0, "{at}");
        let kills = self.strike(&CALLS, "signal=KILL", killed);
        assert!(kills >= by_depth(1, 9), "only {kills} kills");
    }
}

/// Kills these commands on branches of these options anywhere; in quick depth one of the commands,
/// another one with another commit.
fn killed_anywhere(test: &str, options: &str, commands: [&'static str; 2]) {
    if can_strike(test) {
        for words in sample(commands, 1) {
            Scene::of(options, words).kill_everywhere();
        }
    }
}

#[test]
fn a_landing_and_an_undo_on_the_branch_checked_out_killed_anywhere_leave_no_lock() {
    let test = "a_landing_and_an_undo_on_the_branch_checked_out_killed_anywhere_leave_no_lock";
    killed_anywhere(test, "--merge stack --onto main", ["apply", "undo @"]);
}

#[test]
fn a_landing_and_an_undo_on_a_stack_killed_anywhere_leave_no_lock() {
    let test = "a_landing_and_an_undo_on_a_stack_killed_anywhere_leave_no_lock";
    killed_anywhere(test, "--merge stack", ["undo @", "apply"]);
}

#[test]
fn a_landing_and_an_undo_on_branches_killed_anywhere_leave_no_lock() {
    let test = "a_landing_and_an_undo_on_branches_killed_anywhere_leave_no_lock";
    killed_anywhere(test, "--merge branch", ["apply", "undo @"]);
}

#[test]
fn a_landing_on_the_branch_that_is_checked_out_without_room_says_what_has_landed() {
    if !can_strike("a_landing_on_the_branch_that_is_checked_out_without_room_says_what_has_landed")
    {
        return;
    }
    let scene = Scene::of("--merge stack --onto main", "apply").only_dot_git();
    let calls: Vec<&str> = CALLS.into_iter().filter(|call| !REMOVALS.contains(call)).collect();
    let strikes = scene.strike(&calls, "error=ENOSPC", |ended, at| {
        let branch = scene.straced.repository.git(&["for-each-ref", "--format=%(refname) %(tree)"]);
        let then = &scene.states[usize::from(ended.code == 0)];
        assert!(then.starts_with(&branch), "{at}: {branch}\n{ended}");
        if ended.code != 0 {
            assert!(ended.to_string().contains("No space left"), "{at}: {ended}");
        } else if scene.straced.repository.has(".git/index.lock") {
            assert!(
                ended.stderr.contains("the work has landed on refs/heads/main"),
                "{at}: {ended}"
            );
            assert!(ended.stderr.contains("the next command of regatta"), "{at}: {ended}");
            assert!(ended.stderr.contains("No space left"), "{at}: {ended}");
        }
    });
    assert!(strikes >= by_depth(1, 9), "only {strikes} strikes");
}

#[test]
fn where_the_ledger_is_full_after_a_landing_it_says_what_has_landed_and_the_next_start_records_it()
{
    let place = sandbox();
    let repository = place.repository().watched();
    let run = place.run_in(&repository).exec("echo work > work.txt");
    let _kept = run.fault("fail@landing.begin").run().expect_code(4);
    let regatta = |words| place.regatta(repository.root()).words(words);
    for words in ["apply", "undo @"] {
        let full = regatta(words).fault("full@ledger.append:2").run().expect_code(1);
        let said = if words == "apply" { "the work of t1 has landed" } else { "is taken back" };
        assert!(full.stderr.contains(said), "{full}");
        assert!(full.stderr.contains("the next command of regatta here records it"), "{full}");
        assert_eq!(repository.has("work.txt"), words == "apply", "{full}");
        let recorded = regatta("runs").run().expect_code(0);
        assert!(recorded.stderr.contains("is recorded now"), "{recorded}");
    }
    place.expect_nothing_left(&repository);

    // The last entry before the end of a run is that its work has landed; its end says so.
    let run = place.run_in(&repository).exec("echo work > work.txt");
    let full = run.fault("full@ledger.append:7").run().expect_code(3);
    assert_eq!(full.landed(), ["t1"], "{full}");
    assert_eq!(full.events_of("run_finished")[0]["exit_code"], 3, "{full}");
    let said = "the work of t1 has landed; the next command of regatta here records it";
    assert!(full.stderr.contains(said), "{full}");
    assert_eq!(repository.text("work.txt"), "work\n");
    let recorded = regatta("runs").run().expect_code(0);
    let name = full.run_name();
    let line = recorded.stdout.lines().find(|line| line.contains(&name));
    assert!(line.is_some_and(|line| line.contains("1 landed")), "{recorded}");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_landing_that_cannot_be_completed_says_why_and_keeps_no_other_from_landing() {
    test_limit::waits("a lock of git is waited for");
    let place = sandbox();
    let repository = place.repository();
    let run = place.run_in(&repository).words("--merge stack").exec("echo first > first.txt");
    let killed = run.fault("kill@landing.ref:3").run();
    let name = killed.run_name();
    let branch = format!("refs/heads/regatta/{name}");
    assert!(!repository.try_git(&["rev-parse", "--verify", &branch]).status.success(), "{killed}");
    // Some git has died too.
    let lock = format!(".git/{branch}.lock");
    repository.write(&lock, "");
    let second = place.run_in(&repository).exec("echo second > second.txt").run().expect_code(0);
    assert_eq!(second.landed(), ["t1"], "{second}");
    assert_eq!(repository.text("second.txt"), "second\n");
    let told = place.regatta(repository.root()).words("runs").run().expect_code(0);
    let way_out = format!("rm '{}'", repository.path(&lock).display());
    assert!(told.stderr.contains(&way_out), "{told}");
    assert!(repository.has(&lock), "the lock of another is left");
    std::fs::remove_file(repository.path(&lock)).expect("it is there");
    let _completed = place.regatta(repository.root()).words("runs").run().expect_code(0);
    assert_eq!(repository.git(&["show", &format!("{branch}:first.txt")]), "first\n");
    place.expect_nothing_left(&repository);
}
