//! Dispatches a parsed command: opens the resources that it needs, and calls its function.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use config::{DataPaths, Origin, Setting};
use engine::fault::Faults;
use engine::ports::Repository;
use exec::EnvironmentRules;
use protocol::{ExitCode, RunSpec, Work};
use schema::JsonSchemas;

use super::context::{CommandContext, ResolverRuns};
use super::model_notes::other_levels;
use super::note::note;
use super::project_settings::BrokenProject;
use super::resolve_run::EndedRun;
use super::run::RunResult;
use super::run_models::{add_known_models, known_models};
use super::{
    agents, apply, config as settings_list, conflicts, demo, diff, discard, dry_run, gates, gc,
    group_target, help, launch, login, logs, manual, mcp, models, project_settings, resolve_run,
    resolved_run, results, retry, run, run_group, runs, schema as schemas, show, trust, undo, why,
};
use crate::args::{Arguments, Command, Execution, Globals, Parsed, Resolver, RetryArgs, RunArgs};
use crate::render::{self, CommandHints, OutputStreams, View};
use crate::resolve::{Defaults, ResolvedRun, RunRequest, refuse_inside_task};
use crate::run_log::Log;
use crate::{notifier, process, runtime};
use regatta::app_context::AppContext;
use regatta::error::Error;
use regatta::model::{LocalSources, routes};
use regatta::recovery::open_repository;

/// Runs a parsed command.
///
/// # Errors
/// The error of the command.
pub fn dispatch(parsed: Parsed) -> Result<ExitCode, Error> {
    let arguments = match parsed {
        Parsed::Text(text) => {
            process::print(&text)?;
            return Ok(ExitCode::Success);
        }
        Parsed::Command(arguments) => *arguments,
    };
    match group_target::for_each_run(&arguments, dispatch_one)? {
        Some(code) => Ok(code),
        None => dispatch_one(&arguments),
    }
}

/// Runs one command.
fn dispatch_one(arguments: &Arguments) -> Result<ExitCode, Error> {
    let globals = &arguments.globals;
    let mut out = io::stdout();
    match &arguments.command {
        Command::Launch(args) => in_runtime(async move |log| match args.listed_models() {
            Some(models) => models::run(&models, globals).await,
            None => {
                let app = build_app(globals, BrokenProject::Refuse)?;
                let app = told_by(app, args.notify.as_ref());
                launch::run(&app, args, globals, &log).await
            }
        }),
        Command::Models(args) => in_runtime(async move |_| models::run(args, globals).await),
        Command::Agents(args) => agents::run(globals, args, &mut out),
        Command::Mcp(args) => in_runtime(async move |_| mcp::run(globals, args, &mut out).await),
        Command::Gates => gates::run(globals),
        Command::Trust(args) => trust::run(globals, args, &mut out),
        Command::Config(args) => settings_list::run(globals, args, &mut out),
        Command::Login(args) => in_runtime(async move |_| login::login(args, globals).await),
        Command::Logout(args) => login::logout(args, globals),
        Command::Schema(args) => schemas::run(args),
        Command::Completions(args) => manual::completions(args),
        Command::Man(args) => manual::man(args),
        Command::Help(args) => help::run(args),
        Command::Demo(args) => {
            in_runtime(async move |log| demo::run(args, globals, &log, faults()?, &mut out).await)
        }
        Command::Run(args) => in_runtime(async move |log| start(globals, args, &log).await),
        Command::Runs(args) => match args.view() {
            Ok(view) => {
                in_runtime(async move |_| runs::run(&open_to_look(globals).await?, view, &mut out))
            }
            Err(args) => in_runtime(async move |log| start_retry(globals, args, &log).await),
        },
        Command::Results(args) => {
            in_runtime(async move |_| results::run(&open_to_look(globals).await?, args, &mut out))
        }
        Command::Why(args) => {
            in_runtime(async move |_| why::run(&open_to_look(globals).await?, args, &mut out))
        }
        Command::Logs(args) => in_runtime(async move |_| {
            let (view, mut open) = (View::here(globals), async || open_to_look(globals).await);
            logs::print(args, &view, &folder(globals), &mut open, &mut out).await
        }),
        Command::Diff(args) => {
            in_runtime(async move |_| diff::run(&open_to_look(globals).await?, args, &mut out))
        }
        Command::Conflicts(args) => {
            in_runtime(async move |_| conflicts::run(&open_to_look(globals).await?, args, &mut out))
        }
        Command::Show(args) => {
            in_runtime(async move |_| show::run(&open_to_look(globals).await?, args, &mut out))
        }
        Command::Apply(args) => in_runtime(async move |log| {
            let broken = match args.settle.resolver() {
                Some(_) => BrokenProject::Refuse,
                None => BrokenProject::LeaveOut,
            };
            let OpenedForWork { app, repository } = open_to_work(globals, broken).await?;
            let context = resolving_context(globals, &app, &log, &repository);
            apply::run(&context, repository.as_ref(), args, &mut out).await
        }),
        Command::Undo(args) => in_runtime(async move |_| {
            let opened = open_to_work(globals, BrokenProject::LeaveOut).await?;
            let OpenedForWork { app, repository } = opened;
            let context = context(globals, &app, &repository.facts().root);
            undo::run(&context, repository.as_ref(), args, &mut out).await
        }),
        Command::Discard(args) => in_runtime(async move |_| {
            discard::run(&open_to_look(globals).await?, args, &mut out).await
        }),
        Command::Gc(args) => in_runtime(async move |_| {
            let app = build_app(globals, BrokenProject::LeaveOut)?;
            let only = match globals.repo() {
                Some(at) => Some(app.isolation.locate(at).await?),
                None => None,
            };
            gc::run(&app, args, (only.as_deref(), globals.form()), &mut out).await
        }),
    }
}

/// Runs a command in a tokio runtime, with a log.
fn in_runtime(work: impl AsyncFnOnce(Log) -> Result<ExitCode, Error>) -> Result<ExitCode, Error> {
    let runtime = runtime::start()?;
    let end = runtime.block_on(work(Log::install()));
    notifier::end_all();
    // The runtime does not wait for threads that are still blocked.
    runtime.shutdown_background();
    end
}

/// Returns the context with the command of `--notify`, if there is one, in place of those of the settings.
fn told_by(mut app: AppContext, command: Option<&String>) -> AppContext {
    if let Some(command) = command {
        let origin = Origin::CommandLine { flag: "--notify".to_owned() };
        app.settings.notify = Setting { value: vec![command.clone()], origin };
    }
    app
}

/// Starts a run, or one in each of several repositories, or prints the tasks for `--dry-run`.
async fn start(globals: &Globals, args: &RunArgs, log: &Log) -> Result<ExitCode, Error> {
    let request = RunRequest::parse(args, std::env::var_os("REGATTA_TASK").as_deref())?;
    if let Some(repositories) = run_group::repositories(globals, args)? {
        // Each has settings of its own.
        let app = build_app_of(globals, None, BrokenProject::Refuse)?;
        let app = told_by(app, args.notify.as_ref());
        return run_group::start(globals, &app, (&request, args), repositories, log).await;
    }
    let OpenedForWork { app, repository } = open_to_work(globals, BrokenProject::Refuse).await?;
    let standard = &mut io::stdin();
    let say = |line: &str| note(globals, line);
    let spec = resolved_run::resolved(&say, &app, (&request, args), &*repository, standard);
    let spec = spec.await?;
    let app = told_by(app, args.notify.as_ref());
    let opened = OpenedForWork { app, repository };
    let resolver = args.resolver();
    if let Some(resolver) = &resolver {
        resolve_run::check(resolver, &spec)?;
    }
    execute(globals, opened, (spec, resolver), args.execution(), log).await
}

/// Starts a run of tasks of an earlier run, or prints these tasks for `--dry-run`.
async fn start_retry(globals: &Globals, args: &RetryArgs, log: &Log) -> Result<ExitCode, Error> {
    refuse_inside_task(std::env::var_os("REGATTA_TASK").as_deref())?;
    let OpenedForWork { app, repository } = open_to_work(globals, BrokenProject::Refuse).await?;
    let opened = OpenedForWork { app: told_by(app, args.notify.as_ref()), repository };
    let context = context(globals, &opened.app, &opened.repository.facts().root);
    let mut defaults = Defaults::from(&opened.app.settings);
    let overrides = args.overrides();
    if overrides.model.is_some() {
        let sources = defaults.roles.local_sources(overrides.model.as_ref());
        let say = |line: &str| note(globals, line);
        add_known_models(&say, &opened.app, &mut defaults.roles, sources).await;
    }
    let ResolvedRun { spec, meant } = retry::spec(&context, args, &defaults, &JsonSchemas)?;
    let levels = other_levels(&spec, &defaults.roles.directory);
    meant.iter().chain(&levels).for_each(|line| note(globals, &format!("note: {line}")));
    execute(globals, opened, (spec, None), overrides.execution(), log).await
}

/// Executes a run that is resolved, or prints its tasks for `--dry-run`.
async fn execute(
    globals: &Globals,
    opened: OpenedForWork,
    (mut spec, resolver): (RunSpec, Option<Resolver>),
    execution: Execution,
    log: &Log,
) -> Result<ExitCode, Error> {
    let OpenedForWork { app, repository } = opened;
    resolved_run::keep_set_variables(&|line| note(globals, line), &mut spec);
    match execution {
        Execution::DryRun => dry_run::print(globals, &app, &repository.facts().root, &spec).await?,
        Execution::Real => {
            resolved_run::anchor_scenarios(&mut spec);
            if !routes(&spec).is_empty()
                && let Some(warning) = app.unshared_gates()
            {
                note(globals, &warning);
            }
            let shown =
                render::renderer(View::here(globals), OutputStreams::standard(), hints(globals));
            let mut events = 0;
            let mut count = |event: &protocol::Event| events = events.max(event.seq);
            let withheld = withheld_keys(&spec);
            let opened = Arc::clone(&repository);
            let result = run::execute(&app, log, spec, opened, shown, &mut count).await?;
            if let (ExitCode::Partial | ExitCode::NoSuccess, [first, ..]) =
                (result.exit_code, withheld.as_slice())
            {
                let names = withheld.join(", ");
                note(
                    globals,
                    &format!(
                        "note: not passed on to the commands: {names}; for one that needs it: --pass-env {first}"
                    ),
                );
            }
            let (code, Some(resolver)) = (result.exit_code, resolver) else {
                return Ok(result.exit_code);
            };
            if !matches!(code, ExitCode::Kept | ExitCode::Partial) {
                return Ok(code);
            }
            let context = resolving_context(globals, &app, log, &repository);
            let ended = EndedRun { run: &result.run, code, events };
            let (repository, out) = (repository.as_ref(), &mut io::stdout());
            return resolve_run::resolve(&context, repository, ended, &resolver, out).await;
        }
    }
    Ok(ExitCode::Success)
}

/// Returns the context of a repository, in which agents can resolve conflicts.
pub(super) fn resolving_context(
    globals: &Globals,
    app: &AppContext,
    log: &Log,
    repository: &Arc<dyn Repository>,
) -> CommandContext {
    let mut context = context(globals, app, &repository.facts().root);
    let (app, log, repository) = (app.clone(), log.clone(), Arc::clone(repository));
    context.resolvers =
        Some(Arc::new(EngineRuns { app, log, repository, view: View::here(globals) }));
    context
}

/// Does runs in an engine of their own, and shows their progress but not their results.
struct EngineRuns {
    app: AppContext,
    log: Log,
    repository: Arc<dyn Repository>,
    view: View,
}

#[async_trait(?Send)]
impl ResolverRuns for EngineRuns {
    async fn defaults(&self) -> Defaults {
        let mut defaults = Defaults::from(&self.app.settings);
        defaults.roles.directory = known_models(&self.app, LocalSources::All).await;
        defaults
    }

    async fn run(&self, spec: RunSpec) -> Result<RunResult, Error> {
        let streams = OutputStreams { out: Box::new(io::sink()), ..OutputStreams::standard() };
        let shown = render::renderer(self.view.clone(), streams, CommandHints::default());
        let mut nobody = |_event: &protocol::Event| {};
        let repository = Arc::clone(&self.repository);
        run::execute(&self.app, &self.log, spec, repository, shown, &mut nobody).await
    }
}

/// Returns the provider keys that are set and not passed on to the commands of a run.
fn withheld_keys(spec: &RunSpec) -> Vec<String> {
    if spec.tasks.iter().all(|task| matches!(task.work, Work::Agent(_))) {
        return Vec::new();
    }
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut names: Vec<_> = names
        .filter(|name| EnvironmentRules::is_provider_key(name) && !spec.pass_env.contains(name))
        .collect();
    names.sort();
    names
}

/// An opened repository and the context to work in it.
struct OpenedForWork {
    app: AppContext,
    repository: Arc<dyn Repository>,
}

/// Opens the repository to read its runs and captured work. This needs only the ledger and the task
/// store, so it also succeeds in a repository in which no run can start, for instance during a
/// merge. In that case it recovers nothing.
async fn open_to_look(globals: &Globals) -> Result<CommandContext, Error> {
    let app = build_app(globals, BrokenProject::LeaveOut)?;
    let at = folder(globals);
    let root = match open_repository(&app, &at).await {
        Ok(opened) => {
            opened.found.iter().for_each(|line| note(globals, &format!("note: {line}")));
            opened.repository.facts().root.clone()
        }
        Err(refusal) => {
            let Ok(root) = app.isolation.locate(&at).await else { return Err(refusal) };
            if !app.ledger.reader().open_runs(&root)?.is_empty() {
                let why = refusal.because.join("; ");
                note(
                    globals,
                    &format!(
                        "note: a run shown as running may be interrupted; recovery is not possible now: {why}"
                    ),
                );
            }
            root
        }
    };
    Ok(context(globals, &app, &root))
}

fn context(globals: &Globals, app: &AppContext, root: &Path) -> CommandContext {
    CommandContext::of(app, root.to_path_buf(), View::here(globals), hints(globals))
}

/// Opens the repository to work in it, and recovers what engines that died left there.
async fn open_to_work(globals: &Globals, broken: BrokenProject) -> Result<OpenedForWork, Error> {
    let app = build_app(globals, broken)?;
    let opened = open_repository(&app, &folder(globals)).await?;
    opened.found.iter().for_each(|line| note(globals, &format!("note: {line}")));
    Ok(OpenedForWork { app, repository: opened.repository })
}

/// Returns the planned faults. Without debug assertions there are none.
fn faults() -> Result<Faults, Error> {
    #[cfg(debug_assertions)]
    return crate::faults::from_environment();
    #[cfg(not(debug_assertions))]
    Ok(Faults::default())
}

/// Reads the settings and opens the ledger.
fn build_app(globals: &Globals, broken: BrokenProject) -> Result<AppContext, Error> {
    build_app_of(globals, Some(&folder(globals)), broken)
}

/// Reads the settings, with those of the project at `at`, and opens the ledger.
fn build_app_of(
    globals: &Globals,
    at: Option<&Path>,
    broken: BrokenProject,
) -> Result<AppContext, Error> {
    let faults = faults()?;
    let places = DataPaths::of_this_process()?;
    let say = |line: &str| note(globals, line);
    let named = globals.repo().map(PathBuf::as_path);
    let settings = project_settings::settings(&say, &places, (at, broken), named)?;
    AppContext::build(places, settings, faults).map(with_grammars)
}

/// Returns the context with the grammars that the program was built with.
#[cfg(feature = "syntax")]
fn with_grammars(app: AppContext) -> AppContext {
    app.with_syntax(Arc::new(syntax::Grammars))
}

/// Returns the context as it is: the program was built without grammars.
#[cfg(not(feature = "syntax"))]
fn with_grammars(app: AppContext) -> AppContext {
    app
}

/// Returns the folder in which the search for the repository starts.
pub(super) fn folder(globals: &Globals) -> PathBuf {
    globals.repo().cloned().unwrap_or_else(|| PathBuf::from("."))
}

/// Returns how suggested commands are formatted.
fn hints(globals: &Globals) -> CommandHints {
    CommandHints { home: None, repo: globals.repo().cloned() }
}
