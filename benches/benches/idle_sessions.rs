//! How much memory a program holds that keeps many sessions open in which nothing happens.

use std::error::Error;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, ExitCode};

use benches::{Bound, Report, Rounds, as_f64, scratch, used_by};
use config::{DataPaths, Settings, Sources};
use engine::fault::Faults;
use engine::prompt::{Environment, Role, SystemPrompt};
use protocol::{EventKind, InputId, SessionEvent, UserInput};
use regatta::app_context::AppContext;

/// The allocator of the program itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many sessions are open.
const SESSIONS: usize = 1_000;

/// How many MiB they and their engine may hold.
const MEMORY: f64 = 100.0;

/// Asks this program to hold so many sessions open.
const COUNT: &str = "REGATTA_BENCH_SESSIONS";

/// What the model says.
const SCENARIO: &str = "version = 1\n[[turn]]\ntext = \"Hello.\"\n";

fn main() -> ExitCode {
    regatta::launch();
    if let Some(count) = std::env::var(COUNT).ok().and_then(|count| count.parse().ok()) {
        let folder = std::env::current_dir().expect("there is one");
        hold(&folder, count).expect("the sessions can be opened");
        return ExitCode::SUCCESS;
    }
    let mut report = Report::new(
        "idle sessions",
        "A program that opens an engine and 1,000 sessions in it, each with a log file and the tools of a \
         session, prompts each once, and keeps them open: the most memory that it held at once.",
    );
    let sessions = Rounds::asked_for().of(SESSIONS, SESSIONS);
    let held = |sessions: usize| {
        let scratch = scratch();
        let mut program = Command::new(std::env::current_exe().expect("a bench knows where it is"));
        program.current_dir(scratch.path()).env(COUNT, sessions.to_string());
        as_f64(used_by(program).peak_kilobytes)
    };
    let (one, many) = (held(1), held(sessions));
    report.figure("1 session", one / 1024.0, "MiB", Bound::None);
    report.figure(&format!("{sessions} sessions"), many / 1024.0, "MiB", Bound::AtMost(MEMORY));
    report.figure("a further session", (many - one) / as_f64(sessions - 1), "KiB", Bound::None);
    report.finish()
}

/// Opens sessions that answer one prompt each, and returns when all of them are idle.
fn hold(folder: &Path, count: usize) -> Result<(), Box<dyn Error>> {
    std::fs::write(folder.join("scenario.toml"), SCENARIO)?;
    let home = folder.join("home");
    let variable = |name: &str| (name == "REGATTA_HOME").then(|| OsString::from(&home));
    let places = DataPaths::resolve(variable)?;
    let file = places.config_file();
    let sources = Sources { file: &file, home: None, variable: &|_| None, flags: &[] };
    let (settings, _unknown) = Settings::load(&sources)?;
    let app = AppContext::build(places, settings, Faults::default())
        .map_err(|error| error.to_string())?;
    tokio::runtime::Runtime::new()?.block_on(converse(&app, folder, count))
}

async fn converse(app: &AppContext, folder: &Path, count: usize) -> Result<(), Box<dyn Error>> {
    let model = format!("offline/{}", folder.join("scenario.toml").display());
    let engine = app.open_engine(NonZeroUsize::MIN).await.map_err(|error| error.to_string())?;
    let mut sessions = Vec::new();
    for number in 0..count {
        let role = Role::Own("You work in a folder. Answer in one line.".to_owned());
        let system = SystemPrompt::of(role, Environment::default());
        let log = folder.join(format!("home/sessions/idle/{number}.jsonl"));
        let (spec, tools) = app.session_in(folder.to_owned(), model.parse()?, system, log);
        let (session, mut events) = engine.open_session(spec, tools).await?;
        session.prompt(UserInput::new(InputId::generate(), "Hello?"));
        while let Some(event) = events.recv().await {
            let EventKind::SessionEvent { event, .. } = &event.kind else { continue };
            if matches!(event, SessionEvent::AgentEnd { .. }) {
                break;
            }
        }
        sessions.push(session);
    }
    for session in sessions {
        session.close().await;
    }
    engine.close().await;
    Ok(())
}
