//! Resolves model routes to providers.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::ports::{AccountId, Clock, ModelLocation, Models, Provider, ProviderInfo};
use protocol::{Failure, FailureClass, ModelRoute};

use crate::api::Api;
use crate::endpoint::{ApiKey, Endpoint, base_url};
use crate::http_client::{Clients, is_near};
use crate::known_providers::{
    ANY_API_KEY, KnownProvider, OFFLINE, known_providers, nearest_name, own_key_variables,
};
use crate::offline::Scenarios;
use crate::preflight::preflight;
use crate::provider::HttpModel;
use crate::usage::Price;

/// Looks up an environment variable.
pub type KeyLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The settings of a [`Catalogue`].
pub struct CatalogueConfig {
    /// Looks up the API keys.
    pub keys: KeyLookup,
    /// The prices of models, by `PROVIDER/ID`.
    pub prices: BTreeMap<String, Price>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
}

/// All providers: the known ones, any other whose base URL the user gives, and the offline one.
pub struct Catalogue {
    config: CatalogueConfig,
    clients: Clients,
    scenarios: Scenarios,
}

impl Catalogue {
    /// Returns a catalogue. No file is read and no request sent until a model is opened.
    #[must_use]
    pub fn new(config: CatalogueConfig) -> Self {
        Self { config, clients: Clients::default(), scenarios: Scenarios::default() }
    }

    /// Checks that a model is available, if its server is on this machine or at a base URL the user
    /// gave. Other models are not checked.
    ///
    /// # Errors
    /// No server listens at the address, or a local server does not have the model.
    pub async fn preflight(&self, route: &ModelRoute) -> Result<(), Failure> {
        let local = KnownProvider::find(&route.provider).is_some_and(KnownProvider::is_local);
        if route.provider == OFFLINE || !(local || route.base_url.is_some()) {
            return Ok(());
        }
        let endpoint = self.endpoint(route)?;
        preflight(self.clients.client_for(&endpoint.base)?, &endpoint).await
    }

    fn endpoint(&self, route: &ModelRoute) -> Result<Endpoint, Failure> {
        let known = KnownProvider::find(&route.provider);
        let base = match (&route.base_url, known) {
            (Some(given), _) => base_url(given)?,
            (None, Some(known)) => base_url(known.base_url)?,
            (None, None) => return Err(unknown_provider(&route.provider)),
        };
        let (key, variable) = self.key(route, known)?;
        if key.is_some() && base.scheme() == "http" && !is_near(&base) {
            return Err(unprotected_key(&variable, &base));
        }
        Ok(Endpoint {
            provider: route.provider.clone(),
            model: route.id.clone(),
            api: known.map_or(Api::OpenAiCompletions, |known| known.api),
            level: route.thinking,
            base,
            key,
            variable,
        })
    }

    /// Returns the API key, if there is one, and the variable it is read from.
    fn key(
        &self,
        route: &ModelRoute,
        known: Option<&KnownProvider>,
    ) -> Result<(Option<ApiKey>, String), Failure> {
        let own = own_key_variables(&route.provider);
        let look = |variable: &str| (self.config.keys)(variable).as_deref().and_then(ApiKey::new);
        if let Some((key, variable)) = own.iter().find_map(|own| Some((look(own)?, own))) {
            return Ok((Some(key), variable.clone()));
        }
        let own = own.into_iter().next().unwrap_or_default();
        if route.base_url.is_some()
            && let Some(key) = look(ANY_API_KEY)
        {
            return Ok((Some(key), ANY_API_KEY.to_owned()));
        }
        let needed = known.is_some_and(|known| !known.is_local()) && route.base_url.is_none();
        if needed {
            let what = format!("{} needs an API key, and {own} is not set", route.provider);
            return Err(Failure::new(FailureClass::Auth, what));
        }
        Ok((None, own))
    }
}

impl Models for Catalogue {
    fn open(&self, route: &ModelRoute) -> Result<Arc<dyn Provider>, Failure> {
        let config = &self.config;
        let price = config.prices.get(&route.name()).copied();
        if route.provider == OFFLINE {
            return self.scenarios.open(route, price, Arc::clone(&config.clock));
        }
        let endpoint = self.endpoint(route)?;
        Ok(Arc::new(HttpModel {
            info: info(route, &endpoint),
            client: self.clients.client_for(&endpoint.base)?,
            endpoint,
            price,
            clock: Arc::clone(&config.clock),
        }))
    }
}

/// Describes the model of `route` at `endpoint`.
fn info(route: &ModelRoute, endpoint: &Endpoint) -> ProviderInfo {
    let local = KnownProvider::find(&endpoint.provider).is_some_and(KnownProvider::is_local);
    let location = match local || is_near(&endpoint.base) {
        true => ModelLocation::Local,
        false => ModelLocation::Remote,
    };
    let account = AccountId {
        provider: endpoint.provider.clone(),
        base_url: route.base_url.as_ref().map(|_given| endpoint.display_url()),
        key: endpoint.key.as_ref().map(|_key| endpoint.variable.clone()),
    };
    ProviderInfo { api: endpoint.api.name(), route: route.clone(), account, location }
}

/// Returns the failure that anybody between here and the server could read the key.
fn unprotected_key(variable: &str, base: &url::Url) -> Failure {
    let host = base.host_str().unwrap_or_default();
    let what = format!(
        "the key in {variable} would be sent to {host} over plain http, where others can read it; \
         use https, or unset {variable}"
    );
    Failure::new(FailureClass::Invalid, what)
}

fn unknown_provider(provider: &str) -> Failure {
    let names = || known_providers().map(|known| known.id);
    let near = nearest_name(provider, names().chain([OFFLINE]));
    let near = near.map(|near| format!("did you mean {near}? ")).unwrap_or_default();
    let all: Vec<_> = names().chain([OFFLINE]).collect();
    let what = format!(
        "no provider is called `{provider}`; {near}known are {}, and any other with a base URL",
        all.join(", ")
    );
    Failure::new(FailureClass::Invalid, what)
}

#[cfg(test)]
mod tests;
