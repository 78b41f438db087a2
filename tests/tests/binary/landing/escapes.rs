//! Captures that were tampered with, and trees that lead elsewhere: a landing writes nothing
//! outside the repository and nothing into its `.git`.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use test_limit::{Depth, by_depth, depth, sample};
use tests::sandbox::{Fingerprint, Repository, Sandbox};

use crate::binary::sandbox;

const FILE: u32 = 0o100_644;
const LINK: u32 = 0o120_000;

/// How many of the cases are tried in quick depth in each way to land, and how many ways there are.
const QUICK_CASES: usize = 4;
const TURNS: usize = 5;

/// An entry of a capture: the components of its path as they stand in trees, its mode and content.
#[derive(Clone, Debug)]
struct Hostile {
    components: Vec<Vec<u8>>,
    mode: u32,
    content: Vec<u8>,
}

fn hostile(components: &[&[u8]], mode: u32, content: &str) -> Hostile {
    let components = components.iter().map(|component| component.to_vec()).collect();
    Hostile { components, mode, content: content.into() }
}

/// Names that some file system takes for `.git`.
const TWINS: &[&[u8]] = &[
    b".git",
    b".GIT",
    b".Git",
    b".gIt",
    b".git ",
    b".git.",
    b".git . .",
    b".git::$INDEX_ALLOCATION",
    b".git:stream",
    b"git~1",
    b"GIT~1",
    b"Git~1.",
    b"git~1 ",
    b"git~1:stream",
    b".git\\hooks",
    b"a\\.git",
    b"a\\git~1",
    b".git\xff",
    b".g\xe2\x80\x8cit",
    b".gi\xe2\x80\x8dt",
    b"\xe2\x80\x8e.git",
    b".git\xe2\x80\x8f",
    b".\xe2\x80\xaagit",
    b".g\xe2\x80\xaeit",
    b".g\xe2\x81\xaait",
    b".gi\xe2\x81\xafT",
    b"\xef\xbb\xbf.git",
];

/// What a capture must not be able to do.
fn cases(outside: &Path) -> Vec<Hostile> {
    let outside = outside.to_str().expect("the place has a plain name");
    let absolute = format!("{outside}/absolute");
    let mut cases = Vec::new();
    for twin in TWINS {
        cases.push(hostile(&[twin], FILE, "gitdir: /elsewhere\n"));
        cases.push(hostile(&[twin, b"hooks", b"post-checkout"], 0o100_755, "#!/bin/sh\n"));
    }
    for path in [&b".."[..], b".", b"", b"/", b"../outside/slash", b"src/../../outside/deep"] {
        cases.push(hostile(&[path], FILE, "escaped\n"));
    }
    let dots: [&[&[u8]]; 8] = [
        &[b"..", b"outside", b"up"],
        &[b"src", b"..", b"..", b"outside", b"up"],
        &[b".", b"..", b"outside", b"up"],
        &[b"", b"outside"],
        &[b"src", b"", b"file"],
        &[b"src", b".", b"file"],
        &[absolute.as_bytes()],
        &[b"/proc/self/cwd/escaped"],
    ];
    cases.extend(dots.iter().map(|path| hostile(path, FILE, "escaped\n")));
    // The user's own symlinks lead outside, at each place of a path.
    let links: [&[&[u8]]; 5] = [
        &[b"to-outside", b"file"],
        &[b"to-outside", b"new", b"file"],
        &[b"deep", b"to-outside", b"file"],
        &[b"deep", b"more", b"to-outside", b"file"],
        &[b"to-git", b"hooks", b"post-checkout"],
    ];
    cases.extend(links.iter().map(|path| hostile(path, FILE, "escaped\n")));
    // Other kinds of entries, and what stands where a file should.
    for mode in [0o160_000, 0o40_000, 0o100_666, 0o140_000, 0o10_644, 0o177_777] {
        cases.push(hostile(&[b"odd-mode"], mode, "odd\n"));
    }
    for target in ["../outside/file", outside, ".git/config", "/proc/self/root/etc", "loop"] {
        cases.push(hostile(&[b"loop"], LINK, target));
        cases.push(hostile(&[b"src", b"link"], LINK, target));
    }
    for name in [&b"fifo"[..], b"socket", b"sparse.bin", b"new\nline", b"not\xffutf8"] {
        cases.push(hostile(&[name], FILE, "file\n"));
    }
    cases
}

/// The task store, written as git writes, without its checks.
struct Store(PathBuf);

impl Store {
    fn write(&self, kind: &str, bytes: &[u8]) -> [u8; 20] {
        let mut git = Command::new("git");
        git.arg("-C").arg(&self.0);
        git.args(["hash-object", "-w", "--literally", "--stdin", "-t", kind]);
        let mut child =
            git.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a program can be run");
        child
            .stdin
            .take()
            .expect("a program can be run")
            .write_all(bytes)
            .expect("a program can be run");
        let output = child.wait_with_output().expect("a program can be run");
        assert!(output.status.success(), "{kind}");
        let text = String::from_utf8(output.stdout).expect("git writes hexadecimal numbers");
        let byte = |at: usize| {
            u8::from_str_radix(&text[2 * at..2 * at + 2], 16)
                .expect("git writes hexadecimal numbers")
        };
        std::array::from_fn(byte)
    }

    fn tree(&self, entries: &[(u32, &[u8], [u8; 20])]) -> [u8; 20] {
        let mut bytes = Vec::new();
        for (mode, name, oid) in entries {
            bytes.extend(format!("{mode:o} ").as_bytes());
            bytes.extend([name, &b"\0"[..], oid].concat());
        }
        self.write("tree", &bytes)
    }

    /// Puts a capture with this entry, and perhaps another one, in the place of one that is there.
    fn tamper(&self, capture: &str, entry: &Hostile, renames: &str) {
        let content = self.write("blob", &entry.content);
        let mut mode = entry.mode;
        let mut oid = content;
        for component in entry.components.iter().rev() {
            oid = self.tree(&[(mode, component, oid)]);
            mode = 0o40_000;
        }
        let root = self.tree(&[(0o40_000, b"task", oid)]);
        let hex = |oid: [u8; 20]| oid.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let who = "a <a@b> 0 +0000";
        let text = format!(
            "tree {}\nauthor {who}\ncommitter {who}\n\nt\n\nCapture-Version: 2\n{renames}",
            hex(root)
        );
        let commit = hex(self.write("commit", text.as_bytes()));
        let mut git = Command::new("git");
        git.arg("-C").arg(&self.0).args(["update-ref", capture, &commit]);
        assert!(git.status().expect("a program can be run").success());
    }
}

/// A tree with symlinks, and with what is no file.
fn repository(place: &Sandbox, outside: &Path) -> Repository {
    let repository = place.repository();
    fs::create_dir_all(outside).expect("a file can be written");
    fs::write(outside.join("file"), "outside\n").expect("a file can be written");
    fs::create_dir_all(repository.path("deep/more")).expect("a file can be written");
    for link in ["to-outside", "deep/to-outside", "deep/more/to-outside"] {
        symlink(outside, repository.path(link)).expect("a file can be written");
    }
    symlink(".git", repository.path("to-git")).expect("a program can be run");
    repository.commit("links");
    repository
}

/// Makes what is no plain file, after the run has begun with the tree.
fn make_special(repository: &Repository) {
    let made = Command::new("mkfifo").arg(repository.path("fifo")).status();
    assert!(made.expect("a program can be run").success());
    drop(UnixListener::bind(repository.path("socket")).expect("a file can be written"));
    // Ten gigabytes of nothing.
    fs::File::create(repository.path("sparse.bin"))
        .expect("a file can be written")
        .set_len(10 << 30)
        .expect("a file can be written");
}

/// Returns the cases, each with what is written about renames: in quick depth four of them, others for
/// each `turn` of a few, and two that lead nowhere.
fn cases_with_renames(outside: &Path, turn: usize) -> Vec<(Hostile, String)> {
    let mut cases: Vec<_> = cases(outside).into_iter().map(|case| (case, String::new())).collect();
    // Renames that name something else than the entries.
    for (from, to) in [("../a", "new"), ("src/main.rs", ".git/x"), ("a", "new"), ("new", "new")] {
        let rename = format!("Capture-Rename: {{\"from\":\"{from}\",\"to\":\"{to}\"}}\n");
        cases.push((hostile(&[b"new"], FILE, "new\n"), rename));
    }
    assert!(cases.len() >= 80, "{} cases", cases.len());
    let is_harmless = |(case, _): &(Hostile, String)| {
        let path = case.components.concat();
        path == b"new\nline" || path == b"loop" && case.content == b"../outside/file"
    };
    let harmless: Vec<_> = cases.iter().filter(|case| is_harmless(case)).cloned().collect();
    // Together, the ways try cases that are evenly distributed.
    let begin = by_depth(turn * cases.len() / (QUICK_CASES * TURNS), 0);
    cases.rotate_left(begin);
    let mut cases = sample(cases, QUICK_CASES);
    if depth() != Depth::Full {
        cases.retain(|case| !is_harmless(case));
        cases.splice(..0, harmless);
    }
    cases
}

/// One way to land the hostile captures.
struct Way {
    /// Which of the [`TURNS`] it is.
    turn: usize,
    /// The options of the run.
    run: &'static str,
    /// The words after `apply RUN/TASK`; `{}` is the number of the case.
    apply: &'static str,
    /// What in `.git` changes on purpose.
    may_change: &'static [&'static str],
}

impl Way {
    /// Lands each capture in this way, and checks that nothing is written elsewhere. Returns the
    /// sandbox and the repository.
    fn expect_no_escape(&self) -> (Sandbox, Repository) {
        let place = sandbox();
        let outside = place.folder().join("outside");
        let repository = repository(&place, &outside);
        let cases = cases_with_renames(&outside, self.turn);
        let each: String = (0..cases.len()).map(|number| format!("{number}\n")).collect();
        let run = place.run_in(&repository).words("--each - -j 4").words(self.run).stdin(each);
        // The landing fails before anything has changed, so that all of it is kept.
        let run = run.exec("echo {{item}} > mine-{{item}}.txt").fault("fail@landing.begin").run();
        let captures = place.home().captures();
        assert_eq!(captures.len(), cases.len(), "{run}");
        make_special(&repository);
        let store = Store(place.home().stores()[0].clone());
        let elsewhere = || Fingerprint::without(place.folder(), &["home", "app"]);
        let before = (elsewhere(), repository.dot_git());
        for (number, (capture, (case, renames))) in captures.iter().zip(&cases).enumerate() {
            store.tamper(&format!("refs/tasks/{capture}"), case, renames);
            let task = capture.rsplit_once('/').expect("an attempt of a task").0;
            let apply = self.apply.replace("{}", &number.to_string());
            let applied = place.regatta(repository.root()).words("apply").arg(task).words(&apply);
            let applied = applied.run();
            let shown = format!("{case:?} {renames}: {applied}");
            assert!(![70, 101].contains(&applied.code), "{shown}");
            assert_eq!(before.0.differences(&elsewhere()), Vec::<String>::new(), "{shown}");
            let mut dot_git = before.1.differences(&repository.dot_git());
            dot_git.retain(|line| {
                let path = line.split_once(": ").map_or("", |(_, path)| path);
                !self.may_change.iter().any(|may| path.starts_with(may))
            });
            assert_eq!(dot_git, Vec::<String>::new(), "{shown}");
            let twins = TWINS.iter().filter(|twin| ***twin != *b".git");
            let twins: Vec<_> = twins.map(|twin| String::from_utf8_lossy(twin)).collect();
            for entry in fs::read_dir(repository.root()).expect("it can be listed") {
                let entry = entry.expect("it can be read");
                let name = entry.file_name().to_string_lossy().into_owned();
                let is_left =
                    twins.contains(&name.as_str().into()) || name.starts_with(".regatta-");
                assert!(!is_left, "{name}: {shown}");
            }
        }
        // No commit has a name that git refuses.
        assert_eq!(repository.faults(), "");
        (place, repository)
    }
}

#[test]
fn no_capture_makes_a_landing_write_outside_the_repository_or_into_its_git() {
    let way = Way { turn: 0, run: "--merge patch", apply: "", may_change: &[] };
    let (_place, repository) = way.expect_no_escape();
    // What leads nowhere has landed as it is.
    assert_eq!(repository.text("new\nline"), "file\n");
    assert_eq!(fs::read_link(repository.path("loop")).unwrap(), Path::new("../outside/file"));
}

#[test]
fn no_capture_makes_a_settled_landing_write_outside_the_repository_or_into_its_git() {
    for (turn, apply) in [(1, "--theirs"), (2, "--markers")] {
        let way = Way { turn, run: "--merge patch", apply, may_change: &[] };
        let _escaped_nowhere = way.expect_no_escape();
    }
}

#[test]
fn no_capture_makes_a_branch_write_outside_the_repository_or_into_the_rest_of_its_git() {
    let may_change = &["objects", "refs/heads/made", "logs/refs/heads/made"];
    let way = Way { turn: 3, run: "--merge patch", apply: "--branch made-{}", may_change };
    let (_place, repository) = way.expect_no_escape();
    let made = repository.git(&["branch", "--list", "made-*"]);
    assert!(made.lines().count() > by_depth(0, 3), "what is harmless is on branches: {made}");
}

#[test]
fn no_capture_makes_a_landing_on_the_branch_here_write_outside_or_into_the_rest_of_its_git() {
    let may_change = &["objects", "refs/heads/main", "logs", "index"];
    let way = Way { turn: 4, run: "--merge stack --onto main", apply: "", may_change };
    let (_place, repository) = way.expect_no_escape();
    assert_eq!(repository.git(&["show", "HEAD:new\nline"]), "file\n");
}

#[test]
fn a_hard_link_of_a_task_is_a_file_of_its_own_where_it_lands_and_one_of_the_user_stays() {
    let place = sandbox();
    let repository = place.repository().watched();
    repository.write("list.txt", "one\n");
    repository.commit("a list");
    let (outside, other) = (place.folder().join("outside.txt"), place.folder().join("other.txt"));
    fs::write(&outside, "mine\n").expect("a file can be written");
    fs::hard_link(repository.path("list.txt"), &other).expect("a link can be made");
    let script = format!("ln '{}' linked.txt; echo task >> list.txt", outside.display());
    let run = |script: &str| place.run_in(&repository).exec(script).run().expect_code(0);
    assert_eq!(run(&script).landed(), ["t1"]);
    assert_eq!(repository.text("linked.txt"), "mine\n");
    // Both names of the user's file show what has landed.
    assert_eq!(fs::read_to_string(&other).expect("it is there"), "one\ntask\n");
    assert_eq!(run("echo changed > linked.txt").landed(), ["t1"]);
    assert_eq!(repository.text("linked.txt"), "changed\n");
    assert_eq!(fs::read_to_string(&outside).expect("it is there"), "mine\n");
    place.expect_nothing_left(&repository);
}
