//! What one command task costs through the program, against `cp -a` of the same tree.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use benches::{
    Bound, Report, Rounds, SampleTree, measured_binary, median, ms, phases, scratch, timed,
};

/// How many times `cp -a` of the tree one command task may cost.
const MOST: f64 = 2.0;

fn main() -> ExitCode {
    let binary = measured_binary();
    let mut report = Report::new(
        "isolation",
        "One command task from the prompt to the prompt (`regatta run --exec`): start, baseline, \
         workspace, command, capture, landing, removal. Against `cp -a` of the same tree without \
         `.git`, in turns, medians.",
    );
    // Nothing is removed before the end: where many files were just removed, making some takes
    // ext4 many times as long, and that would be what is measured.
    let scratch = scratch();
    // A round of the small tree is over at once, and its figure is the closer to its bound.
    measure(&binary, &scratch.path().join("small"), 1_000, 20, &mut report);
    measure(&binary, &scratch.path().join("large"), 20_000, 8, &mut report);
    report.finish()
}

/// Measures on a tree of `files` files, `full` times in the full form.
fn measure(binary: &Path, folder: &Path, files: usize, full: usize, report: &mut Report) {
    let tree = SampleTree::make(&folder.join("tree"), files);
    let home = folder.join("home");
    let (mut copies, mut tasks, mut fives) = (Vec::new(), Vec::new(), Vec::new());
    // The tree was just written, which warms the caches for copies; the first run does for runs.
    run(binary, &home, tree.root(), 1);
    let mut held = Vec::new();
    while !Rounds::asked_for().suffice(full, &held) {
        let one = run(binary, &home, tree.root(), 1);
        let target = folder.join(format!("copy-{}", copies.len()));
        let copy = match Rounds::asked_for() {
            Rounds::Full | Rounds::Trial => copy(Command::new("cp"), tree.root(), &target),
            Rounds::Short => copy(cut_off(one), tree.root(), &target),
        };
        held.push(one.as_secs_f64() <= MOST * copy.as_secs_f64());
        copies.push(copy);
        tasks.push(one);
        // The cost of a further task is printed, not judged: the short form leaves it out.
        if Rounds::asked_for() == Rounds::Full {
            fives.push(run(binary, &home, tree.root(), 5));
        }
    }
    let (copy, task) = (median(&copies), median(&tasks));
    let ratio = |time: Duration| time.as_secs_f64() / copy.as_secs_f64();
    let cut = match Rounds::asked_for() {
        Rounds::Full | Rounds::Trial => "",
        Rounds::Short => ", cut off when it takes longer than the task",
    };
    report.figure(&format!("{files} files: cp -a{cut}"), ms(copy), "ms", Bound::None);
    report.figure(&format!("{files} files: one task"), ms(task), "ms", Bound::None);
    let what = format!("{files} files: one task / cp -a");
    report.figure(&what, ratio(task), "×", Bound::AtMost(MOST));
    // Of the run that was last: one task, or five one after the other.
    let told = phases(&format!("{files} files"), binary, &home, tree.root());
    told.into_iter().for_each(|told| report.note(told));
    if !fives.is_empty() {
        let each = median(&fives).saturating_sub(task) / 4;
        report.figure(&format!("{files} files: each further task"), ms(each), "ms", Bound::None);
        let what = format!("{files} files: each further task / cp -a");
        report.figure(&what, ratio(each), "×", Bound::None);
    }
}

/// Copies the tree without `.git`.
fn copy(mut cp: Command, tree: &Path, target: &Path) -> Duration {
    std::fs::create_dir_all(target).expect("a folder can be made");
    let entries = std::fs::read_dir(tree).expect("the tree can be listed").flatten();
    let entries = entries.map(|entry| entry.path()).filter(|path| !path.ends_with(".git"));
    cp.arg("-a").args(entries).arg(target);
    let mut status = None;
    let took = timed(|| status = cp.status().ok().and_then(|status| status.code()));
    assert!(matches!(status, Some(0 | CUT_OFF)), "cp -a: {status:?}");
    took
}

/// The exit code of the program `timeout` when the time was over.
const CUT_OFF: i32 = 124;

/// Returns a `cp` that ends after `most`. A task that took no longer has held its bound twice over,
/// however long the copy would have gone on.
fn cut_off(most: Duration) -> Command {
    let mut timeout = Command::new("timeout");
    timeout.arg(most.as_secs_f64().to_string()).arg("cp");
    timeout
}

/// Runs `tasks` tasks one after the other, each of which changes a file.
fn run(binary: &Path, home: &Path, tree: &Path, tasks: usize) -> Duration {
    let items: Vec<_> = (0..tasks).map(|task| format!("file-{task}.txt")).collect();
    let list = home.with_file_name("items");
    std::fs::write(&list, items.join("\n")).expect("a file can be written");
    let mut run = Command::new(binary);
    run.current_dir(tree)
        .env("REGATTA_HOME", home)
        .args(["run", "--quiet", "--jobs", "1", "--each"])
        .arg(format!("@{}", list.display()))
        .args(["--exec", &format!("echo {tasks} >> folder-0/{{{{item}}}}")])
        .stdout(Stdio::null());
    timed(|| assert!(run.status().is_ok_and(|status| status.success()), "regatta run"))
}
