//! What one command task costs through the release binary, against `cp -a` of the same tree.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use benches::{Bound, Report, Rounds, SampleTree, median, release_binary, scratch, timed};

/// How many times `cp -a` of the tree one command task may cost.
const MOST: f64 = 2.0;

fn main() -> ExitCode {
    let binary = release_binary();
    let mut report = Report::new(
        "isolation",
        "One command task from the prompt to the prompt (`regatta run --exec`): start, baseline, \
         workspace, command, capture, landing, removal. Against `cp -a` of the same tree without \
         `.git`, in turns, medians.",
    );
    // A round of the small tree is over at once, and its figure is the closer to its bound.
    measure(&binary, 1_000, 20, &mut report);
    measure(&binary, 20_000, Rounds::asked_for().of(8), &mut report);
    report.finish()
}

fn measure(binary: &Path, files: usize, rounds: usize, report: &mut Report) {
    let scratch = scratch();
    let tree = SampleTree::make(&scratch.path().join("tree"), files);
    let home = scratch.path().join("home");
    let (mut copies, mut tasks, mut fives) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        let copy = copy(tree.root(), &scratch.path().join("copy"));
        let one = run(binary, &home, tree.root(), 1, round);
        // What a further task costs is told, not judged: the short form leaves it out.
        let five = match Rounds::asked_for() {
            Rounds::Full => Some(run(binary, &home, tree.root(), 5, round)),
            Rounds::Short => None,
        };
        // The first round warms the caches for both sides.
        if round > 0 {
            copies.push(copy);
            tasks.push(one);
            fives.extend(five);
        }
    }
    let (copy, task) = (median(&copies), median(&tasks));
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    let ratio = |time: Duration| time.as_secs_f64() / copy.as_secs_f64();
    report.figure(&format!("{files} files: cp -a"), ms(copy), "ms", Bound::None);
    report.figure(&format!("{files} files: one task"), ms(task), "ms", Bound::None);
    let what = format!("{files} files: one task / cp -a");
    report.figure(&what, ratio(task), "×", Bound::AtMost(MOST));
    if !fives.is_empty() {
        let each = median(&fives).saturating_sub(task) / 4;
        report.figure(&format!("{files} files: each further task"), ms(each), "ms", Bound::None);
        let what = format!("{files} files: each further task / cp -a");
        report.figure(&what, ratio(each), "×", Bound::None);
    }
}

/// Copies the tree without `.git` and removes the copy; only the first is timed.
fn copy(tree: &Path, target: &Path) -> Duration {
    std::fs::create_dir_all(target).expect("a folder can be made");
    let entries = std::fs::read_dir(tree).expect("the tree can be listed").flatten();
    let entries = entries.map(|entry| entry.path()).filter(|path| !path.ends_with(".git"));
    let mut cp = Command::new("cp");
    cp.arg("-a").args(entries).arg(target);
    let took = timed(|| assert!(cp.status().is_ok_and(|status| status.success()), "cp -a"));
    std::fs::remove_dir_all(target).expect("a copy can be removed");
    took
}

/// Runs `tasks` tasks one after the other, each of which changes a file.
fn run(binary: &Path, home: &Path, tree: &Path, tasks: usize, round: usize) -> Duration {
    let items: Vec<_> = (0..tasks).map(|task| format!("file-{task}.txt")).collect();
    let list = home.with_file_name("items");
    std::fs::write(&list, items.join("\n")).expect("a file can be written");
    let mut run = Command::new(binary);
    run.current_dir(tree)
        .env("REGATTA_HOME", home)
        .args(["run", "--quiet", "--jobs", "1", "--each"])
        .arg(format!("@{}", list.display()))
        .args(["--exec", &format!("echo {tasks} {round} >> folder-0/{{{{item}}}}")])
        .stdout(Stdio::null());
    timed(|| assert!(run.status().is_ok_and(|status| status.success()), "regatta run"))
}
