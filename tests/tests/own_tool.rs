//! Tools of another program, defined here and registered with one line: they see the workspace, say
//! which of their calls run alone, and those that cannot be built are reported.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actors::{AnswerError, Answerer, Events, ToolSetup};
use async_trait::async_trait;
use engine::ports::{
    Access, AccessClass, CancelLevel, Concurrency, Replace, Tool, ToolBuildError, ToolContext,
    ToolEnv, ToolFactory, ToolOutcome, ToolOutput, ToolSpec, ViewPath, WorkspaceView,
};
use protocol::{
    ApprovalMode, Approvals, Content, EventKind, Message, Outcome, SessionEntry, SessionEvent,
    SessionMessage, TaskName, ToolCall, ToolResult,
};
use serde_json::{Map, Value, json};
use tests::fakes::{TestEngine, agent, input, session, session_tools, spec};

/// Keeps a note in the workspace: writes its `text`, or says what it is.
struct Note(ToolSpec);

#[async_trait]
impl Tool for Note {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn reshape(&self, arguments: &mut Map<String, Value>) {
        if let Some(text) = arguments.remove("words") {
            arguments.insert("text".to_owned(), text);
        }
    }

    fn classify(&self, arguments: &Map<String, Value>) -> Access {
        let path = vec!["note.txt".to_owned()];
        match arguments.contains_key("text") {
            true => Access { class: AccessClass::Write(path), concurrency: Concurrency::Exclusive },
            false => Access { class: AccessClass::Read(path), concurrency: Concurrency::Shared },
        }
    }

    async fn check(
        &self,
        arguments: &Map<String, Value>,
        _view: &dyn WorkspaceView,
    ) -> Result<(), ToolOutcome> {
        match arguments.get("text") == Some(&json!("")) {
            true => Err(ToolOutcome::Failed(ToolOutput::text("a note has words"))),
            false => Ok(()),
        }
    }

    async fn execute(&self, call: ToolCall, context: &ToolContext) -> ToolOutcome {
        let path = ViewPath::new(Path::new("note.txt")).expect("it is a name");
        if let Some(text) = call.arguments.get("text").and_then(Value::as_str) {
            let written = context.view.write(&path, text.into(), Replace::Any).await;
            written.expect("a view in memory can be written");
            return ToolOutcome::Output(ToolOutput::text("noted"));
        }
        let read = match context.view.open(&path).await {
            Ok(mut file) => file.read(100).await,
            Err(error) => Err(error),
        };
        match read {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let content = vec![Content::text("The note:"), Content::text(text)];
                let details = Some(json!({ "bytes": bytes.len() }));
                ToolOutcome::Output(ToolOutput { content, details })
            }
            Err(error) => ToolOutcome::Failed(ToolOutput::text(format!("no note: {error}"))),
        }
    }
}

/// Waits until as many calls of it run as `with` says; with `alone` it says whether it is.
struct Meet {
    spec: ToolSpec,
    running: AtomicUsize,
}

#[async_trait]
impl Tool for Meet {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn classify(&self, arguments: &Map<String, Value>) -> Access {
        let concurrency = match arguments.contains_key("alone") {
            true => Concurrency::Exclusive,
            false => Concurrency::Shared,
        };
        Access { concurrency, ..Access::none() }
    }

    async fn execute(&self, call: ToolCall, _context: &ToolContext) -> ToolOutcome {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        let with = call.arguments.get("with").and_then(Value::as_u64).unwrap_or_default();
        while (self.running.load(Ordering::SeqCst) as u64) < with {
            tokio::task::yield_now().await;
        }
        if call.arguments.contains_key("alone") {
            self.running.fetch_sub(1, Ordering::SeqCst);
        }
        ToolOutcome::Output(ToolOutput::text(format!("{running} ran")))
    }
}

/// Runs commands, which do nothing.
struct Command(ToolSpec);

#[async_trait]
impl Tool for Command {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn classify(&self, arguments: &Map<String, Value>) -> Access {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let class =
            AccessClass::Exec { command: text("command").into(), folder: text("cwd").into() };
        Access { class, concurrency: Concurrency::Shared }
    }

    async fn execute(&self, _call: ToolCall, _context: &ToolContext) -> ToolOutcome {
        ToolOutcome::Output(ToolOutput::text("ran"))
    }
}

/// Builds them, and one that cannot be built.
pub(crate) struct Mine;

#[async_trait]
impl ToolFactory for Mine {
    fn name(&self) -> &str {
        "mine"
    }

    async fn build(&self, _env: &ToolEnv) -> Vec<Result<Arc<dyn Tool>, ToolBuildError>> {
        let broken = || ToolBuildError {
            tool: "broken".to_owned(),
            reason: "its server does not answer".to_owned(),
        };
        vec![
            Ok(Arc::new(Note(spec("note")))),
            Err(broken()),
            Ok(Arc::new(Command(spec("command")))),
            Ok(Arc::new(Meet { spec: spec("meet"), running: AtomicUsize::new(0) })),
        ]
    }
}

/// Builds a tool whose name is taken, and one whose schema is none.
struct Unfit;

#[async_trait]
impl ToolFactory for Unfit {
    fn name(&self) -> &str {
        "unfit"
    }

    async fn build(&self, _env: &ToolEnv) -> Vec<Result<Arc<dyn Tool>, ToolBuildError>> {
        let odd = ToolSpec { parameters: json!({ "type": "odd" }).into(), ..spec("odd") };
        vec![Ok(Arc::new(Note(spec("read")))), Ok(Arc::new(Note(odd)))]
    }
}

/// Panics when it builds.
struct Fatal;

#[async_trait]
impl ToolFactory for Fatal {
    fn name(&self) -> &str {
        "fatal factory"
    }

    async fn build(&self, _env: &ToolEnv) -> Vec<Result<Arc<dyn Tool>, ToolBuildError>> {
        panic!("a test asked for it")
    }
}

fn results(entries: Vec<SessionEntry>) -> Vec<ToolResult> {
    let result = |entry| match entry {
        SessionEntry::Message {
            message: SessionMessage::Model(Message::ToolResult(result)),
            ..
        } => Some(result),
        _ => None,
    };
    entries.into_iter().filter_map(result).collect()
}

#[test(flavor = "multi_thread")]
async fn a_tool_of_somebody_else_is_called_by_a_model() {
    let mut engine = TestEngine::with_tools(1, vec![Arc::new(Mine)]).await;
    let script = r#"use note {}; use note {"words":"two words"} & note {}; yield 1"#;
    let (reports, _) = engine.run(vec![agent("noting", script)]).await;
    assert_eq!(reports[0].1.outcome, Outcome::Done { value: json!(1) });
    let results = results(engine.logs.of("noting"));
    let texts: Vec<_> = results.iter().map(ToolResult::text).collect();
    let note = "The note:\ntwo words";
    assert_eq!(texts, ["no note: it does not exist", "noted", note, "received"]);
    assert_eq!(
        results.iter().map(|result| result.is_error).collect::<Vec<_>>(),
        [true, false, false, false]
    );
    let blocks = vec![Content::text("The note:"), Content::text("two words")];
    assert_eq!((&results[2].content, &results[2].details), (&blocks, &Some(json!({ "bytes": 9 }))));
    let declared = engine.models.requests()[0].tools.clone();
    assert!(declared.iter().any(|tool| tool.name == "note"), "{declared:?}");
}

#[test(flavor = "multi_thread")]
async fn a_tool_says_which_of_its_calls_run_alone() {
    let mut engine = TestEngine::with_tools(1, vec![Arc::new(Mine)]).await;
    let both = r#"meet {"with":2} & meet {"with":2}"#;
    let script = format!(r#"use {both} & meet {{"alone":1}} & meet {{"with":3}}; yield 1"#);
    let (reports, _) = engine.run(vec![agent("meeting", &script)]).await;
    assert_eq!(reports[0].1.outcome, Outcome::Done { value: json!(1) });
    let texts = results(engine.logs.of("meeting")).iter().map(ToolResult::text).collect::<Vec<_>>();
    // The two count themselves in any order; the third waits for both, the last for the third.
    assert_eq!(texts[..2].iter().max().unwrap(), "2 ran");
    assert_eq!(texts[2..], ["3 ran", "3 ran", "received"]);
}

#[test(flavor = "multi_thread")]
async fn a_tool_that_cannot_be_built_is_reported_and_the_session_goes_on() {
    let more: Vec<Arc<dyn ToolFactory>> = vec![Arc::new(Mine), Arc::new(Unfit), Arc::new(Fatal)];
    let mut engine = TestEngine::with_tools(1, more).await;
    let spec = engine.spec(vec![agent("frugal", "call read note; yield 1")]);
    engine.submit(spec).await;
    let mut left_out = Vec::new();
    let report = engine
        .find(|event| match event {
            EventKind::SessionEvent {
                task: Some(task),
                event: SessionEvent::ToolUnavailable { tool_name, error_message },
            } => {
                assert_eq!(*task, TaskName::nearest("frugal"));
                left_out.push(format!("{tool_name}: {error_message}"));
                None
            }
            EventKind::TaskFinished { report, .. } => Some(report.clone()),
            _ => None,
        })
        .await;
    assert_eq!(report.outcome, Outcome::Done { value: json!(1) });
    assert_eq!(
        left_out,
        [
            "broken: its server does not answer",
            "read: another tool has its name",
            "odd: its schema is not a JSON Schema: it has no `required`",
            "fatal factory: building crashed: a test asked for it",
        ]
    );
    let declared = engine.models.requests()[0].tools.clone();
    let names: Vec<_> = declared.iter().map(|tool| tool.name.as_str()).collect();
    let fakes = [
        "read", "wait", "bad", "boom", "cling", "stuck", "tidy", "later", "lost", "fatal", "yield",
    ];
    assert_eq!(names, [&fakes[..], &["note", "command", "meet"]].concat());
    assert_eq!(results(engine.logs.of("frugal"))[0].text(), "text", "the first of a name stays");
}

/// Waits for the next event of a session that `wanted` takes.
async fn next<T>(events: &mut Events, wanted: impl Fn(&SessionEvent) -> Option<T>) -> T {
    loop {
        let event = events.recv().await.expect("the session is open");
        if let EventKind::SessionEvent { event, .. } = &event.kind
            && let Some(found) = wanted(event)
        {
            return found;
        }
    }
}

#[test(flavor = "multi_thread")]
async fn a_question_about_a_call_is_answered_once_and_withdrawn_with_its_work() {
    let engine = TestEngine::with_tools(1, vec![Arc::new(Mine)]).await;
    let approvals = Approvals { mode: Some(ApprovalMode::Ask), ..Approvals::default() }.into();
    let tools = ToolSetup { approvals, ..session_tools() }.answered_by(Answerer::Client);
    let opened = engine.engine.open_session(session("/sessions/asks.jsonl"), tools).await;
    let (handle, mut events) = opened.expect("it opens");
    let asked = |event: &SessionEvent| match event {
        SessionEvent::QuestionAsked { question } => Some(question.clone()),
        _ => None,
    };
    let script = r#"use note {"words":"one"}; say done; use note {"words":"two"}; say done"#;
    handle.prompt(input(script));
    let question = next(&mut events, asked).await;
    assert_eq!((question.text.as_str(), question.default.as_str()), ("note note.txt", "no"));
    let answer = |choice: &str| handle.answer(question.id, choice.to_owned());
    assert_eq!(answer("maybe").await, Err(AnswerError::NoSuchChoice));
    assert_eq!(answer("once").await, Ok(()));
    assert_eq!(answer("once").await, Err(AnswerError::NotOpen));
    let ended = |event: &SessionEvent| match event {
        SessionEvent::ToolExecutionEnd { is_error, .. } => Some(*is_error),
        _ => None,
    };
    assert!(!next(&mut events, ended).await);

    handle.prompt(input("more"));
    let again = next(&mut events, asked).await;
    handle.abort(CancelLevel::Gently);
    let closed = |event: &SessionEvent| match event {
        SessionEvent::QuestionClosed { question_id, choice_id } => {
            Some((*question_id, choice_id.clone()))
        }
        _ => None,
    };
    assert_eq!(next(&mut events, closed).await, (again.id, None));
    assert_eq!(handle.answer(again.id, "once".to_owned()).await, Err(AnswerError::NotOpen));
    handle.close().await;
}

#[test(start_paused = true)]
async fn a_client_has_ten_minutes_for_an_answer_and_a_person_any_time() {
    for (answerer, deadline) in [(Answerer::Client, Some(600_000)), (Answerer::Person, None)] {
        let engine = TestEngine::with_tools(1, vec![Arc::new(Mine)]).await;
        let approvals = Approvals { mode: Some(ApprovalMode::Ask), ..Approvals::default() }.into();
        let tools = ToolSetup { approvals, ..session_tools() }.answered_by(answerer);
        let opened = engine.engine.open_session(session("/sessions/waits.jsonl"), tools).await;
        let (handle, mut events) = opened.expect("it opens");
        handle.prompt(input(r#"use note {"words":"one"}; say done"#));
        let asked = |event: &SessionEvent| match event {
            SessionEvent::QuestionAsked { question } => Some(question.clone()),
            _ => None,
        };
        let question = next(&mut events, asked).await;
        assert_eq!(question.deadline_ms, deadline);
        let closed = |event: &SessionEvent| match event {
            SessionEvent::QuestionClosed { choice_id, .. } => Some(choice_id.clone()),
            _ => None,
        };
        let waited = tokio::time::Instant::now();
        let in_an_hour = Duration::from_secs(3_600);
        let end = tokio::time::timeout(in_an_hour, next(&mut events, closed)).await;
        match deadline {
            Some(_) => assert_eq!((end, waited.elapsed().as_secs()), (Ok(None), 600)),
            None => assert!(end.is_err(), "it is still open"),
        }
        handle.abort(CancelLevel::AtOnce);
        handle.close().await;
    }
}

#[test(flavor = "multi_thread")]
async fn calls_are_asked_about_in_their_order_and_what_was_not_allowed_is_recorded_as_not_run() {
    let engine = TestEngine::with_tools(1, vec![Arc::new(Mine)]).await;
    let approvals = Approvals { mode: Some(ApprovalMode::Ask), ..Approvals::default() }.into();
    let tools = ToolSetup { approvals, ..session_tools() }.answered_by(Answerer::Client);
    let opened = engine.engine.open_session(session("/sessions/order.jsonl"), tools).await;
    let (handle, mut events) = opened.expect("it opens");
    let commands = ["a", "b", "a", "c", "d", "e", "f"];
    let calls = commands.map(|command| format!(r#"command {{"command":"{command}"}}"#));
    let last = r#"command {"command":"g","cwd":"sub"} & command {"command":"h"}"#;
    let script = format!(r#"use {} & {last} & note {{"words":"x"}}; say done"#, calls.join(" & "));
    handle.prompt(input(&script));
    let choices = ["session", "once", "no", "once", "once", "once"];
    let (mut asked, mut ends, mut refused) = (Vec::new(), Vec::new(), 0);
    while let Some(event) = events.recv().await {
        let EventKind::SessionEvent { event, .. } = &event.kind else { continue };
        match event {
            SessionEvent::QuestionAsked { question } => {
                asked.push(question.text.clone());
                if let Some(choice) = choices.get(asked.len() - 1) {
                    let answered = handle.answer(question.id, (*choice).to_owned()).await;
                    assert_eq!(answered, Ok(()));
                }
            }
            SessionEvent::ToolExecutionEnd { tool_name, result: Some(result), .. } => {
                let text: String = result.content.iter().map(Content::as_text).collect();
                ends.push(format!("{tool_name}: {text}"));
            }
            SessionEvent::ToolCallRefused { .. } => refused += 1,
            SessionEvent::AgentEnd { .. } => break,
            _ => continue,
        }
        // The question before the last call, and the end of each call before it.
        if asked.len() > choices.len() && ends.len() == commands.len() {
            handle.abort(CancelLevel::Gently);
        }
    }
    let of = |command: &str| format!("command {command}");
    let expected = ["a", "b", "c", "d", "e", "f", "in sub: g"].map(of);
    assert_eq!(asked, expected, "the second `a` is not asked about");
    let not_run = "not run: the work was aborted before this call.";
    let of = |tool: &str| format!("{tool}: {not_run}");
    let unrun: Vec<_> = ends.iter().filter(|end| end.contains("not run")).cloned().collect();
    assert_eq!(unrun, [of("command"), of("command"), of("note")], "{ends:?}");
    assert!(!ends.iter().any(|end| end.contains("interrupted")), "{ends:?}");
    assert_eq!(refused, 3, "the one that was answered with no, and two that were not allowed yet");
    handle.close().await;
}
