//! A login by a code that the user types on another device.

use std::time::Duration;

use oauth2::basic::BasicClient;
use oauth2::{
    ClientId, ClientSecret, DeviceAuthorizationUrl, DeviceCodeErrorResponseType, RequestTokenError,
    StandardDeviceAuthorizationResponse, TokenUrl,
};
use url::Url;

use super::client::HttpClient;
use super::error::{LoginError, of_request};
use super::login_service::LoginService;
use super::oauth_config::{OauthConfig, host_of};
use super::tokens::Tokens;
use crate::printable::printable;

/// The longest pause between two requests that a server can ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The shortest pause between two requests.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// A login that waits until the user has typed the code.
pub struct DeviceLogin<'a> {
    config: &'a OauthConfig,
    http: HttpClient,
    details: StandardDeviceAuthorizationResponse,
    page: Url,
}

impl<'a> DeviceLogin<'a> {
    /// Asks for a code.
    ///
    /// # Errors
    /// The service has no such login, or its server gives no code.
    pub async fn begin(service: &'a LoginService) -> Result<Self, LoginError> {
        let LoginService::Oauth(config) = service else { return Err(no_device_url()) };
        let device = config.device.as_ref().ok_or_else(no_device_url)?;
        let http = HttpClient::new(config.proxy.as_deref())?;
        let mut client = BasicClient::new(ClientId::new(config.client_id.clone()))
            .set_device_authorization_url(DeviceAuthorizationUrl::from_url(device.clone()));
        if let Some(secret) = &config.client_secret {
            client = client.set_client_secret(ClientSecret::new(secret.clone()));
        }
        let host = host_of(device);
        let asked = client.exchange_device_code().add_scopes(config.scopes());
        let details: StandardDeviceAuthorizationResponse =
            asked.request_async(&http).await.map_err(|error| {
                let secrets: Vec<&str> = config.client_secret.as_deref().into_iter().collect();
                of_request(error, &host, &secrets)
            })?;
        let strange =
            |why: &str| LoginError::Unreachable { host: host.clone(), why: why.to_owned() };
        if details.interval() > LONGEST_PAUSE {
            return Err(strange("wants to be asked less than once a minute"));
        }
        let page = details.verification_uri_complete();
        let page = page.map_or(details.verification_uri().as_str(), |page| page.secret().as_str());
        let page = Url::parse(page).ok().filter(|page| matches!(page.scheme(), "http" | "https"));
        let page = page.ok_or_else(|| strange("names no page at which the code can be typed"))?;
        Ok(Self { config, http, details, page })
    }

    /// Returns the page at which the code is typed.
    #[must_use]
    pub fn url(&self) -> &str {
        self.page.as_str()
    }

    /// Returns the code.
    #[must_use]
    pub fn code(&self) -> String {
        printable(self.details.user_code().secret(), 40)
    }

    /// Waits until the user has typed the code.
    ///
    /// # Errors
    /// The login was denied, took too long, or the server cannot be asked.
    pub async fn tokens(&self) -> Result<Tokens, LoginError> {
        let config = self.config;
        let mut client = BasicClient::new(ClientId::new(config.client_id.clone()))
            .set_token_uri(TokenUrl::from_url(config.token.clone()));
        if let Some(secret) = &config.client_secret {
            client = client.set_client_secret(ClientSecret::new(secret.clone()));
        }
        let pause = |wanted: Duration| tokio::time::sleep(wanted.max(SHORTEST_PAUSE));
        let asked = client.exchange_device_access_token(&self.details);
        let response = asked.request_async(&self.http, pause, None).await;
        response.map(|response| Tokens::of(&response)).map_err(|error| {
            if let RequestTokenError::ServerResponse(response) = &error {
                match response.error() {
                    DeviceCodeErrorResponseType::AccessDenied => {
                        return LoginError::Denied("access_denied".to_owned());
                    }
                    DeviceCodeErrorResponseType::ExpiredToken => {
                        return LoginError::TimedOut(self.details.expires_in());
                    }
                    DeviceCodeErrorResponseType::AuthorizationPending
                    | DeviceCodeErrorResponseType::SlowDown
                    | DeviceCodeErrorResponseType::Basic(_) => {}
                }
            }
            let secrets = [self.details.device_code().secret().as_str()];
            let secrets = secrets.into_iter().chain(config.client_secret.as_deref());
            of_request(error, &host_of(&config.token), &secrets.collect::<Vec<_>>())
        })
    }
}

fn no_device_url() -> LoginError {
    LoginError::Config("`oauth.deviceUrl` is not set".to_owned())
}
