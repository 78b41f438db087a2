//! An OAuth server and this program as its client.

use std::fmt;

use oauth2::Scope;
use url::{Host, Url};

use super::error::LoginError;
use crate::http_client::is_near;

/// Whether secrets may go over plain HTTP to other machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainHttp {
    /// They may not.
    Refused,
    /// The user allows it.
    Allowed,
}

/// An OAuth server and this program as its client.
#[derive(Clone)]
pub struct OauthConfig {
    pub(super) authorize: Option<Url>,
    pub(super) token: Url,
    pub(super) device: Option<Url>,
    pub(super) client_id: String,
    pub(super) client_secret: Option<String>,
    pub(super) scopes: Vec<String>,
    /// Where the browser goes at the end; without a port, any is used.
    pub(super) redirect: Url,
    pub(super) proxy: Option<String>,
}

/// The texts of which an [`OauthConfig`] is made.
#[derive(Clone, Copy, Debug)]
pub struct OauthTexts<'a> {
    /// The page at which the user logs in.
    pub authorize_url: Option<&'a str>,
    /// Where tokens are given.
    pub token_url: &'a str,
    /// Where codes for other devices are given.
    pub device_url: Option<&'a str>,
    /// Where the browser goes at the end.
    pub redirect_url: Option<&'a str>,
    /// The proxy of requests.
    pub proxy: Option<&'a str>,
}

/// Where the browser goes unless the user says otherwise, at any free port.
const USUAL_REDIRECT: &str = "http://127.0.0.1/callback";

impl OauthConfig {
    /// Returns a description of these addresses, with the id and the secret of this program and what it
    /// asks for.
    ///
    /// # Errors
    /// An address is not one, or others could read what is sent there.
    pub fn new(
        texts: OauthTexts<'_>,
        client: (&str, Option<&str>),
        scopes: &[String],
        http: PlainHttp,
    ) -> Result<Self, LoginError> {
        let address = |key: &str, text: &str| {
            let wrong = || LoginError::Config(format!("`oauth.{key}` is not a URL"));
            let url = Url::parse(text).map_err(|_may_quote_it| wrong())?;
            let plain = url.username().is_empty() && url.password().is_none();
            if !matches!(url.scheme(), "http" | "https") || !url.has_host() || !plain {
                return Err(wrong());
            }
            check_protected(&url, http).map(|()| url)
        };
        let optional =
            |key: &str, text: Option<&str>| text.map(|text| address(key, text)).transpose();
        Ok(Self {
            authorize: optional("authorizeUrl", texts.authorize_url)?,
            token: address("tokenUrl", texts.token_url)?,
            device: optional("deviceUrl", texts.device_url)?,
            client_id: client.0.to_owned(),
            client_secret: client.1.map(str::to_owned),
            scopes: scopes.to_vec(),
            redirect: redirect(texts.redirect_url.unwrap_or(USUAL_REDIRECT))?,
            proxy: texts.proxy.map(str::to_owned),
        })
    }

    pub(super) fn scopes(&self) -> impl Iterator<Item = Scope> + '_ {
        self.scopes.iter().map(|scope| Scope::new(scope.clone()))
    }
}

/// Parses the address to which the browser goes at the end: one of this machine.
fn redirect(text: &str) -> Result<Url, LoginError> {
    let wrong = || {
        let what = "`oauth.redirectUrl` must be http:// and 127.0.0.1, [::1] or localhost";
        LoginError::Config(what.to_owned())
    };
    let url = Url::parse(text).map_err(|_invalid| wrong())?;
    let here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    if here && plain && url.scheme() == "http" { Ok(url) } else { Err(wrong()) }
}

impl fmt::Debug for OauthConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OauthConfig").field("token", &self.token.as_str()).finish_non_exhaustive()
    }
}

/// Checks that what is sent to `url` cannot be read on the way.
pub(super) fn check_protected(url: &Url, http: PlainHttp) -> Result<(), LoginError> {
    if url.scheme() == "https" || is_near(url) || http == PlainHttp::Allowed {
        return Ok(());
    }
    let host = host_of(url);
    let what = format!("the login would go to {host} over plain http, where others can read it");
    Err(LoginError::Config(what))
}

/// Returns the name of a server for messages.
pub(super) fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}
