//! Runs a program that writes the file of a conflict: the user's merge tool, or a resolver.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::ports::{
    CommandRequest, CommandTerminal, Commands, EndCause, ShortOutput, VariableChoice, WrittenFile,
};
use exec::{BaseEnvironment, EnvironmentRules, GRACE, Processes, Shell};
use protocol::{Conflict, ExitCode, ResolverRecord, SettledBy};
use rustix::fs::OFlags;

use super::context::CommandContext;
use super::side_bytes::{SideBytes, no_sides};
use super::side_check::{Allowed, check_written};
use super::tool_terminal::{self, ToolEnd};
use super::unsettled::{Unsettled, shortened};
use crate::render::one_line;
use crate::signals::CancelOnSignal;
use regatta::error::{Error, ErrorKind, TEMPORARY_HINT};
use regatta::launcher;

/// The largest file that a program may write, in bytes.
const LARGEST: u64 = 256 << 20;

/// How much of a program's output is kept while it runs, in bytes.
const KEEP: u64 = 64 << 10;

/// A program that writes the file of a conflict.
#[derive(Clone, Debug)]
pub(super) struct SideProgram {
    /// The script for a shell.
    pub(super) script: String,
    /// How it is called in messages.
    pub(super) name: String,
    pub(super) by: SettledBy,
    /// How long it may take for one file.
    pub(super) timeout: Duration,
    /// Whether a side may be missing in what it writes.
    pub(super) allowed: Allowed,
    /// A JSON document about the tasks concerned.
    pub(super) about: Option<String>,
    pub(super) variables: BTreeMap<String, OsString>,
}

/// Lets `program` write the file of a conflict.
///
/// # Errors
/// The conflict is not one of the contents of a file; the program failed, took too long or was
/// stopped; or what it wrote does not settle the conflict.
pub(super) async fn write(
    context: &CommandContext,
    program: &SideProgram,
    conflict: &Conflict,
) -> Result<WrittenFile, Unsettled> {
    let Some(sides) = SideBytes::read(context, conflict)? else {
        return Err(not_settled(&program.name, conflict, no_sides(conflict).to_owned()).into());
    };
    let folder = tempfile::Builder::new().prefix("regatta-settle-").tempdir();
    let folder = folder.map_err(|error| {
        machine("cannot make a folder for the sides", &error).hint(TEMPORARY_HINT)
    })?;
    let files = Files::write(folder.path(), conflict, &sides, program.about.as_deref())
        .map_err(|error| machine("cannot write the sides of a conflict", &error))?;
    let record = |exit_code| ResolverRecord {
        program: shortened(&program.script),
        exit_code,
        run: None,
        capture: None,
    };
    let failed_with = |code: Option<i32>, why: String| {
        let error = not_settled(&program.name, conflict, why.clone());
        match program.by {
            SettledBy::Resolver => Unsettled::by(record(code), &conflict.path, &why, error),
            _ => error.into(),
        }
    };
    match run(program, folder.path(), &files, conflict).await? {
        Ended::TimedOut => {
            let limit = crate::render::duration(
                u64::try_from(program.timeout.as_millis()).unwrap_or(u64::MAX),
            );
            return Err(failed_with(None, format!("it took longer than {limit}")));
        }
        Ended::With(EndCause::Exited(0), _) => {}
        Ended::With(cause, failure_line) => {
            let code = match cause {
                EndCause::Exited(code) => Some(code),
                EndCause::Signalled(_) | EndCause::Stopped => None,
            };
            let why = match cause {
                EndCause::Exited(code) => format!("it exited with code {code}"),
                EndCause::Signalled(signal) => format!("signal {signal} ended it"),
                EndCause::Stopped => "it was stopped".to_owned(),
            };
            let line = failure_line.map(|line| format!(": {line}")).unwrap_or_default();
            return Err(failed_with(code, format!("{why}{line}")));
        }
    }
    let failed = |why| failed_with(Some(0), why);
    let bytes = read_result(&files.result).map_err(failed)?;
    check_written(&bytes, &sides.marked, (sides.texts(), &sides.hunks), program.allowed)
        .map_err(failed)?;
    Ok(WrittenFile {
        bytes: Some(bytes),
        ours: conflict.ours.clone(),
        theirs: conflict.theirs.clone(),
        by: program.by,
        resolver: (program.by == SettledBy::Resolver).then(|| record(Some(0))),
    })
}

/// Checks that a conflict has sides for a program, or an agent, of this name to write from.
///
/// # Errors
/// The conflict is not one of the contents of a file.
pub(super) fn check_sides(
    context: &CommandContext,
    name: &str,
    conflict: &Conflict,
) -> Result<(), Error> {
    match SideBytes::read(context, conflict)? {
        Some(_sides) => Ok(()),
        None => Err(not_settled(name, conflict, no_sides(conflict).to_owned())),
    }
}

/// The files that a program gets.
struct Files {
    base: PathBuf,
    ours: PathBuf,
    theirs: PathBuf,
    result: PathBuf,
    about: PathBuf,
}

impl Files {
    fn write(
        folder: &Path,
        conflict: &Conflict,
        sides: &SideBytes,
        about: Option<&str>,
    ) -> std::io::Result<Self> {
        // Tools know the language of a file by the end of its name.
        let end = conflict.path.as_path().extension().and_then(OsStr::to_str);
        let end = end.filter(|end| end.len() < 20 && end.chars().all(char::is_alphanumeric));
        let end = end.map(|end| format!(".{end}")).unwrap_or_default();
        let place = |name: &str| folder.join(format!("{name}{end}"));
        let files = Self {
            base: place("BASE"),
            ours: place("LOCAL"),
            theirs: place("REMOTE"),
            result: place("MERGED"),
            about: folder.join("about.json"),
        };
        std::fs::write(&files.base, sides.base.as_deref().unwrap_or_default())?;
        std::fs::write(&files.ours, &sides.ours)?;
        std::fs::write(&files.theirs, &sides.theirs)?;
        std::fs::write(&files.result, &sides.marked)?;
        std::fs::write(&files.about, about.unwrap_or("{}"))?;
        Ok(files)
    }
}

/// How a program ended.
enum Ended {
    /// For this reason, with the line that says why it failed.
    With(EndCause, Option<String>),
    TimedOut,
}

async fn run(
    program: &SideProgram,
    folder: &Path,
    files: &Files,
    conflict: &Conflict,
) -> Result<Ended, Error> {
    let mut variables = program.variables.clone();
    let path = |path: &Path| path.as_os_str().to_owned();
    let named = [
        ("BASE", path(&files.base)),
        ("LOCAL", path(&files.ours)),
        ("REMOTE", path(&files.theirs)),
        ("MERGED", path(&files.result)),
        ("REGATTA_BASE", path(&files.base)),
        ("REGATTA_OURS", path(&files.ours)),
        ("REGATTA_THEIRS", path(&files.theirs)),
        ("REGATTA_RESULT", path(&files.result)),
        ("REGATTA_ABOUT", path(&files.about)),
        ("REGATTA_PATH", path(conflict.path.as_path())),
    ];
    variables.extend(named.map(|(name, value)| (name.to_owned(), value)));
    if program.by == SettledBy::Tool && tool_terminal::is_there() {
        let environment = shell_environment(variables);
        let running = tool_terminal::run(&program.script, folder, environment, program.timeout);
        return match running.await? {
            ToolEnd::With(cause) => Ok(Ended::With(cause, None)),
            ToolEnd::TimedOut => Ok(Ended::TimedOut),
            ToolEnd::Stopped(code) => Err(stopped(program, code)),
        };
    }
    let environment = BaseEnvironment::new(std::env::vars_os(), &EnvironmentRules::default());
    let environment = environment.without_questions();
    let processes = Processes::new(launcher::launcher());
    let shell: Arc<dyn Commands> = Arc::new(Shell::new(environment, GRACE, processes));
    let owner = shell.owner(&VariableChoice::default());
    let stop = CancelOnSignal::begin()?;
    let request = CommandRequest {
        script: program.script.clone(),
        arguments: Vec::new(),
        folder: folder.to_path_buf(),
        environment: variables,
        output: folder.join("output.log"),
        keep: KEEP,
        short: ShortOutput::FileUnlessEmpty,
        terminal: CommandTerminal::None,
    };
    let running = owner.run(request, Arc::new(|_line| {}), stop.cancel());
    let ended = tokio::time::timeout(program.timeout, running).await;
    let _left = owner.end().await; // what could not be killed is not reported elsewhere either
    if let Some(code) = stop.code() {
        return Err(stopped(program, code));
    }
    match ended {
        Err(_elapsed) => Ok(Ended::TimedOut),
        Ok(Ok(end)) => Ok(Ended::With(end.cause, end.failure_line)),
        Ok(Err(error)) => {
            let what = format!("cannot run {}", program.name);
            Err(Error::new(ErrorKind::Machine, what).caused_by(&error))
        }
    }
}

/// Returns the environment of a tool on the terminal.
fn shell_environment(variables: BTreeMap<String, OsString>) -> BTreeMap<OsString, OsString> {
    let base = BaseEnvironment::new(std::env::vars_os(), &EnvironmentRules::default());
    let named = variables.into_iter().map(|(name, value)| (OsString::from(name), value));
    let kept = base.variables().map(|(name, value)| (name.to_owned(), value.to_owned()));
    kept.chain(named).collect()
}

fn stopped(program: &SideProgram, code: ExitCode) -> Error {
    let what = format!("stopped while {} ran; nothing has landed", program.name);
    Error::usage(what).exit(code)
}

/// Reads what the program wrote, if it is a regular file of a bounded size.
fn read_result(path: &Path) -> Result<Vec<u8>, String> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = std::fs::File::options().read(true).custom_flags(flags).open(path);
    let file = file.map_err(|error| format!("its result cannot be read: {error}"))?;
    let meta = file.metadata().map_err(|error| format!("its result cannot be read: {error}"))?;
    if !meta.is_file() {
        return Err("its result is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("its result cannot be read: {error}"))?;
    match u64::try_from(bytes.len()) {
        Ok(length) if length <= LARGEST => Ok(bytes),
        _ => Err("its result is larger than 256 MiB".to_owned()),
    }
}

fn not_settled(name: &str, conflict: &Conflict, why: String) -> Error {
    let path = one_line(&conflict.path.to_string());
    Error::usage(format!("{name} did not settle {path}")).because(why)
}

fn machine(what: &str, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Machine, what).caused_by(error)
}
