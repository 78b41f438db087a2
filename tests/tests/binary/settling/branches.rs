//! Conflicts of runs that land on branches are settled with `regatta apply`: what is settled becomes a
//! commit of the task, and each choice gives the tree that it gives in git.

use std::time::Duration;

use test_limit::sample;
use tests::sandbox::{Finished, Plan, Repository, Sandbox};

use super::cases::{CASES, Case, Choice, Form, Lines, begin, cells};
use crate::binary::sandbox;

pub(crate) fn regatta(place: &Sandbox, repository: &Repository, words: &str) -> Finished {
    place.regatta(repository.root()).words(words).run()
}

/// Returns what the ledger has of the last landing of a task.
pub(crate) fn in_ledger(place: &Sandbox, task: &str) -> String {
    let query = format!(
        "SELECT result FROM landing JOIN task ON task.number = landing.task
         WHERE task.name = '{task}' ORDER BY transition DESC LIMIT 1"
    );
    place.home().ledger(&query, |row| row.get::<_, String>(0)).concat()
}

fn commits(repository: &Repository, range: &str) -> usize {
    repository.git(&["rev-list", range]).lines().count()
}

/// Where the work of a run lands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Stack,
    Branch,
    /// A branch of the user that is not checked out.
    Side,
    /// The branch that is checked out.
    Main,
}

impl Mode {
    pub(crate) const ALL: [Self; 4] = [Self::Stack, Self::Branch, Self::Side, Self::Main];

    /// The same in another order: a sample of them has the others.
    pub(crate) const SHIFTED: [Self; 4] = [Self::Branch, Self::Side, Self::Main, Self::Stack];

    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Stack => "--merge stack",
            Self::Branch => "--merge branch",
            Self::Side => "--onto side",
            Self::Main => "--onto main",
        }
    }

    /// Returns the branch with the work of a task.
    pub(crate) fn branch(self, run: &Finished, task: &str) -> String {
        match self {
            Self::Stack => format!("regatta/{}", run.run_name()),
            Self::Branch => format!("regatta/{}/{task}", run.run_name()),
            Self::Side => "side".to_owned(),
            Self::Main => "main".to_owned(),
        }
    }

    /// Lets a case conflict: with another task or, where each task has a branch, with a commit of the
    /// user.
    fn run(self, case: &Case, place: &Sandbox, repository: &Repository) -> Finished {
        match self {
            Self::Branch => case.run_beside_a_commit(place, repository, self.words()),
            Self::Stack | Self::Side | Self::Main => case.run_with(place, repository, self.words()),
        }
    }
}

/// Where work lands, and how its conflicts are settled.
const WAYS: [(Mode, Choice); 7] = [
    (Mode::Stack, Choice::Ours),
    (Mode::Branch, Choice::Theirs),
    (Mode::Side, Choice::Union),
    (Mode::Main, Choice::Theirs),
    (Mode::Stack, Choice::Theirs),
    (Mode::Branch, Choice::Ours),
    (Mode::Stack, Choice::Union),
];

/// Conflicts are settled here and in git, and the trees of the commits compared.
#[test]
fn each_choice_gives_the_commit_of_each_kind_of_branch_the_tree_that_it_gives_in_git() {
    test_limit::raise(Duration::from_secs(600), "in full depth, seven ways for each conflict");
    let place = sandbox();
    let repository = place.repository();
    begin(&repository);
    let base = repository.git(&["rev-parse", "HEAD"]);
    let mut different = Vec::new();
    let cases = CASES.iter().filter(|case| case.is_of_tasks());
    // The first ways have every mode and every choice.
    for (way, case) in cells(&WAYS, cases, Mode::ALL.len()) {
        repository.git(&["reset", "--quiet", "--hard", base.trim()]);
        repository.git(&["branch", "--quiet", "--force", "side"]);
        different.extend(difference_to_git(&place, &repository, way, case));
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert_eq!(repository.faults(), "");
}

/// Settles a conflict, here and in git. Returns what was said if the trees differ.
fn difference_to_git(
    place: &Sandbox,
    repository: &Repository,
    (mode, choice): (Mode, Choice),
    case: &Case,
) -> Option<String> {
    let run = mode.run(case, place, repository);
    let at = format!("{} {mode:?} {}", case.name, choice.option());
    let branch = mode.branch(&run, "theirs");
    let before = match mode {
        Mode::Branch => repository.git(&["rev-parse", "HEAD"]),
        Mode::Stack | Mode::Side | Mode::Main => repository.git(&["rev-parse", &branch]),
    };
    let tree = (repository.tree(), repository.read(".git/index"));
    let apply = place.regatta(repository.root()).words("apply @ theirs");
    let applied = apply.arg(choice.option()).arg(case.path).run();
    if choice == Choice::Union && case.lines == Lines::NotBoth {
        applied.expect_refusal(&["with `--union`"]);
        assert_eq!((repository.tree(), repository.read(".git/index")), tree, "{at}");
        return None;
    }
    let applied = applied.expect_code(0);
    let expected = case.tree_in_git(place, choice, Form::default());
    if mode == Mode::Branch && in_ledger(place, "theirs") == "unchanged" {
        // Nothing of the work was taken, and it has no branch.
        let ours = repository.git(&["rev-parse", "HEAD^{tree}"]);
        assert_eq!(ours.trim(), expected, "{at}: {applied}");
        return None;
    }
    let found = repository.git(&["rev-parse", &format!("{branch}^{{tree}}")]);
    let range = format!("{}..{branch}", before.trim());
    assert!(commits(repository, &range) <= 1, "{at}: {applied}");
    assert_eq!(in_ledger(place, "theirs"), "landed", "{at}: {applied}");
    if mode == Mode::Main {
        assert_eq!(repository.git(&["status", "--porcelain"]), "", "{at}: {applied}");
        assert_eq!(repository.tree_id(), expected, "{at}: {applied}");
    } else {
        assert_eq!((repository.tree(), repository.read(".git/index")), tree, "{at}");
    }
    (found.trim() != expected).then(|| format!("{at}: {applied}"))
}

/// A repository in which the work of the task `theirs` conflicts at two paths of a run, and not at two
/// others, and in which the task `after` builds on it.
pub(crate) fn two_conflicts(place: &Sandbox, mode: Mode, more: &str) -> (Repository, Finished) {
    let repository = place.repository();
    begin(&repository);
    repository.git(&["branch", "side"]);
    let ours = "sed -i 's/^line 5$/ours/' lines.txt; echo ours >> list.txt";
    let theirs = "sed -i 's/^line 5$/theirs/' lines.txt; echo theirs >> list.txt
        echo new > src/new.rs; echo more >> README.md";
    let plan = match mode {
        Mode::Branch => {
            let user = format!("(cd \"$REGATTA_REPO\"; {ours}; git commit --quiet --all -m ours)");
            Plan::default().task("theirs", &format!("{user}\n{theirs}"))
        }
        Mode::Stack | Mode::Side | Mode::Main => {
            Plan::default().task("ours", ours).task("theirs", theirs)
        }
    };
    let plan = plan.task("after", "echo after > after.txt").after(&["theirs"]);
    let run = place.run_plan(&repository, &plan).words(mode.words()).words(more).run();
    (repository, run)
}

fn file(repository: &Repository, branch: &str, path: &str) -> String {
    repository.git(&["show", &format!("{branch}:{path}")])
}

#[test]
fn what_does_not_conflict_is_committed_then_the_rest_then_what_waits_and_an_undo_takes_all_back() {
    for mode in sample(Mode::ALL, 2) {
        let place = sandbox();
        let (repository, run) = two_conflicts(&place, mode, "");
        let run = run.expect_code(4);
        let branch = mode.branch(&run, "theirs");
        let ours = match mode {
            Mode::Branch => "main".to_owned(),
            Mode::Stack | Mode::Side | Mode::Main => branch.clone(),
        };
        let begin = repository.git(&["rev-parse", &ours]);
        let clean = regatta(&place, &repository, "apply @ theirs --clean").expect_code(4);
        assert!(clean.stdout.contains("2 other paths landed"), "{mode:?}: {clean}");
        let changed = ["diff", "--name-only", begin.trim(), &branch];
        assert_eq!(repository.git(&changed), "README.md\nsrc/new.rs\n", "{mode:?}");
        assert_eq!(in_ledger(&place, "theirs"), "conflicted", "{mode:?}");
        // Without a choice nothing more lands, and what has landed stays so.
        let still = regatta(&place, &repository, "apply").expect_code(4);
        assert!(still.stdout.contains("list.txt"), "{mode:?}: {still}");
        let listed = regatta(&place, &repository, "conflicts").expect_code(0);
        assert!(listed.stdout.contains("--theirs l"), "{mode:?}: {listed}");
        assert!(!listed.stdout.contains("--clean"), "{mode:?}: {listed}");
        assert_eq!(commits(&repository, &format!("{}..{branch}", begin.trim())), 1, "{mode:?}");

        let words = "apply @ theirs --union list.txt --theirs";
        let rest = regatta(&place, &repository, words).expect_code(0);
        assert!(rest.stdout.contains("theirs taken: lines.txt; both kept: list.txt"), "{rest}");
        assert_eq!(file(&repository, &branch, "list.txt"), "first\nours\ntheirs\n", "{mode:?}");
        assert!(file(&repository, &branch, "lines.txt").contains("line 4\ntheirs\nline 6\n"));
        assert_eq!(file(&repository, &branch, "src/new.rs"), "new\n");
        assert_eq!(commits(&repository, &format!("{}..{branch}", begin.trim())), 2, "{mode:?}");
        let message = repository.git(&["log", "-1", "--format=%an%n%B", &branch]);
        assert!(message.starts_with("Ada\n") && message.contains("Regatta-Task: theirs"));
        assert_eq!(in_ledger(&place, "theirs"), "landed", "{mode:?}");

        let after = regatta(&place, &repository, "apply").expect_code(0);
        let last = mode.branch(&run, "after");
        assert_eq!(file(&repository, &last, "after.txt"), "after\n", "{mode:?}: {after}");
        assert_eq!(file(&repository, &last, "list.txt"), "first\nours\ntheirs\n", "{mode:?}");
        if mode == Mode::Main {
            assert_eq!(repository.git(&["status", "--porcelain"]), "", "{mode:?}");
            assert_eq!(repository.text("after.txt"), "after\n");
        }
        let undone = regatta(&place, &repository, "undo @").expect_code(0);
        assert_eq!(in_ledger(&place, "theirs"), "taken_back", "{mode:?}: {undone}");
        let left = repository.git(&["branch", "--list", "regatta/*"]);
        assert_eq!(left, "", "{mode:?}: {undone}");
        if matches!(mode, Mode::Side | Mode::Main) {
            assert_eq!(file(&repository, &branch, "list.txt"), "first\n", "{mode:?}: {undone}");
        }
        assert_eq!(repository.faults(), "", "{mode:?}");
    }
}

#[test]
fn markers_are_refused_on_branches_and_an_undo_takes_the_clean_part_of_a_work_back_alone() {
    for mode in sample(Mode::SHIFTED, 2) {
        let place = sandbox();
        let (repository, run) = two_conflicts(&place, mode, "");
        let run = run.expect_code(4);
        let branch = mode.branch(&run, "theirs");
        expect_markers_are_refused(&place, &repository, &run);
        let _clean = regatta(&place, &repository, "apply @ theirs --clean").expect_code(4);
        assert_eq!(file(&repository, &branch, "src/new.rs"), "new\n");
        let undone = regatta(&place, &repository, "undo @").expect_code(0);
        assert_eq!(in_ledger(&place, "theirs"), "taken_back", "{mode:?}: {undone}");
        let has = repository.try_git(&["show", &format!("{branch}:src/new.rs")]);
        assert!(!has.status.success(), "{mode:?}: {undone}");
        let again = regatta(&place, &repository, "apply @ theirs --again --theirs");
        let again = again.expect_code(0);
        assert_eq!(file(&repository, &branch, "src/new.rs"), "new\n", "{mode:?}: {again}");
    }
}

/// Markers are refused with the ways that work, and nothing changes.
fn expect_markers_are_refused(place: &Sandbox, repository: &Repository, run: &Finished) {
    let name = run.run_name();
    let before = (repository.tree(), repository.git(&["for-each-ref"]));
    for words in ["--markers", "--markers --index", "--theirs lines.txt --markers list.txt"] {
        let refused = regatta(place, repository, &format!("apply @ theirs {words}"));
        refused.expect_refusal(&[
            "with `--markers`",
            "markers are never committed",
            &format!("apply {name}/theirs --tool"),
            "--branch NAME",
        ]);
    }
    let after = (repository.tree(), repository.git(&["for-each-ref"]));
    assert_eq!(before, after, "{run}");
    let listed = regatta(place, repository, "conflicts").expect_code(0);
    for expected in [
        format!("settle it       regatta apply {name}/theirs --theirs lines.txt\n"),
        "or --ours, --union, --tool; without a path, for all\n".to_owned(),
        format!("the rest now    regatta apply {name}/theirs --clean\n"),
        format!("by hand         regatta apply {name}/theirs --branch NAME\n"),
    ] {
        assert!(listed.stdout.contains(&expected), "{expected} {listed}");
    }
    assert!(!listed.stdout.contains("--markers"), "{listed}");
}

/// A tool, and the same as a resolver, which keeps the lines of both sides.
const BOTH: &str = "cat \"$REGATTA_OURS\" \"$REGATTA_THEIRS\" > \"$REGATTA_RESULT\"";

/// What `BOTH` makes of the file `list.txt`.
const BOTH_LISTS: &str = "first\nours\nfirst\ntheirs\n";

#[test]
fn a_tool_and_a_resolver_write_what_is_committed_also_the_resolver_of_a_run() {
    let by_whom = ["tool", "resolver", "resolver of the run"];
    let all: Vec<_> = Mode::SHIFTED.iter().flat_map(|mode| by_whom.map(|by| (*mode, by))).collect();
    // Each fourth of the twelve is another of the three, in another mode.
    for (mode, by) in sample(all, 3) {
        let place = sandbox();
        let (more, code) = match by {
            "resolver of the run" => (format!("--resolve {RESOLVE}"), 0),
            _ => (String::new(), 4),
        };
        let (repository, run) = two_conflicts(&place, mode, &more);
        let run = run.expect_code(code);
        let [branch, last] = ["theirs", "after"].map(|task| mode.branch(&run, task));
        let escaped = BOTH.replace('"', "\\\"");
        let config = format!("[merge]\n\ttool = t\n[mergetool \"t\"]\n\tcmd = \"{escaped}\"\n");
        std::fs::write(place.folder().join("user/.gitconfig"), config).expect("it is written");
        let apply = place.regatta(repository.root()).words("apply @ theirs");
        let at = match by {
            "tool" => apply.words("--ours lines.txt --tool list.txt").run(),
            "resolver" => apply.words("--ours lines.txt --resolve").arg(BOTH).run(),
            _ => run,
        };
        let at = format!("{mode:?} {by}: {}", at.expect_code(0));
        assert_eq!(file(&repository, &branch, "list.txt"), BOTH_LISTS, "{at}");
        assert_eq!(in_ledger(&place, "theirs"), "landed", "{at}");
        if more.is_empty() {
            let lines = file(&repository, &branch, "lines.txt");
            assert!(lines.contains("line 4\nours\nline 6\n"), "{at}");
        } else {
            assert_eq!(file(&repository, &last, "after.txt"), "after\n", "{at}");
        }
    }
}

/// A resolver without a space.
const RESOLVE: &str =
    "cat<\"$REGATTA_OURS\">\"$REGATTA_RESULT\";cat<\"$REGATTA_THEIRS\">>\"$REGATTA_RESULT\"";
