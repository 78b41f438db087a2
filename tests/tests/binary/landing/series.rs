//! The commits that a task made itself become those of its branch or of the stack.

use std::time::Duration;

use test_limit::sample;
use tests::sandbox::{Finished, Plan, Repository, Sandbox};

use crate::binary::sandbox;

/// The commits since the one that is checked out, oldest first, in this format.
fn log(repository: &Repository, branch: &str, format: &str) -> Vec<String> {
    let range = format!("HEAD..{branch}");
    let log = repository.git(&["log", "--reverse", &format!("--format={format}"), &range]);
    log.lines().map(str::to_owned).collect()
}

/// Runs one script with merge `branch` and with `stack`, and calls `expect` with each branch.
fn both(
    prepare: impl Fn(&Repository),
    script: &str,
    expect: impl Fn(&Sandbox, &Repository, &str, &Finished),
) {
    for merge in ["branch", "stack"] {
        one(merge, &prepare, script, &expect);
    }
}

/// Runs one script with this merge, and calls `expect` with the branch.
fn one(
    merge: &str,
    prepare: impl Fn(&Repository),
    script: &str,
    expect: impl Fn(&Sandbox, &Repository, &str, &Finished),
) {
    let place = sandbox();
    let repository = place.repository();
    repository.write("list.txt", lines());
    repository.commit("list");
    prepare(&repository);
    let tree = repository.tree();
    let call = place.run_in(&repository).words(&format!("--merge {merge}")).exec(script);
    let finished = call.run().expect_code(0);
    let run = finished.run_name();
    let branch = match merge {
        "branch" => format!("regatta/{run}/t1"),
        _ => format!("regatta/{run}"),
    };
    expect(&place, &repository, &branch, &finished);
    assert_eq!(tree.differences(&repository.tree()), Vec::<String>::new(), "{merge}");
    assert_eq!(repository.faults(), "", "{merge}");
    place.expect_nothing_left(&repository);
}

fn lines() -> String {
    (0..40).map(|line| format!("line {line}\n")).collect()
}

fn nothing(_: &Repository) {}

/// Expects that the user was told that the commits of a task became one.
fn expect_told(finished: &Finished, task: &str, why: &str) {
    let told = finished.events_of("degraded");
    let from = format!("the commits of task {task}");
    let is_it = |event: &serde_json::Value| {
        event["from"] == *from && event["why"].to_string().contains(why)
    };
    assert!(told.iter().any(is_it), "{why}: {finished}");
}

#[test]
fn the_commits_of_a_task_keep_their_authors_dates_and_messages_and_a_patch_has_their_work() {
    let script = "set -e
        sed -i 's/^line 2$/two/' list.txt
        git commit -qam 'Change two

Because of that.' --author 'Grace <grace@example.com>' --date '2020-02-03T04:05:06+0530'
        echo new > new.txt
        git add new.txt
        git commit -qm 'Add a file'
        git rm -q new.txt
        mkdir deep; echo x > deep/x.txt; chmod +x deep/x.txt; ln -s x.txt deep/link
        git add -A
        git commit -qm 'And another'
        echo more >> list.txt";
    both(nothing, script, |_, repository, branch, _| {
        let found = log(repository, branch, "%s|%an|%ae");
        let expected = ["Change two|Grace|grace@example.com", "Add a file|Ada|ada@example.org"];
        assert_eq!(found[..2], expected);
        assert!(
            found[2].starts_with("And another|Ada|") && found[3].contains("|Ada|"),
            "{found:?}"
        );
        assert_eq!(found.len(), 4, "{found:?}");
        let first = repository.git(&[
            "log",
            "-1",
            "--format=%ad|%b|%cn",
            &format!("{branch}~3"),
            "--date=iso",
        ]);
        assert_eq!(first.trim_end(), "2020-02-03 04:05:06 +0530|Because of that.\n|Ada");
        let names = |at: usize| {
            let commit = format!("{branch}~{at}");
            repository.git(&["show", "--format=", "--name-status", "--no-renames", &commit])
        };
        assert_eq!(names(3), "M\tlist.txt\n");
        assert_eq!(names(2), "A\tnew.txt\n");
        assert_eq!(names(1), "A\tdeep/link\nA\tdeep/x.txt\nD\tnew.txt\n");
        assert_eq!(names(0), "M\tlist.txt\n");
        let mode = repository.git(&["ls-tree", branch, "deep/x.txt", "deep/link"]);
        assert!(mode.contains("100755") && mode.contains("120000"), "{mode}");
    });
    // A patch has the work of the commits, and nothing of the commits.
    let place = sandbox();
    let repository = place.repository();
    repository.write("list.txt", lines());
    repository.commit("list");
    let git = repository.dot_git();
    let finished = place.run_in(&repository).exec(script).run().expect_code(0);
    assert_eq!(repository.text("deep/x.txt"), "x\n", "{finished}");
    assert!(repository.text("list.txt").contains("\ntwo\n") && !repository.has("new.txt"));
    assert_eq!(git.differences(&repository.dot_git()), Vec::<String>::new(), "{finished}");
    let diff = place.regatta(repository.root()).words("diff").run().expect_code(0).stdout;
    assert!(diff.contains("+++ b/deep/x.txt") && !diff.contains("series"), "{diff}");
}

#[test]
fn what_the_user_has_not_committed_is_in_no_commit_of_a_task_nor_a_commit_of_ours() {
    let prepare = |repository: &Repository| {
        repository.write("list.txt", lines().replace("line 5\n", "mine\n"));
        repository.write("untracked.txt", "mine\n");
        repository.write("staged.txt", "mine\n");
        repository.git(&["add", "staged.txt"]);
    };
    let script = "sed -i 's/^line 30$/thirty/' list.txt; git add -A; git commit -qm one
        sed -i 's/^line 35$/more/' list.txt; echo own > own.txt; git add -A; git commit -qm two";
    both(prepare, script, |_, repository, branch, finished| {
        assert_eq!(log(repository, branch, "%s"), ["one", "two"]);
        assert_eq!(finished.events_of("degraded"), Vec::<serde_json::Value>::new());
        let one = lines().replace("line 30\n", "thirty\n");
        assert_eq!(repository.git(&["show", &format!("{branch}~:list.txt")]), one);
        let two = one.replace("line 35\n", "more\n");
        assert_eq!(repository.git(&["show", &format!("{branch}:list.txt")]), two);
        let all = repository.git(&["ls-tree", "-r", "--name-only", branch]);
        assert!(!all.contains("untracked.txt") && !all.contains("staged.txt"), "{all}");
    });
}

#[test]
fn commits_are_rebased_onto_what_landed_and_become_one_where_they_conflict_one_by_one() {
    let place = sandbox();
    let repository = place.repository();
    repository.write("list.txt", lines());
    repository.commit("list");
    let task = |first: u32| {
        let commit = |line: u32| {
            format!(
                "sed -i 's/^line {line}$/changed {line}/' list.txt; git commit -qam 'c{line}'; "
            )
        };
        [commit(first), commit(first + 5)].concat()
    };
    let back = "sed -i 's/^line 2$/two/' list.txt; git commit -qam 'Try it'
        sed -i 's/^two$/line 2/; s/^line 38$/end/' list.txt; git commit -qam 'Better so'";
    let plan = Plan::default().task("a", &task(2)).task("b", &task(20)).task("c", &task(30));
    let plan = plan.task("back", back);
    let finished = place.run_plan(&repository, &plan).words("--merge stack").run().expect_code(0);
    let branch = format!("regatta/{}", finished.run_name());
    let subjects = log(&repository, &branch, "%s");
    assert_eq!(subjects[..6], ["c2", "c7", "c20", "c25", "c30", "c35"], "{finished}");
    assert_eq!(subjects.len(), 7, "{finished}");
    for commit in log(&repository, &branch, "%H") {
        let changed = repository.git(&["show", "--format=", "--numstat", &commit]);
        assert_eq!(changed, "1\t1\tlist.txt\n", "{commit}");
    }
    let text = repository.git(&["show", &format!("{branch}:list.txt")]);
    assert_eq!(text.matches("changed").count(), 6, "{text}");
    assert!(text.contains("\nend\n"), "{text}");
    expect_told(&finished, "back", "Try it");
}

#[test]
fn a_merge_among_the_commits_is_one_commit_and_that_is_told() {
    let script = "set -e
        git switch -qc side; echo a > a.txt; git add -A; git commit -qm a
        echo b > b.txt; git add -A; git commit -qm b
        git switch -q -; echo c > c.txt; git add -A; git commit -qm c
        git merge -q --no-ff -m 'Merge the side' side
        echo d > d.txt; git add -A; git commit -qm d";
    both(nothing, script, |_, repository, branch, finished| {
        assert_eq!(log(repository, branch, "%s"), ["c", "Merge the side", "d"]);
        assert_eq!(log(repository, branch, "%p").iter().filter(|it| it.contains(' ')).count(), 0);
        let names = repository.git(&["show", "--format=", "--name-only", &format!("{branch}~1")]);
        assert_eq!(names, "a.txt\nb.txt\n");
        let told = finished.events_of("degraded");
        assert!(
            told.iter().any(|event| event["from"].to_string().contains("merges")),
            "{finished}"
        );
    });
}

/// A script that makes odd commits, what is told of them, and the file in which they are to result.
struct Odd {
    script: String,
    told: Option<&'static str>,
    file: Option<(&'static str, &'static str)>,
}

/// Commits that become one, or whose author is not what they say.
fn odd_commits() -> Vec<Odd> {
    let told = |script: &str, told| Odd { script: script.to_owned(), told: Some(told), file: None };
    let many = "echo n > n.txt; git add n.txt; tree=$(git write-tree); at=$(git rev-parse HEAD)
        for n in $(seq 101); do at=$(git commit-tree -p $at -m $n $tree); done
        git update-ref HEAD $at";
    let other = "git switch -q --orphan other; echo a > a.txt; git add a.txt; git commit -qm a";
    let fifo = "echo a > a.txt; git add a.txt; git commit -qm a
        tree=$(git rev-parse HEAD^{tree} | sed 's|^..|&/|'); d=$(git rev-parse --git-dir)/objects; rm -f $d/$tree
        mkfifo $d/$tree";
    let link = "echo a > a.txt; git add a.txt; git commit -qm a
        for f in $(git rev-parse --git-dir)/objects/??; do mv $f $f.moved; ln -s $(basename $f).moved $f; done";
    let evil = "set -e
        tree=$(git rev-parse HEAD^{tree})
        echo own > own.txt; git add own.txt; new=$(git write-tree)
        evil() {
            printf 'tree %s\\nparent %s\\nauthor %s\\ncommitter X <x> 1 +0000\\n\\n%b' \\
                $new $(git rev-parse HEAD) \"$1\" \"$2\" | git hash-object -t commit -w --stdin --literally
        }
        git reset -q --soft $(evil \"$AUTHOR\" '\\033[2Jred\\0\\nmore\\n')";
    let evil = |author: &str| Odd {
        script: evil.replace("$AUTHOR", author),
        told: None,
        file: Some(("own.txt", "own\n")),
    };
    // Trees made without the folders: only objects are as deep, or as many.
    let deep = |levels: u32, names: &str| Odd {
        script: format!(
            "set -e
            echo x > x.txt
            pipes=$(mktemp -d); mkfifo $pipes/in $pipes/out
            git mktree --batch < $pipes/in > $pipes/out &
            exec 3> $pipes/in 4< $pipes/out
            rm -r $pipes
            tree=$(git mktree < /dev/null)
            for _ in $(seq {levels}); do
                for name in {names}; do printf '040000 tree %s\\t%s\\n' $tree $name; done >&3
                echo >&3; read -r tree <&4
            done
            exec 3>&- 4<&-
            git update-ref HEAD $(git commit-tree -p HEAD -m odd $tree)"
        ),
        told: Some("cannot be read"),
        file: Some(("x.txt", "x\n")),
    };
    vec![
        told(many, "more than 100"),
        evil("\u{1b}[31m <> 99 +0000"),
        told(other, "do not build"),
        deep(2_500, "a"),
        evil("a<b>c <d@e> 5 +9999"),
        told(fifo, "cannot be read"),
        deep(60, "a b"),
        evil("./-. <x y@z> 0 -0000"),
        told(link, "read"),
    ]
}

#[test]
fn odd_commits_become_one_or_get_another_author_and_neither_harm_nor_stop_the_capture() {
    test_limit::raise(Duration::from_secs(300), "in full depth, each script runs by itself");
    let all = odd_commits();
    let place = sandbox();
    let repository = place.repository();
    let plan = all
        .iter()
        .enumerate()
        .fold(Plan::default(), |plan, (number, odd)| plan.task(&format!("t{number}"), &odd.script));
    let finished = place.run_plan(&repository, &plan).words("--merge branch").run().expect_code(0);
    for (number, odd) in all.iter().enumerate() {
        let task = format!("t{number}");
        let branch = format!("regatta/{}/{task}", finished.run_name());
        expect_odd(odd, &repository, (&branch, &task), &finished);
    }
    assert_eq!(repository.faults(), "");
    place.expect_nothing_left(&repository);
    for odd in sample(&all, 1) {
        one("stack", nothing, &odd.script, |_, repository, branch, finished| {
            expect_odd(odd, repository, (branch, "t1"), finished);
        });
    }
}

/// Expects one commit on the branch of a task that made odd commits.
fn expect_odd(
    odd: &Odd,
    repository: &Repository,
    (branch, task): (&str, &str),
    finished: &Finished,
) {
    let Odd { script, told, file } = odd;
    assert_eq!(log(repository, branch, "%H").len(), 1, "{script}: {finished}");
    let author = repository.git(&["log", "-1", "--format=%an|%ae", branch]);
    assert!(!author.contains(['\u{1b}', '<', '>']), "{author}");
    if let Some(told) = told {
        expect_told(finished, task, told);
    }
    if let Some((path, text)) = file {
        let changed = repository.git(&["show", "--format=", "--name-only", branch]);
        assert_eq!(changed, format!("{path}\n"), "{script}: {finished}");
        assert_eq!(repository.git(&["show", &format!("{branch}:{path}")]), *text);
    }
}
