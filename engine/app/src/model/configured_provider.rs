//! What the user has configured about providers, as the catalogue asks for it: addresses, headers, keys,
//! prices and what models can do.

use std::collections::BTreeMap;
use std::sync::Arc;

use config::{ApiName, AuthKind, ProviderEntry, StoredKey, ValueSource};
use engine::ports::{AccountLimits, MinuteLimits};
use protocol::{Failure, FailureClass, ModelRoute};
use providers::{KnownProvider, ModelFacts, NamedKey, Price, UserProvider, UserProviders};

use super::user_models::{KeyPlace, UserModels, price_of_entry};

impl UserProviders for UserModels {
    fn provider(&self, route: &ModelRoute) -> Result<Option<UserProvider>, Failure> {
        let name = route.provider.as_str();
        let file = self.file();
        if let Some(fault) = file.faults.iter().find(|it| it.provider.as_deref() == Some(name)) {
            return Err(Failure::new(FailureClass::Invalid, fault.to_string()));
        }
        let Some(entry) = file.providers.get(name) else {
            let is_of_file = route.base_url.is_none() && KnownProvider::find(name).is_none();
            return match self.file_fault().filter(|_| is_of_file) {
                Some(fault) => Err(Failure::new(FailureClass::Invalid, fault)),
                None => Ok(None),
            };
        };
        let mut provider = self.user_provider(name, entry)?;
        let models = [&entry.overrides, &entry.models];
        let mut compat = entry.compat.clone();
        if entry.disable_strict_tools {
            compat.insert("supportsStrictMode".to_owned(), false.into());
        }
        for model in models.into_iter().filter_map(|models| models.get(&route.id)) {
            provider.base_url = model.base_url.clone().or(provider.base_url);
            provider.api = model.api.map(ApiName::as_str).or(provider.api);
            let key = format!("headers of {}", route.name());
            provider.headers.extend(self.headers(&model.headers, &key)?);
            compat.extend(model.compat.clone());
        }
        provider.compat = Arc::new(compat);
        Ok(Some(provider))
    }

    fn keys(&self, provider: &str) -> Result<Vec<NamedKey>, Failure> {
        let given = self.given.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(key) = given.get(provider) {
            return Ok(vec![NamedKey::new("the key of --api-key", key.expose())]);
        }
        self.stored().map_err(|why| Failure::new(FailureClass::Auth, why))?;
        let named = |stored: &StoredKey| match &stored.login {
            None => NamedKey::new(format!("the stored key {}", stored.name), stored.key.expose()),
            Some(tokens) => {
                let name = format!("the stored login {}", stored.name);
                let login = self.login(stored, tokens);
                NamedKey::of_login(name, stored.key.expose(), login)
            }
        };
        Ok(self.stored_keys(provider).map(named).collect())
    }

    fn price(&self, route: &ModelRoute) -> Option<Price> {
        let entry = self.file().providers.get(&route.provider);
        let said = entry.and_then(|entry| {
            let own = entry.models.get(&route.id).and_then(price_of_entry);
            own.or_else(|| entry.overrides.get(&route.id).and_then(price_of_entry))
        });
        let known = || {
            // At another address the same model may cost something else.
            let elsewhere = entry.is_some_and(|entry| {
                let models = [&entry.overrides, &entry.models];
                let mut said = models.into_iter().filter_map(|models| models.get(&route.id));
                entry.base_url.is_some() || said.any(|model| model.base_url.is_some())
            });
            let facts = self.facts().model(&route.provider, &route.id).filter(|_| !elsewhere);
            facts.and_then(|facts| facts.price)
        };
        said.or_else(known)
    }

    fn model_facts(&self, route: &ModelRoute) -> ModelFacts {
        self.known(route)
    }
}

impl UserModels {
    fn user_provider(&self, name: &str, entry: &ProviderEntry) -> Result<UserProvider, Failure> {
        let shown = self.file_shown();
        let failed = |key: &str, why: String| {
            let what = format!("`providers.{name}.{key}` of {shown} cannot be used: {why}");
            Failure::new(FailureClass::Auth, what)
        };
        let headers = self.headers(&entry.headers, &format!("providers.{name}.headers"))?;
        // The key of the file is the last choice: what is wrong with it matters only then.
        let key = match &entry.api_key {
            _ if entry.auth == AuthKind::None => {
                Some(NamedKey::new(format!("`providers.{name}.auth: none` in {shown}"), ""))
            }
            Some(source) if self.key_place(name) == KeyPlace::File => {
                let key = self.value(source).map_err(|why| failed("apiKey", why))?;
                let key = config::api_key(key.expose())
                    .map_err(|error| failed("apiKey", error.to_string()))?;
                Some(NamedKey::new(format!("the apiKey in {shown}"), key.expose()))
            }
            _ => None,
        };
        Ok(UserProvider {
            base_url: entry.base_url.clone(),
            api: entry.api.map(ApiName::as_str),
            headers,
            auth_header: entry.auth_header,
            needs_key: match entry.auth {
                AuthKind::None => Some(false),
                AuthKind::Login => Some(true),
                AuthKind::ApiKey => {
                    (entry.api_key.is_some() || entry.oauth.is_some()).then_some(true)
                }
            },
            allow_http: entry.allow_http,
            proxy: entry.proxy.as_ref().map(|proxy| proxy.expose().to_owned()),
            key,
            limits: AccountLimits {
                concurrency: entry.limits.concurrency,
                per_minute: MinuteLimits {
                    requests: entry.limits.requests_per_minute,
                    tokens: entry.limits.tokens_per_minute,
                },
            },
            compat: Arc::default(),
        })
    }

    /// Returns headers with their values. `key` is their key in the file.
    fn headers(
        &self,
        sources: &BTreeMap<String, ValueSource>,
        key: &str,
    ) -> Result<Vec<(String, String)>, Failure> {
        let header = |(name, source): (&String, &ValueSource)| match self.value(source) {
            Ok(value) => Ok((name.clone(), value.expose().to_owned())),
            Err(why) => {
                let shown = self.file_shown();
                let what = format!("`{key}.{name}` of {shown} cannot be used: {why}");
                Err(Failure::new(FailureClass::Auth, what))
            }
        };
        sources.iter().map(header).collect()
    }
}
