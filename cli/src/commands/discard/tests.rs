use super::super::fake_repository::{Bench, End, conflicting, in_tree};
use super::super::runs::{self, RunsView};
use super::super::target;
use super::*;

fn args(words: &[&str]) -> DiscardArgs {
    use clap::Parser;
    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: DiscardArgs,
    }
    Line::parse_from(std::iter::once(&"discard").chain(words)).args
}

async fn discard(bench: &Bench, words: &[&str]) -> String {
    let mut out = Vec::new();
    let code = run(&bench.context, &args(words), &mut out).await;
    assert_eq!(code, Ok(ExitCode::Success));
    String::from_utf8(out).unwrap()
}

async fn bench() -> Bench {
    let bench = Bench::new();
    let tasks = vec![("auth", &[][..], End::Done(3, in_tree())), ("broken", &[], End::Failed)];
    bench.record(tasks).await;
    bench
}

#[test]
async fn a_run_named_is_a_run_forgotten() {
    let bench = bench().await;
    let text = discard(&bench, &["@"]).await;
    let expected = "discarded  auth  3 files +3 −0\n\
                    discarded  broken  1 file +1 −0, the only copy of it\n\
                    what has landed stays: nothing in the tree changes\n";
    assert_eq!(text, expected);
    assert_eq!(bench.captures.removed.lock().unwrap().len(), 2);
    let rows = target::find(&bench.context, &None.into()).unwrap().tasks;
    assert!(rows.iter().all(|row| row.discarded.is_some() && kept_reason(row).is_none()));
    assert!(discard(&bench, &["@"]).await.starts_with("there is no captured work"));
}

#[test]
async fn kept_work_that_was_discarded_is_no_longer_counted_as_kept() {
    let bench = Bench::new();
    let landed = || vec![("one", &[][..], End::Done(1, in_tree())), ("two", &[], End::Failed)];
    let kept = vec![
        ("kept", &[][..], End::Done(1, None)),
        ("conflict", &[], End::Done(1, conflicting("kept"))),
    ];
    for (tasks, counted) in [(kept, " · 2 discarded\n"), (landed(), " · 1 landed · 1 failed\n")]
    {
        bench.record(tasks).await;
        let _gone = discard(&bench, &["@"]).await;
        let mut out = Vec::new();
        let list = RunsView::List(Default::default());
        runs::run(&bench.context, list, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains(counted), "{text}");
    }
}

#[test]
async fn one_task_named_leaves_the_others_alone() {
    let bench = bench().await;
    let text = discard(&bench, &["broken"]).await;
    assert_eq!(text, "discarded  broken  1 file +1 −0, the only copy of it\n");
    let removed = bench.captures.removed.lock().unwrap();
    assert_eq!(removed.len(), 1);
    assert!(removed[0].as_str().ends_with("/broken/1"));
}

#[test]
async fn each_task_named_has_its_line_also_one_without_work() {
    let bench = bench().await;
    let _first = discard(&bench, &["broken"]).await;
    let text = discard(&bench, &["auth", "broken"]).await;
    let expected = "discarded  auth  3 files +3 −0\n\
                    nothing    broken  its work was discarded already\n\
                    what has landed stays: nothing in the tree changes\n";
    assert_eq!(text, expected);
    let text = discard(&bench, &["--dry-run", "broken"]).await;
    assert_eq!(text, "nothing        broken  its work was discarded already\n");
}

#[test]
async fn a_rehearsal_forgets_nothing() {
    let bench = bench().await;
    let text = discard(&bench, &["--dry-run", "@"]).await;
    assert!(text.starts_with("would discard  auth"), "{text}");
    assert!(text.ends_with("what has landed stays: nothing in the tree changes\n"), "{text}");
    assert!(bench.captures.removed.lock().unwrap().is_empty());
    assert!(target::find(&bench.context, &None.into()).unwrap().tasks[0].discarded.is_none());
}
