//! `regatta apply` with choices: settles the conflicts of one task and lands its work.

use std::path::{Path, PathBuf};

use engine::ports::{
    ConflictingRest, LandingRequest, Repository, SettleChoice, SettleRequest, WrittenFile,
};
use protocol::{
    CaptureRef, Conflict, ConflictReason, ExitCode, Landed, LandingReport, MergeMode, TaskLanding,
    TaskName,
};
use store::TaskRow;

use super::context::{CommandContext, Out};
use super::planned_programs::planned;
use super::resolver_agent::ResolverAgent;
use super::settle_choices::wrong_choice;
use super::unsettled::Unsettled;
use super::{apply, apply_output, programs, side_program};
use crate::args::{
    ApplyArgs, Execution, LandClean, Resolver, ResolverKind, SettleArgs, Staging, option_text,
};
use crate::process;
use crate::render::{count, one_line, reason_text};
use regatta::error::Error;
use regatta::runs::{
    Choices, KeptReason, SettleOption, Target, TargetKind, has_landed, keep_other_tasks,
    kept_reason,
};

/// Settles the conflicts of the task that `args` name, and lands its work.
///
/// # Errors
/// No single task is named, it has no work to settle, a path does not conflict, or a choice does not
/// settle the conflict it is for.
pub(super) async fn run(
    context: &CommandContext,
    repository: &dyn Repository,
    args: &ApplyArgs,
    target: Target,
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    let target = one_task(context, target)?;
    let row = &target.tasks[0];
    check(&target, row)?;
    let again = args.land_again();
    let request = |settle| apply::settle_request(context, &target, (again, settle));
    let mut conflicts = conflicts_now(repository, request(SettleRequest::default())?).await?;
    keep_other_tasks(row, &mut conflicts);
    check_settles_here(context, &target, (&conflicts, &args.settle))?;
    let options = args.settle.options();
    let folder = folder_below(&context.runs.root);
    let choices = Choices::of(&options, &conflicts, &folder).map_err(wrong_choice)?;
    if options.iter().any(|(option, _)| plain_choice(*option).is_none()) {
        context.runs.captured.keep_sides(&context.runs.root, &conflicts)?;
    }
    let chosen = (&choices, &args.settle);
    if args.execution() == Execution::DryRun {
        let planned = planned(context, chosen, &conflicts)?;
        let foretold = repository.dry_run(request(plain_settle(chosen))?).await?;
        let is_open = |conflict: &&Conflict| planned.iter().all(|file| file.path != conflict.path);
        let left: Vec<_> = conflicts_of(&foretold).iter().filter(is_open).collect();
        check_settled(context, &target, (&choices, args.settle.land_clean()), &left)?;
        let run = &target.run.name;
        apply_output::print_dry_run(context, run, (&foretold, &planned), &target.tasks, out)?;
        return Ok(apply::exit_code(&foretold));
    }
    let settle = match settle_of(context, &target, chosen, &conflicts).await {
        Ok(settle) => settle,
        Err(unsettled) => return Err(unsettled.record(context, row.id).await),
    };
    let foretold = repository.dry_run(request(settle.clone())?).await?;
    let left: Vec<_> = conflicts_of(&foretold).iter().collect();
    check_settled(context, &target, (&choices, args.settle.land_clean()), &left)?;
    let is_marked =
        |conflict: &&Conflict| choices.of_conflict(conflict) == Some(SettleOption::Markers);
    let marked: Vec<Conflict> = conflicts.iter().filter(is_marked).cloned().collect();
    let staged = match args.settle.staging() {
        Staging::No => None,
        Staging::AsGitMerge => {
            let captured = row.captured.as_ref();
            let capture = captured.map(|captured| captured.capture.clone());
            let capture = capture.ok_or_else(|| Error::usage("nothing was captured"))?;
            context.runs.captured.check_can_stage(&context.runs.root, &capture, &conflicts)?;
            Some(capture)
        }
    };
    let code = apply::settle(context, repository, args, &target, settle, out).await?;
    if let (Some(capture), ExitCode::Success) = (staged, code) {
        context.runs.captured.stage_merge(&context.runs.root, &capture, &marked)?;
    }
    Ok(code)
}

/// Returns the target if it is one task, the only task of its run that conflicts, or else the only one whose
/// work is whole and has not landed: it may conflict now.
fn one_task(context: &CommandContext, target: Target) -> Result<Target, Error> {
    if target.kind == TargetKind::Task && target.tasks.len() == 1 {
        return Ok(target);
    }
    let conflicted = |row: &TaskRow| matches!(row.landing, Some(Landed::Conflicted { .. }));
    let whole = |row: &TaskRow| kept_reason(row) == Some(KeptReason::Whole);
    let tasks_that = |wanted: &dyn Fn(&TaskRow) -> bool| -> Vec<TaskRow> {
        target.tasks.iter().filter(|row| wanted(row)).cloned().collect()
    };
    let tasks = match (tasks_that(&conflicted), tasks_that(&whole)) {
        (none, whole) if none.is_empty() && whole.len() == 1 => whole,
        (conflicted, _) => conflicted,
    };
    let run = &target.run.name;
    match tasks.as_slice() {
        [] => Err(Error::usage(format!("nothing conflicts in run {run}"))
            .hint(context.hints.command(&format!("runs show {run}")))),
        [_] => Ok(Target { tasks, kind: TargetKind::Task, ..target }),
        [first, ..] => {
            let what = format!("the work of {} tasks of run {run} conflicts", tasks.len());
            let names: Vec<_> = tasks.iter().take(10).map(|row| row.name.to_string()).collect();
            Err(Error::usage(what)
                .because(format!("conflicts are settled task by task: {}", names.join(", ")))
                .hint(context.hints.command(&format!("apply {run}/{} …", first.name))))
        }
    }
}

/// Checks that a task has work that can be settled.
fn check(target: &Target, row: &TaskRow) -> Result<(), Error> {
    let name = format!("{}/{}", target.run.name, row.name);
    if has_landed(row) {
        return Err(Error::usage(format!("there is no conflict of task {name} to settle"))
            .because("its work has landed already"));
    }
    Ok(())
}

/// Checks that the conflicts of a task can be settled so where its run lands. Markers are for a person
/// who goes on in the file, and become no commit. Work in several repositories lands on branches as a
/// whole: of its conflicts, only submodules without their commit can be settled.
fn check_settles_here(
    context: &CommandContext,
    target: &Target,
    (conflicts, args): (&[Conflict], &SettleArgs),
) -> Result<(), Error> {
    if !matches!(target.run.spec.merge, MergeMode::Branch | MergeMode::Stack) {
        return Ok(());
    }
    let row = &target.tasks[0];
    let name = format!("{}/{}", target.run.name, row.name);
    if args.options().iter().any(|(option, _)| *option == SettleOption::Markers) {
        let tool = context.hints.command(&format!("apply {name} --tool"));
        let what = format!("cannot settle the conflicts of task {name} with `--markers`");
        return Err(Error::usage(what)
            .because("its run lands on branches, and markers are never committed")
            .hint(format!(
                "{tool}, or --ours, --theirs, --union, --resolve; or --branch NAME, and merge that \
                 with git"
            )));
    }
    let is_submodule = |conflict: &Conflict| conflict.reason == ConflictReason::MissingCommit;
    let has_others = conflicts.is_empty() || !conflicts.iter().all(is_submodule);
    match &row.captured {
        Some(captured) if has_others => {
            Ok(context.runs.captured.check_in_one_repository(&captured.capture)?)
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns the conflicts that the request would have now.
async fn conflicts_now(
    repository: &dyn Repository,
    request: LandingRequest,
) -> Result<Vec<Conflict>, Error> {
    let report = repository.dry_run(request).await?;
    let refused = |task: &TaskName, why: String| {
        let what = format!("cannot land the work of task {task}");
        Err(Error::usage(what).because(why).exit(ExitCode::Kept))
    };
    match report.tasks.first() {
        Some(TaskLanding { task, landed: Landed::Unwritten { message }, .. }) => {
            refused(task, message.clone())
        }
        Some(TaskLanding { task, landed: Landed::Waiting { on }, .. }) => {
            let on: Vec<_> = on.iter().map(TaskName::as_str).collect();
            refused(task, format!("it builds on {}, which has not landed", on.join(", ")))
        }
        _ => Ok(conflicts_of(&report).to_vec()),
    }
}

fn conflicts_of(report: &LandingReport) -> &[Conflict] {
    match report.tasks.first().map(|task| &task.landed) {
        Some(Landed::Conflicted { conflicts }) => conflicts,
        _ => &[],
    }
}

/// Returns the current folder relative to the root of the repository; empty outside of it.
fn folder_below(root: &Path) -> PathBuf {
    let here = std::env::current_dir().ok().and_then(|here| here.canonicalize().ok());
    here.and_then(|here| Some(here.strip_prefix(root).ok()?.to_path_buf())).unwrap_or_default()
}

/// Returns the request for the choices that need no program.
fn plain_settle((choices, args): (&Choices, &SettleArgs)) -> SettleRequest {
    let rest = match args.land_clean() {
        LandClean::No => ConflictingRest::KeepAll,
        LandClean::Yes => ConflictingRest::LandClean,
    };
    let mut settle = SettleRequest { rest, ..SettleRequest::default() };
    settle.all = choices.all.and_then(plain_choice);
    for (path, option) in &choices.paths {
        settle.paths.extend(plain_choice(*option).map(|choice| (path.clone(), choice)));
    }
    settle
}

/// Returns the request for the choices. The files of tools and resolvers are written here.
async fn settle_of(
    context: &CommandContext,
    target: &Target,
    (choices, args): (&Choices, &SettleArgs),
    conflicts: &[Conflict],
) -> Result<SettleRequest, Unsettled> {
    let mut settle = plain_settle((choices, args));
    let mut resolved = Vec::new();
    let mut for_agent = Vec::new();
    let resolver = args.resolver();
    for conflict in conflicts {
        match (choices.of_conflict(conflict), &resolver) {
            (Some(SettleOption::Tool), _) => {
                let tool = programs::tool(args.timeout())?;
                let written = side_program::write(context, &tool, conflict).await?;
                settle.paths.insert(conflict.path.clone(), SettleChoice::Written(written));
            }
            (Some(SettleOption::Resolve), Some(resolver)) => match &resolver.kind {
                ResolverKind::Agent(_) => for_agent.push(conflict),
                ResolverKind::Command(script) => {
                    let about = (script.as_str(), resolver);
                    let program = programs::resolver(context, target, conflict, about)?;
                    let written = side_program::write(context, &program, conflict).await?;
                    resolved.push((conflict, written));
                }
            },
            _ => {}
        }
    }
    let agent = match resolver {
        Some(Resolver { kind: ResolverKind::Agent(model), loss, timeout })
            if !for_agent.is_empty() =>
        {
            let agent = ResolverAgent { model, allowed: programs::allowed(loss), timeout };
            Some(agent.resolve(context, target, &for_agent).await?)
        }
        _ => None,
    };
    if let Some(agent) = &agent {
        resolved.extend(for_agent.into_iter().zip(agent.files.iter().cloned()));
    }
    let capture = keep_resolved(context, target, &resolved)?;
    for (conflict, mut written) in resolved {
        if let Some(resolver) = &mut written.resolver {
            resolver.capture.clone_from(&capture);
        }
        settle.paths.insert(conflict.path.clone(), SettleChoice::Written(written));
    }
    if let Some(agent) = agent {
        agent.forget(context).await?;
    }
    Ok(settle)
}

/// Captures what a resolver wrote, and says where.
fn keep_resolved(
    context: &CommandContext,
    target: &Target,
    resolved: &[(&Conflict, WrittenFile)],
) -> Result<Option<CaptureRef>, Error> {
    let written: Vec<(&Conflict, &[u8])> = resolved
        .iter()
        .filter_map(|(conflict, file)| Some((*conflict, file.bytes.as_deref()?)))
        .collect();
    if written.is_empty() {
        return Ok(None);
    }
    let work = (&target.run.name, &target.tasks[0].name);
    let capture = context.runs.captured.keep_resolution(work, &written)?;
    let files = count(written.len(), "file");
    process::notify(&format!("resolved {files}, captured as {capture}"));
    Ok(Some(capture))
}

fn plain_choice(option: SettleOption) -> Option<SettleChoice> {
    match option {
        SettleOption::Ours => Some(SettleChoice::Ours),
        SettleOption::Theirs => Some(SettleChoice::Theirs),
        SettleOption::Union => Some(SettleChoice::Union),
        SettleOption::Markers => Some(SettleChoice::Markers),
        SettleOption::Tool | SettleOption::Resolve => None,
    }
}

/// Checks that every conflict with a choice would be settled, and that no other is left.
fn check_settled(
    context: &CommandContext,
    target: &Target,
    (choices, clean): (&Choices, LandClean),
    left: &[&Conflict],
) -> Result<(), Error> {
    let name = format!("{}/{}", target.run.name, target.tasks[0].name);
    let reason = |conflict: &Conflict| {
        let path = one_line(&conflict.path.to_string());
        format!("{path}: {}", reason_text(conflict.reason))
    };
    let refused: Vec<_> = left
        .iter()
        .filter_map(|conflict| Some((choices.of_conflict(conflict)?, *conflict)))
        .collect();
    if let Some((option, _)) = refused.first() {
        let what =
            format!("cannot settle a conflict of task {name} with `{}`", option_text(*option));
        let error = refused
            .iter()
            .take(5)
            .fold(Error::usage(what), |error, (_, conflict)| error.because(reason(conflict)));
        let path = one_line(&refused[0].1.path.to_string());
        let path = crate::render::shell_word(&path);
        let other = if *option == SettleOption::Ours {
            "--clean".to_owned()
        } else {
            format!("--ours {path}")
        };
        return Err(error.hint(context.hints.command(&format!("apply {name} {other}"))));
    }
    if clean == LandClean::No && !left.is_empty() {
        let what = format!("{} of task {name} would be left", count(left.len(), "conflict"));
        let error = left
            .iter()
            .take(5)
            .fold(Error::usage(what), |error, conflict| error.because(reason(conflict)));
        return Err(error
            .hint(context.hints.command(&format!("apply {name} … --clean")))
            .exit(ExitCode::Kept));
    }
    Ok(())
}
