//! What the user has configured about providers: addresses, headers, proxies and keys.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use engine::ports::AccountLimits;
use protocol::{Failure, ModelRoute};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Proxy};
use serde_json::Value;
use url::Url;

use crate::access_tokens::AccessTokens;
use crate::endpoint::ApiKey;
use crate::http_client::{builder, is_near, near};
use crate::model_facts::ModelFacts;
use crate::proxy::UsedProxy;
use crate::trust::extra_certificates;
use crate::usage::Price;

/// Looks up what the user has configured about providers.
pub trait UserProviders: Send + Sync {
    /// Returns what the user says about the provider of a model.
    ///
    /// # Errors
    /// What the user says has a mistake, or a value of it cannot be had.
    fn provider(&self, route: &ModelRoute) -> Result<Option<UserProvider>, Failure>;

    /// Returns the keys that go before those in the environment, in the order in which they are used:
    /// the one given for this process, else the stored ones.
    ///
    /// # Errors
    /// The stored keys cannot be read.
    fn keys(&self, provider: &str) -> Result<Vec<NamedKey>, Failure>;

    /// Returns what a model costs, if it is known.
    fn price(&self, route: &ModelRoute) -> Option<Price>;

    /// Returns what is known about a model.
    fn model_facts(&self, route: &ModelRoute) -> ModelFacts;
}

/// No provider is configured.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoUserProviders;

impl UserProviders for NoUserProviders {
    fn provider(&self, _route: &ModelRoute) -> Result<Option<UserProvider>, Failure> {
        Ok(None)
    }

    fn keys(&self, _provider: &str) -> Result<Vec<NamedKey>, Failure> {
        Ok(Vec::new())
    }

    fn price(&self, _route: &ModelRoute) -> Option<Price> {
        None
    }

    fn model_facts(&self, _route: &ModelRoute) -> ModelFacts {
        ModelFacts::default()
    }
}

/// A key with the name by which messages call it, which is not a secret.
#[derive(Clone)]
pub struct NamedKey {
    /// Where the key is from, for instance `the stored key work`.
    pub name: String,
    pub(crate) key: Option<ApiKey>,
    /// Renews the key, if it is the token of a login.
    pub(crate) tokens: Option<Arc<dyn AccessTokens>>,
}

impl NamedKey {
    /// Returns a key. A text of white space is not a key.
    #[must_use]
    pub fn new(name: impl Into<String>, key: &str) -> Self {
        Self { name: name.into(), key: ApiKey::new(key), tokens: None }
    }

    /// Returns the token of a login, which `tokens` renews.
    #[must_use]
    pub fn of_login(name: impl Into<String>, token: &str, tokens: Arc<dyn AccessTokens>) -> Self {
        Self { tokens: Some(tokens), ..Self::new(name, token) }
    }
}

impl fmt::Debug for NamedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedKey").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What the user says about a provider. What is absent is as the provider is known.
#[derive(Clone, Default)]
pub struct UserProvider {
    /// The base URL of its API.
    pub base_url: Option<String>,
    /// The name of the wire API that it speaks.
    pub api: Option<&'static str>,
    /// Headers of each request, whose values may be secrets.
    pub headers: Vec<(String, String)>,
    /// Whether the key is also sent as `Authorization: Bearer`.
    pub auth_header: bool,
    /// Whether requests need a key; `None` if it depends on the provider.
    pub needs_key: Option<bool>,
    /// Whether the key may be sent over plain HTTP to another machine.
    pub allow_http: bool,
    /// The URL of the proxy of its requests, which may contain a password.
    pub proxy: Option<String>,
    /// The key to use if there is none in the environment.
    pub key: Option<NamedKey>,
    /// How much of each account is used.
    pub limits: AccountLimits,
    /// How the server of the model departs from Chat Completions: the switches of `compat` in the file
    /// of models.
    pub compat: Arc<BTreeMap<String, Value>>,
}

impl fmt::Debug for UserProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("UserProvider")
            .field("base_url", &self.base_url)
            .field("api", &self.api)
            .field("headers", &names)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl UserProvider {
    /// Returns what may be sent with requests, beside the key, and must be shown nowhere.
    pub(crate) fn secrets(&self) -> Vec<ApiKey> {
        let headers = self.headers.iter().filter_map(|(_name, value)| ApiKey::new(value));
        let proxy = self.proxy.as_ref().and_then(|proxy| url::Url::parse(proxy).ok());
        let password = proxy.as_ref().and_then(url::Url::password).and_then(ApiKey::new);
        headers.chain(password).collect()
    }

    /// Returns what of it holds at another address, which anybody may have written into a plan: nothing
    /// that is a secret.
    pub(crate) fn elsewhere(self) -> Self {
        Self { api: self.api, needs_key: self.needs_key, proxy: self.proxy, ..Self::default() }
    }

    /// Returns whether its requests need a client of their own.
    pub(crate) fn has_own_client(&self) -> bool {
        !self.headers.is_empty() || self.proxy.is_some() || self.auth_header
    }

    /// Returns the proxy of its requests to `base`.
    pub(crate) fn used_proxy(&self, base: &Url) -> Option<UsedProxy> {
        match &self.proxy {
            Some(proxy) => UsedProxy::of_file(proxy),
            None => UsedProxy::of_environment(base),
        }
    }

    /// Builds the client of its requests to `base`. The failure names no value.
    pub(crate) fn client(&self, base: &Url, key: Option<&ApiKey>) -> Result<Client, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let value = HeaderValue::from_str(value.trim());
            let (Ok(name), Ok(mut value)) = (HeaderName::try_from(name.as_str()), value) else {
                return Err(format!("the header {name} cannot be sent"));
            };
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        if self.auth_header
            && let Some(key) = key
        {
            let header =
                key.header("Bearer ").ok_or("the key has characters that no header can hold")?;
            headers.insert(AUTHORIZATION, header);
        }
        let client = match &self.proxy {
            Some(proxy) => {
                let wrong = |_may_quote_it| "the URL of the proxy cannot be used".to_owned();
                builder().proxy(Proxy::all(proxy).map_err(wrong)?)
            }
            None if is_near(base) => near(),
            None => builder(),
        };
        let client = match base.scheme() {
            "http" if self.proxy.is_none() => client.tls_certs_only([]),
            _ => client.tls_certs_merge(extra_certificates()),
        };
        client
            .default_headers(headers)
            .build()
            .map_err(|_may_quote_it| "no connection can be made".to_owned())
    }
}
