//! Where and how to log in at a provider.

use url::Url;

use super::error::LoginError;
use super::oauth_config::{OauthConfig, PlainHttp};
use super::open_router::OpenRouter;

/// How to log in at a provider.
#[derive(Clone, Debug)]
pub enum LoginService {
    /// By OAuth, as the user has described it.
    Oauth(Box<OauthConfig>),
    /// As OpenRouter does it, which gives an API key.
    OpenRouter(OpenRouter),
}

impl LoginService {
    /// Returns the login that comes with this program for a provider whose API is at `base_url`.
    ///
    /// # Errors
    /// The base URL cannot be used.
    pub fn built_in(
        provider: &str,
        base_url: Option<&str>,
        proxy: Option<&str>,
        http: PlainHttp,
    ) -> Option<Result<Self, LoginError>> {
        let open_router = provider == "openrouter";
        open_router.then(|| OpenRouter::new(base_url, proxy, http).map(Self::OpenRouter))
    }

    /// Returns where the browser goes at the end; without a port, to any.
    pub(super) fn redirect(&self) -> &Url {
        match self {
            Self::Oauth(config) => &config.redirect,
            Self::OpenRouter(service) => service.usual_redirect(),
        }
    }

    /// Returns whether a login brings an API key.
    #[must_use]
    pub fn gives_key(&self) -> bool {
        matches!(self, Self::OpenRouter(_))
    }

    /// Returns whether a login can be completed on another device.
    #[must_use]
    pub fn has_device_code(&self) -> bool {
        matches!(self, Self::Oauth(config) if config.device.is_some())
    }

    /// Returns whether a login can be completed in a browser.
    #[must_use]
    pub fn has_browser(&self) -> bool {
        !matches!(self, Self::Oauth(config) if config.authorize.is_none())
    }
}
