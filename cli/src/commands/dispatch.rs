//! Dispatches a parsed command: opens the resources that it needs, and calls its function.

use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use config::{DataPaths, Settings, Sources};
use engine::fault::Faults;
use engine::ports::Repository;
use exec::EnvironmentRules;
use protocol::{CommitStyle, ExitCode, RunSpec, Work};
use schema::JsonSchemas;

use super::context::{CommandContext, ResolverRuns};
use super::model_notes::{chosen_model, left_out, other_levels};
use super::note::note;
use super::resolve_run::EndedRun;
use super::run::RunResult;
use super::run_models::{add_known_models, choose_default, known_models};
use super::{
    apply, conflicts, demo, diff, discard, dry_run, gates, gc, help, launch, login, logs, manual,
    models, resolve_run, results, retry, run, runs, schema as schemas, show, undo,
};
use crate::args::{Command, Execution, GivenKey, Globals, Parsed, Resolver, RetryArgs, RunArgs};
use crate::render::{self, CommandHints, OutputStreams, View};
use crate::resolve::{
    Defaults, ResolveInputs, ResolvedRun, RunRequest, refuse_inside_task, resolve,
};
use crate::run_log::Log;
use crate::{process, runtime};
use regatta::app_context::AppContext;
use regatta::error::Error;
use regatta::model::{LocalSources, anchor_scenario, routes};
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
    let globals = &arguments.globals;
    let mut out = io::stdout();
    match &arguments.command {
        Command::Launch(args) => in_runtime(async move |log| match args.listed_models() {
            Some(models) => models::run(&models, globals).await,
            None => launch::run(&build_app(globals)?, args, globals, &log).await,
        }),
        Command::Models(args) => in_runtime(async move |_| models::run(args, globals).await),
        Command::Gates => gates::run(globals),
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
            let OpenedForWork { app, repository } = open_to_work(globals).await?;
            let mut context = context(globals, &app, &repository.facts().root);
            context.resolvers = Some(engine_runs(globals, &app, &log, &repository));
            apply::run(&context, repository.as_ref(), args, &mut out).await
        }),
        Command::Undo(args) => in_runtime(async move |_| {
            let OpenedForWork { app, repository } = open_to_work(globals).await?;
            let context = context(globals, &app, &repository.facts().root);
            undo::run(&context, repository.as_ref(), args, &mut out).await
        }),
        Command::Discard(args) => in_runtime(async move |_| {
            discard::run(&open_to_look(globals).await?, args, &mut out).await
        }),
        Command::Gc(args) => in_runtime(async move |_| {
            let app = build_app(globals)?;
            let only = match &globals.repo {
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
    // The runtime does not wait for threads that are still blocked.
    runtime.shutdown_background();
    end
}

/// Starts a run, or prints its tasks for `--dry-run`.
async fn start(globals: &Globals, args: &RunArgs, log: &Log) -> Result<ExitCode, Error> {
    let request = RunRequest::parse(args, std::env::var_os("REGATTA_TASK").as_deref())?;
    let OpenedForWork { app, repository } = open_to_work(globals).await?;
    request.note().iter().for_each(|line| note(globals, &format!("warning: {line}")));
    let facts = repository.facts();
    unread_settings(&facts.root).iter().for_each(|line| note(globals, line));
    let tracked = || isolation::tracked_files(&facts.root).map_err(Error::from);
    let ground = ResolveInputs {
        root: &facts.root,
        subfolder: &facts.subfolder,
        tracked: &tracked,
        standard: &mut io::stdin(),
        schemas: &JsonSchemas,
        cores: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
    };
    let mut defaults = Defaults::from(&app.settings);
    let asks = request.may_ask_a_model();
    // A model may also write the subjects of commits.
    if asks || matches!(defaults.commits, CommitStyle::Ai) {
        // A plan, which is not read yet, may name any model.
        let sources = match args.plan {
            Some(_) => LocalSources::All,
            None => defaults.roles.local_sources(args.model.as_ref()),
        };
        add_known_models(globals, &app, &mut defaults.roles, sources).await;
    }
    let chosen = match asks && args.model.is_none() && defaults.roles.default.is_none() {
        true => choose_default(&app, &mut defaults.roles).await,
        false => None,
    };
    let ResolvedRun { spec, meant } = resolve(&request, args, &defaults, ground)?;
    let notes = [
        chosen_model(&spec, chosen),
        meant,
        left_out(&spec, &defaults.roles),
        other_levels(&spec, &defaults.roles.directory),
    ];
    notes.iter().flatten().for_each(|line| note(globals, &format!("note: {line}")));
    if let Some(GivenKey(key)) = &args.api_key {
        for (route, _task) in routes(&spec) {
            app.user_models.give(&route.provider, key.clone());
        }
    }
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
    let opened = open_to_work(globals).await?;
    let context = context(globals, &opened.app, &opened.repository.facts().root);
    let mut defaults = Defaults::from(&opened.app.settings);
    let overrides = args.overrides();
    if overrides.model.is_some() {
        let sources = defaults.roles.local_sources(overrides.model.as_ref());
        add_known_models(globals, &opened.app, &mut defaults.roles, sources).await;
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
    spec.pass_env.retain(|name| {
        let is_set = std::env::var_os(name).is_some();
        if !is_set {
            note(globals, &format!("warning: `{name}` is to be passed on, but is not set"));
        }
        is_set
    });
    match execution {
        Execution::DryRun => dry_run::print(globals, &app, &repository.facts().root, &spec)?,
        Execution::Real => {
            // The ledger has the tasks, and a retry may be started in another folder.
            for task in &mut spec.tasks {
                if let Work::Agent(agent) = &mut task.work {
                    anchor_scenario(&mut agent.model);
                    agent.fallback.iter_mut().for_each(anchor_scenario);
                }
            }
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
            let mut context = context(globals, &app, &repository.facts().root);
            context.resolvers = Some(engine_runs(globals, &app, log, &repository));
            let ended = EndedRun { run: &result.run, code, events };
            let (repository, out) = (repository.as_ref(), &mut io::stdout());
            return resolve_run::resolve(&context, repository, ended, &resolver, out).await;
        }
    }
    Ok(ExitCode::Success)
}

/// Returns what does the runs of agents that resolve conflicts.
fn engine_runs(
    globals: &Globals,
    app: &AppContext,
    log: &Log,
    repository: &Arc<dyn Repository>,
) -> Arc<dyn ResolverRuns> {
    let (app, log, repository) = (app.clone(), log.clone(), Arc::clone(repository));
    Arc::new(EngineRuns { app, log, repository, view: View::here(globals) })
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

/// Returns a note about settings in the repository. They are not read: a repository that nobody has
/// declared to be trusted must not make commands run (`isolation.setup`).
fn unread_settings(root: &Path) -> Option<String> {
    let file = Path::new(".regatta/config.yml");
    root.join(file).symlink_metadata().is_ok().then(|| {
        let user = "your own settings and the options hold";
        format!(
            "note: {} of the repository is not read, because it is not trusted ({user})",
            file.display()
        )
    })
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
    let app = build_app(globals)?;
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
async fn open_to_work(globals: &Globals) -> Result<OpenedForWork, Error> {
    let app = build_app(globals)?;
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
fn build_app(globals: &Globals) -> Result<AppContext, Error> {
    let faults = faults()?;
    let places = DataPaths::of_this_process()?;
    let sources = Sources {
        file: &places.config_file(),
        home: places.home(),
        variable: &|name| std::env::var_os(name),
        flags: &[],
    };
    let (settings, unknown) = Settings::load(&sources)?;
    unknown.iter().for_each(|key| note(globals, &format!("warning: {key}")));
    AppContext::build(places, settings, faults)
}

/// Returns the folder in which the search for the repository starts.
fn folder(globals: &Globals) -> PathBuf {
    globals.repo.clone().unwrap_or_else(|| PathBuf::from("."))
}

/// Returns how suggested commands are formatted.
fn hints(globals: &Globals) -> CommandHints {
    CommandHints { home: None, repo: globals.repo.clone() }
}
