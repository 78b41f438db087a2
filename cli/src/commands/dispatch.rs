//! From what was asked to the command that does it.

use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{DataPaths, Settings, Sources};
use engine::ports::Repository;
use exec::EnvironmentRules;
use protocol::{ExitCode, RunSpec, Work};
use schema::JsonSchemas;

use super::context::Context;
use super::{apply, conflicts, demo, diff, discard, help, logs, run, runs, schema as schemas};
use crate::args::{Command, Form, Globals, Intent, Parsed, RunArgs, Verbosity};
use crate::boot::Equipment;
use crate::error::Error;
use crate::log::Log;
use crate::recovery::open_repository;
use crate::render::{self, Streams, Typing, View};
use crate::resolve::{Defaults, Ground, Request, listing, resolve};
use crate::{exit, fault, runtime};

/// Does what was asked.
///
/// # Errors
/// Why it could not be done.
pub fn dispatch(parsed: Parsed) -> Result<ExitCode, Error> {
    let arguments = match parsed {
        Parsed::Text(text) => {
            exit::print(&text)?;
            return Ok(ExitCode::Success);
        }
        Parsed::Command(arguments) => *arguments,
    };
    let globals = &arguments.globals;
    let mut out = io::stdout();
    match &arguments.command {
        Command::Watch => {
            exec::watch(io::stdin().lock());
            Ok(ExitCode::Success)
        }
        Command::Schema(args) => schemas::run(args),
        Command::Help(args) => help::run(args),
        Command::Demo(args) => at_work(async move |log| {
            demo::run(args, globals, &log, fault::from_environment()?, &mut out).await
        }),
        Command::Run(args) => at_work(async move |log| start(globals, args, &log).await),
        Command::Runs(args) => {
            at_work(async move |_| runs::run(&look(globals).await?, args, &mut out))
        }
        Command::Logs(args) => {
            at_work(async move |_| logs::run(&look(globals).await?, args, &mut out))
        }
        Command::Diff(args) => {
            at_work(async move |_| diff::run(&look(globals).await?, args, &mut out))
        }
        Command::Conflicts(args) => {
            at_work(async move |_| conflicts::run(&look(globals).await?, args, &mut out))
        }
        Command::Apply(args) => at_work(async move |_| {
            let Arrival { equipment, repository } = come(globals).await?;
            let context = context(globals, &equipment, &repository.facts().root);
            apply::run(&context, repository.as_ref(), args, &mut out).await
        }),
        Command::Discard(args) => {
            at_work(async move |_| discard::run(&look(globals).await?, args, &mut out).await)
        }
    }
}

/// Does work that takes a runtime, and keeps a log of it.
fn at_work(work: impl AsyncFnOnce(Log) -> Result<ExitCode, Error>) -> Result<ExitCode, Error> {
    let runtime = runtime::start()?;
    let end = runtime.block_on(work(Log::install()));
    // Whatever still blocks a thread is not waited for.
    runtime.shutdown_background();
    end
}

/// Starts a run, or shows its tasks.
async fn start(globals: &Globals, args: &RunArgs, log: &Log) -> Result<ExitCode, Error> {
    let request = Request::read(args, std::env::var_os("REGATTA_TASK").as_deref())?;
    let arrival = come(globals).await?;
    request.remark().iter().for_each(|remark| note(globals, &format!("note: {remark}")));
    let facts = arrival.repository.facts();
    let tracked = || isolation::tracked_files(&facts.root).map_err(Error::from);
    let ground = Ground {
        root: &facts.root,
        subfolder: &facts.subfolder,
        tracked: &tracked,
        standard: &mut io::stdin(),
        schemas: &JsonSchemas,
        cores: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
    };
    let defaults = Defaults::from(&arrival.equipment.settings);
    let mut spec = resolve(&request, args, &defaults, ground)?;
    spec.pass_env.retain(|name| {
        let is_set = std::env::var_os(name).is_some();
        if !is_set {
            note(globals, &format!("warning: `{name}` is to be passed on, but is not set"));
        }
        is_set
    });
    match (args.intent(), globals.form()) {
        (Intent::Show, Form::Text) => exit::print(&listing(&spec)?.text())?,
        (Intent::Show, Form::Json) => render::document(&mut io::stdout(), &listing(&spec)?)
            .map_err(|error| Error::output(&error))?,
        (Intent::Start, _) => {
            let shown = render::renderer(View::here(globals), Streams::standard(), typing(globals));
            let Arrival { equipment, repository } = arrival;
            let mut nobody = |_event: &protocol::Event| {};
            let withheld = withheld_keys(&spec);
            let played =
                run::execute(&equipment, log, spec, repository, shown, &mut nobody).await?;
            if let (ExitCode::Partial | ExitCode::NoSuccess, [first, ..]) =
                (played.exit_code, withheld.as_slice())
            {
                let names = withheld.join(", ");
                note(
                    globals,
                    &format!(
                        "note: not passed on to the commands: {names}; for one that needs it: --pass-env {first}"
                    ),
                );
            }
            return Ok(played.exit_code);
        }
    }
    Ok(ExitCode::Success)
}

/// Returns the keys of model providers that are set and that the commands of a run do not get.
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

/// A repository, and what to work on it with.
struct Arrival {
    equipment: Equipment,
    repository: Arc<dyn Repository>,
}

/// Opens the repository to look at its runs and captured work. That needs the ledger and the task
/// store only: in a repository that cannot be worked on now, a merge under way for instance, nothing
/// is recovered and everything that is kept can be looked at.
async fn look(globals: &Globals) -> Result<Context, Error> {
    let equipment = equip(globals)?;
    let at = folder(globals);
    let root = match open_repository(&equipment, &at).await {
        Ok(opened) => {
            opened.found.iter().for_each(|line| note(globals, &format!("note: {line}")));
            opened.repository.facts().root.clone()
        }
        Err(refusal) => {
            let Ok(root) = equipment.isolation.locate(&at).await else { return Err(refusal) };
            if !equipment.ledger.reader().open_runs(&root)?.is_empty() {
                let why = refusal.because.join("; ");
                note(
                    globals,
                    &format!(
                        "note: a run shown as running may have been cut short; nothing is recovered now: {why}"
                    ),
                );
            }
            root
        }
    };
    Ok(context(globals, &equipment, &root))
}

fn context(globals: &Globals, equipment: &Equipment, root: &Path) -> Context {
    Context::of(equipment, root.to_path_buf(), View::here(globals), typing(globals))
}

/// Opens the repository to work in it, and recovers what engines left there that died.
async fn come(globals: &Globals) -> Result<Arrival, Error> {
    let equipment = equip(globals)?;
    let opened = open_repository(&equipment, &folder(globals)).await?;
    opened.found.iter().for_each(|line| note(globals, &format!("note: {line}")));
    Ok(Arrival { equipment, repository: opened.repository })
}

/// Reads the settings and opens the ledger.
fn equip(globals: &Globals) -> Result<Equipment, Error> {
    let faults = fault::from_environment()?;
    let places = DataPaths::of_this_process()?;
    let sources = Sources {
        file: &places.config_file(),
        home: places.home(),
        variable: &|name| std::env::var_os(name),
        flags: &[],
    };
    let (settings, unknown) = Settings::load(&sources)?;
    unknown.iter().for_each(|key| note(globals, &format!("warning: {key}")));
    Equipment::gather(places, settings, faults)
}

/// The folder that names the repository.
fn folder(globals: &Globals) -> PathBuf {
    globals.repo.clone().unwrap_or_else(|| PathBuf::from("."))
}

/// Says something to a person that is no result, unless asked to be quiet.
fn note(globals: &Globals, line: &str) {
    if globals.verbosity() != Verbosity::Quiet {
        // A person who cannot be reached misses a remark, nothing else.
        let _unread = writeln!(io::stderr(), "{}", render::one_line(line));
    }
}

/// Returns how the commands that are printed have to be typed.
fn typing(globals: &Globals) -> Typing {
    Typing { home: None, repo: globals.repo.clone() }
}
