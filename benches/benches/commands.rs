//! What tasks of short commands cost beside the same commands started by `xargs`.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use benches::{
    Bound, Limit, Report, Rounds, SampleTree, Used, as_f64, measured_binary, median, ms, phases,
    scratch, scratch_in_memory, used_by,
};

/// How many edits are one measurement.
const EDITS: usize = 200;

/// How many times what `xargs` takes they may take, in memory and on a disk, and how many are the aim. On
/// a disk the figure varies most: a file system that avoids the inodes of recently removed files
/// searches longer for others.
const EDITS_IN_MEMORY: Limit = Limit { aim: 4.0, most: 6.0 };
const EDITS_ON_DISK: Limit = Limit { aim: 8.0, most: 10.0 };

/// How many milliseconds of the processor an edit in a large tree may cost.
const LARGE_TREE: Limit = Limit { aim: 60.0, most: 90.0 };

/// How many milliseconds of the processor a command that does nothing may cost beyond itself, in
/// memory and on a disk.
const NOTHING_IN_MEMORY: Limit = Limit { aim: 6.0, most: 6.0 };
const NOTHING_ON_DISK: Limit = Limit { aim: 6.0, most: 9.0 };

/// How many times as much a task may cost when there are ten times as many.
const LINEAR: f64 = 1.25;

/// Edits one file.
const EDIT: &str = "sed -i 's/is only here/was edited/' {}";

/// Changes nothing.
const TRUE: &str = "true {}";

fn main() -> ExitCode {
    let binary = measured_binary();
    let mut report = Report::new(
        "commands",
        "Many tasks of one short command each (`regatta run --each … --exec …`, as many at once as \
         there are cores), from the prompt to the prompt, against `xargs -P` with the same commands \
         in the same tree, in turns, medians. An edit is `sed -i` on one file of its own, and lands. \
         The processor time is that of the engine and of every process it started, also of those \
         that outlive it: the bench is the parent of what loses its own (`PR_SET_CHILD_SUBREAPER`), \
         and counts what it has collected.",
    );
    // Nothing is removed before the end, as in the bench of the isolation.
    let (disk, memory) = (scratch(), scratch_in_memory());
    let places = [
        (
            memory.as_ref().map(tempfile::TempDir::path),
            "in memory",
            EDITS_IN_MEMORY,
            NOTHING_IN_MEMORY,
        ),
        (Some(disk.path()), "on the disk", EDITS_ON_DISK, NOTHING_ON_DISK),
    ];
    for (folder, place, edits, nothing) in places {
        let Some(folder) = folder else {
            report.note(format!("There is no room {place}: nothing was measured there."));
            continue;
        };
        let bench = Bench { binary: &binary, folder: folder.to_owned(), place };
        bench.edits(edits, &mut report);
        bench.nothing(nothing, &mut report);
    }
    let large = Bench { binary: &binary, folder: disk.path().join("large"), place: "on the disk" };
    large.edits_in_a_large_tree(&mut report);
    report.finish()
}

/// Measurements in one place.
struct Bench<'a> {
    binary: &'a Path,
    folder: PathBuf,
    place: &'static str,
}

impl Bench<'_> {
    fn edits(&self, limit: Limit, report: &mut Report) {
        let files = 1_000;
        let tree = SampleTree::make(&self.folder.join("edits"), files);
        let edits = Rounds::asked_for().of(EDITS, EDITS);
        let items = self.list("edited", &tree.files(edits));
        // The first of each warms the caches.
        self.xargs(&tree, &items, EDIT);
        assert_eq!(tree.restore(), edits, "xargs has edited them");
        let (mut bare, mut runs, mut held) = (Vec::new(), Vec::new(), Vec::new());
        while !Rounds::asked_for().suffice(5, &held) {
            let run = self.run(&tree, &items, EDIT);
            assert_eq!(tree.restore(), edits, "each task has edited a file");
            let xargs = self.xargs(&tree, &items, EDIT);
            assert_eq!(tree.restore(), edits, "xargs has edited them");
            let ratio = run.wall.as_secs_f64() / xargs.wall.as_secs_f64();
            held.push(ratio <= limit.most);
            runs.push(run.wall);
            bare.push(xargs.wall);
            if is_far_beyond(ratio, limit) {
                break;
            }
        }
        let (bare, run) = (median(&bare), median(&runs));
        let what = format!("{edits} edits over {files} files {}", self.place);
        report.figure(&format!("{what}: xargs"), ms(bare), "ms", Bound::None);
        report.figure(&format!("{what}: run"), ms(run), "ms", Bound::None);
        let ratio = run.as_secs_f64() / bare.as_secs_f64();
        report.figure(&format!("{what}: run / xargs"), ratio, "×", Bound::Aim(limit));
        self.note_phases(&what, &tree, report);
    }

    fn edits_in_a_large_tree(&self, report: &mut Report) {
        let files = Rounds::asked_for().of(20_000, 20_000);
        let tree = SampleTree::make(&self.folder.join("edits"), files);
        let edits = Rounds::asked_for().of(EDITS, EDITS);
        let items = self.list("edited", &tree.files(edits));
        let (mut costs, mut held) = (Vec::new(), Vec::new());
        while !Rounds::asked_for().suffice(3, &held) {
            let each = share(self.run(&tree, &items, EDIT).family_cpu, edits);
            assert_eq!(tree.restore(), edits, "each task has edited a file");
            held.push(ms(each) <= LARGE_TREE.most);
            costs.push(each);
            if is_far_beyond(ms(each), LARGE_TREE) {
                break;
            }
        }
        let what = format!("{edits} edits over {files} files {}", self.place);
        let bound = Bound::Aim(LARGE_TREE);
        report.figure(&format!("{what}: CPU of each"), ms(median(&costs)), "ms", bound);
        self.note_phases(&what, &tree, report);
    }

    fn nothing(&self, limit: Limit, report: &mut Report) {
        let tree = SampleTree::make(&self.folder.join("nothing"), 100);
        let count = Rounds::asked_for().of(1_000, 1_000);
        let items = self.list("numbers", &numbers(count));
        self.xargs(&tree, &items, TRUE);
        let (mut own, mut beyond, mut held) = (Vec::new(), Vec::new(), Vec::new());
        while !Rounds::asked_for().suffice(5, &held) {
            let run = share(self.run(&tree, &items, TRUE).family_cpu, count);
            let xargs = share(self.xargs(&tree, &items, TRUE).family_cpu, count);
            let each = run.saturating_sub(xargs);
            own.push(xargs);
            beyond.push(each);
            held.push(ms(each) <= limit.most);
            if is_far_beyond(ms(each), limit) {
                break;
            }
        }
        let (own, beyond) = (median(&own), median(&beyond));
        let what = format!("{count} × true over 100 files {}", self.place);
        report.figure(&format!("{what}: CPU of each by xargs"), ms(own), "ms", Bound::None);
        let row = format!("{what}: CPU of each beyond that");
        report.figure(&row, ms(beyond), "ms", Bound::Aim(limit));
        self.note_phases(&what, &tree, report);
        if Rounds::asked_for() == Rounds::Full {
            let many = 10 * count;
            let items = self.list("many-numbers", &numbers(many));
            let each = share(self.run(&tree, &items, TRUE).family_cpu, many);
            let ratio = each.as_secs_f64() / (own + beyond).as_secs_f64();
            let row = format!("{many} × true {}: CPU of each / that of {count}", self.place);
            report.figure(&row, ratio, "×", Bound::AtMost(LINEAR));
        }
    }

    /// Writes a list of items, and returns its place.
    fn list(&self, name: &str, items: &[String]) -> PathBuf {
        let list = self.folder.join(name);
        std::fs::write(&list, items.join("\n") + "\n").expect("a file can be written");
        list
    }

    fn run(&self, tree: &SampleTree, items: &Path, script: &str) -> Used {
        let mut run = Command::new(self.binary);
        run.current_dir(tree.root())
            .env("REGATTA_HOME", self.home(tree))
            .args(["run", "--quiet", "--jobs", &cores().to_string(), "--each"])
            .arg(format!("@{}", items.display()))
            .args(["--exec", &script.replace("{}", "{{item}}")]);
        used_by(run)
    }

    fn xargs(&self, tree: &SampleTree, items: &Path, script: &str) -> Used {
        let mut xargs = Command::new("xargs");
        xargs.current_dir(tree.root()).arg("--arg-file").arg(items);
        xargs.args(["-P", &cores().to_string(), "-I", "{}", "/bin/sh", "-c", script]);
        used_by(xargs)
    }

    fn home(&self, tree: &SampleTree) -> PathBuf {
        tree.root().with_extension("home")
    }

    fn note_phases(&self, what: &str, tree: &SampleTree, report: &mut Report) {
        let told = phases(what, self.binary, &self.home(tree), tree.root());
        told.into_iter().for_each(|told| report.note(told));
    }
}

/// Returns whether a figure is so far beyond its bound that no further round is worth its minutes.
fn is_far_beyond(figure: f64, limit: Limit) -> bool {
    figure > 3.0 * limit.most
}

fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|number| number.to_string()).collect()
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn share(all: Duration, count: usize) -> Duration {
    Duration::from_secs_f64(all.as_secs_f64() / as_f64(count))
}
