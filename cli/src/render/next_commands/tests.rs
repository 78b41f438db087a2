use protocol::{Conflict, Failure};

use super::*;

fn landed(count: usize) -> LandedTasks<'static> {
    LandedTasks { count, ..LandedTasks::default() }
}

#[test]
fn a_stack_is_named_with_the_command_that_merges_it() {
    let run: RunName = "r7k3f".parse().unwrap();
    let branch = Some("regatta/r7k3f".to_owned());
    let stack = LandedTasks { branch, ..landed(2) };
    let lines =
        |stack| closing_lines(&run, MergeMode::Stack, stack, &[], &[], &CommandHints::default());
    assert_eq!(
        lines(&stack),
        [
            "landed  the work of 2 tasks, on the branch regatta/r7k3f",
            "merge   git merge regatta/r7k3f  merges it into the branch that is checked out",
            "undo    regatta undo r7k3f       takes back what has landed",
        ]
    );
    let onto = LandedTasks { onto: Some("main"), ..stack.clone() };
    let undo = "undo    regatta undo r7k3f  takes back what has landed";
    assert_eq!(lines(&onto), ["landed  the work of 2 tasks, committed to main", undo]);
}

#[test]
fn every_kept_piece_of_work_has_a_command_that_leads_to_it() {
    let run: RunName = "r7k3f".parse().unwrap();
    let task = |name: &str| name.parse::<TaskName>().unwrap();
    let failed = |name: &str, message: &str| {
        let failure = Failure::new(FailureClass::Command, message);
        FailedWork::of(&task(name), &Outcome::Failed { failure }, None).unwrap()
    };
    let loose = [
        (task("billing"), KeptReason::Conflict),
        (task("docs"), KeptReason::Whole),
        (task("search"), KeptReason::Unfinished),
    ];
    let lines = closing_lines(
        &run,
        MergeMode::Patch,
        &landed(14),
        &loose,
        &[failed("search", "not logged in\u{1b}[2J (code 1)")],
        &CommandHints::default(),
    );
    assert_eq!(
        lines,
        [
            "landed  the work of 14 tasks, in the working tree, not committed",
            "kept    regatta diff r7k3f/billing             its changes",
            "        regatta conflicts r7k3f                the lines that conflict",
            "        regatta apply r7k3f/billing --markers  settles it; or --ours, --theirs, --union, --tool",
            "        regatta diff r7k3f                     the work of all tasks",
            "        regatta apply r7k3f                    lands the work that is ready",
            "        regatta diff r7k3f/search              its unfinished work",
            "        regatta apply r7k3f/search             lands it anyway",
            "failed  regatta logs r7k3f/search              not logged in (code 1)",
            "undo    regatta undo r7k3f                     takes back what has landed",
        ]
    );
}

#[test]
fn of_conflicts_in_which_only_what_stands_can_stay_nothing_else_is_offered() {
    use protocol::ConflictReason::{Content, Encoding, Filter};
    let run: RunName = "r7k3f".parse().unwrap();
    let conflict = |reason| Conflict {
        path: protocol::RepoPath::new("a").unwrap(),
        reason,
        base: None,
        ours: None,
        theirs: None,
        with: None,
        renamed: None,
    };
    let kept = |reasons: &[_]| {
        let conflicts: Vec<_> = reasons.iter().map(|reason| conflict(*reason)).collect();
        KeptReason::of_conflicts(&conflicts)
    };
    assert_eq!(kept(&[Encoding, Content]), KeptReason::Conflict);
    let loose = [("docs".parse().unwrap(), kept(&[Encoding, Filter]))];
    let hints = CommandHints::default();
    let lines = closing_lines(&run, MergeMode::Branch, &landed(0), &loose, &[], &hints);
    let settle = "        regatta apply r7k3f/docs --ours  settles it: the current version stays";
    assert_eq!(lines.last().map(String::as_str), Some(settle), "{lines:?}");
    assert!(!lines.concat().contains("--theirs"), "{lines:?}");
}

#[test]
fn a_run_that_leaves_nothing_behind_says_only_what_landed() {
    let run: RunName = "r7k3f".parse().unwrap();
    let lines =
        closing_lines(&run, MergeMode::Branch, &landed(1), &[], &[], &CommandHints::default());
    let undo = "undo    regatta undo r7k3f  takes back what has landed";
    assert_eq!(lines, ["landed  the work of 1 task, each on its own branch", undo]);
    assert!(
        closing_lines(&run, MergeMode::Patch, &landed(0), &[], &[], &CommandHints::default())
            .is_empty()
    );
}

#[test]
fn tasks_without_success_can_be_retried_with_one_command() {
    let run: RunName = "r7k3f".parse().unwrap();
    let line = |failed, cancelled, interrupted| {
        TasksToRetry { failed, cancelled, interrupted }.line(&run, &CommandHints::default())
    };
    assert_eq!(line(0, 0, 0), None);
    for (numbers, which, tasks) in [
        ((1, 0, 0), "", "1 failed task"),
        ((2, 0, 0), "", "2 failed tasks"),
        ((0, 1, 0), " --cancelled", "1 cancelled task"),
        ((0, 0, 29), " --cancelled", "29 interrupted tasks"),
        ((1, 3, 0), "", "1 failed and 3 cancelled tasks"),
        ((1, 3, 2), "", "1 failed, 3 cancelled and 2 interrupted tasks"),
    ] {
        let expected =
            format!("retry   regatta runs retry r7k3f{which}  starts a new run of {tasks}");
        assert_eq!(line(numbers.0, numbers.1, numbers.2), Some(expected));
    }
}

#[test]
fn a_conversation_that_was_cut_short_is_continued_and_not_retried() {
    let line = |interrupted| {
        let tasks = TasksToRetry { interrupted, ..TasksToRetry::default() };
        tasks.line_of_conversation("/a b/1.jsonl".as_ref(), &CommandHints::default())
    };
    let expected = "go on   regatta --isolated --resume '/a b/1.jsonl'  continues the conversation in \
                    another copy";
    assert_eq!((line(0), line(1).as_deref()), (None, Some(expected)));
}

#[test]
fn many_kept_tasks_are_not_all_named() {
    let run: RunName = "r7k3f".parse().unwrap();
    let loose: Vec<_> =
        (0..40).map(|at| (format!("t{at}").parse().unwrap(), KeptReason::Conflict)).collect();
    let lines =
        closing_lines(&run, MergeMode::Patch, &landed(0), &loose, &[], &CommandHints::default());
    assert_eq!(lines.len(), NAMED + 3);
    assert!(lines[NAMED + 2].contains("regatta runs show r7k3f --all "), "{lines:?}");
}

#[test]
fn a_command_can_be_typed_as_it_is_printed() {
    let hints = CommandHints { home: Some("/tmp/a b".into()), repo: Some("/tmp/it's".into()) };
    assert_eq!(
        hints.command("diff r7k3f/auth"),
        r"REGATTA_HOME='/tmp/a b' regatta diff r7k3f/auth --repo '/tmp/it'\''s'"
    );
    assert_eq!(CommandHints::default().command("runs"), "regatta runs");
}
