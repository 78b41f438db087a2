//! Conflicts of runs that land on branches are settled with `regatta apply`: what is settled becomes a
//! commit of the task, and each choice gives the tree that it gives in git.

use tests::sandbox::{Finished, Plan, Repository, Sandbox};

use super::sandbox;
use super::settle_cases::{CASES, Case, Choice, Form, Lines, begin};

pub(super) fn regatta(place: &Sandbox, repository: &Repository, words: &str) -> Finished {
    place.regatta(repository.root()).words(words).run()
}

/// Returns what the ledger has of the last landing of a task.
pub(super) fn in_ledger(place: &Sandbox, task: &str) -> String {
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
pub(super) enum Mode {
    Stack,
    Branch,
    /// A branch of the user that is not checked out.
    Side,
    /// The branch that is checked out.
    Main,
}

impl Mode {
    pub(super) const ALL: [Self; 4] = [Self::Stack, Self::Branch, Self::Side, Self::Main];

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Stack => "--merge stack",
            Self::Branch => "--merge branch",
            Self::Side => "--onto side",
            Self::Main => "--onto main",
        }
    }

    /// Returns the branch with the work of a task.
    pub(super) fn branch(self, run: &Finished, task: &str) -> String {
        match self {
            Self::Stack => format!("regatta/{}", run.run_name()),
            Self::Branch => format!("regatta/{}/{task}", run.run_name()),
            Self::Side => "side".to_owned(),
            Self::Main => "main".to_owned(),
        }
    }

    /// Lets a case conflict: with another task or, where each task has a branch, with a commit of the
    /// user.
    fn run(self, case: &Case, place: &Sandbox, repository: &Repository) -> Option<Finished> {
        match self {
            Self::Branch => case.run_beside_a_commit(place, repository, self.words()),
            Self::Stack | Self::Side | Self::Main => case.run_with(place, repository, self.words()),
        }
    }
}

/// Settles every conflict in the same way, here and in git, and compares the trees of the commits.
fn expect_the_trees_of_git(mode: Mode, choice: Choice) {
    let place = sandbox();
    let repository = place.repository();
    begin(&repository);
    let base = repository.git(&["rev-parse", "HEAD"]);
    let mut different = Vec::new();
    for case in CASES {
        repository.git(&["reset", "--quiet", "--hard", base.trim()]);
        repository.git(&["branch", "--quiet", "--force", "side"]);
        let Some(run) = mode.run(case, &place, &repository) else { continue };
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
            continue;
        }
        let applied = applied.expect_code(0);
        let expected = case.tree_in_git(&place, choice, Form::default());
        if mode == Mode::Branch && in_ledger(&place, "theirs") == "unchanged" {
            // Nothing of the work was taken, and it has no branch.
            let ours = repository.git(&["rev-parse", "HEAD^{tree}"]);
            assert_eq!(ours.trim(), expected, "{at}: {applied}");
            continue;
        }
        let found = repository.git(&["rev-parse", &format!("{branch}^{{tree}}")]);
        if found.trim() != expected {
            different.push(format!("{at}: {applied}"));
        }
        let range = format!("{}..{branch}", before.trim());
        assert!(commits(&repository, &range) <= 1, "{at}: {applied}");
        assert_eq!(in_ledger(&place, "theirs"), "landed", "{at}: {applied}");
        if mode == Mode::Main {
            assert_eq!(repository.git(&["status", "--porcelain"]), "", "{at}: {applied}");
            assert_eq!(repository.tree_id(), expected, "{at}: {applied}");
        } else {
            assert_eq!((repository.tree(), repository.read(".git/index")), tree, "{at}");
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert_eq!(repository.faults(), "");
}

#[test]
fn what_keeps_ours_gives_a_stack_the_tree_that_it_gives_in_git() {
    expect_the_trees_of_git(Mode::Stack, Choice::Ours);
}

#[test]
fn what_takes_theirs_gives_a_stack_the_tree_that_it_gives_in_git() {
    expect_the_trees_of_git(Mode::Stack, Choice::Theirs);
}

#[test]
fn what_joins_both_gives_a_stack_the_tree_that_it_gives_in_git() {
    expect_the_trees_of_git(Mode::Stack, Choice::Union);
}

#[test]
fn what_takes_theirs_gives_the_branch_of_a_task_the_tree_that_it_gives_in_git() {
    expect_the_trees_of_git(Mode::Branch, Choice::Theirs);
}

#[test]
fn what_keeps_ours_gives_the_branch_of_a_task_the_tree_that_it_gives_in_git() {
    expect_the_trees_of_git(Mode::Branch, Choice::Ours);
}

#[test]
fn what_joins_both_gives_a_branch_of_the_user_the_tree_that_it_gives_in_git() {
    expect_the_trees_of_git(Mode::Side, Choice::Union);
}

#[test]
fn what_takes_theirs_brings_files_and_index_of_the_branch_that_is_checked_out_along() {
    expect_the_trees_of_git(Mode::Main, Choice::Theirs);
}

/// A repository in which the work of the task `theirs` conflicts at two paths of a run, and not at two
/// others, and in which the task `after` builds on it.
pub(super) fn two_conflicts(place: &Sandbox, mode: Mode, more: &str) -> (Repository, Finished) {
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
    for mode in Mode::ALL {
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
fn an_undo_takes_the_clean_part_of_a_work_back_alone() {
    for mode in Mode::ALL {
        let place = sandbox();
        let (repository, run) = two_conflicts(&place, mode, "");
        let branch = mode.branch(&run.expect_code(4), "theirs");
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

/// A tool, and the same as a resolver, which keeps the lines of both sides.
const BOTH: &str = "cat \"$REGATTA_OURS\" \"$REGATTA_THEIRS\" > \"$REGATTA_RESULT\"";

/// What `BOTH` makes of the file `list.txt`.
const BOTH_LISTS: &str = "first\nours\nfirst\ntheirs\n";

#[test]
fn a_tool_and_a_resolver_write_what_is_committed() {
    for mode in Mode::ALL {
        for by in ["tool", "resolver"] {
            let place = sandbox();
            let (repository, run) = two_conflicts(&place, mode, "");
            let branch = mode.branch(&run.expect_code(4), "theirs");
            let escaped = BOTH.replace('"', "\\\"");
            let config = format!("[merge]\n\ttool = t\n[mergetool \"t\"]\n\tcmd = \"{escaped}\"\n");
            std::fs::write(place.folder().join("user/.gitconfig"), config).expect("it is written");
            let apply = place.regatta(repository.root()).words("apply @ theirs");
            let applied = match by {
                "tool" => apply.words("--ours lines.txt --tool list.txt").run(),
                _ => apply.words("--ours lines.txt --resolve").arg(BOTH).run(),
            };
            let applied = applied.expect_code(0);
            let text = file(&repository, &branch, "list.txt");
            assert_eq!(text, BOTH_LISTS, "{mode:?} {by}: {applied}");
            assert!(file(&repository, &branch, "lines.txt").contains("line 4\nours\nline 6\n"));
            assert_eq!(in_ledger(&place, "theirs"), "landed", "{mode:?} {by}");
        }
    }
}

#[test]
fn a_run_on_branches_lets_a_resolver_settle_its_conflicts_and_lands_what_waited() {
    for mode in Mode::ALL {
        let place = sandbox();
        let (repository, run) = two_conflicts(&place, mode, &format!("--resolve {RESOLVE}"));
        let run = run.expect_code(0);
        let branch = mode.branch(&run, "theirs");
        assert_eq!(file(&repository, &branch, "list.txt"), BOTH_LISTS, "{mode:?}: {run}");
        let last = mode.branch(&run, "after");
        assert_eq!(file(&repository, &last, "after.txt"), "after\n", "{mode:?}: {run}");
        assert_eq!(in_ledger(&place, "theirs"), "landed", "{mode:?}: {run}");
    }
}

/// A resolver without a space.
const RESOLVE: &str =
    "cat<\"$REGATTA_OURS\">\"$REGATTA_RESULT\";cat<\"$REGATTA_THEIRS\">>\"$REGATTA_RESULT\"";
