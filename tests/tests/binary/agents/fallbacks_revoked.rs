//! A key that is revoked in mid-run, without a second key and with one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use test_limit::by_depth;
use tests::model::{Answer, Asked, LoopbackModel, marker};
use tests::sandbox::{Finished, Plan};

use super::fallbacks::{gone, write};
use crate::binary::models::directory::write_models;
use crate::binary::sandbox;

/// What becomes of many tasks at 8 when a key is revoked in mid-run.
struct Revoked {
    tasks: usize,
    finished: Finished,
    /// The requests with the key after that.
    further: usize,
    /// Whether the work of the last task is in the tree.
    has_last: bool,
}

fn revoke(second_key: Option<&str>) -> Revoked {
    let place = sandbox();
    let repository = place.repository();
    let server = LoopbackModel::start();
    write_models(
        &place,
        &format!(
            "providers:\n  gate: {{ baseUrl: '{}', apiKey: unused-123456, api: openai-completions, \
             models: [{{ id: m }}, {{ id: n }}] }}\n",
            server.base_url()
        ),
    );
    for (name, key) in [("one", Some("key-one-123456")), ("two", second_key)] {
        let Some(key) = key else { continue };
        let login = place.regatta(repository.root()).words("login gate --as").arg(name);
        let _done = login.stdin(key).run().expect_code(0);
    }
    let (is_revoked, further) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (revoked, count) = (Arc::clone(&is_revoked), Arc::clone(&further));
    server.otherwise(move |talk| {
        let (revoked, count, file) =
            (Arc::clone(&revoked), Arc::clone(&count), format!("{talk}.txt"));
        Box::new(move |asked: &Asked| {
            if asked.key.as_deref() == Some("key-one-123456") && revoked.load(Ordering::SeqCst) {
                count.fetch_add(1, Ordering::SeqCst);
                return gone();
            }
            match asked.answers() {
                0 => Answer::calls(vec![write(&file)]),
                _ => Answer::yields(&json!("done")),
            }
        })
    });
    // Every second task asks another model with the same key.
    let tasks = by_depth(40, 200);
    let plan = (1..=tasks).fold(Plan::default().top("model = 'gate/m'"), |plan, at| {
        let plan = plan.agent(&format!("t{at}"), &marker(&format!("t{at}")));
        if at % 2 == 0 { plan.with("model = 'gate/n'") } else { plan }
    });
    let mut run = place.run_plan(&repository, &plan).words("--jobs 8").start();
    for _ in 0..10 {
        run.until("task_finished");
    }
    is_revoked.store(true, Ordering::SeqCst);
    let finished = run.wait();
    let further = further.load(Ordering::SeqCst);
    Revoked { tasks, finished, further, has_last: repository.has(format!("t{tasks}.txt")) }
}

#[test]
fn a_key_that_is_revoked_in_mid_run_costs_each_running_task_one_request_and_all_work_is_kept() {
    let Revoked { tasks, finished, further, .. } = revoke(None);
    let finished = finished.expect_code(3);
    assert!((1..=8).contains(&further), "{further}: {finished}");
    let made = finished.events_of("workspace_ready").len();
    let ended = finished.events_of("task_finished");
    assert_eq!(ended.len(), tasks);
    let begun = ended.iter().filter(|end| end["capture"].is_string()).count();
    assert_eq!(begun, made, "all work is kept");
    let done = ended.iter().filter(|end| end["outcome"] == "done").count();
    assert!(made <= done + 8, "{made} workspaces for {done} tasks that are done and 8 that ran");
    let unbegun = |end: &&Value| {
        end["failure"]["message"].as_str().is_some_and(|it| it.starts_with("it was not started:"))
    };
    assert_eq!(ended.iter().filter(unbegun).count(), tasks - made, "{finished}");
}

#[test]
fn with_a_second_key_every_task_lands_although_the_first_is_revoked_and_that_is_told_once() {
    let Revoked { tasks, finished, further, has_last } = revoke(Some("key-two-123456"));
    let finished = finished.expect_code(0);
    assert!((1..=8).contains(&further), "{further}: {finished}");
    assert_eq!(finished.landed().len(), tasks);
    assert!(has_last);
    let told = finished.events_of("degraded");
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(
        (&told[0]["from"], &told[0]["to"]),
        (
            &json!("the stored key one of gate"),
            &json!("the stored key two of gate is asked in its place")
        )
    );
}
