//! A login in a browser: the page to open, the answer to be checked, and what it is exchanged for.

use std::borrow::Cow;

use oauth2::basic::BasicClient;
use oauth2::{
    AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, PkceCodeChallenge,
    PkceCodeVerifier, RedirectUrl, TokenUrl,
};
use url::Url;

use super::client::HttpClient;
use super::error::{LoginError, of_request, said};
use super::login_service::LoginService;
use super::oauth_config::{OauthConfig, host_of};
use super::open_router;
use super::tokens::Tokens;

/// The maximum length of an address at which a login ends, in bytes.
pub(super) const LONGEST_ADDRESS: usize = 8 << 10;

/// A login that waits for the user.
pub struct BrowserLogin<'a> {
    service: &'a LoginService,
    url: Url,
    redirect: Url,
    state: CsrfToken,
    verifier: PkceCodeVerifier,
}

/// What a login brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Granted {
    /// An API key.
    Key(String),
    /// Tokens that expire.
    Tokens(Tokens),
}

impl<'a> BrowserLogin<'a> {
    /// Begins a login that ends at `port` of this machine. Nothing is sent yet.
    ///
    /// # Errors
    /// The service has no login in a browser.
    pub fn begin(service: &'a LoginService, port: u16) -> Result<Self, LoginError> {
        let mut redirect = service.redirect().clone();
        let _has_a_host = redirect.set_port(Some(port));
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let state = CsrfToken::new_random();
        let (url, redirect) = match service {
            LoginService::Oauth(config) => {
                let page = config.authorize.clone().ok_or_else(|| {
                    LoginError::Config("`oauth.authorizeUrl` is not set".to_owned())
                })?;
                let client = BasicClient::new(ClientId::new(config.client_id.clone()))
                    .set_auth_uri(AuthUrl::from_url(page));
                let request = client
                    .authorize_url(|| state.clone())
                    .add_scopes(config.scopes())
                    .set_pkce_challenge(challenge)
                    .set_redirect_uri(Cow::Owned(RedirectUrl::from_url(redirect.clone())));
                (request.url().0, redirect)
            }
            LoginService::OpenRouter(service) => {
                let redirect = open_router::redirect(&redirect, &state);
                (service.page(&redirect, challenge.as_str()), redirect)
            }
        };
        Ok(Self { service, url, redirect, state, verifier })
    }

    /// Returns the page at which the user logs in.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Returns the address at which the login ends.
    pub(super) fn redirect(&self) -> &Url {
        &self.redirect
    }

    /// Returns the code in an address that the user has copied from the browser.
    ///
    /// # Errors
    /// It is not the address at which this login ended, or the login was denied.
    pub fn code_of_pasted(&self, text: &str) -> Result<String, LoginError> {
        let text = text.trim();
        if text.len() > LONGEST_ADDRESS {
            return Err(LoginError::NotTheAddress("it is too long"));
        }
        let wrong = LoginError::NotTheAddress("it must begin with http:// and hold a `code`");
        let url = Url::parse(text).map_err(|_may_quote_it| wrong.clone())?;
        if url.path() != self.redirect.path() && url.query_pairs().any(|(key, _)| key == "state") {
            return Err(wrong);
        }
        self.code_of(&url)
    }

    /// Returns the code in the address at which the login ended.
    pub(super) fn code_of(&self, url: &Url) -> Result<String, LoginError> {
        let find = |name: &str| {
            let mut pairs = url.query_pairs();
            pairs.find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value)
        };
        let error = find("error");
        let given = match self.service {
            LoginService::Oauth(_) => find("state").map(|state| *state == **self.state.secret()),
            LoginService::OpenRouter(_) => Some(url.path() == self.redirect.path()),
        };
        match given {
            Some(false) => return Err(LoginError::State("that of another one")),
            None if error.is_none() => return Err(LoginError::State("missing")),
            Some(true) | None => {}
        }
        if let Some(error) = error {
            let why = find("error_description").map(|why| format!(": {why}")).unwrap_or_default();
            return Err(LoginError::Denied(said(&format!("{error}{why}"), &[])));
        }
        let code = find("code").map(Cow::into_owned);
        code.ok_or(LoginError::NotTheAddress("it holds no `code`"))
    }

    /// Exchanges the code for a key or for tokens.
    ///
    /// # Errors
    /// The server cannot be reached, or does not accept the code.
    pub async fn exchange(self, code: String) -> Result<Granted, LoginError> {
        match self.service {
            LoginService::Oauth(config) => {
                exchange(config, code, self.verifier, self.redirect).await.map(Granted::Tokens)
            }
            LoginService::OpenRouter(service) => {
                service.exchange(&code, self.verifier.secret()).await.map(Granted::Key)
            }
        }
    }
}

async fn exchange(
    config: &OauthConfig,
    code: String,
    verifier: PkceCodeVerifier,
    redirect: Url,
) -> Result<Tokens, LoginError> {
    let http = HttpClient::new(config.proxy.as_deref())?;
    let secrets = [code.clone(), verifier.secret().clone()];
    let mut client = BasicClient::new(ClientId::new(config.client_id.clone()))
        .set_token_uri(TokenUrl::from_url(config.token.clone()));
    if let Some(secret) = &config.client_secret {
        client = client.set_client_secret(ClientSecret::new(secret.clone()));
    }
    let response = client
        .exchange_code(AuthorizationCode::new(code))
        .set_pkce_verifier(verifier)
        .set_redirect_uri(Cow::Owned(RedirectUrl::from_url(redirect)))
        .request_async(&http)
        .await;
    let known = config.client_secret.iter().chain(&secrets).map(String::as_str);
    response
        .map(|response| Tokens::of(&response))
        .map_err(|error| of_request(error, &host_of(&config.token), &known.collect::<Vec<_>>()))
}
