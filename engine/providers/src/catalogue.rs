//! Resolves model routes to providers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::{
    AccountId, AccountLimits, Clock, ModelLocation, Models, Provider, ProviderInfo, key_phrase,
};
use protocol::{Failure, FailureClass, ModelRoute};

use crate::access_tokens::AccessTokens;
use crate::api::Api;
use crate::endpoint::{ApiKey, Endpoint, base_url};
use crate::http_client::{Clients, is_near};
use crate::known_model::KnownModel;
use crate::known_providers::{
    ANY_API_KEY, KnownProvider, OFFLINE, key_variables, known_providers, nearest_name,
    own_key_variables,
};
use crate::model_facts::ModelFacts;
use crate::offline::Scenarios;
use crate::preflight::{TIMEOUT, preflight};
use crate::provider::{HttpModel, LEAST_CACHED};
use crate::thinking_refusals::ThinkingRefusals;
use crate::usage::{Price, PriceSource};
use crate::user_provider::{NamedKey, UserProvider, UserProviders};

/// Looks up an environment variable.
pub type KeyLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The settings of a [`Catalogue`].
pub struct CatalogueConfig {
    /// Looks up the API keys in the environment.
    pub keys: KeyLookup,
    /// Looks up what the user has configured about providers.
    pub user: Arc<dyn UserProviders>,
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
    thinking_refusals: ThinkingRefusals,
}

impl Catalogue {
    /// Returns a catalogue. No file is read and no request sent until a model is opened.
    #[must_use]
    pub fn new(config: CatalogueConfig) -> Self {
        Self {
            config,
            clients: Clients::default(),
            scenarios: Scenarios::default(),
            thinking_refusals: ThinkingRefusals::default(),
        }
    }

    /// Checks that a model is available, if its server is on this machine or at a base URL the user
    /// gave. Other models are not checked.
    ///
    /// # Errors
    /// No server listens at the address, or a local server does not have the model.
    pub async fn preflight(&self, route: &ModelRoute) -> Result<(), Failure> {
        self.preflight_within(TIMEOUT, route).await
    }

    /// The same, for a server that has another time to answer.
    pub(crate) async fn preflight_within(
        &self,
        limit: Duration,
        route: &ModelRoute,
    ) -> Result<(), Failure> {
        let local = KnownProvider::find(&route.provider).is_some_and(KnownProvider::is_local);
        if route.provider == OFFLINE {
            return Ok(());
        }
        let user = self.user(route)?;
        if !(local || route.base_url.is_some() || user.base_url.is_some()) {
            return Ok(());
        }
        let mut access = self.first_access(route, &user)?;
        if access.tokens.is_some() {
            // A token may have expired, and is not renewed for this.
            access.key = None;
        }
        let endpoint = self.endpoint(route, &user, access)?;
        preflight(limit, self.client(&user, &endpoint)?, &endpoint).await
    }

    /// Returns what the user says about the provider of a model.
    fn user(&self, route: &ModelRoute) -> Result<UserProvider, Failure> {
        let user = self.config.user.provider(route)?.unwrap_or_default();
        Ok(if route.base_url.is_some() { user.elsewhere() } else { user })
    }

    /// Returns the client of requests to an endpoint.
    fn client(&self, user: &UserProvider, endpoint: &Endpoint) -> Result<reqwest::Client, Failure> {
        if !user.has_own_client() {
            return self.clients.client_for(&endpoint.base);
        }
        user.client(&endpoint.base, endpoint.key.as_ref()).map_err(|why| {
            let what = format!("provider {} cannot be used: {why}", endpoint.provider);
            Failure::new(FailureClass::Invalid, what)
        })
    }

    fn endpoint(
        &self,
        route: &ModelRoute,
        user: &UserProvider,
        access: Access,
    ) -> Result<Endpoint, Failure> {
        let known = KnownProvider::find(&route.provider);
        let base = match (route.base_url.as_ref().or(user.base_url.as_ref()), known) {
            (Some(given), _) => base_url(given)?,
            (None, Some(known)) => base_url(known.base_url)?,
            (None, None) => return Err(unknown_provider(route)),
        };
        // At an address that the run names, the model may be another one.
        let facts = match &route.base_url {
            Some(_) => ModelFacts::default(),
            None => self.config.user.model_facts(route),
        };
        let Access { key, variable, .. } = access;
        let open = base.scheme() == "http" && !is_near(&base);
        if key.is_some() && open && !user.allow_http {
            return Err(unprotected_key(&variable, &base));
        }
        Ok(Endpoint {
            provider: route.provider.clone(),
            model: route.id.clone(),
            api: user
                .api
                .and_then(Api::find)
                .or(known.map(|known| known.api))
                .unwrap_or(Api::OpenAiCompletions),
            level: route.thinking.or(facts.default_thinking()),
            known: KnownModel::of(&facts),
            compat: Arc::clone(&user.compat),
            thinking_refusals: self.thinking_refusals.clone(),
            proxy: user.used_proxy(&base),
            base,
            key,
            variable,
            hidden: user.secrets(),
        })
    }

    /// Returns how requests to a model are authenticated at first.
    fn first_access(&self, route: &ModelRoute, user: &UserProvider) -> Result<Access, Failure> {
        Ok(self.all_access(route, user)?.into_iter().next().unwrap_or_default())
    }

    /// Returns each way in which requests to a model can be authenticated, in the order in which they
    /// are used; at least one. It is a key given for this process, each stored one, the environment,
    /// or the file of models.
    fn all_access(&self, route: &ModelRoute, user: &UserProvider) -> Result<Vec<Access>, Failure> {
        if user.needs_key == Some(false) {
            let says_so = user.key.as_ref().map(|key| key.name.clone());
            let variable = says_so.unwrap_or_else(|| "the settings of its provider".to_owned());
            return Ok(vec![Access { variable, ..Access::default() }]);
        }
        let keys = self.config.user.keys(&route.provider)?.into_iter();
        let keys: Vec<_> = keys.filter(|named| named.key.is_some()).collect();
        match (keys.first(), &route.base_url) {
            (None, _) => {
                let (key, variable) = self.other_key(route, user)?;
                Ok(vec![Access { key, variable, tokens: None }])
            }
            // It is for the address of its provider. Another one may have been written by anybody.
            (Some(NamedKey { name, .. }), Some(_)) => Err(key_for_elsewhere(name, route)),
            (Some(_), None) => Ok(keys
                .into_iter()
                .map(|NamedKey { name, key, tokens }| Access { key, variable: name, tokens })
                .collect()),
        }
    }

    /// Returns the API key, if there is one that is not stored, and where it is from.
    fn other_key(
        &self,
        route: &ModelRoute,
        user: &UserProvider,
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
        if let (Some(NamedKey { name, key: Some(key), .. }), None) = (&user.key, &route.base_url) {
            return Ok((Some(key.clone()), name.clone()));
        }
        let hosted = KnownProvider::find(&route.provider).is_some_and(|known| !known.is_local());
        let needed = user.needs_key.unwrap_or(hosted) && route.base_url.is_none();
        if needed {
            let what = format!("{} needs an API key, and {own} is not set", route.provider);
            return Err(Failure::new(FailureClass::Auth, what));
        }
        Ok((None, own))
    }
}

/// How requests are authenticated.
#[derive(Default)]
struct Access {
    key: Option<ApiKey>,
    /// Where the key is from, or the variable that would hold it, or where the user says that there is
    /// none.
    variable: String,
    /// Renews the key, if it is the token of a login.
    tokens: Option<Arc<dyn AccessTokens>>,
}

impl Models for Catalogue {
    fn open(&self, route: &ModelRoute) -> Result<Arc<dyn Provider>, Failure> {
        if route.provider == OFFLINE {
            return self.scenario(route);
        }
        let user = self.user(route)?;
        self.model(route, &user, self.first_access(route, &user)?)
    }

    fn open_with_each_key(&self, route: &ModelRoute) -> Result<Vec<Arc<dyn Provider>>, Failure> {
        if route.provider == OFFLINE {
            return Ok(vec![self.scenario(route)?]);
        }
        let user = self.user(route)?;
        let all = self.all_access(route, &user)?.into_iter();
        all.map(|access| self.model(route, &user, access)).collect()
    }

    fn key_variables(&self, route: &ModelRoute) -> Vec<String> {
        key_variables(&route.provider)
    }
}

impl Catalogue {
    fn scenario(&self, route: &ModelRoute) -> Result<Arc<dyn Provider>, Failure> {
        self.scenarios.open(route, self.price(route), Arc::clone(&self.config.clock))
    }

    fn model(
        &self,
        route: &ModelRoute,
        user: &UserProvider,
        access: Access,
    ) -> Result<Arc<dyn Provider>, Failure> {
        let tokens = access.tokens.clone();
        let endpoint = self.endpoint(route, user, access)?;
        let own_address = route.base_url.is_some() || user.base_url.is_some();
        let info = info(route, &endpoint, own_address.then(|| endpoint.display_url()));
        let identity = match &tokens {
            // Its tokens change, and it stays what it is.
            Some(_) => endpoint.identity(&endpoint.variable),
            None => info.account.identity.clone().unwrap_or_default(),
        };
        let account = AccountId { identity: Some(identity), ..info.account };
        let facts = self.config.user.model_facts(route);
        Ok(Arc::new(HttpModel {
            info: ProviderInfo { limits: user.limits, account, ..info },
            client: self.client(user, &endpoint)?,
            endpoint,
            tokens,
            price: self.price(route),
            context_window: facts.context,
            least_cached: facts.cache_minimum.unwrap_or(LEAST_CACHED),
            clock: Arc::clone(&self.config.clock),
        }))
    }

    fn price(&self, route: &ModelRoute) -> Option<Price> {
        let said = self.config.prices.get(&route.name());
        let price = said.map(|price| Price { source: PriceSource::User, ..*price });
        let price = price.or_else(|| self.config.user.price(route));
        // What the catalogue says holds at the provider's own address only.
        price.filter(|price| route.base_url.is_none() || price.source == PriceSource::User)
    }
}

/// Describes the model of `route` at `endpoint`. `own_address` is its address if it is not that of
/// the known provider.
fn info(route: &ModelRoute, endpoint: &Endpoint, own_address: Option<String>) -> ProviderInfo {
    let local = KnownProvider::find(&endpoint.provider).is_some_and(KnownProvider::is_local);
    let location = match local || is_near(&endpoint.base) {
        true => ModelLocation::Local,
        false => ModelLocation::Remote,
    };
    let account = AccountId {
        identity: Some(endpoint.identity(endpoint.secret())),
        provider: endpoint.provider.clone(),
        base_url: own_address,
        key: endpoint.key.as_ref().map(|_key| endpoint.variable.clone()),
    };
    let limits = AccountLimits::default();
    ProviderInfo { api: endpoint.api.name(), route: route.clone(), account, limits, location }
}

/// Returns the failure that a key is not for the address that the run names.
fn key_for_elsewhere(name: &str, route: &ModelRoute) -> Failure {
    let provider = &route.provider;
    let what = format!(
        "{name} of {provider} is sent to the address of {provider} only, and this run names \
         another"
    );
    let other = format!("name the provider of that address otherwise, as in local/{}", route.id);
    Failure::new(FailureClass::Auth, what).advise(format!("try: {other}"))
}

/// Returns the failure that anybody between here and the server could read the key.
fn unprotected_key(variable: &str, base: &url::Url) -> Failure {
    let host = base.host_str().unwrap_or_default();
    let unset =
        if variable.contains(' ') { String::new() } else { format!(", or unset {variable}") };
    let what = format!(
        "{} would be sent to {host} over plain http, where others can read it",
        key_phrase(variable)
    );
    Failure::new(FailureClass::Invalid, what).advise(format!("use https{unset}"))
}

fn unknown_provider(route: &ModelRoute) -> Failure {
    let provider = &route.provider;
    let names = || known_providers().map(|known| known.id);
    let near = nearest_name(provider, names().chain([OFFLINE]));
    let all: Vec<_> = names().chain([OFFLINE]).collect();
    let what = format!(
        "no provider is called `{provider}` (known are {}, and any other with a base URL)",
        all.join(", ")
    );
    let failure = Failure::new(FailureClass::Invalid, what);
    match near {
        Some(near) => failure.advise(format!("try: --model {near}/{}", route.id)),
        None => failure,
    }
}

#[cfg(test)]
mod tests;
