//! The server: listens on the loopback in a thread of its own, and ends when it is dropped.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State as Shared};
use axum::http::{StatusCode, header};
use axum::response::Response;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

use super::forms::fields;
use super::state::{CLIENT, DeviceAnswer, LoginPage, State};

/// The largest request that is read.
const LARGEST: usize = 64 << 10;

/// An OAuth server. Dropping it ends it; a violation fails the test then.
pub struct OauthServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    /// Whether answers about renewals are held back.
    held: watch::Sender<bool>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What an answer is made of.
#[derive(Clone)]
struct Parts {
    state: Arc<Mutex<State>>,
    address: SocketAddr,
    held: watch::Receiver<bool>,
}

impl OauthServer {
    /// Starts one, which gives tokens that last an hour to every user who logs in.
    ///
    /// # Panics
    /// When the loopback cannot be listened on.
    #[must_use]
    pub fn start() -> Self {
        let state = Arc::new(Mutex::new(State::new()));
        let (tell, told) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let (held, are_held) = watch::channel(false);
        let shared = Arc::clone(&state);
        let thread = std::thread::spawn(move || serve(&tell, (shared, are_held), stopped));
        let address = told.recv().expect("the loopback can be listened on");
        Self { address, state, held, stop: Some(stop), thread: Some(thread) }
    }

    /// Returns its address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the value of `oauth` in `models.yml`, with these members more.
    #[must_use]
    pub fn described(&self, more: &str) -> String {
        let url = self.url();
        format!(
            "{{ authorizeUrl: '{url}/authorize', tokenUrl: '{url}/token', clientId: {CLIENT}, \
             scopes: [models, offline]{more} }}"
        )
    }

    /// Returns the member of `oauth` for logins on another device.
    #[must_use]
    pub fn device_url(&self) -> String {
        format!(", deviceUrl: '{}/device-code'", self.url())
    }

    /// Does this with users who log in from now on.
    pub fn page(&self, page: LoginPage) {
        self.lock().page = page;
    }

    /// Says this to devices from now on.
    pub fn device(&self, answer: DeviceAnswer) {
        self.lock().device = answer;
    }

    /// Gives codes for devices that last this many seconds.
    pub fn device_lasts(&self, seconds: u64) {
        self.lock().device_lasts = seconds;
    }

    /// Gives tokens that last this many seconds.
    pub fn lasts(&self, seconds: u64) {
        self.lock().lasts = seconds;
    }

    /// Holds answers about renewals back from now on.
    pub fn hold_renewals(&self) {
        self.held.send_replace(true);
    }

    /// Gives the answers that were held back.
    pub fn release_renewals(&self) {
        self.held.send_replace(false);
    }

    /// Renews no token any more.
    pub fn end_logins(&self) {
        self.lock().ends_logins = true;
    }

    /// Returns how many tokens it has renewed.
    #[must_use]
    pub fn renewals(&self) -> usize {
        self.lock().renewals
    }

    /// Returns how often a device has asked.
    #[must_use]
    pub fn polls(&self) -> usize {
        self.lock().polls
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OauthServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join(); // what it panicked with was printed
        }
        if !std::thread::panicking() {
            let violations = std::mem::take(&mut self.lock().violations);
            assert_eq!(violations, Vec::<String>::new(), "what was wrong with requests");
        }
    }
}

fn serve(
    tell: &Sender<SocketAddr>,
    (state, held): (Arc<Mutex<State>>, watch::Receiver<bool>),
    stopped: oneshot::Receiver<()>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime can be had");
    runtime.block_on(async move {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a port can be had");
        let address = listener.local_addr().expect("a bound socket has an address");
        tell.send(address).expect("somebody waits for it");
        let router = Router::new().fallback(answer).with_state(Parts { state, address, held });
        tokio::select! {
            served = async { axum::serve(listener, router).await } => {
                served.expect("the loopback can be listened on");
            }
            _dropped = stopped => {}
        }
    });
}

async fn answer(
    Shared(Parts { state, address, mut held }): Shared<Parts>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, LARGEST).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&body).into_owned();
    let query = fields(parts.uri.query().unwrap_or_default());
    if text.contains("grant_type=refresh_token") {
        // The server may be gone by then.
        let _given = held.wait_for(|are_held| !are_held).await.map(drop);
    }
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    let (status, document) = match (parts.method.as_str(), parts.uri.path()) {
        ("GET", "/authorize") => return redirect(&state.authorize(&query)),
        ("GET", "/auth") => return redirect(&state.authorize_key(&query)),
        ("POST", "/token") => state.token(&fields(&text)),
        ("POST", "/device-code") => state.device(&fields(&text), &format!("http://{address}")),
        ("POST", "/api/v1/auth/keys") => {
            state.key(&serde_json::from_str(&text).unwrap_or_default())
        }
        (method, path) => {
            state.violations.push(format!("{method} {path}"));
            (StatusCode::NOT_FOUND, Value::Null)
        }
    };
    let response = Response::builder().status(status);
    let response = response.header(header::CONTENT_TYPE, "application/json");
    response.body(Body::from(document.to_string())).expect("it is an answer")
}

fn redirect(to: &str) -> Response {
    let response = Response::builder().status(StatusCode::FOUND).header(header::LOCATION, to);
    response.body(Body::empty()).expect("it is an answer")
}
