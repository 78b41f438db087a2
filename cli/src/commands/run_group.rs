//! `regatta run` in several repositories: one engine, and one run in each of them.

mod ends;
mod repositories;

use std::collections::BTreeSet;
use std::io;
use std::io::{Read as _, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use config::make_private;
use engine::exit_code::{Interruption, group_exit_code};
use engine::ports::{CancelLevel, LandingNotice, Repository};
use futures_util::StreamExt as _;
use futures_util::stream;
use protocol::{ExitCode, GroupName, RunSpec};
use regatta::app_context::AppContext;
use regatta::error::{Error, ErrorKind};
use regatta::model::check_models;
use regatta::recovery::open_repository;
use regatta::{Answerer, Engine, Submission};

use self::ends::{FinishedRun, GroupState, MemberEnd, Refusal};
pub(super) use self::repositories::{GroupRepository, repositories, root_of};
use super::approval_notes;
use super::dispatch::resolving_context;
use super::note::note;
use super::project_settings::context_of;
use super::resolve_run::EndedRun;
use super::resolved_run::{anchor_scenarios, keep_set_variables, resolved};
use super::run::{CancelOnSignal, submit_error, workspaces_of};
use super::{dry_run, resolve_run, run};
use crate::args::{Execution, Form, Globals, Resolver, RunArgs};
use crate::display_thread::{Display, Notes};
use crate::notifier::Notifier;
use crate::render::{
    CommandHints, GroupMember, OutputStreams, View, group_renderer, one_line, rescue_line,
};
use crate::resolve::RunRequest;
use crate::run_log::Log;
use crate::signals::{self, Signals};

/// How many repositories are open at once, at most.
const OPEN: usize = 16;

/// The size of the largest standard input, in bytes. Each repository gets the same.
const LARGEST_INPUT: u64 = 256 << 20;

/// What is asked for in each repository.
struct GroupRequest<'a> {
    globals: &'a Globals,
    app: &'a AppContext,
    request: &'a RunRequest,
    args: &'a RunArgs,
    /// Standard input.
    input: Vec<u8>,
    /// What settles the conflicts of the runs when all have ended.
    resolver: Option<Resolver>,
    group: GroupName,
    /// What was said already. Most of it is the same in each repository.
    said: Mutex<BTreeSet<String>>,
}

/// Starts a run in each repository, or prints the tasks of each for `--dry-run`.
///
/// # Errors
/// The engine cannot be opened, or nothing can be displayed. What prevents a run in one repository is said,
/// and the others go on.
pub(super) async fn start(
    globals: &Globals,
    app: &AppContext,
    (request, args): (&RunRequest, &RunArgs),
    repositories: Vec<GroupRepository>,
    log: &Log,
) -> Result<ExitCode, Error> {
    let input = match request.reads_standard_input() {
        true => read_input()?,
        false => Vec::new(),
    };
    let said = Mutex::default();
    let group = free_group(app)?;
    let resolver = args.resolver();
    let group = GroupRequest { globals, app, request, args, input, resolver, group, said };
    match args.execution() {
        Execution::DryRun => group.list(&repositories).await,
        Execution::Real => group.run(&repositories, log).await,
    }
}

/// A run that can start in its repository, which is open.
struct ReadyRun {
    /// The context with the settings of the project.
    app: AppContext,
    repository: Arc<dyn Repository>,
    spec: RunSpec,
}

impl GroupRequest<'_> {
    /// Opens a repository and resolves the run in it.
    async fn prepare(&self, at: &Path, say: &(dyn Fn(&str) + Sync)) -> Result<ReadyRun, Error> {
        let say = |line: &str| {
            let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            if said.insert(line.to_owned()) {
                say(line);
            }
        };
        let app = context_of(&say, self.app, at)?;
        let opened = open_repository(&app, at).await?;
        opened.found.iter().for_each(|line| say(&format!("note: {line}")));
        let repository = opened.repository;
        let (what, mut input) = ((self.request, self.args), self.input.as_slice());
        let mut spec = resolved(&say, &app, what, &*repository, &mut input).await?;
        keep_set_variables(&say, &mut spec);
        anchor_scenarios(&mut spec);
        spec.group = Some(self.group.clone());
        // The questions of several runs would not fit below their tasks.
        if matches!(self.args.execution(), Execution::Real) {
            approval_notes::of_run(&spec, Answerer::None).iter().for_each(|line| say(line));
        }
        if let Some(resolver) = &self.resolver {
            resolve_run::check(resolver, &spec)?;
        }
        Ok(ReadyRun { app, repository, spec })
    }

    /// Prints the tasks of each repository.
    async fn list(&self, repositories: &[GroupRepository]) -> Result<ExitCode, Error> {
        let mut codes = Vec::new();
        for GroupRepository { root, .. } in repositories {
            let ready = self.prepare(root, &|line| note(self.globals, line)).await;
            let listed = match ready {
                Ok(ReadyRun { repository, spec, .. }) => {
                    note(self.globals, &format!("in {}:", root.display()));
                    let root = &repository.facts().root;
                    dry_run::print(self.globals, self.app, root, &spec).await
                }
                Err(error) => Err(error),
            };
            codes.push(match listed {
                Ok(()) => Some(ExitCode::Success),
                Err(error) => {
                    let refused = Refusal::of(root, &error);
                    self.report_left_out(&refused)?;
                    refused.code
                }
            });
        }
        Ok(group_exit_code(&codes))
    }

    async fn run(&self, repositories: &[GroupRepository], log: &Log) -> Result<ExitCode, Error> {
        let signals = Signals::listen()?;
        // How many tasks run at once follows from the first repository in which a run can start.
        let mut first = None;
        let mut refused = Vec::new();
        for (at, GroupRepository { root, .. }) in repositories.iter().enumerate() {
            match self.prepare(root, &|line| note(self.globals, line)).await {
                Ok(ready) => {
                    first = Some((at, ready));
                    break;
                }
                Err(error) => refused.push((root, error)),
            }
        }
        let Some((begin, ready)) = first else {
            return Err(self.nowhere(refused));
        };
        let refused: Vec<_> =
            refused.iter().map(|(root, error)| Refusal::of(root, error)).collect();
        for refusal in &refused {
            self.report_left_out(refusal)?;
        }
        let capacity = ready.spec.jobs;
        let engine = self.app.open_engine(capacity).await?;
        let mut display = self.display(repositories, capacity)?;
        display.show(engine.listen().await);
        let folder = Path::new(".");
        let notifier = Notifier::watch(self.app, folder, engine.listen().await);
        let state = Arc::new(GroupState::default());
        let cancelled = Arc::clone(&state);
        let cancel = move |how, why| cancelled.cancel(how, why);
        let on_signal = CancelOnSignal::begin(signals, cancel, display.notes());
        let (first, notes) = (Mutex::new(Some(ready)), display.notes());
        let members = repositories.iter().enumerate().skip(begin).map(|(at, member)| {
            let ready = (at == begin).then(|| take(&first)).flatten();
            let (engine, state, notes) = (&engine, &*state, notes.clone());
            async move { self.run_in(&member.root, ready, (engine, state, log), notes).await }
        });
        let open = capacity.get().min(OPEN);
        let ends = stream::iter(members).buffer_unordered(open).collect::<Vec<_>>();
        let mut output_error = None;
        let ends = tokio::select! {
            ends = ends => ends,
            error = display.failed() => {
                let why = Interruption::Terminate;
                state.cancel(CancelLevel::AtOnce, why);
                output_error = Some(error);
                vec![MemberEnd::without_run(Some(signals::exit_code(why)))]
            }
        };
        let failure = engine.close().await;
        self.app.user_models.finish_renewals().await;
        on_signal.run_has_ended();
        let shown = display.finish().await;
        notifier.finish().await;
        for refusal in state.refusals().iter() {
            self.report_left_out(refusal)?;
        }
        if let Some(failure) = failure {
            return Err(
                Error::engine_failed(&failure).hint(format!("regatta runs show {}", self.group))
            );
        }
        let refused: Vec<_> = refused.iter().map(|refusal| refusal.code).collect();
        let code = |ends: &[MemberEnd]| {
            let codes = refused.iter().copied().chain(ends.iter().map(|end| end.code));
            group_exit_code(&codes.collect::<Vec<_>>())
        };
        if let Some(error) = output_error.or(shown.err()) {
            return Err(run::output_error(&error, code(&ends)));
        }
        Ok(code(&self.resolve(ends, log).await?))
    }

    /// Lets the resolver settle the conflicts of the runs, one after the other.
    async fn resolve(&self, mut ends: Vec<MemberEnd>, log: &Log) -> Result<Vec<MemberEnd>, Error> {
        let Some(resolver) = &self.resolver else { return Ok(ends) };
        for end in &mut ends {
            let (Some(code @ (ExitCode::Kept | ExitCode::Partial)), Some(run)) =
                (end.code, &end.run)
            else {
                continue;
            };
            let FinishedRun { app, repository, name, events } = run;
            let context = resolving_context(self.globals, app, log, repository);
            let ended = EndedRun { run: name, code, events: *events };
            let out = &mut io::stdout();
            let settled = resolve_run::resolve(&context, &**repository, ended, resolver, out).await;
            end.code = Some(settled?);
        }
        Ok(ends)
    }

    /// Returns the error of a group in which no run can start. What is the same everywhere is said once.
    fn nowhere(&self, mut refused: Vec<(&PathBuf, Error)>) -> Error {
        let (_, first) = refused.remove(0);
        for (root, error) in refused.iter().filter(|(_, error)| *error != first) {
            note(self.globals, &Refusal::of(root, error).line());
        }
        first
    }

    /// Says in which repository no run could start, and why: for a program, as a JSON object on a line of its
    /// own.
    fn report_left_out(&self, refusal: &Refusal) -> Result<(), Error> {
        note(self.globals, &refusal.line());
        if self.globals.form() != Form::Json {
            return Ok(());
        }
        let line = serde_json::json!({
            "type": "repository_left_out",
            "group": self.group,
            "repo": refusal.root,
            "why": refusal.why,
        });
        writeln!(io::stdout(), "{line}").map_err(|error| Error::output(&error))
    }

    fn display(
        &self,
        repositories: &[GroupRepository],
        capacity: NonZeroUsize,
    ) -> Result<Display, Error> {
        let members = repositories
            .iter()
            .map(|member| GroupMember { label: member.label.clone(), root: member.root.clone() });
        let group = (self.group.clone(), members.collect(), capacity.get());
        let (view, streams) = (View::here(self.globals), OutputStreams::standard());
        let show = group_renderer(view, streams, group, CommandHints::default());
        Display::start(show, Arc::clone(&self.app.clock)).map_err(|error| {
            Error::new(ErrorKind::Machine, "cannot start a thread").caused_by(&error)
        })
    }

    /// Runs the tasks of one repository.
    async fn run_in(
        &self,
        at: &Path,
        ready: Option<ReadyRun>,
        (engine, state, log): (&Engine, &GroupState, &Log),
        notes: Notes,
    ) -> MemberEnd {
        if let Some(why) = state.why.get() {
            let (root, code) = (at.to_owned(), Some(signals::exit_code(*why)));
            let why = "the group was stopped before".to_owned();
            state.refusals().push(Refusal { root, why, code });
            return MemberEnd::without_run(code);
        }
        let say = |line: &str| notes.say(one_line(line));
        let ready = match ready {
            Some(ready) => Ok(ready),
            None => self.prepare(at, &say).await,
        };
        let ended = match ready {
            Ok(ready) => self.submit(ready, (engine, state, log), &notes).await,
            Err(error) => Err(error),
        };
        ended.unwrap_or_else(|error| {
            let refusal = Refusal::of(at, &error);
            let code = refusal.code;
            state.refusals().push(refusal);
            MemberEnd::without_run(code)
        })
    }

    async fn submit(
        &self,
        ReadyRun { app, repository, spec }: ReadyRun,
        (engine, state, log): (&Engine, &GroupState, &Log),
        notes: &Notes,
    ) -> Result<MemberEnd, Error> {
        let unreached = check_models(&self.app.models, &self.app.user_models, &spec).await?;
        unreached.into_iter().for_each(|line| notes.say(line));
        if let Some(workspaces) = workspaces_of(self.app, &spec) {
            // An error is ignored here: if the folder is missing, preparing the run reports it.
            let _said_later = make_private(&workspaces);
        }
        state.runs().push(engine.controls(spec.id));
        if let Some(why) = state.why.get() {
            return Ok(MemberEnd::without_run(Some(signals::exit_code(*why))));
        }
        let told = notes.clone();
        let submission =
            Submission::new(spec, Arc::clone(&repository)).with_notices(move |notice| {
                if let LandingNotice::Rescued(rescue) = notice {
                    told.say(rescue_line(&rescue));
                }
            });
        let mut run = engine.run(submission).await.map_err(submit_error)?;
        log.begin(&self.app.places.log(&run.name));
        let mut events = 0;
        while let Some(event) = run.recv().await {
            events = event.seq;
        }
        let code = run.outcome().await.map_or(ExitCode::Bug, |outcome| outcome.exit_code);
        let run = FinishedRun { app, repository, name: run.name, events };
        Ok(MemberEnd { code: Some(code), run: Some(run) })
    }
}

fn take<T>(from: &Mutex<Option<T>>) -> Option<T> {
    from.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn read_input() -> Result<Vec<u8>, Error> {
    let mut input = Vec::new();
    let read = io::stdin().take(LARGEST_INPUT + 1).read_to_end(&mut input);
    read.map_err(|error| {
        Error::new(ErrorKind::Plan, "cannot read standard input").caused_by(&error)
    })?;
    match input.len() as u64 > LARGEST_INPUT {
        true => Err(Error::new(ErrorKind::Plan, "standard input has more than 256 MiB")),
        false => Ok(input),
    }
}

/// Returns a name that no group has.
fn free_group(app: &AppContext) -> Result<GroupName, Error> {
    let reader = app.ledger.reader();
    for length in 4..12 {
        let name = GroupName::generate(length);
        if reader.runs_of_group(&name)?.is_empty() {
            return Ok(name);
        }
    }
    Ok(GroupName::generate(12))
}
