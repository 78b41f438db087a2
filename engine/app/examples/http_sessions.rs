//! Sessions behind HTTP: `POST /sessions` opens one, `POST /sessions/ID` sends it a prompt and answers with
//! what its model says, `DELETE /sessions/ID` closes it.
//!
//! ```sh
//! cargo run --features regatta/examples --example http_sessions FOLDER MODEL [ADDRESS]
//! ```
//!
//! It is an example: every program that reaches the address can have the model do anything in the folder. Without
//! arguments it asks itself one question, whose model is a scenario, and ends.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path as Segment, State};
use axum::http::StatusCode;
use axum::routing::{delete, post};
use regatta::session::ask;
use regatta::{AppContext, Engine, Events, ModelRoute, SessionHandle};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

/// What the model of the scenario says.
const SCENARIO: &str = "version = 1\n[[turn]]\ntext = \"Hello from a session.\"\n";

/// A session, and its events. One prompt at a time uses them.
type Session = Arc<Mutex<(SessionHandle, Events)>>;

/// What every route uses.
struct Server {
    app: AppContext,
    engine: Engine,
    folder: PathBuf,
    model: ModelRoute,
    sessions: Mutex<BTreeMap<String, Session>>,
}

/// An error as a client gets it.
type Refused = (StatusCode, String);

fn main() -> Result<(), Box<dyn Error>> {
    regatta::launch();
    let runtime = tokio::runtime::Runtime::new()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [folder, model, address @ ..] => {
            let address = address.first().map_or("127.0.0.1:8080", String::as_str);
            let app = AppContext::open()?;
            runtime.block_on(serve(app, Path::new(folder), model.parse()?, address.parse()?))
        }
        _ => runtime.block_on(try_itself()),
    }
}

async fn serve(
    app: AppContext,
    folder: &Path,
    model: ModelRoute,
    address: SocketAddr,
) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    Ok(axum::serve(listener, routes(app, folder, model).await?).await?)
}

async fn routes(
    app: AppContext,
    folder: &Path,
    model: ModelRoute,
) -> Result<Router, Box<dyn Error>> {
    let engine = app.open_engine(NonZeroUsize::MIN).await?;
    let (folder, sessions) = (folder.canonicalize()?, Mutex::default());
    let server = Arc::new(Server { app, engine, folder, model, sessions });
    Ok(Router::new()
        .route("/sessions", post(open))
        .route("/sessions/{id}", post(prompt))
        .route("/sessions/{id}", delete(close))
        .with_state(server))
}

/// Opens a session, and answers with its id.
async fn open(State(server): State<Arc<Server>>) -> Result<String, Refused> {
    let (spec, tools) =
        server.app.session(&server.folder, server.model.clone(), "You work in a folder.");
    let opened = server.engine.open_session(spec, tools).await;
    let (session, events) = opened.map_err(|error| internal(&error))?;
    let id = session.id().to_string();
    let session = Arc::new(Mutex::new((session, events)));
    server.sessions.lock().await.insert(id.clone(), session);
    Ok(id)
}

/// Sends the body to a session as a prompt, and answers with what its model says.
async fn prompt(
    State(server): State<Arc<Server>>,
    Segment(id): Segment<String>,
    body: String,
) -> Result<String, Refused> {
    let session = server.sessions.lock().await.get(&id).cloned().ok_or_else(no_session)?;
    let mut session = session.lock().await;
    let (handle, events) = &mut *session;
    ask(handle, events, &body).await.map_err(|error| internal(&error))
}

/// Closes a session. Its log stays.
async fn close(
    State(server): State<Arc<Server>>,
    Segment(id): Segment<String>,
) -> Result<(), Refused> {
    let session = server.sessions.lock().await.remove(&id).ok_or_else(no_session)?;
    // A prompt that is being answered ends first.
    if let Some(session) = Arc::into_inner(session) {
        session.into_inner().0.close().await;
    }
    Ok(())
}

fn no_session() -> Refused {
    (StatusCode::NOT_FOUND, "there is no such session".to_owned())
}

fn internal(error: &dyn Error) -> Refused {
    (StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
}

/// Serves on a free port, opens a session over HTTP, and prompts it.
async fn try_itself() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let scenario = folder.path().join("hello.toml");
    std::fs::write(&scenario, SCENARIO)?;
    let app = AppContext::open_in(&folder.path().join("data"))?;
    let model = format!("offline/{}", scenario.display()).parse()?;
    let routes = routes(app, folder.path(), model).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let asked = async {
        let id = post_to(address, "/sessions", "").await?;
        post_to(address, &format!("/sessions/{id}"), "Say hello.").await
    };
    let answer = tokio::select! {
        answer = asked => answer?,
        ended = axum::serve(listener, routes) => return Err(format!("the server ended: {ended:?}").into()),
    };
    println!("{answer}");
    if answer == "Hello from a session." { Ok(()) } else { Err("it says something else".into()) }
}

/// Posts a text, and returns the body of the answer.
async fn post_to(address: SocketAddr, path: &str, text: &str) -> Result<String, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address).await?;
    let length = text.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{text}"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (_head, body) = answer.split_once("\r\n\r\n").ok_or("no HTTP")?;
    Ok(body.to_owned())
}
