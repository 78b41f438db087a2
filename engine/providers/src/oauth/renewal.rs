//! The renewal of a token.

use oauth2::basic::{BasicClient, BasicErrorResponseType};
use oauth2::{ClientId, ClientSecret, RefreshToken, RequestTokenError, TokenUrl};

use super::client::HttpClient;
use super::error::{LoginError, of_request};
use super::oauth_config::{OauthConfig, host_of};
use super::tokens::Tokens;

/// Returns new tokens for a token with which they can be had. The server may give another one of
/// those, and then takes back the first.
///
/// # Errors
/// The server does not accept the token any more, which is [`LoginError::Denied`], or it cannot be
/// asked.
pub async fn renewed(config: &OauthConfig, refresh: &str) -> Result<Tokens, LoginError> {
    let http = HttpClient::new(config.proxy.as_deref())?;
    let mut client = BasicClient::new(ClientId::new(config.client_id.clone()))
        .set_token_uri(TokenUrl::from_url(config.token.clone()));
    if let Some(secret) = &config.client_secret {
        client = client.set_client_secret(ClientSecret::new(secret.clone()));
    }
    let token = RefreshToken::new(refresh.to_owned());
    let response = client.exchange_refresh_token(&token).request_async(&http).await;
    let tokens = response.map(|response| Tokens::of(&response)).map_err(|error| {
        let ended = matches!(&error, RequestTokenError::ServerResponse(response)
            if *response.error() == BasicErrorResponseType::InvalidGrant);
        let secrets = config.client_secret.as_deref().into_iter().chain([refresh]);
        match of_request(error, &host_of(&config.token), &secrets.collect::<Vec<_>>()) {
            LoginError::Refused { why, .. } if ended => LoginError::Denied(why),
            other => other,
        }
    })?;
    Ok(Tokens { refresh: tokens.refresh.or_else(|| Some(refresh.to_owned())), ..tokens })
}
