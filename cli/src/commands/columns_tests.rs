//! Every output of the commands over runs fits into a terminal of 80 columns.

use engine::ports::UndoReport;
use protocol::{
    Conflict, ConflictReason, ExitCode, Landed, Partners, RenamedFile, RepoPath, TaskLanding,
    Unverified, UnverifiedCause,
};

use super::fake_repository::{Bench, End, Screen, in_tree, view};
use super::target;
use super::undo_output::{self, Done};
use super::{apply, apply_output, conflicts, discard, runs};
use crate::args::{
    ApplyArgs, ConflictsArgs, DiscardArgs, RunsArgs, RunsCommand, SettleArgs, TargetArgs, Verbosity,
};
use crate::render::{Size, too_long};
use regatta::error::Error;

const LONG: &str = "write-tests-for-the-client-of-the-second-part";

fn parsed<A: clap::Args>(words: &[&str]) -> A {
    let grammar = A::augment_args(clap::Command::new("command"));
    let matches = grammar.get_matches_from(std::iter::once(&"command").chain(words));
    A::from_arg_matches(&matches).unwrap()
}

fn conflict() -> Conflict {
    let path = |name: &str| {
        RepoPath::new(format!("packages/second-service/src/generated/{name}.ts")).unwrap()
    };
    let side = |digit: &str| Some(protocol::Side { mode: 0o100_755, oid: digit.repeat(40) });
    Conflict {
        path: path("client"),
        reason: ConflictReason::Content,
        base: side("a"),
        ours: side("b"),
        theirs: side("c"),
        with: Some(LONG.parse().unwrap()),
        renamed: Some(RenamedFile {
            from: path("old-client"),
            ours: Some(path("their-client")),
            theirs: Some(path("client")),
        }),
    }
}

async fn bench() -> (Bench, String) {
    let mut bench = Bench::new();
    bench.context.view = view(Some(|| Size { columns: 80, rows: 24 }));
    let conflicted = || Some(Landed::Conflicted { conflicts: vec![conflict(); 5] });
    let waiting = Some(Landed::Waiting { on: vec![LONG.parse().unwrap()] });
    let message = "the file system of the folder has no room for it ".repeat(4);
    let names: Vec<String> = (0..8).map(|at| format!("{LONG}-{at}")).collect();
    let ends = [
        End::Done(3, conflicted()),
        End::Done(123_456, in_tree()),
        End::Done(1, waiting),
        End::Failed,
        End::Done(2, Some(Landed::Unwritten { message })),
        End::Done(2, Some(Landed::TakenBack { left: vec![conflict()] })),
        End::Done(2, Some(Landed::Unverified(Box::new(unverified())))),
        End::Done(2, None),
    ];
    let first = std::iter::once((LONG, &[][..], End::Done(1, in_tree())));
    let tasks = names.iter().zip(ends).map(|(name, end)| (name.as_str(), &[][..], end));
    let run = bench.record(first.chain(tasks).collect()).await.to_string();
    (bench, run)
}

fn unverified() -> Unverified {
    Unverified {
        cause: UnverifiedCause::Work,
        with: vec![LONG.parse().unwrap(); 3],
        partners: Partners::default(),
        message: "`cargo test` ended with code 101 ".repeat(4),
        output: None,
        end: "a line of output, which is longer than a terminal is wide, ".repeat(3),
    }
}

#[test]
async fn no_line_is_longer_than_a_terminal_of_80_columns_but_for_a_command_to_copy() {
    let (bench, run) = bench().await;
    let context = &bench.context;
    let target = || TargetArgs::from(Some(run.clone()));
    let show = |all| RunsArgs {
        command: Some(RunsCommand::Show { target: target(), timing: false, all }),
        ..RunsArgs::default()
    };
    let print = |what: &str, print: &mut dyn FnMut(&mut Screen) -> Result<(), Error>| {
        let mut screen = Screen::default();
        print(&mut screen).unwrap_or_else(|error| panic!("{what}: {error}"));
        let text = screen.text();
        assert!(text.len() > 80, "{what}: {text}");
        assert_eq!(too_long(&text), [""; 0], "{what}:\n{text}");
    };
    let done = |end: Result<ExitCode, Error>| end.map(|_code| ());
    print("runs", &mut |out| done(runs::run(context, RunsArgs::default().view().unwrap(), out)));
    for all in [false, true] {
        print("runs show", &mut |out| done(runs::run(context, show(all).view().unwrap(), out)));
    }
    let of_run = ConflictsArgs { target: target() };
    print("conflicts", &mut |out| done(conflicts::run(context, &of_run, out)));
    let found = target::find(context, &target()).unwrap();
    let landings = found
        .tasks
        .iter()
        .filter_map(|row| Some(TaskLanding::of(row.name.clone(), row.landing.clone()?)));
    let report = protocol::LandingReport { tasks: landings.collect() };
    let (name, rows) = (&found.run.name, &found.tasks);
    print("apply", &mut |out| apply_output::print_landing(context, name, &report, &[], out));
    print("apply --dry-run", &mut |out| {
        apply_output::print_dry_run(context, name, (&report, &[]), rows, out)
    });
    let undone = UndoReport {
        paths: vec![conflict().path; 30],
        left: vec![conflict()],
        ..UndoReport::default()
    };
    for end in [Done::DryRun, Done::Yes] {
        print("undo", &mut |out| undo_output::print(context, &found, &undone, (end, 20), out));
    }
}

#[test]
async fn of_many_equal_tasks_apply_and_discard_list_some_and_with_verbose_all() {
    for verbosity in [Verbosity::Normal, Verbosity::Verbose] {
        let mut bench = Bench::new();
        bench.context.view.verbosity = verbosity;
        let names: Vec<String> = (0..120).map(|at| format!("t{at}")).collect();
        let tasks = names.iter().map(|name| (name.as_str(), &[][..], End::Done(1, None)));
        bench.record(tasks.collect()).await;
        let (mut landed, mut discarded) = (Vec::new(), Vec::new());
        let args = ApplyArgs::of("@".to_owned(), SettleArgs::default());
        let applied = apply::run(&bench.context, bench.repository.as_ref(), &args, &mut landed);
        assert_eq!(applied.await, Ok(ExitCode::Success));
        let args = parsed::<DiscardArgs>(&["@"]);
        assert_eq!(
            discard::run(&bench.context, &args, &mut discarded).await,
            Ok(ExitCode::Success)
        );
        for (text, more) in [
            (landed, "and 100 more tasks  landed (-v lists all)"),
            (discarded, "discarded  and 100 more tasks (-v lists all)"),
        ] {
            let text = String::from_utf8(text).unwrap();
            let is_folded = verbosity == Verbosity::Normal;
            assert_eq!(text.lines().any(|line| line == more), is_folded, "{text}");
            assert_eq!(text.lines().count() < 30, is_folded, "{text}");
        }
    }
}
