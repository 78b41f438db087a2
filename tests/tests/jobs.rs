//! A panic at the beginning or at the end of any job of any actor: the caller that waits for the job is
//! told, nothing of a task is lost without a word, and what is not concerned goes on.
//!
//! The clock is paused: as soon as nothing can go on any more, the deadline passes.

use actors::Job;

mod scenes;

use scenes::{Scene, play};

/// Returns a scene, and what a panic at either end of a job comes to.
fn both(scene: Scene, came: &'static str) -> (Scene, &'static str, &'static str) {
    (scene, came, came)
}

/// Returns where `job` is done, and what a panic at its beginning and at its end comes to. What is
/// captured, or left as it is and reported, is not lost; a part without which the engine cannot go
/// on has it end with exit code 70.
#[expect(clippy::too_many_lines, reason = "a table")]
fn expected(job: Job) -> (Scene, &'static str, &'static str) {
    match job {
        Job::RootWatch => both(
            Scene::Closing,
            "closed; 0 captured, 1 left; fell: gave up waiting for the runs after 600 s",
        ),
        Job::RunsOpen => {
            both(Scene::Commands, "refused: opening the run crashed; 0 captured, 0 left")
        }
        Job::RunsWithdraw => both(
            Scene::Cancelled,
            "refused: the run was cancelled before it began; 0 captured, 0 left",
        ),
        Job::RunLand => (
            Scene::Commands,
            "done, done; 0 landed; 2 captured, 0 left",
            "done, done; 2 landed; 2 captured, 0 left",
        ),
        Job::RunSettle | Job::RunClose | Job::TaskDiscard | Job::RepositoryClose => {
            both(Scene::Commands, "done, done; 2 landed; 2 captured, 0 left")
        }
        Job::TaskPrepare => both(Scene::Commands, "workspace, done; 1 landed; 2 captured, 0 left"),
        Job::TaskEquip | Job::TaskWork => {
            both(Scene::Commands, "crashed, done; 1 landed; 2 captured, 0 left")
        }
        Job::TaskSetUp => both(Scene::SetUp, "crashed, done; 1 landed; 2 captured, 0 left"),
        Job::WorkspaceAccept => both(Scene::SetUp, "workspace, done; 1 landed; 2 captured, 0 left"),
        Job::TaskClear => both(Scene::CrashedAgent, "crashed; 0 landed; 1 captured, 0 left"),
        Job::TaskSeal => both(Scene::Commands, "workspace, done; 1 landed; 1 captured, 1 left"),
        Job::TaskCapture => both(Scene::Commands, "workspace, done; 1 landed; 2 captured, 1 left"),
        Job::TaskTimer | Job::TaskProgress => {
            both(Scene::SlowAgent, "timeout; 0 landed; 1 captured, 0 left")
        }
        Job::RepositoryFreeze => {
            both(Scene::Commands, "refused: cannot freeze the working tree; 0 captured, 0 left")
        }
        Job::RepositoryLand => both(Scene::Commands, "done, done; 0 landed; 2 captured, 0 left"),
        Job::RepositoryTakeBack => (
            Scene::DeadOwner,
            "workspace, done; 1 landed; 1 captured, 1 left",
            "workspace, done; 1 landed; 2 captured, 0 left",
        ),
        Job::WorkspacePrepare => (
            Scene::Commands,
            "workspace, done; 1 landed; 1 captured, 0 left",
            "workspace, done; 1 landed; 1 captured, 1 left",
        ),
        Job::WorkspaceCapture => (
            Scene::Commands,
            "workspace, done; 1 landed; 1 captured, 1 left",
            "workspace, done; 1 landed; 2 captured, 1 left",
        ),
        Job::WorkspaceDiscard => (
            Scene::Commands,
            "done, done; 2 landed; 2 captured, 1 left",
            "done, done; 2 landed; 2 captured, 0 left",
        ),
        Job::WorkspaceTakeBack => (
            Scene::DeadTask,
            "crashed; 0 landed; 0 captured, 1 left",
            "crashed; 0 landed; 1 captured, 0 left",
        ),
        Job::LedgerOpenRun => both(
            Scene::Commands,
            "refused: the engine is closing; 0 captured, 0 left; fell: the ledger: a fault was planned at POINT",
        ),
        Job::LedgerAppend => both(
            Scene::Commands,
            "cancelled, cancelled; 0 landed; 0 captured, 0 left; fell: the ledger: a fault was planned at POINT",
        ),
        Job::GateStep | Job::GateWake => {
            both(Scene::LimitedAgents, "done, done; 2 landed; 2 captured, 0 left")
        }
        Job::ExecutorBuild => both(Scene::Agent, "crashed; 0 landed; 1 captured, 0 left"),
        Job::ExecutorRun => (
            Scene::Commands,
            "crashed, done; 1 landed; 2 captured, 0 left",
            "done, done; 2 landed; 2 captured, 0 left",
        ),
        Job::ExecutorClassify | Job::ExecutorCall | Job::ExecutorBackground => {
            both(Scene::Agent, "done; 1 landed; 1 captured, 0 left")
        }
        Job::ExecutorEnd => both(Scene::Commands, "workspace, done; 1 landed; 1 captured, 1 left"),
        Job::ServerCache
        | Job::ServerConnect
        | Job::ServerWatch
        | Job::ServerList
        | Job::ServerPause
        | Job::ServerClose
        | Job::ServicesClose => both(Scene::Server, "done; 1 landed; 1 captured, 0 left"),
        Job::SessionOpen => {
            both(Scene::Session, "refused: a fault was planned at POINT; 0 captured, 0 left")
        }
        Job::SessionWork => (
            Scene::Agent,
            "done; 1 landed; 1 captured, 0 left",
            "contract; 0 landed; 1 captured, 0 left",
        ),
        Job::SessionRevision => {
            both(Scene::Compaction, r#"Err("the session is closed"), silent; 0 captured, 0 left"#)
        }
        Job::SessionModel => both(
            Scene::Session,
            r#"Err("a fault was planned at POINT"), yielded, silent; 0 captured, 0 left"#,
        ),
        Job::SessionsLease => {
            both(Scene::Session, "refused: no tool executor could be started; 0 captured, 0 left")
        }
        Job::SessionsOpen => {
            both(Scene::Session, "refused: opening it was not confirmed; 0 captured, 0 left")
        }
        Job::SessionsModel => both(
            Scene::Session,
            r#"Err("the session is closed"), yielded, silent; 0 captured, 0 left"#,
        ),
        Job::SessionsClear => both(
            Scene::Session,
            "Ok(()), dropped, it crashed, and its processes did not stop in time; 0 captured, 0 left",
        ),
        Job::SessionsClose | Job::SessionsSeal => {
            both(Scene::Session, "Ok(()), yielded, silent; 0 captured, 0 left")
        }
    }
}

#[test(start_paused = true)]
async fn a_panic_in_any_job_is_told_and_nobody_waits_for_ever() {
    let mut wrong = Vec::new();
    for job in Job::ALL {
        let (scene, at_begin, at_end) = expected(*job);
        for (point, expected) in [(job.begin(), at_begin), (job.end(), at_end)] {
            let came = play(scene, point).await;
            if came != expected {
                wrong.push(format!("{point}: {came}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
