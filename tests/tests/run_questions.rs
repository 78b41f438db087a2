//! The questions of the tasks of a run: who may answer, how often, how long they wait, and what waits with
//! them.

use std::sync::Arc;
use std::time::Duration;

use actors::{AnswerError, Answerer, ChosenMode, RunHandle, Submission};
use engine::exit_code::Interruption;
use engine::ports::CancelLevel;
use protocol::{
    ApprovalMode, Approvals, EventKind, Outcome, Question, QuestionId, RunId, SessionEvent,
    TaskReport, TaskSpec, Work,
};
use tests::fakes::{TestEngine, agent};

use crate::own_tool::Mine;

/// Returns a task that writes a note, which is asked about.
fn asks(name: &str) -> TaskSpec {
    asking(name, r#"use note {"words":"one"}; yield 1"#)
}

fn asking(name: &str, script: &str) -> TaskSpec {
    let mut task = agent(name, script);
    let Work::Agent(agent) = &mut task.work else { panic!("it is an agent") };
    agent.approvals = Approvals { mode: Some(ApprovalMode::Ask), ..Approvals::default() };
    task.limits.wall = Duration::from_secs(60);
    task
}

fn done() -> Outcome {
    Outcome::Done { value: serde_json::json!(1) }
}

async fn engine() -> TestEngine {
    TestEngine::with_tools(1, vec![Arc::new(Mine)]).await
}

async fn submit(engine: &TestEngine, tasks: Vec<TaskSpec>, answerer: Answerer) -> RunHandle {
    let repository = Arc::clone(&engine.repository) as Arc<_>;
    let submission = Submission::new(engine.spec(tasks), repository).answered_by(answerer);
    engine.engine.run(submission).await.expect("the run is accepted")
}

/// What a run has said of questions and ends.
#[derive(Debug)]
enum Said {
    Asked(String, Question),
    Closed(QuestionId, Option<String>),
    Finished(String, Box<TaskReport>),
    Over,
}

async fn next(run: &mut RunHandle) -> Said {
    loop {
        let event = run.recv().await.expect("the run says how it ends");
        match &event.kind {
            EventKind::SessionEvent { task: Some(task), event } => match event {
                SessionEvent::QuestionAsked { question } => {
                    return Said::Asked(task.to_string(), question.clone());
                }
                SessionEvent::QuestionClosed { question_id, choice_id } => {
                    return Said::Closed(*question_id, choice_id.clone());
                }
                _ => {}
            },
            EventKind::TaskFinished { task, report } => {
                return Said::Finished(task.to_string(), report.clone());
            }
            EventKind::RunFinished { .. } => return Said::Over,
            _ => {}
        }
    }
}

#[test(start_paused = true)]
async fn a_question_without_an_answer_takes_neither_time_nor_permit_of_its_task_and_is_a_refusal() {
    let engine = engine().await;
    let tasks = vec![asks("asks"), agent("other", "yield 2")];
    let mut run = submit(&engine, tasks, Answerer::Client).await;
    let begun = tokio::time::Instant::now();
    let Said::Asked(task, question) = next(&mut run).await else { panic!("it asks") };
    assert_eq!((task.as_str(), question.text.as_str()), ("asks", "note note.txt"));
    let Said::Finished(other, _) = next(&mut run).await else { panic!("another one works") };
    assert_eq!(other, "other");
    let Said::Closed(id, None) = next(&mut run).await else { panic!("it is closed") };
    assert_eq!((id, begun.elapsed().as_secs()), (question.id, 600));
    let Said::Finished(_, report) = next(&mut run).await else { panic!("it goes on") };
    assert_eq!((&report.outcome, report.refused_calls), (&done(), 1));
    let told = format!("{:?}", engine.models.requests().last().expect("it was asked").messages);
    assert!(told.contains("did not answer in time"), "{told}");
    assert!(matches!(next(&mut run).await, Said::Over));
}

#[test(flavor = "multi_thread")]
async fn a_question_of_a_task_is_answered_once_and_closed_with_its_task() {
    let engine = engine().await;
    let mut run = submit(&engine, vec![asks("one"), asks("two")], Answerer::Client).await;
    let (handle, id) = (engine.engine.clone(), run.id);
    let give = |run: RunId, question: &Question, choice: &str| {
        let (controls, id, choice) = (handle.controls(run), question.id, choice.to_owned());
        async move { controls.answer(id, choice).await }
    };
    let mut asked = Vec::new();
    for _ in 0..2 {
        let Said::Asked(_, question) = next(&mut run).await else { panic!("both ask") };
        asked.push(question);
    }
    let [one, two] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(give(id, one, "maybe").await, Err(AnswerError::NoSuchChoice));
    let both = tokio::join!(give(id, one, "once"), give(id, one, "no"));
    assert_eq!(both, (Ok(()), Err(AnswerError::NotOpen)));
    assert_eq!(give(RunId::generate(), two, "once").await, Err(AnswerError::Closed));
    let Said::Closed(closed, Some(choice)) = next(&mut run).await else { panic!("closed") };
    assert_eq!((closed, choice.as_str()), (one.id, "once"));
    engine.engine.controls(id).cancel(CancelLevel::Gently, Interruption::Interrupt);
    let (mut closed, mut ended) = (None, Vec::new());
    loop {
        match next(&mut run).await {
            Said::Closed(id, choice) => closed = Some((id, choice, ended.contains(&"two".into()))),
            Said::Finished(task, _) => ended.push(task),
            Said::Over => break,
            Said::Asked(..) => panic!("nothing asks any more"),
        }
    }
    assert_eq!(closed, Some((two.id, None, false)), "before its task ends");
    assert_eq!(ended.len(), 2);
    assert!(give(id, two, "once").await.is_err());
}

#[test(flavor = "multi_thread")]
async fn a_call_that_cannot_succeed_fails_without_a_question() {
    let engine = engine().await;
    let task = asking("asks", r#"use note {"words":""}; yield 1"#);
    let mut run = submit(&engine, vec![task], Answerer::Client).await;
    let Said::Finished(_, report) = next(&mut run).await else { panic!("it asks") };
    assert_eq!((&report.outcome, report.refused_calls), (&done(), 0));
    let read = format!("{:?}", engine.models.requests().last().expect("it was asked").messages);
    assert!(read.contains("a note has words"), "{read}");
}

#[test(flavor = "multi_thread")]
async fn a_task_that_nobody_answers_is_refused_at_once() {
    let engine = engine().await;
    let mut run = submit(&engine, vec![asks("asks")], Answerer::None).await;
    let Said::Finished(_, report) = next(&mut run).await else { panic!("it asks nobody") };
    assert_eq!((&report.outcome, report.refused_calls), (&done(), 1));
}

#[test(flavor = "multi_thread")]
async fn a_mode_that_a_person_chooses_reaches_the_tasks_that_work() {
    let (engine, mode) = (engine().await, ChosenMode::default());
    let script = r#"use note {"words":"one"}; use note {"words":"two"}; yield 1"#;
    let repository = Arc::clone(&engine.repository) as Arc<_>;
    let submission = Submission::new(engine.spec(vec![asking("asks", script)]), repository);
    let submission = submission.answered_by(Answerer::Client).in_mode(mode.clone());
    let mut run = engine.engine.run(submission).await.expect("the run is accepted");
    let Said::Asked(_, question) = next(&mut run).await else { panic!("it asks") };
    mode.set(ApprovalMode::Yolo);
    let answered = run.controls().answer(question.id, "once".to_owned()).await;
    assert_eq!(answered, Ok(()));
    let Said::Closed(..) = next(&mut run).await else { panic!("it is answered") };
    let Said::Finished(_, report) = next(&mut run).await else { panic!("it asks no more") };
    assert_eq!((&report.outcome, report.refused_calls), (&done(), 0));
}
