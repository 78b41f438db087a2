//! The server: listens on the loopback in a thread of its own, so that tests without a runtime can
//! have it, and ends when it is dropped.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use super::cache::PromptCache;
use super::connection::{Connections, ResetSwitch};
use super::quota::Quota;
use super::respond::respond;
use super::script::talk_of;
use super::stated_limits::StatedLimits;
use super::talk::Talk;
use super::wire::{self, Wire};
use super::{Answer, Asked, Cut, Script, Tokens};

/// The largest request that is read.
const LARGEST: usize = 64 << 20;

/// How an answer is cut into pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Small ones, with pauses: they cut lines and characters.
    Small,
    /// One event each, without pauses.
    Events,
}

/// What requests are held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// What a strict provider accepts, and the requests before. For our own.
    Strict,
    /// Nothing. For programs of others, which know other providers.
    None,
}

/// A model on the loopback. Dropping it ends it, whatever is still being said; a violation that
/// the test did not look at fails it then.
pub struct LoopbackModel {
    address: SocketAddr,
    server: Arc<Server>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Makes the scripts of conversations that were not announced.
type Otherwise = Box<dyn Fn(&str) -> Box<dyn Script> + Send>;

struct Server {
    shared: Mutex<Shared>,
    /// Apart from the rest, so that nothing holds up the clock by which requests are judged.
    quota: Mutex<Option<Quota>>,
    stated: Mutex<Option<StatedLimits>>,
}

struct Shared {
    pace: Pace,
    checks: Checks,
    models: Option<Vec<String>>,
    key: Option<String>,
    cache: Option<PromptCache>,
    talks: BTreeMap<String, Talk>,
    otherwise: Option<Otherwise>,
    /// The conversation of each request, in the order of their coming.
    order: Vec<String>,
    violations: Vec<String>,
}

impl LoopbackModel {
    /// The model that it has.
    pub const ID: &str = "loop";

    /// Starts one.
    ///
    /// # Panics
    /// When the loopback cannot be listened on.
    #[must_use]
    pub fn start() -> Self {
        let shared = Mutex::new(Shared {
            pace: Pace::Small,
            checks: Checks::Strict,
            models: Some(vec![Self::ID.to_owned()]),
            key: None,
            cache: None,
            talks: BTreeMap::new(),
            otherwise: None,
            order: Vec::new(),
            violations: Vec::new(),
        });
        let (quota, stated) = (Mutex::new(None), Mutex::new(None));
        let server = Arc::new(Server { shared, quota, stated });
        let (tell, told) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let state = Arc::clone(&server);
        let thread = std::thread::spawn(move || serve(&tell, state, stopped));
        let address = told.recv().expect("the loopback can be listened on");
        Self { address, server, stop: Some(stop), thread: Some(thread) }
    }

    /// Returns what the base of the Messages API is, which knows its paths itself.
    #[must_use]
    pub fn messages_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns what `--base-url` is to be.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns what `--model` is to be.
    #[must_use]
    pub fn route(&self) -> String {
        format!("loopback/{}", Self::ID)
    }

    /// Returns what `--base-url` is to be for this API.
    #[must_use]
    pub fn url_of(&self, wire: Wire) -> String {
        match wire {
            Wire::Completions | Wire::Responses => self.base_url(),
            Wire::Messages | Wire::Gemini => self.messages_url(),
        }
    }

    /// Refuses more than `most` requests in each `window` from now on, and says when to come again.
    /// Who comes before that breaks a rule.
    pub fn limit(&self, most: usize, window: Duration) {
        self.limit_many(most, window, Duration::ZERO);
    }

    /// Does the same to many who ask at once. Requests that were on their way when the first one was
    /// refused, and come within `grace`, break no rule.
    pub fn limit_many(&self, most: usize, window: Duration, grace: Duration) {
        *lock(&self.server.quota) = Some(Quota::new(most, window, grace));
    }

    /// States in its answers, as the provider of each API does, that `most` requests may come in each
    /// `window`, by a clock that is `behind`. Who comes when nothing is left breaks a rule: that can
    /// be known to one request at a time.
    pub fn state_limits(&self, most: u32, window: Duration, behind: Duration) {
        *lock(&self.server.stated) = Some(StatedLimits::new(most, window, behind));
    }

    /// Returns how many requests were refused because of the limit.
    #[must_use]
    pub fn refused(&self) -> usize {
        lock(&self.server.quota).as_ref().map_or(0, Quota::refused)
    }

    /// Caches what requests begin with from now on, and says in its answers how much of each it has
    /// read from there.
    pub fn cache(&self) {
        self.lock().cache = Some(PromptCache::default());
    }

    /// Cuts answers otherwise from now on.
    pub fn pace(&self, pace: Pace) {
        self.lock().pace = pace;
    }

    /// Holds requests against something else from now on.
    pub fn check(&self, checks: Checks) {
        self.lock().checks = checks;
    }

    /// Lists these models; answers 404 to the question for them without any.
    pub fn list(&self, models: Option<&[&str]>) {
        let models = models.map(|models| models.iter().map(|&model| model.to_owned()).collect());
        self.lock().models = models;
    }

    /// Refuses requests without this key.
    pub fn demand_key(&self, key: &str) {
        self.lock().key = Some(key.to_owned());
    }

    /// Says what `script` says in the conversation whose prompt has the marker of `talk`.
    pub fn talk(&self, talk: &str, script: impl Script + 'static) {
        let script: Box<dyn Script> = Box::new(script);
        self.lock().talks.insert(talk.to_owned(), Talk::new(talk, script));
    }

    /// Makes scripts for conversations that were not announced.
    pub fn otherwise(&self, make: impl Fn(&str) -> Box<dyn Script> + Send + 'static) {
        self.lock().otherwise = Some(Box::new(make));
    }

    /// Returns the requests of a conversation, in their order.
    #[must_use]
    pub fn asked(&self, talk: &str) -> Vec<Asked> {
        self.said(talk).into_iter().map(|(asked, _answer)| asked).collect()
    }

    /// Returns the requests of a conversation with the answers that they were given.
    #[must_use]
    pub fn said(&self, talk: &str) -> Vec<(Asked, Answer)> {
        self.lock().talks.get(talk).map(|talk| talk.said.clone()).unwrap_or_default()
    }

    /// Returns how many requests were made in all.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.lock().order.len()
    }

    /// Returns what it told a conversation that its answers used, as far as they were whole.
    #[must_use]
    pub fn used(&self, talk: &str) -> Tokens {
        self.said(talk).iter().filter_map(|(_asked, answer)| answer.said()).fold(
            Tokens::default(),
            |sum, said| Tokens {
                prompt: sum.prompt + said.tokens.prompt,
                cached: sum.cached + said.tokens.cached,
                written: sum.written + said.tokens.written,
                completion: sum.completion + said.tokens.completion,
            },
        )
    }

    /// Returns what was wrong with requests so far, and forgets it.
    #[must_use]
    pub fn take_violations(&self) -> Vec<String> {
        let mut violations = std::mem::take(&mut self.lock().violations);
        violations.extend(lock(&self.server.quota).iter_mut().flat_map(Quota::take_violations));
        let mut stated = lock(&self.server.stated);
        violations.extend(stated.iter_mut().flat_map(StatedLimits::take_violations));
        violations
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        lock(&self.server.shared)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for LoopbackModel {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join(); // what it panicked with was printed
        }
        let violations = self.take_violations();
        if !std::thread::panicking() {
            assert_eq!(violations, Vec::<String>::new(), "what was wrong with requests");
        }
    }
}

fn serve(tell: &Sender<SocketAddr>, state: Arc<Server>, stopped: oneshot::Receiver<()>) {
    // Requests are held against all rules one by one, in another thread.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.max_blocking_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime can be had");
    runtime.block_on(async move {
        let listener = Connections::listen();
        tell.send(listener.address()).expect("somebody waits for it");
        let router = Router::new().fallback(answer).with_state(state);
        let service = router.into_make_service_with_connect_info::<ResetSwitch>();
        tokio::select! {
            served = async { axum::serve(listener, service).await } => {
                served.expect("the loopback can be listened on");
            }
            _dropped = stopped => {}
        }
    });
}

async fn answer(
    State(server): State<Arc<Server>>,
    ConnectInfo(reset): ConnectInfo<ResetSwitch>,
    request: Request,
) -> Response {
    let came = Instant::now();
    let (parts, body) = request.into_parts();
    let key = wire::key(&parts.headers);
    let wire = Wire::at(parts.uri.path());
    let body = to_bytes(body, LARGEST).await.unwrap_or_default();
    let wanted = lock(&server.shared).key.clone();
    if wanted.is_some() && key != wanted {
        let refusal = Answer::error(401, "invalid_api_key", "Incorrect API key provided");
        return respond(refusal, Wire::Completions, "", Pace::Events).await;
    }
    match (parts.method.as_str(), parts.uri.path(), wire) {
        ("GET", "/v1/models" | "/v1beta/models", _) => {
            models(lock(&server.shared).models.as_deref())
        }
        ("POST", _, Some(wire)) => {
            let refusal = lock(&server.quota).as_mut().and_then(|quota| quota.take(came));
            if let Some(refusal) = refusal {
                return respond(refusal, wire, "", Pace::Events).await;
            }
            let stated = lock(&server.stated).as_mut().map(|limits| limits.take(wire));
            let stated = match stated.transpose() {
                Ok(headers) => headers.unwrap_or_default(),
                Err(refusal) => return respond(refusal, wire, "", Pace::Events).await,
            };
            // To hold many requests against all rules takes a while, in which others come.
            let judged = spawn_blocking(move || {
                let mut shared = lock(&server.shared);
                let (answer, model) = shared.answer(wire, parts.uri.path(), &body, key);
                (answer, model, shared.pace)
            });
            let (answer, model, pace) = judged.await.expect("a script that panics is caught");
            if let Answer::Cut(_, Cut::Reset) = answer {
                reset.set();
            }
            let mut response = respond(answer, wire, &model, pace).await;
            for (name, value) in stated {
                let value = HeaderValue::from_str(&value).expect("a limit is a sound header");
                response.headers_mut().insert(name, value);
            }
            response
        }
        (method, path, _) => {
            lock(&server.shared).refuse(format!("{method} {path} was asked for"));
            let unknown = Answer::error(404, "not_found", "no such path");
            respond(unknown, Wire::Completions, "", Pace::Events).await
        }
    }
}

fn models(models: Option<&[String]>) -> Response {
    let (status, body) = match models {
        Some(models) => {
            let model = |id: &String| json!({ "id": id, "object": "model", "owned_by": "us" });
            let data: Vec<_> = models.iter().map(model).collect();
            (StatusCode::OK, json!({ "object": "list", "data": data }).to_string())
        }
        None => (StatusCode::NOT_FOUND, "404 page not found".to_owned()),
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response
}

impl Shared {
    /// Records requests that are not allowed.
    fn refuse(&mut self, violation: String) {
        match self.checks {
            Checks::Strict => self.violations.push(violation),
            Checks::None => {}
        }
    }

    /// Decides on the answer to a request, and for which model it is.
    fn answer(
        &mut self,
        wire: Wire,
        path: &str,
        body: &[u8],
        key: Option<String>,
    ) -> (Answer, String) {
        let asked = match wire.read(path, body, key) {
            Ok(asked) => asked,
            Err(why) => {
                self.refuse(format!("a request that is none: {why}"));
                return (Answer::error(400, "invalid_request_error", &why), String::new());
            }
        };
        let model = asked.model().to_owned();
        let prompt = asked.prompt();
        let name = talk_of(&prompt).unwrap_or_default();
        self.order.push(name.to_owned());
        if !self.talks.contains_key(name) {
            let Some(make) = &self.otherwise else {
                self.violations.push(format!("nobody announced the conversation {name:?}"));
                return (Answer::error(400, "script", "not announced"), model);
            };
            let talk = Talk::new(name, make(name));
            self.talks.insert(name.to_owned(), talk);
        }
        let talk = self.talks.get_mut(name).expect("it was just made");
        let cache = self.cache.as_mut();
        (talk.answer(asked, self.checks, cache, &mut self.violations), model)
    }
}

#[cfg(test)]
mod tests;
