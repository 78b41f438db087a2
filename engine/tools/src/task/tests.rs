//! The tool `task` over subagents that only say what they were given.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use engine::approvals::ChosenMode;
use engine::ports::{
    CallOrigin, Caller, CancelLevel, CancelToken, LineSink, Lineage, SpawnCall, SpawnOffer,
    SpawnRefusal, SpawnReport, Spawner, SubagentReport, SubagentStatus, Subagents, ToolOutput,
};
use protocol::{ApprovalMode, Approvals, SessionId};
use serde_json::{Map, Value, json};
use std::path::Path;

use super::*;

/// A subagent that has succeeded.
pub(crate) fn subagent(name: &str, output: &str) -> SubagentReport {
    SubagentReport {
        name: name.to_owned(),
        agent: "task".to_owned(),
        description: None,
        status: SubagentStatus::Completed,
        output: output.to_owned(),
        error: String::new(),
        task: format!("r1/{name}"),
        changes: None,
        patch: None,
        refused_calls: 0,
        ms: 5,
        usage: None,
        findings: Vec::new(),
    }
}

/// Subagents that return their assignment.
#[derive(Default)]
struct Echoes(Mutex<Vec<SpawnCall>>);

#[async_trait]
impl Spawner for Echoes {
    async fn offer(&self, _folder: &Path, _lineage: &Lineage) -> Option<SpawnOffer> {
        None
    }

    async fn run(
        &self,
        call: SpawnCall,
        _caller: &Caller,
        progress: LineSink,
        cancel: CancelToken,
    ) -> Result<SpawnReport, SpawnRefusal> {
        if call.agent.as_deref() == Some("oracle") {
            return Err(SpawnRefusal("Unknown agent \"oracle\". Available: task".to_owned()));
        }
        self.0.lock().unwrap().push(call.clone());
        let subagents = (1..).zip(&call.items).map(|(at, item)| {
            progress(format!("{at}-{} works", item.id));
            let name = format!("{at}-{}", item.id);
            let status = if cancel.is_cancelled() {
                SubagentStatus::Cancelled
            } else {
                SubagentStatus::Completed
            };
            SubagentReport { status, ..subagent(&name, &item.assignment) }
        });
        Ok(SpawnReport {
            subagents: subagents.collect(),
            notes: vec!["a note".to_owned()],
            ms: 1_000,
        })
    }
}

fn subagents(spawner: &Arc<Echoes>) -> Subagents {
    let caller = Caller {
        origin: CallOrigin { session: SessionId::generate(), task: None },
        folder: "/repo".into(),
        model: "fake/x".parse().unwrap(),
        approvals: Approvals::default(),
        mode: ApprovalMode::Ask,
        chosen: ChosenMode::default(),
        schema: None,
        pause: None,
        ask: None,
        lineage: Lineage::default(),
        tools: Vec::new(),
        servers: Default::default(),
        artifacts: "/artifacts".into(),
    };
    Subagents { spawner: Arc::<Echoes>::clone(spawner), caller: Arc::new(caller) }
}

/// What a call returns, and the lines of its progress.
async fn called(
    arguments: Value,
    subagents: Option<&Subagents>,
    cancel: CancelToken,
) -> (Result<ToolOutput, String>, Vec<String>) {
    let Value::Object(mut arguments) = arguments else { unreachable!("arguments are an object") };
    Task::reshape(&mut arguments);
    let arguments = serde_json::from_value(Value::Object(arguments)).unwrap();
    let lines = Arc::<Mutex<Vec<String>>>::default();
    let heard = Arc::clone(&lines);
    let progress: LineSink = Arc::new(move |line| heard.lock().unwrap().push(line));
    let returned = ran(arguments, subagents, (progress, cancel)).await.map_err(|why| why.0);
    let lines = lines.lock().unwrap().clone();
    (returned, lines)
}

fn text(output: &ToolOutput) -> String {
    output.content.iter().map(|content| format!("{content:?}")).collect()
}

#[test]
async fn subagents_work_on_the_tasks_of_a_call_and_their_results_come_in_its_order() {
    let echoes = Arc::<Echoes>::default();
    let subagents = subagents(&echoes);
    let tasks = json!({ "context": "All.", "tasks": [
        { "id": "A", "assignment": "first" }, { "id": "B", "assignment": "second" },
    ] });
    let (returned, lines) = called(tasks, Some(&subagents), CancelToken::default()).await;
    let output = returned.unwrap();
    let said = text(&output);
    let parts =
        ["2/2 succeeded [1.0s]", "<note>a note</note>", "id=\\\"1-A\\\"", "first", "2-B", "second"];
    let places: Vec<_> = parts.iter().map(|part| said.find(part)).collect();
    assert!(places.is_sorted() && places[0].is_some(), "{places:?} {said}");
    let details = output.details.unwrap();
    let ids: Vec<_> = details["results"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, ["1-A", "2-B"]);
    assert_eq!(lines, ["1-A works", "2-B works"]);
    let given = echoes.0.lock().unwrap().clone();
    assert_eq!((given.len(), given[0].context.as_deref()), (1, Some("All.")));
    let cancel = CancelToken::default();
    cancel.cancel(CancelLevel::Gently);
    let claude = json!({ "description": "Do it", "prompt": "x", "subagent_type": "explore" });
    let (returned, _) = called(claude, Some(&subagents), cancel).await;
    assert!(text(&returned.unwrap()).contains("0/1 succeeded (1 cancelled)"));
    let given = echoes.0.lock().unwrap().clone();
    assert_eq!(
        (given[1].items[0].id.as_str(), given[1].agent.as_deref()),
        ("DoIt", Some("explore"))
    );
}

#[test]
async fn a_call_that_cannot_be_started_starts_nothing_and_says_why() {
    let echoes = Arc::<Echoes>::default();
    let subagents = subagents(&echoes);
    let one = json!({ "id": "A", "assignment": "x" });
    for (arguments, subagents, why) in [
        (json!({ "tasks": [] }), Some(&subagents), "Invalid tasks: There are none."),
        (json!({ "op": "status", "id": "t" }), Some(&subagents), "`op` is not available"),
        (
            json!({ "tasks": [one], "agent": "oracle" }),
            Some(&subagents),
            "Unknown agent \"oracle\"",
        ),
        (json!({ "tasks": [one] }), None, "This session can start no subagents."),
    ] {
        let (returned, _) = called(arguments.clone(), subagents, CancelToken::default()).await;
        let refused = returned.unwrap_err();
        assert!(refused.contains(why), "{arguments}: {refused}");
    }
    assert!(echoes.0.lock().unwrap().is_empty());
}

#[test]
fn the_title_names_the_first_tasks() {
    let task = |id: &str, description: Option<&str>| match description {
        None => json!({ "id": id, "assignment": "x" }),
        Some(text) => json!({ "id": id, "assignment": "x", "description": text }),
    };
    let long = "a word ".repeat(20);
    for (tasks, title) in [
        (json!([task("A", Some("Find the cause"))]), "Find the cause"),
        (json!([task("A", Some("One")), task("B", None)]), "2 tasks: One, B"),
        (
            json!([task("A", None), task("B", None), task("C", None), task("D", None)]),
            "4 tasks: A, B, C, …",
        ),
        (json!([task("A", Some(&long))]), &*format!("{}…", &long[..40])),
        (json!([]), "0 tasks: "),
    ] {
        let arguments: Map<String, Value> = [("tasks".to_owned(), tasks)].into_iter().collect();
        assert_eq!(Task::title(&arguments).as_deref(), Some(title));
    }
    let claude = json!({ "description": "Find it", "prompt": "x" });
    let Value::Object(claude) = claude else { unreachable!("it is an object") };
    assert_eq!(crate::builtin::title::<Task>(claude).as_deref(), Some("Find it"));
}
