//! Nested repositories, submodules and others, in the user's tree: what a task sees of them, and how
//! its work lands in each of them. git is the judge.

use std::io::Write as _;
use std::time::Duration;

use test_limit::{by_depth, sample, seed};
use tests::sandbox::{Plan, Sandbox};

use super::kit::{CheckedOut, KINDS, Kind, Nest, list, told};
use crate::binary::sandbox;

/// Runs one task in patch mode and returns the repositories.
fn patch(place: &Sandbox, nest: &Nest, script: &str) -> tests::sandbox::Finished {
    place.run_in(&nest.outer).exec(script).run()
}

#[test]
fn a_task_sees_a_nested_repository_as_it_is_and_edits_land_in_its_tree_alone() {
    for kind in sample(KINDS, 2) {
        let place = sandbox();
        let nest = Nest::of(&place, kind);
        nest.lib.write("other.txt", "other\nand dirty\n");
        nest.lib.write("new.txt", "untracked\n");
        nest.lib.write("built.o", "ignored\n");
        let nest = nest.again();
        let (status, log) = (nest.status(), nest.lib.git(&["log", "--format=%H %s"]));
        let at = place.folder().display();
        let script = format!(
            "cd lib; git status --porcelain > {at}/status; git log --format='%H %s' > {at}/log; \
             git rev-parse --absolute-git-dir > {at}/dir; ls > {at}/ls; \
             sed -i s/^5$/five/ list.txt; echo mine >> new.txt; echo x > made.txt; rm late.txt"
        );
        let finished = patch(&place, &nest, &script).expect_code(0);
        assert_eq!(told(&place, "status"), status, "{kind:?} {finished}");
        assert_eq!(told(&place, "log"), log, "{kind:?} {finished}");
        assert_eq!(told(&place, "ls"), "late.txt\nlist.txt\nnew.txt\nother.txt\n", "{kind:?}");
        let dir = told(&place, "dir");
        assert!(!dir.starts_with(nest.outer.root().to_str().unwrap()), "{dir} is the user's");
        assert_eq!(nest.lib.text("list.txt"), list().replace("\n5\n", "\nfive\n"), "{kind:?}");
        assert_eq!(nest.lib.text("new.txt"), "untracked\nmine\n");
        assert_eq!(nest.lib.text("other.txt"), "other\nand dirty\n");
        assert_eq!(nest.lib.text("made.txt"), "x\n");
        assert!(!nest.lib.has("late.txt"));
        nest.expect_same_git(&finished);
        let notices = finished.events_of("degraded");
        assert_eq!(notices.len(), 1, "{finished}");
        assert_eq!(notices[0]["why"], "git ignores lib/built.o");
        place.expect_nothing_left(&nest.outer);
        let undone = place.regatta(nest.outer.root()).words("undo").arg(finished.run_name());
        let undone = undone.run().expect_code(0);
        assert_eq!(nest.status(), status, "{undone}");
        assert_eq!(nest.lib.text("list.txt"), list(), "{undone}");
        nest.expect_same_git(&undone);
        let diff = place.regatta(nest.outer.root()).words("diff").run().expect_code(0);
        for path in ["lib/late.txt", "lib/list.txt", "lib/made.txt", "lib/new.txt"] {
            assert!(diff.stdout.contains(&format!("a/{path} b/{path}")), "{path} in {diff}");
        }
        assert!(!diff.stdout.contains("other.txt"), "{diff}");
    }
}

#[test]
fn what_the_user_and_two_tasks_edit_in_a_nested_repository_is_merged_or_a_conflict_in_it() {
    for kind in sample([Kind::Submodule, Kind::Untracked], 1) {
        let place = sandbox();
        let nest = Nest::of(&place, kind);
        nest.lib.write("list.txt", list().replace("\n20\n", "\ntwenty\n"));
        let nest = nest.again();
        let plan = Plan::default()
            .task("first", "sed -i s/^5$/five/ lib/list.txt")
            .task("second", "sed -i s/^12$/twelve/ lib/list.txt; echo x > x.txt")
            .task("third", "sed -i s/^5$/cinq/ lib/list.txt; echo y > lib/y.txt");
        let finished = place.run_plan(&nest.outer, &plan).run().expect_code(4);
        assert_eq!(finished.landed(), ["first", "second"], "{finished}");
        let expected = list().replace("\n5\n", "\nfive\n").replace("\n12\n", "\ntwelve\n");
        let expected = expected.replace("\n20\n", "\ntwenty\n");
        assert_eq!(nest.lib.text("list.txt"), expected, "{kind:?}");
        assert!(!nest.lib.has("y.txt"), "a task lands whole or not at all");
        assert_eq!(nest.outer.text("x.txt"), "x\n");
        nest.expect_same_git(&finished);
        let words = ["conflicts --json", "conflicts"]
            .map(|words| place.regatta(nest.outer.root()).words(words).run());
        for shown in &words {
            assert!(shown.stdout.contains("lib/list.txt"), "{shown}");
        }
        let theirs = list().replace("\n5\n", "\ncinq\n").replace("\n20\n", "\ntwenty\n");
        let show = place.regatta(nest.outer.root()).words("show third:lib/list.txt --theirs");
        let show = show.run().expect_code(0);
        assert_eq!(show.stdout, theirs, "{show}");
        let apply = place.regatta(nest.outer.root()).words("apply third --theirs");
        let applied = apply.run().expect_code(0);
        assert_eq!(nest.lib.text("list.txt"), theirs, "{applied}");
        assert_eq!(nest.lib.text("y.txt"), "y\n");
        nest.expect_same_git(&applied);
    }
}

/// What the task of a row of the matrix does, and the state in which it finds `lib`.
const ROWS: [(&str, &str); 6] = [
    ("clean", "sed -i s/^5$/five/ lib/list.txt"),
    ("dirty", "sed -i s/^5$/five/ lib/list.txt"),
    ("moved HEAD", "git -C lib checkout --quiet HEAD~1"),
    ("new commit", "sed -i s/^5$/five/ lib/list.txt; git -C lib commit --quiet -a -m 'My own'"),
    ("deleted", "rm -rf lib"),
    (
        "created",
        "git init --quiet new; echo x > new/x.txt; git -C new add .; \
         git -C new -c user.name=x -c user.email=x commit -qm x",
    ),
];

/// The result of one cell of the matrix, as git tells it.
struct Cell {
    /// The paths that differ in the tree of `lib` from its HEAD.
    tree: String,
    /// The subject and the paths of each commit of the branch in `lib`.
    branch: String,
    /// The same for the branch of the repository around it.
    outer: String,
    /// Whether its tree names the commit of the branch in `lib`, or the one that was checked out.
    link: String,
    told: String,
}

fn cell(kind: Kind, row: (&str, &str), mode: &str) -> Cell {
    let place = sandbox();
    let nest = Nest::of(&place, kind);
    if row.0 == "dirty" {
        nest.lib.write("other.txt", "other\nand dirty\n");
    }
    let nest = nest.again();
    let before = [&nest.outer, &nest.lib].map(CheckedOut::of);
    let run = place.run_in(&nest.outer).words("--merge").words(mode).exec(row.1);
    let finished = run.run().expect_code(0);
    if mode == "patch" {
        nest.expect_same_git(&finished);
    } else {
        let after = [&nest.outer, &nest.lib].map(CheckedOut::of);
        assert_eq!(before, after, "nothing that is checked out changes: {finished}");
        assert_eq!(nest.lib.faults(), "", "{finished}");
        assert_eq!(nest.outer.faults(), "", "{finished}");
    }
    let run = finished.run_name();
    let branch =
        if mode == "branch" { format!("regatta/{run}/t1") } else { format!("regatta/{run}") };
    let log = |repository: &tests::sandbox::Repository| {
        let range = format!("HEAD..{branch}");
        let log = repository.try_git(&["log", "--format=%s:", "--name-status", &range]);
        let text = String::from_utf8_lossy(&log.stdout).into_owned();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let id = |repository: &tests::sandbox::Repository, name: &str| {
        let found = repository.try_git(&["rev-parse", "--quiet", "--verify", name]);
        String::from_utf8_lossy(&found.stdout).trim().to_owned()
    };
    let link = id(&nest.outer, &format!("{branch}:lib"));
    let link = match link.as_str() {
        "" => "-",
        link if link == id(&nest.lib, &branch) => "branch",
        link if link == id(&nest.lib, "HEAD~1") => "HEAD~1",
        link if link == id(&nest.lib, "HEAD") => "HEAD",
        _ => "another",
    };
    let tree = nest.status().split_whitespace().collect::<Vec<_>>().join(" ");
    let told = finished.events_of("degraded");
    let told = told.iter().filter_map(|event| event["from"].as_str());
    let told = told.filter(|from| !from.starts_with("ignored")).collect::<Vec<_>>().join("; ");
    let left_out =
        finished.task("t1")["left_out"]["entries"][0]["path"].as_str().map(str::to_owned);
    let told = left_out.into_iter().chain([told]).filter(|told| !told.is_empty());
    Cell {
        tree,
        branch: log(&nest.lib),
        outer: log(&nest.outer),
        link: link.to_owned(),
        told: told.collect::<Vec<_>>().join("; "),
    }
}

/// What is expected of one cell: the tree of `lib`, its branch, the branch of the repository around
/// it, the commit that this one names for `lib`, and what is told.
fn expected(kind: Kind, row: &str, mode: &str) -> [&'static str; 5] {
    let is_submodule = kind == Kind::Submodule;
    let told = "the work in lib";
    match (mode, row) {
        ("patch", "clean" | "new commit") => ["M list.txt", "", "", "-", ""],
        ("patch", "dirty") => ["M list.txt M other.txt", "", "", "-", ""],
        ("patch", "moved HEAD") => ["D late.txt", "", "", "-", ""],
        ("patch", "deleted") => ["D .gitignore D late.txt D list.txt D other.txt", "", "", "-", ""],
        (_, "clean") => ["", "sed -i …: M list.txt", "", "-", told],
        (_, "dirty") => ["M other.txt", "sed -i …: M list.txt", "", "-", told],
        ("branch", "moved HEAD") if is_submodule => {
            ["", "", "git -C lib checkout --quiet …: M lib", "HEAD~1", ""]
        }
        ("branch", "moved HEAD") => ["", "", "", "-", "the commit that task t1 checked out in lib"],
        (_, "moved HEAD") if is_submodule => [
            "",
            "git -C lib checkout --quiet …: D late.txt",
            "git -C lib checkout --quiet …: M lib",
            "branch",
            told,
        ],
        (_, "moved HEAD") => ["", "git -C lib checkout --quiet …: D late.txt", "", "-", told],
        (_, "new commit") if is_submodule => {
            ["", "My own: M list.txt", "sed -i …: M lib", "branch", told]
        }
        (_, "new commit") => ["", "My own: M list.txt", "", "-", told],
        (_, "deleted") => {
            let removed = "rm -rf lib: D .gitignore D late.txt D list.txt D other.txt";
            ["", removed, "", "-", told]
        }
        ("patch", "created") => ["", "", "", "-", "new/.git"],
        (_, "created") if is_submodule => {
            ["", "", "git init --quiet …: A new/x.txt", "HEAD", "new/.git"]
        }
        (_, "created") => ["", "", "git init --quiet …: A new/x.txt", "-", "new/.git"],
        _ => unreachable!("{mode} {row}"),
    }
}

/// Returns the cells of the matrix: in quick depth each row once, in turn with each mode and kind.
fn cells() -> Vec<(Kind, (&'static str, &'static str), &'static str)> {
    let (kinds, modes) = ([Kind::Submodule, Kind::Untracked], ["patch", "branch", "stack"]);
    let of_kind = |kind| ROWS.iter().flat_map(move |row| modes.map(|mode| (kind, *row, mode)));
    let all = kinds.iter().flat_map(|kind| of_kind(*kind)).collect();
    let turn = usize::try_from(seed() % 6).unwrap_or(0);
    let some = ROWS
        .iter()
        .enumerate()
        .map(|(number, row)| (kinds[(number + turn / 3) % 2], *row, modes[(number + turn) % 3]));
    by_depth(some.collect(), all)
}

#[test]
fn each_state_of_a_nested_repository_lands_as_expected_in_each_mode() {
    test_limit::raise(Duration::from_secs(300), "in full depth, it has 36 cells");
    let mut wrong = Vec::new();
    let head =
        "| lib | row | mode | tree of lib | branch in lib | branch around it | link | told |";
    let mut table = format!("\n{head}\n|---|---|---|---|---|---|---|---|\n");
    for (kind, row, mode) in cells() {
        let Cell { tree, branch, outer, link, told } = cell(kind, row, mode);
        let found = [tree, branch, outer, link, told];
        let line = format!("| {kind:?} | {} | {mode} | {} |\n", row.0, found.join(" | "));
        table.push_str(&line);
        let expected = expected(kind, row.0, mode);
        if found != expected {
            wrong.push(format!("{kind:?}, {}, {mode}: {found:?}, not {expected:?}", row.0));
        }
    }
    let _unseen = std::io::stderr().write_all(by_depth("", &table).as_bytes());
    assert!(wrong.is_empty(), "{}{table}", wrong.join("\n"));
}

#[test]
fn a_conflict_in_a_nested_repository_keeps_the_branches_of_the_task_from_being_made() {
    for mode in ["branch", "stack"] {
        let place = sandbox();
        let nest = Nest::of(&place, Kind::Untracked);
        nest.lib.write("list.txt", list().replace("\n5\n", "\nmine\n"));
        let before = nest.again();
        let plan = Plan::default()
            .task("first", "sed -i s/^mine$/five/ lib/list.txt; echo x > x.txt")
            .task("second", "echo y > y.txt; echo y > lib/y.txt")
            .task("third", "echo z > z.txt")
            .after(&["first"]);
        let run = place.run_plan(&before.outer, &plan).words("--merge").words(mode);
        let finished = run.run().expect_code(4);
        assert_eq!(finished.landed(), ["second"], "{finished}");
        let conflicted = &finished.events_of("task_conflicted")[0]["conflicts"][0];
        assert_eq!(conflicted["path"], "lib/list.txt", "{finished}");
        assert_eq!(conflicted["reason"], "uncommitted", "{finished}");
        for repository in [&before.outer, &before.lib] {
            let branches = repository.git(&["branch", "--list", "regatta/*"]);
            assert_eq!(branches.lines().count(), 1, "{branches} {finished}");
        }
    }
}
