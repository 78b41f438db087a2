//! What capturing, merging and landing take, beside what git takes for the same.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use benches::{
    Bound, Limit, Report, Rounds, SampleTree, measured_binary, median, ms, plan_of_agents, scratch,
    spread_folders, timed,
};
use serde_json::{Value, json};
use tests::model::{Answer, Asked, Call, LoopbackModel, Script};

/// How many tasks are merged, and how many files each of them edits.
const TASKS: usize = 8;
const EDITS: usize = 10;

/// How many times what `cp` and the same syncs take the landing of many files may take.
const TIMES_CP: Limit = Limit { aim: 3.0, most: 5.0 };

/// How many times what the stat of every file takes, on all cores, a capture may take: it reads them.
const TIMES_STATS: f64 = 2.5;

/// How many measurements of that there are.
const WALKS: usize = 5;

/// How many times the aims for a capture and a merge, which stand with the sizes, they may take: a
/// capture reads the stat of every file.
const TIMES_AIM: f64 = 5.0;

/// How many changes make a list, and how many files land at once.
const LIST: usize = 1_000;
const MANY: usize = 5_000;

/// How many milliseconds the capture of a list of changes may take.
const LIST_CAPTURE: f64 = 1_000.0;

fn main() -> ExitCode {
    let binary = measured_binary();
    let mut report = Report::new(
        "landing",
        "Eight tasks that edit ten files each: the capture of one, as `regatta runs show --timing` \
         has it, of commands and of agents that use the tools for files only, and the merge of all, as `regatta apply --dry-run` does it from its start to its \
         end, beside the stat of every file, one `git merge-tree --write-tree` for each and the cherry-picks in a worktree \
         that is there already. And the landing of many files by `regatta apply`, beside `cp` of \
         them and the same two syncs of the file system, in turns, medians.",
    );
    let scratch = scratch();
    let sizes: &[(usize, f64, f64)] = match Rounds::asked_for() {
        Rounds::Full => &[(20_000, 15.0, 30.0), (200_000, 25.0, 45.0)],
        Rounds::Short => &[(20_000, 15.0, 30.0)],
        Rounds::Trial => &[(2_000, 15.0, 30.0)],
    };
    for (files, capture, merge) in sizes {
        let place = Place::make(&binary, &scratch.path().join(files.to_string()), *files);
        let limit = |aim| Limit { aim, most: TIMES_AIM * aim };
        place.merge(limit(*capture), limit(*merge), &mut report);
    }
    land_many(&binary, scratch.path(), &mut report);
    report.finish()
}

/// Lands many files, each time in a tree of its own and in a part of the disk of its own: ext4 looks
/// long for an inode where many were deleted within the last minutes, as a landing does.
fn land_many(binary: &Path, scratch: &Path, report: &mut Report) {
    let many = if Rounds::asked_for() == Rounds::Trial { LIST } else { MANY };
    let (mut landings, mut copies, mut held) = (vec![], vec![], vec![]);
    let apart = scratch.join("landings");
    std::fs::create_dir(&apart).expect("a folder can be made");
    spread_folders(&apart);
    while !Rounds::asked_for().suffice(8, &held) {
        let folder = apart.join(landings.len().to_string());
        let place = Place::make(binary, &folder, 2 * many);
        let run = place.run(1, many, "none");
        succeed(Command::new("sync").arg("-f").arg(&folder));
        let landing = timed(|| succeed(place.regatta("apply").arg(&run)));
        let target = apart.join(format!("copies-{}", copies.len()));
        let copy = timed(|| copy(place.tree.root(), &place.tree.files(many), &target));
        held.push(landing.as_secs_f64() <= TIMES_CP.most * copy.as_secs_f64());
        landings.push(landing);
        copies.push(copy);
        assert_eq!(place.tree.restore(), many);
    }
    let (landing, copy) = (median(&landings), median(&copies));
    report.figure(&format!("{many} files by cp and two syncs"), ms(copy), "ms", Bound::None);
    report.figure(&format!("{many} files landed"), ms(landing), "ms", Bound::None);
    let times = landing.as_secs_f64() / copy.as_secs_f64();
    let what = format!("{many} files landed / by cp and two syncs");
    report.figure(&what, times, "×", Bound::Aim(TIMES_CP));
}

/// A tree, and the home of the engine.
struct Place<'a> {
    binary: &'a Path,
    folder: PathBuf,
    tree: SampleTree,
    files: usize,
}

impl<'a> Place<'a> {
    fn make(binary: &'a Path, folder: &Path, files: usize) -> Self {
        let tree = SampleTree::make(&folder.join("tree"), files);
        Self { binary, folder: folder.to_owned(), tree, files }
    }

    fn regatta(&self, words: &str) -> Command {
        let mut command = Command::new(self.binary);
        command
            .current_dir(self.tree.root())
            .env("REGATTA_HOME", self.folder.join("home"))
            .args(words.split_whitespace())
            .stdout(Stdio::null());
        command
    }

    fn git(&self, folder: &Path, words: &str) -> Command {
        let mut command = Command::new("git");
        command
            .current_dir(folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
            .args(words.split_whitespace())
            .stdout(Stdio::null());
        command
    }

    /// Runs tasks that each edit the next `edits` files, and lands nothing in the tree. Returns the
    /// run.
    fn run(&self, tasks: usize, edits: usize, merge: &str) -> String {
        let lists: Vec<String> = (0..tasks)
            .map(|task| {
                let list = self.folder.join(format!("list-{task}"));
                let files = self.tree.files((task + 1) * edits).split_off(task * edits);
                std::fs::write(&list, files.join("\n")).expect("a file can be written");
                list.display().to_string()
            })
            .collect();
        let items = self.folder.join("items");
        std::fs::write(&items, lists.join("\n")).expect("a file can be written");
        let script = "xargs sed -i '2s/is only here/was edited/' < {{item}}";
        let mut run = self.regatta(&format!("run --json --jobs 1 --merge {merge} --each"));
        run.arg(format!("@{}", items.display())).args(["--exec", script]);
        started_run(run)
    }

    /// Runs agents that each write the next files with tools, and lands nothing. Returns the run.
    fn run_of_agents(&self) -> String {
        let model = LoopbackModel::start();
        let files = self.tree.files(TASKS * EDITS);
        model.otherwise(move |talk| {
            let number: usize = talk.trim_start_matches('t').parse().expect("it is numbered");
            let own = files[number * EDITS..][..EDITS].to_vec();
            Box::new(move |asked: &Asked| match asked.answers() {
                0 => Answer::calls(own.iter().map(|path| writes(path)).collect()),
                _ => Answer::yields(&json!({ "summary": "They are written." })),
            }) as Box<dyn Script>
        });
        let plan = self.folder.join("agents.toml");
        let agents = plan_of_agents(TASKS, "Write these files.");
        std::fs::write(&plan, agents.text()).expect("a file can be written");
        let mut run = self.regatta("run --json --jobs 1 --merge none --plan");
        run.arg(plan).args(["--model", &model.route(), "--base-url", &model.base_url()]);
        started_run(run)
    }

    /// Returns the median of a phase of a run, in milliseconds.
    fn phase(&self, run: &str, phase: &str) -> f64 {
        let mut show = self.regatta("runs show --timing --json");
        let output = show.arg(run).stdout(Stdio::piped()).output();
        let output = output.expect("the binary can be started").stdout;
        let document: Value = serde_json::from_slice(&output).expect("it is JSON");
        let rows = document["phases"].as_array().cloned().unwrap_or_default();
        let row = rows.iter().find(|row| row["phase"] == phase).expect("the phase took time");
        row["median_ms"].as_f64().expect("a number")
    }

    fn merge(&self, capture: Limit, merge: Limit, report: &mut Report) {
        let files = self.files;
        let _warm = self.run(TASKS, EDITS, "none");
        let run = self.run(TASKS, EDITS, "none");
        let captured = self.phase(&run, "capture");
        let what = format!("{files} files: capture of {EDITS} edits");
        report.figure(&what, captured, "ms", Bound::Aim(capture));
        let walks = (0..WALKS).map(|_| timed(|| assert_eq!(self.tree.stat_all(files), files)));
        let walk = ms(median(&walks.collect::<Vec<_>>()));
        report.figure(&format!("{files} files: the stat of each"), walk, "ms", Bound::None);
        let bound = Bound::AtMost(TIMES_STATS);
        report.figure(&format!("{what} / stats"), captured / walk, "×", bound);
        let by_tools = self.phase(&self.run_of_agents(), "capture");
        let what =
            format!("{files} files: capture of {EDITS} files that an agent wrote with tools");
        report.figure(&what, by_tools, "ms", Bound::Aim(capture));
        let list = self.run(1, LIST.min(files / 2), "none");
        let what = format!("{files} files: capture of {LIST} changes");
        let bound = Bound::AtMost(LIST_CAPTURE);
        report.figure(&what, self.phase(&list, "capture"), "ms", bound);

        let with_branches = self.run(TASKS, EDITS, "branch");
        let pattern =
            format!("for-each-ref --format=%(refname:short) refs/heads/regatta/{with_branches}");
        let listed = self.git(self.tree.root(), &pattern).stdout(Stdio::piped()).output();
        let branches =
            String::from_utf8(listed.expect("git can be run").stdout).expect("plain names");
        let worktree = self.folder.join("worktree");
        let add = format!("worktree add --quiet --detach {}", worktree.display());
        succeed(&mut self.git(self.tree.root(), &add));
        let (mut ours, mut trees, mut picks, mut held) = (vec![], vec![], vec![], vec![]);
        while !Rounds::asked_for().suffice(12, &held) {
            let dry = timed(|| succeed(self.regatta("apply --dry-run").arg(&run)));
            held.push(ms(dry) <= merge.most);
            ours.push(dry);
            trees.push(timed(|| {
                for branch in branches.lines() {
                    let words = format!("merge-tree --write-tree HEAD {branch}");
                    succeed(&mut self.git(self.tree.root(), &words));
                }
            }));
            picks.push(timed(|| {
                for branch in branches.lines() {
                    succeed(&mut self.git(&worktree, &format!("cherry-pick {branch}")));
                }
            }));
            succeed(&mut self.git(&worktree, &format!("reset --quiet --hard HEAD~{TASKS}")));
        }
        let what = |what: &str| format!("{files} files: {TASKS} tasks by {what}");
        let dry_run = what("regatta apply --dry-run");
        report.figure(&dry_run, ms(median(&ours)), "ms", Bound::Aim(merge));
        report.figure(&what("git merge-tree"), ms(median(&trees)), "ms", Bound::None);
        report.figure(&what("git cherry-pick"), ms(median(&picks)), "ms", Bound::None);
    }
}

/// Returns the call that writes a file anew.
fn writes(path: &str) -> Call {
    Call::new("write", &json!({ "path": path, "content": format!("{path} is new.\n") }))
}

/// Runs what prints events, and returns the run that they name.
fn started_run(mut run: Command) -> String {
    let output = run.stdout(Stdio::piped()).output().expect("the binary can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let name = events.filter_map(|event| Some(event["run"].as_str()?.to_owned())).next();
    name.expect("events name their run")
}

/// Copies files into a folder, with a sync of the file system where a landing has one: when the new
/// files are written, and when they have their names.
fn copy(root: &Path, files: &[String], target: &Path) {
    std::fs::create_dir_all(target).expect("a folder can be made");
    for files in files.chunks(1_000) {
        let mut cp = Command::new("cp");
        succeed(cp.current_dir(root).arg("--parents").args(files).arg(target));
    }
    for _ in 0..2 {
        succeed(Command::new("sync").arg("-f").arg(target));
    }
}

fn succeed(command: &mut Command) {
    let output = command.output().expect("the program can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}
