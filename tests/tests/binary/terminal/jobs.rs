//! `/jobs` in a conversation whose model has called subagents.

use serde_json::json;

use super::kit::{Exchange, PacedModel, leave};
use crate::binary::sandbox;

/// Ends a subagent.
fn end(subagent: Exchange) {
    subagent.call("yield", &json!({ "result": { "data": "ok" } }));
}

#[test]
fn a_higher_number_of_jobs_starts_waiting_subagents_at_once_and_a_lower_one_stops_none() {
    let (place, model) = (sandbox(), PacedModel::start());
    let repository = place.repository();
    let session = place.regatta(repository.root()).words("--approval-mode yolo --model");
    let session = session.words("loopback/loop --base-url").arg(model.url());
    let session = session.env("REGATTA_TASK_MAX_CONCURRENCY", "1");
    let mut screen = session.on_a_keyboard(24, 100);
    screen.until("the status line", |text| text.contains("loopback/loop"));
    screen.press("begin\r");
    let tasks = (0..6).map(|at| json!({ "id": format!("T{at}"), "assignment": "Do it." }));
    let tasks: Vec<_> = tasks.collect();
    model.next().call("task", &json!({ "agent": "task", "tasks": tasks }));
    let first = model.next();
    screen.press("/jobs\r");
    screen.until("how many work", |text| text.contains("at most 1 subagent at once; 1 at work"));
    screen.press("/jobs 0\r");
    screen
        .until("why not", |text| text.contains("`/jobs` needs a whole number from 1 on, not `0`"));
    screen.press("/jobs 3\r");
    screen.until("the change", |text| text.contains("at most 3 subagents at once"));
    // The first has not ended.
    let (second, third) = (model.next(), model.next());
    screen.press("/jobs 1\r");
    screen.until("the lower one", |text| text.contains("at most 1 subagent at once; 3 at work"));
    [first, second, third].into_iter().for_each(end);
    for _ in 0..3 {
        end(model.next());
    }
    model.next().answer("all is done");
    screen.until("the end", |text| text.contains("all is done"));
    leave(&mut screen);
    place.expect_nothing_left(&repository);
}
