//! A session as a library: a program opens an engine, prompts a model in a folder, reads the events,
//! and prints what the model said. The model here is a scenario, so that nothing is sent anywhere:
//!
//! ```sh
//! cargo run --features regatta/examples --example session
//! ```

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use config::{DataPaths, Settings, Sources};
use engine::fault::Faults;
use engine::ports::ModelRequest;
use engine::prompt::{Environment, Role, SystemPrompt};
use protocol::{EventKind, InputId, Message, ModelRoute, SessionEvent, UserInput};
use regatta::app_context::AppContext;

/// What the model says: it reads a file and repeats what is in it.
const SCENARIO: &str = r#"
version = 1
[[turn]]
text = "Let me look."
calls = [{ tool = "read", arguments = { path = "greeting.txt" } }]
[[turn]]
remember = { words = 'says: (.+)' }
text = "The file says: {{words}}"
"#;

fn main() -> ExitCode {
    // The engine starts this program again to run the commands of tools.
    regatta::launch();
    let ran = tempfile::tempdir().map_err(Into::into).and_then(|folder| run(folder.path()));
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &Path) -> Result<(), Box<dyn Error>> {
    fs::write(folder.join("greeting.txt"), "it says: hello\n")?;
    fs::write(folder.join("scenario.toml"), SCENARIO)?;
    let model = format!("offline/{}", folder.join("scenario.toml").display());
    let app = open_app(&folder.join("home"))?;
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(converse(&app, folder, model.parse()?))
}

/// Builds the context with a home of its own and the built-in settings.
fn open_app(home: &Path) -> Result<AppContext, Box<dyn Error>> {
    let variable = |name: &str| (name == "REGATTA_HOME").then(|| OsString::from(home));
    let places = DataPaths::resolve(variable)?;
    let file = places.config_file();
    let sources = Sources { file: &file, home: None, variable: &|_| None, flags: &[] };
    let (settings, _unknown) = Settings::load(&sources)?;
    AppContext::build(places, settings, Faults::default()).map_err(|error| error.to_string().into())
}

async fn converse(
    app: &AppContext,
    folder: &Path,
    model: ModelRoute,
) -> Result<(), Box<dyn Error>> {
    let role = Role::Own("You work in a folder. Answer in one line.".to_owned());
    let system = SystemPrompt::of(role, Environment::default());
    let log = folder.join("home").join("session.jsonl");
    let (mut spec, tools) = app.session_in(folder.to_owned(), model, system, log);
    // A listener sees each request as the model gets it.
    let (requests, request) = std::sync::mpsc::channel();
    spec.request_hooks.listener = Some(Arc::new(move |request: &ModelRequest| {
        let _gone = requests.send(request.messages.len());
    }));
    let engine = app.open_engine(NonZeroUsize::MIN).await;
    let engine = engine.map_err(|error| error.to_string())?;
    let (session, mut events) = engine.open_session(spec, tools).await?;
    session.prompt(UserInput::new(InputId::generate(), "What does the file say?"));
    let mut answer = String::new();
    while let Some(event) = events.recv().await {
        let EventKind::SessionEvent { event, .. } = &event.kind else { continue };
        match event {
            SessionEvent::ToolExecutionStart { tool_name, .. } => println!("calls {tool_name}"),
            SessionEvent::MessageEnd { message: Message::Assistant(said) } => answer = said.text(),
            SessionEvent::AgentEnd { .. } => break,
            _other => {}
        }
    }
    let state = session.state().await.ok_or("the session is closed")?;
    let asked: Vec<_> = request.try_iter().map(|messages| messages.to_string()).collect();
    println!("{answer}\n{} messages", state.messages);
    println!("requests with {} messages in {}", asked.join(" and "), state.folder.display());
    session.close().await;
    engine.close().await;
    if answer == "The file says: hello" { Ok(()) } else { Err("the model did not see it".into()) }
}
