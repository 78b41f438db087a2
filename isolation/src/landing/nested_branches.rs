//! Landing on branches, in the user's repository and in nested ones: a branch for each task, or a
//! stack. In a nested repository the branch is named like the run's own, whatever `--onto` says, and
//! never one that is checked out.

use std::collections::BTreeMap;

use engine::fault::Faults;
use engine::ports::{LandingNotice, LandingRequest, Notice, SettleRequest};
use protocol::{
    Landed, LandingId, LandingReport, RepoPath, RunName, StackBranch, TaskLanding, TaskName,
};

use crate::baseline::RunFiles;
use crate::branch::{
    Publish, StackTarget, find_branch, keep_in_memory, make_branches, make_stack, write_pack,
};
use crate::error::{OrCannot, Result, cannot};
use crate::landing::finish::LandingContext;
use crate::landing::journal::{Journals, State};
use crate::landing::journal_content::Journal;
use crate::landing::on_branch::{
    BranchMove, NamedBranch, dry_run_on_branch, land_on_branch, move_branch,
};
use crate::landing::parts::{LandPart, PartLanding, Parts, nested_roots};
use crate::landing::undo::NestedBranch;
use crate::nested::{NO_LINKS, Part};
use crate::repository::{RefUpdated, Repo};
use crate::store::TaskStore;

/// Makes one branch for each task of `request` in each repository in which it worked. Those in nested
/// repositories are recorded in `recorded`; without it nothing is made.
pub(super) fn make(
    repo: &Repo,
    store: &TaskStore,
    (faults, prefix, began): (&Faults, &str, &RunFiles<'_>),
    request: &LandingRequest,
    recorded: Option<(&Journals<'_>, LandingId)>,
) -> Result<(LandingReport, Vec<Notice>)> {
    let publish = if recorded.is_some() { Publish::Yes } else { Publish::No };
    let roots = nested_roots(store, &request.tasks);
    if roots.is_empty() {
        let part = Part::Root(&NO_LINKS);
        let work = (store, part, Some(began));
        return make_branches(repo, work, faults, prefix, request, publish);
    }
    let land: &LandPart<'_> = &|repo, part, request, publish| {
        let began = matches!(part, Part::Root(_)).then_some(began);
        let (work, request) = ((store, part, began), &unsettled(request));
        let (report, notices) = make_branches(repo, work, faults, prefix, request, publish)?;
        let git = repo.git()?;
        let (mut tips, mut made) = (BTreeMap::new(), Vec::new());
        for TaskLanding { task, landed, .. } in &report.tasks {
            let branch = match landed {
                Landed::Landed { branch: Some(branch), .. } => branch.clone(),
                // A landing that was cut short has made it.
                Landed::Unchanged => format!("{prefix}/{}/{task}", request.run),
                _ => continue,
            };
            let Some(tip) = find_branch(&git, &branch)? else { continue };
            if matches!(landed, Landed::Landed { .. }) {
                tips.insert(task.clone(), tip.id());
            }
            let (reference, to) = (format!("refs/heads/{branch}"), tip.id().to_string());
            made.push((vec![task.clone()], BranchMove { reference, from: None, to }));
        }
        if let (Publish::Yes, Part::Nested(root), Some(recorded)) = (publish, part, recorded) {
            record(recorded, root, &request.run, made)?;
        }
        Ok(PartLanding { report, tips, notices })
    };
    Parts { repo, store, roots: &roots, land }.land(request, publish)
}

/// Lands the tasks of `request` on one branch in each repository in which they worked. `own` are the
/// prefix of the run's own branch, the branch of the user's repository, if it is another one, and the files
/// with which the run began.
pub(super) fn stack(
    context: &LandingContext<'_>,
    repo: &Repo,
    landing: LandingId,
    request: &LandingRequest,
    own: (&str, Option<&StackBranch>, &RunFiles<'_>),
) -> Result<LandingReport> {
    let (prefix, branch, began) = own;
    let store = context.store;
    let roots = nested_roots(store, &request.tasks);
    if roots.is_empty() {
        let named = NamedBranch { prefix, branch, links: &NO_LINKS, began };
        return land_on_branch(context, repo, landing, request, named);
    }
    let land: &LandPart<'_> = &|repo, part, request, publish| match part {
        Part::Nested(_) => {
            let recorded = (publish == Publish::Yes).then_some((context.journals, landing));
            nested_stack(repo, (store, part), prefix, request, recorded)
        }
        Part::Root(links) => {
            let named = NamedBranch { prefix, branch, links, began };
            let request = &unsettled(request);
            let report = match publish {
                Publish::Yes => land_on_branch(context, repo, landing, request, named)?,
                Publish::No => dry_run_on_branch(repo, store, request, named)?,
            };
            Ok(PartLanding { report, tips: BTreeMap::new(), notices: Vec::new() })
        }
    };
    let parts = Parts { repo, store, roots: &roots, land };
    let (report, notices) = parts.land(request, Publish::Yes)?;
    for notice in notices {
        (context.notify)(LandingNotice::Degraded(notice));
    }
    Ok(report)
}

/// Reports what [`stack`] would do, and changes nothing.
pub(super) fn dry_run_stack(
    repo: &Repo,
    store: &TaskStore,
    request: &LandingRequest,
    own: (&str, Option<&StackBranch>, &RunFiles<'_>),
) -> Result<LandingReport> {
    let (prefix, branch, began) = own;
    let roots = nested_roots(store, &request.tasks);
    if roots.is_empty() {
        let named = NamedBranch { prefix, branch, links: &NO_LINKS, began };
        return dry_run_on_branch(repo, store, request, named);
    }
    let land: &LandPart<'_> = &|repo, part, request, _| match part {
        Part::Nested(_) => nested_stack(repo, (store, part), prefix, request, None),
        Part::Root(links) => {
            let named = NamedBranch { prefix, branch, links, began };
            let report = dry_run_on_branch(repo, store, &unsettled(request), named)?;
            Ok(PartLanding { report, tips: BTreeMap::new(), notices: Vec::new() })
        }
    };
    let parts = Parts { repo, store, roots: &roots, land };
    Ok(parts.land(request, Publish::No)?.0)
}

/// Returns the request without its choices, whose paths are those of the user's repository. Work in
/// several repositories lands as a whole or not at all.
fn unsettled(request: &LandingRequest) -> LandingRequest {
    let mut request = request.clone();
    for task in &mut request.tasks {
        task.settle = SettleRequest::default();
    }
    request
}

/// Records the branches of a nested repository, so that they can be taken back. The report of the
/// landing is in its own journal.
fn record(
    (journals, landing): (&Journals<'_>, LandingId),
    root: &RepoPath,
    run: &RunName,
    made: Vec<(Vec<TaskName>, BranchMove)>,
) -> Result<()> {
    if made.is_empty() {
        return Ok(());
    }
    let (id, owner) = (journals.free_id(run)?, (run.clone(), landing));
    let journal = Journal::new(id, owner, Vec::new(), Vec::new(), LandingReport::default());
    let branch = |(tasks, branch)| NestedBranch { root: root.clone(), tasks, branch };
    let journal = journal.making_nested(made.into_iter().map(branch).collect());
    journals.write(&journal, State::Unreported)?;
    journals.put_away(&journal.id)
}

/// Lands the tasks of `request` on the run's branch in a nested repository. Without `recorded` nothing
/// is made.
fn nested_stack(
    repo: &Repo,
    work: (&TaskStore, Part<'_>),
    prefix: &str,
    request: &LandingRequest,
    recorded: Option<(&Journals<'_>, LandingId)>,
) -> Result<PartLanding> {
    let git = repo.git()?;
    let odb = git.odb().or_cannot(|| "open the repository's objects")?;
    let _memory = keep_in_memory(&odb)?;
    let target = StackTarget::find(repo, &git, (prefix, &request.run), None)?;
    target.check()?;
    let (request, none) = (&unsettled(request), BTreeMap::new());
    let stacked = make_stack(repo, &git, (work.0, work.1, None), &target, request, &none)?;
    if let (Part::Nested(root), Some(recorded), Some(tip)) = (work.1, recorded, stacked.tip) {
        write_pack(&git, repo, tip)?;
        let reference = target.reference();
        let from = target.tip.map(|tip| tip.to_string());
        let branch = BranchMove { reference, from, to: tip.to_string() };
        let landed = stacked.report.tasks.iter();
        let landed = landed.filter(|task| matches!(task.landed, Landed::Landed { .. }));
        let tasks = landed.map(|task| task.task.clone()).collect();
        // Before the branch moves: an undo leaves a branch that has other commits than these.
        record(recorded, root, &request.run, vec![(tasks, branch.clone())])?;
        if move_branch(&repo.git()?, &branch, request.run.as_str())? == RefUpdated::Contested {
            return Err(cannot(
                format!("move {}", branch.reference),
                "another program has moved it",
            ));
        }
    }
    let mut tips = stacked.tips;
    if let Some(earlier) = target.tip {
        // An earlier landing, which was cut short, has the commits of these.
        let same = stacked.report.tasks.iter().filter(|it| it.landed == Landed::Unchanged);
        tips.extend(same.map(|landing| (landing.task.clone(), earlier)));
    }
    Ok(PartLanding { report: stacked.report, tips, notices: stacked.notices })
}
