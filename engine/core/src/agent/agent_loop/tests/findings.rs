//! Findings that a model reports are part of what it yields.

use super::*;

/// Reports what the call is named, and yields a verdict.
struct Reviewer;

#[async_trait]
impl ToolRunner for Reviewer {
    fn declarations(&self) -> Arc<[ToolDeclaration]> {
        Arc::from([])
    }

    async fn classify(&self, calls: &[ToolCall]) -> Vec<Access> {
        calls.iter().map(|_| Access::none()).collect()
    }

    async fn call(&self, call: ToolCall) -> ToolOutcome {
        let output = ToolOutput::text("said").with_details(json!({ "title": call.id }));
        match (call.name.as_str(), call.id.as_str()) {
            ("yield", _) => ToolOutcome::Yielded(json!({ "verdict": "ok" })),
            (_, "wrong") => ToolOutcome::Failed(output),
            _ => ToolOutcome::Output(output),
        }
    }

    async fn interrupt(&self) {}
}

#[test]
fn what_a_model_yields_has_the_findings_that_it_has_reported_before_in_their_order() {
    let report = "report_finding";
    let (shelf, heard) = (Shelf::default(), Heard::default());
    let first = answer(&[("one", report), ("wrong", report), ("two", report), ("other", "read")]);
    let script = Script::of([first, answer(&[("three", report)]), answer(&[("y", "yield")])]);
    let mut conversation = conversation(&shelf);
    let end = finish(run(&mut conversation, &mut context(&script, &Reviewer, &heard), None));
    let findings = json!([{ "title": "one" }, { "title": "two" }, { "title": "three" }]);
    assert_eq!(end, AgentEnd::Yielded(json!({ "verdict": "ok", "findings": findings })));
}
