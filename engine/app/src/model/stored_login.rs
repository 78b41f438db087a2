//! The stored tokens of a login: one process renews them for all, and they are durable before they are
//! used.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use config::{KeyStore, KeyStoreError, LoginTokens, Secret, StoredKey};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::{Failure, FailureClass};
use providers::{AccessTokens, LoginError, LoginService, Tokens, renewed};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::renewals::Renewals;

/// A token is renewed this long before it expires.
const MARGIN: Duration = Duration::from_secs(30);

/// The tokens of one login.
pub(super) struct StoredLogin {
    login: Arc<Login>,
    held: Arc<Mutex<Held>>,
    renewals: Renewals,
}

/// Which login it is, and how it is renewed.
struct Login {
    store: KeyStore,
    provider: String,
    name: String,
    /// The error says why it cannot be renewed.
    service: Result<LoginService, String>,
}

/// What this process knows about the tokens.
struct Held {
    access: Secret,
    tokens: LoginTokens,
    /// The token that the server does not renew any more, with the failure.
    ended: Option<(Secret, Failure)>,
}

impl StoredLogin {
    /// Returns a login as it is stored.
    pub(super) fn new(
        store: KeyStore,
        stored: &StoredKey,
        tokens: LoginTokens,
        service: Result<LoginService, String>,
        renewals: Renewals,
    ) -> Self {
        let (provider, name) = (stored.provider.clone(), stored.name.clone());
        let held = Held { access: stored.key.clone(), tokens, ended: None };
        Self {
            login: Arc::new(Login { store, provider, name, service }),
            held: Arc::new(Mutex::new(held)),
            renewals,
        }
    }
}

impl AccessTokens for StoredLogin {
    fn access(&self, rejected: Option<String>) -> BoxFuture<'_, Result<String, Failure>> {
        async move {
            let held = Arc::clone(&self.held).lock_owned().await;
            if held.can_be_sent(rejected.as_deref()) {
                return Ok(held.access.expose().to_owned());
            }
            // It goes on if this request is cancelled: the server may have taken the old token back.
            let renewal = renew(Arc::clone(&self.login), held, rejected);
            self.renewals.start(renewal).await.unwrap_or_else(|_ended| {
                Err(Failure::new(FailureClass::Transient, "the renewal of a login was interrupted"))
            })
        }
        .boxed()
    }
}

impl Held {
    fn can_be_sent(&self, rejected: Option<&str>) -> bool {
        let lasts = self.tokens.expires.is_none_or(|at| u128::from(at) > now_and(MARGIN));
        lasts && Some(self.access.expose()) != rejected
    }

    /// Returns whether the token has not expired yet, although it will soon.
    fn is_valid(&self, rejected: Option<&str>) -> bool {
        let lasts = self.tokens.expires.is_none_or(|at| u128::from(at) > now_and(Duration::ZERO));
        lasts && Some(self.access.expose()) != rejected
    }
}

/// Returns the time after a duration, in milliseconds since 1970.
fn now_and(duration: Duration) -> u128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_add(duration).as_millis()
}

/// Returns when tokens expire, in milliseconds since 1970.
pub fn expiry(tokens: &Tokens) -> Option<u64> {
    tokens.expires_in.map(|after| u64::try_from(now_and(after)).unwrap_or(u64::MAX))
}

/// Takes over the tokens that another process has renewed, or renews them.
async fn renew(
    login: Arc<Login>,
    mut held: OwnedMutexGuard<Held>,
    rejected: Option<String>,
) -> Result<String, Failure> {
    let renewed = login.renewed(&mut held, rejected.as_deref()).await;
    match renewed {
        Ok(()) => Ok(held.access.expose().to_owned()),
        // The token that there is serves while it lasts.
        Err(failure)
            if failure.class == FailureClass::Transient && held.is_valid(rejected.as_deref()) =>
        {
            Ok(held.access.expose().to_owned())
        }
        Err(failure) => Err(failure),
    }
}

impl Login {
    async fn renewed(&self, held: &mut Held, rejected: Option<&str>) -> Result<(), Failure> {
        let (store, provider) = (self.store.clone(), self.provider.clone());
        let locked = blocking(move || store.lock_login(&provider)).await;
        let _lock = locked.map_err(|error| self.unstorable(&error))?;
        let store = self.store.clone();
        let read = blocking(move || store.read()).await.map_err(|error| self.unstorable(&error))?;
        let same = |key: &&StoredKey| key.provider == self.provider && key.name == self.name;
        let stored = read.keys.iter().find(same);
        let Some((stored, tokens)) = stored.and_then(|key| Some((key, key.login.clone()?))) else {
            return Err(self.failure(FailureClass::Auth, "it was logged out"));
        };
        (held.access, held.tokens) = (stored.key.clone(), tokens);
        if held.can_be_sent(rejected) {
            return Ok(());
        }
        let Some(refresh) = held.tokens.refresh.clone() else {
            return Err(self.failure(FailureClass::Auth, "it has expired"));
        };
        if let Some((token, failure)) = &held.ended
            && *token == refresh
        {
            return Err(failure.clone());
        }
        let config = match &self.service {
            Ok(LoginService::Oauth(config)) => config,
            Ok(LoginService::OpenRouter(_)) => {
                return Err(self.failure(FailureClass::Auth, "it cannot be renewed"));
            }
            Err(why) => return Err(self.failure(FailureClass::Auth, why)),
        };
        let new = renewed(config, refresh.expose()).await.map_err(|error| {
            let (class, text) = match &error {
                LoginError::Unreachable { .. } | LoginError::TimedOut(_) => {
                    (FailureClass::Transient, error.to_string())
                }
                LoginError::Denied(why) => (FailureClass::Auth, format!("it has ended: {why}")),
                other => (FailureClass::Auth, other.to_string()),
            };
            let failure = self.failure(class, &text);
            if class == FailureClass::Auth {
                held.ended = Some((refresh.clone(), failure.clone()));
            }
            failure
        })?;
        let tokens =
            LoginTokens { refresh: new.refresh.as_deref().map(Secret::new), expires: expiry(&new) };
        let (store, provider, name) =
            (self.store.clone(), self.provider.clone(), self.name.clone());
        let (access, stored) = (new.access.clone(), tokens.clone());
        blocking(move || store.store_login(&provider, &name, &access, &stored))
            .await
            .map_err(|error| self.unstorable(&error))?;
        (held.access, held.tokens) = (Secret::new(new.access.as_str()), tokens);
        Ok(())
    }

    fn unstorable(&self, error: &KeyStoreError) -> Failure {
        let source = std::error::Error::source(error);
        let text = source.map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
        self.failure(FailureClass::Auth, &text)
    }

    fn failure(&self, class: FailureClass, why: &str) -> Failure {
        let Self { provider, name, .. } = self;
        let as_name =
            if name == config::DEFAULT_KEY { String::new() } else { format!(" --as {name}") };
        let what = format!("the login `{name}` of {provider} cannot be renewed: {why}");
        Failure::new(class, what).advise(format!("try: regatta login {provider}{as_name}"))
    }
}

/// Runs what waits for files or for another process.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, KeyStoreError> + Send + 'static,
) -> Result<T, KeyStoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_panicked| Err(KeyStoreError::Name))
}
