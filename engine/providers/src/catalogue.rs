//! Resolves model routes to providers.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::ports::{AccountId, Clock, ModelLocation, Models, Provider, ProviderInfo};
use protocol::{Failure, FailureClass, ModelRoute};

use crate::client::{Clients, is_near};
use crate::completions::{API, Completions, Endpoint, base};
use crate::known::{ANY_KEY, Known, OFFLINE, PLAIN, known, own_variable};
use crate::nearest::nearest;
use crate::offline::Scenarios;
use crate::preflight::preflight;
use crate::price::Price;
use crate::secret::Secret;

/// Returns what an environment variable holds.
pub type KeyLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What a catalogue works with.
pub struct CatalogueConfig {
    /// Where keys are found.
    pub keys: KeyLookup,
    /// What models cost, by `PROVIDER/ID`.
    pub prices: BTreeMap<String, Price>,
    /// Tells the time of day.
    pub clock: Arc<dyn Clock>,
}

/// All providers there are.
pub struct Catalogue {
    config: CatalogueConfig,
    clients: Clients,
    scenarios: Scenarios,
}

impl Catalogue {
    /// Returns a catalogue. Nothing is opened and nothing is sent before a model is asked for.
    #[must_use]
    pub fn new(config: CatalogueConfig) -> Self {
        Self { config, clients: Clients::default(), scenarios: Scenarios::default() }
    }

    /// Asks whether a model can be had, where the answer is quick and certain: on this machine,
    /// or at an address of the user's.
    ///
    /// # Errors
    /// Why it cannot: nothing listens there, or a server on this machine does not have the model.
    pub async fn preflight(&self, route: &ModelRoute) -> Result<(), Failure> {
        let local = Known::find(&route.provider).is_some_and(Known::is_local);
        if route.provider == OFFLINE || !(local || route.base_url.is_some()) {
            return Ok(());
        }
        let endpoint = self.endpoint(route)?;
        preflight(self.clients.of(&endpoint.base)?, &endpoint).await
    }

    fn endpoint(&self, route: &ModelRoute) -> Result<Endpoint, Failure> {
        let known = Known::find(&route.provider);
        let base = match (&route.base_url, known) {
            (Some(given), _) => base(given)?,
            (None, Some(known)) => base(known.base_url)?,
            (None, None) => return Err(unknown(&route.provider)),
        };
        let (key, variable) = self.key(route, known)?;
        Ok(Endpoint {
            provider: route.provider.clone(),
            model: route.id.clone(),
            dialect: known.map_or(PLAIN, |known| known.dialect),
            base,
            key,
            variable,
        })
    }

    /// Returns the key, and the variable it is in or would be in.
    fn key(
        &self,
        route: &ModelRoute,
        known: Option<&Known>,
    ) -> Result<(Option<Secret>, String), Failure> {
        let own = known.and_then(Known::key).map(str::to_owned);
        let own = own.unwrap_or_else(|| own_variable(&route.provider));
        let look = |variable: &str| (self.config.keys)(variable).as_deref().and_then(Secret::new);
        if let Some(key) = look(&own) {
            return Ok((Some(key), own));
        }
        if route.base_url.is_some()
            && let Some(key) = look(ANY_KEY)
        {
            return Ok((Some(key), ANY_KEY.to_owned()));
        }
        let needed = known.is_some_and(|known| !known.is_local()) && route.base_url.is_none();
        if needed {
            let what = format!("{} wants a key, and {own} is not set", route.provider);
            return Err(Failure::new(FailureClass::Auth, what));
        }
        Ok((None, own))
    }
}

impl Models for Catalogue {
    fn open(&self, route: &ModelRoute) -> Result<Arc<dyn Provider>, Failure> {
        let config = &self.config;
        let price = config.prices.get(&route.to_string()).copied();
        if route.provider == OFFLINE {
            return self.scenarios.open(route, price, Arc::clone(&config.clock));
        }
        let endpoint = self.endpoint(route)?;
        Ok(Arc::new(Completions {
            info: info(route, &endpoint),
            client: self.clients.of(&endpoint.base)?,
            endpoint,
            price,
            clock: Arc::clone(&config.clock),
        }))
    }
}

/// Returns what is known of the model of `route` at `endpoint`.
fn info(route: &ModelRoute, endpoint: &Endpoint) -> ProviderInfo {
    let local = Known::find(&endpoint.provider).is_some_and(Known::is_local);
    let location = match local || is_near(&endpoint.base) {
        true => ModelLocation::Local,
        false => ModelLocation::Remote,
    };
    let account = AccountId {
        provider: endpoint.provider.clone(),
        base_url: route.base_url.as_ref().map(|_given| endpoint.shown()),
        key: endpoint.key.as_ref().map(|_key| endpoint.variable.clone()),
    };
    ProviderInfo { api: API, route: route.clone(), account, location }
}

fn unknown(provider: &str) -> Failure {
    let names = || known().map(|known| known.id);
    let near = nearest(provider, names().chain([OFFLINE]));
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
