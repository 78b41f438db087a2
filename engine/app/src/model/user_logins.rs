//! The logins of the user: how each is done, and the tokens of those that are stored.

use std::sync::Arc;

use config::{LoginTokens, Secret, StoredKey};
use providers::{LoginService, OauthConfig, OauthTexts, PlainHttp};

use super::stored_login::StoredLogin;
use super::user_models::UserModels;

impl UserModels {
    /// Returns how to log in at a provider, if it has a login. The error says what is wrong with it.
    pub fn login_service(&self, provider: &str) -> Option<Result<LoginService, String>> {
        let entry = self.file().providers.get(provider);
        let proxy = entry.and_then(|entry| entry.proxy.as_ref()).map(Secret::expose);
        let http = match entry {
            Some(entry) if entry.allow_http => PlainHttp::Allowed,
            Some(_) | None => PlainHttp::Refused,
        };
        let Some(oauth) = entry.and_then(|entry| entry.oauth.as_ref()) else {
            let base = entry.and_then(|entry| entry.base_url.as_deref());
            let built_in = LoginService::built_in(provider, base, proxy, http)?;
            return Some(built_in.map_err(|error| error.to_string()));
        };
        let named = |why: String| format!("`providers.{provider}` of {}: {why}", self.file_shown());
        let secret = oauth.client_secret.as_ref().map(|source| self.value(source)).transpose();
        let secret = match secret {
            Ok(secret) => secret,
            Err(why) => return Some(Err(named(format!("`oauth.clientSecret`: {why}")))),
        };
        let texts = OauthTexts {
            authorize_url: oauth.authorize_url.as_deref(),
            token_url: &oauth.token_url,
            device_url: oauth.device_url.as_deref(),
            redirect_url: oauth.redirect_url.as_deref(),
            proxy,
        };
        let client = (oauth.client_id.as_str(), secret.as_ref().map(Secret::expose));
        let config = OauthConfig::new(texts, client, &oauth.scopes, http);
        Some(
            config
                .map(|config| LoginService::Oauth(Box::new(config)))
                .map_err(|error| named(error.to_string())),
        )
    }

    /// Waits until no login is being renewed.
    pub async fn finish_renewals(&self) {
        self.renewals.finish().await;
    }

    /// Returns the tokens of a stored login, the same ones for all who use them.
    pub(super) fn login(&self, stored: &StoredKey, tokens: &LoginTokens) -> Arc<StoredLogin> {
        let mut logins = self.logins.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let login = logins.entry((stored.provider.clone(), stored.name.clone()));
        let login = login.or_insert_with(|| {
            let service = self.login_service(&stored.provider).unwrap_or_else(|| {
                Err(format!("models.yml has no `oauth` of {}", stored.provider))
            });
            let (store, tokens) = (self.store().clone(), tokens.clone());
            let renewals = self.renewals.clone();
            Arc::new(StoredLogin::new(store, stored, tokens, service, renewals))
        });
        Arc::clone(login)
    }
}
