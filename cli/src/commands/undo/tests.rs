use clap::Parser;
use protocol::{
    Conflict, Landed, LandingReport, RepoPath, Settled, SettledBy, SettledConflict, TaskLanding,
};
use store::TaskRow;

use super::super::fake_repository::{Bench, End, conflict_at, in_tree};
use super::*;
use crate::args::DiscardArgs;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: UndoArgs,
}

#[derive(Parser)]
struct DiscardLine {
    #[command(flatten)]
    args: DiscardArgs,
}

async fn undo(bench: &Bench, words: &[&str]) -> Result<String, Error> {
    let args = Line::parse_from(std::iter::once(&"undo").chain(words)).args;
    let mut out = Vec::new();
    run(&bench.context, bench.repository.as_ref(), &args, &mut out).await?;
    Ok(String::from_utf8(out).unwrap())
}

fn taken_back() -> Landed {
    Landed::TakenBack { left: Vec::new() }
}

#[test]
async fn work_that_was_taken_back_can_land_again_until_it_is_discarded() {
    let bench = Bench::new();
    bench.record(vec![("auth", &[], End::Done(1, Some(taken_back())))]).await;
    let told = undo(&bench, &["auth"]).await.unwrap();
    assert!(told.contains("was taken back already; land it again with: "), "{told}");
    assert!(told.ends_with("/auth --again\n"), "{told}");
    let args = DiscardLine::parse_from(["discard", "auth"]).args;
    super::super::discard::run(&bench.context, &args, &mut Vec::new()).await.unwrap();
    let told = undo(&bench, &["auth"]).await.unwrap();
    assert!(told.ends_with("/auth was taken back already; its work was discarded\n"), "{told}");
}

#[test]
async fn who_undoes_what_has_not_landed_is_told_which_run_has_landed_last() {
    let bench = Bench::new();
    let done = |landed| vec![("auth", &[][..], End::Done(1, landed))];
    bench.record(done(in_tree())).await;
    let latest = bench.record(done(in_tree())).await;
    let kept = bench.record(done(None)).await;
    let refused = undo(&bench, &[]).await.unwrap_err();
    let undo = format!("regatta undo {latest} (the latest run of this repository that has landed)");
    assert_eq!(refused.hints, [format!("regatta runs show {kept}"), undo]);
}

/// Returns the commands to type after this result of an undo.
fn next(bench: &Bench, target: &Target, back: &[TaskRow], left: Vec<Conflict>) -> String {
    let tasks = back.iter().map(|row| TaskLanding::of(row.name.clone(), taken_back())).collect();
    let report = UndoReport { report: LandingReport { tasks }, left, ..UndoReport::default() };
    let mut out = Vec::new();
    print(&bench.context, target, &report, (Done::Yes, 20), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
async fn what_was_settled_lands_again_as_it_was_settled_or_no_command_is_named() {
    let bench = Bench::new();
    let run = bench.record(vec![("auth", &[], End::Done(1, in_tree()))]).await;
    let mut target = target::find_several(&bench.context, None, &[]).unwrap();
    let settled = |by| SettledConflict { path: RepoPath::new("a").unwrap(), by, resolver: None };
    let theirs = format!("regatta apply {run}/auth --again --theirs  ");
    for (by, command) in [
        (&[][..], Some(format!("regatta apply {run} --again  "))),
        (&[SettledBy::Theirs, SettledBy::Theirs], Some(theirs)),
        (&[SettledBy::Theirs, SettledBy::Ours], None),
        (&[SettledBy::Tool], None),
    ] {
        let conflicts = by.iter().copied().map(settled).collect();
        target.tasks[0].settled = Settled { conflicts, landed: Vec::new() };
        let text = next(&bench, &target, &target.tasks, Vec::new());
        let Some(command) = command else {
            assert!(!text.contains("redo"), "{text}");
            continue;
        };
        assert!(text.contains(&command), "{text}");
    }
}

#[test]
async fn also_where_nothing_could_be_taken_back_the_command_that_shows_it_is_named() {
    let bench = Bench::new();
    let run = bench.record(vec![("auth", &[], End::Done(1, in_tree()))]).await;
    let target = target::find_several(&bench.context, None, &[]).unwrap();
    let text = next(&bench, &target, &[], vec![conflict_at("a")]);
    let expected = format!(
        "left        a: the same lines were changed since\n\n\
         left   regatta diff {run}  shows what landed: edit that out of the files that are left\n\
         undo   regatta undo {run}  then takes back the rest\n"
    );
    assert_eq!(text, expected);
}
