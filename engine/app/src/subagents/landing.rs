//! Lands the work of subagents whose caller has to ask before it changes a file: one question for all of a
//! run's work.

use std::error::Error;
use std::sync::Arc;

use engine::ports::{Ask, CancelToken, Repository, SettleRequest};
use engine::texts::counted;
use protocol::{
    Landed, Outcome, Question, QuestionChoice, QuestionForm, QuestionId, RunName, TaskName,
};

use super::follow::{ChildLanding, RunEnd};
use crate::app_context::AppContext;
use crate::runs::{
    LandAgain, LandableWork, LockedTarget, RepositoryRuns, Target, TargetWords, land,
    landing_request,
};

/// The longest diff of a question, in bytes. A longer one is left out, and the question says so.
const LONGEST_DIFF: usize = 1 << 20;

const LAND: &str = "land";
const KEEP: &str = "keep";

/// Asks whether the work of a run lands, and lands it. Without a yes, the work is kept.
///
/// # Errors
/// The work cannot be read, or could not land. All of it is kept.
pub(super) async fn ask_and_land(
    app: &AppContext,
    repository: &dyn Repository,
    (run, end): (&RunName, &mut RunEnd),
    (ask, cancel): (&dyn Ask, &CancelToken),
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let changed: Vec<_> = end.changed().cloned().collect();
    if changed.is_empty() || cancel.is_cancelled() {
        return Ok(());
    }
    let runs = RepositoryRuns::of(app, repository.facts().root.clone());
    let question = question(&changed, diff(&runs, end));
    let answer = tokio::select! {
        answer = ask.ask(question) => answer,
        () = cancel.cancelled() => None,
    };
    if answer.as_deref() != Some(LAND) {
        return Ok(());
    }
    let words = TargetWords { target: Some(run.to_string()), task: None };
    let target = Target::find(&runs, &words)?;
    let locked = LockedTarget::of(&runs, repository, &target)?;
    let work = LandableWork::of(&runs, locked.target(), LandAgain::No)?;
    let request = landing_request(&runs, locked.target(), &work, &SettleRequest::default())?;
    let what = (&locked, request);
    let report = land(&runs, repository, what, cancel.clone(), Arc::new(|_notice| {})).await?;
    for landing in report.tasks {
        let became = match landing.landed {
            Landed::Landed { .. } | Landed::Unchanged => ChildLanding::Landed,
            Landed::Conflicted { conflicts } => ChildLanding::conflicted(&conflicts),
            _ => continue,
        };
        end.landings.insert(landing.task, became);
    }
    Ok(())
}

/// Returns what the work changes, one after the other; `None` if it is long or cannot be read.
fn diff(runs: &RepositoryRuns, end: &RunEnd) -> Option<String> {
    let mut all = String::new();
    for task in end.changed() {
        let captured = end.reports.get(task)?.captured.as_ref()?;
        let patch = runs.captured.patch(&captured.capture).ok()?;
        all += &String::from_utf8_lossy(&patch);
        if all.len() > LONGEST_DIFF {
            return None;
        }
    }
    Some(all)
}

fn question(changed: &[TaskName], diff: Option<String>) -> Question {
    let names: Vec<_> = changed.iter().map(TaskName::as_str).collect();
    let whose = match names.as_slice() {
        [name] => (*name).to_owned(),
        names => counted(names.len(), "subagent"),
    };
    let choice = |id: &str, key| QuestionChoice { id: id.to_owned(), key, label: id.to_owned() };
    let long = if diff.is_none() { "; the diff is too long to be shown here" } else { "" };
    let names = names.join(", ");
    Question {
        id: QuestionId::generate(),
        text: format!("Land the work of {whose} in your tree?"),
        form: QuestionForm::Sentence,
        reason: format!("{names}: this session asks before it changes files{long}"),
        choices: vec![choice(LAND, 'y'), choice(KEEP, 'n')],
        default: KEEP.to_owned(),
        tool_call_id: None,
        deadline_ms: None,
        diff,
    }
}

impl RunEnd {
    /// Returns the tasks that are done and have changed files.
    fn changed(&self) -> impl Iterator<Item = &TaskName> {
        self.reports.iter().filter_map(|(task, report)| {
            let files = report.captured.as_ref().map_or(0, |captured| captured.changes.files);
            let is_done = matches!(report.outcome, Outcome::Done { .. });
            (is_done && files > 0).then_some(task)
        })
    }
}
