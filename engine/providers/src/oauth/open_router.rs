//! The login of OpenRouter: a page that gives a code, which is exchanged for an API key.

use std::fmt;

use oauth2::AsyncHttpClient as _;
use oauth2::CsrfToken;
use oauth2::http::{Method, Request, StatusCode, header};
use serde_json::{Value, json};
use url::Url;

use super::client::HttpClient;
use super::error::{HttpError, LoginError, said};
use super::oauth_config::{PlainHttp, check_protected, host_of};
use crate::endpoint::base_url;

/// The base URL of its API.
const USUAL: &str = "https://openrouter.ai/api/v1";

/// It names local programs by the host and port of this.
const USUAL_REDIRECT: &str = "http://localhost/callback";

/// OpenRouter, or a server that does as it does.
#[derive(Clone)]
pub struct OpenRouter {
    base: Url,
    /// Where the browser goes at the end, at any free port.
    redirect: Url,
    proxy: Option<String>,
}

impl fmt::Debug for OpenRouter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenRouter").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

impl OpenRouter {
    /// Returns the server whose API is at `base`.
    pub(super) fn new(
        base: Option<&str>,
        proxy: Option<&str>,
        http: PlainHttp,
    ) -> Result<Self, LoginError> {
        let base = base_url(base.unwrap_or(USUAL));
        let base = base.map_err(|failure| LoginError::Config(failure.message))?;
        check_protected(&base, http)?;
        let redirect = Url::parse(USUAL_REDIRECT);
        let redirect = redirect.map_err(|error| LoginError::Config(error.to_string()))?;
        Ok(Self { base, redirect, proxy: proxy.map(str::to_owned) })
    }

    /// Returns where the browser goes at the end, at any free port.
    pub(super) fn usual_redirect(&self) -> &Url {
        &self.redirect
    }

    /// Returns the page at which the user logs in.
    pub(super) fn page(&self, redirect: &Url, challenge: &str) -> Url {
        let mut page = self.base.clone();
        page.set_path("/auth");
        page.set_query(None);
        page.query_pairs_mut()
            .append_pair("callback_url", redirect.as_str())
            .append_pair("code_challenge", challenge)
            .append_pair("code_challenge_method", "S256");
        page
    }

    /// Exchanges the code for a key.
    pub(super) async fn exchange(&self, code: &str, verifier: &str) -> Result<String, LoginError> {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["auth", "keys"]);
        }
        let host = host_of(&url);
        let unreachable = |why: String| LoginError::Unreachable { host: host.clone(), why };
        let http = HttpClient::new(self.proxy.as_deref())?;
        let body = json!({
            "code": code, "code_verifier": verifier, "code_challenge_method": "S256",
        });
        let request = Request::builder()
            .method(Method::POST)
            .uri(url.as_str())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json")
            .body(body.to_string().into_bytes())
            .map_err(|_invalid| unreachable("cannot be asked".to_owned()))?;
        let answer = http.call(request).await.map_err(|HttpError(why)| unreachable(why))?;
        let read: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        if answer.status() != StatusCode::OK {
            let told = read.pointer("/error/message").or_else(|| read.get("error"));
            let told = told.and_then(Value::as_str).unwrap_or_default();
            let why = said(&format!("{} {told}", answer.status().as_u16()), &[code, verifier]);
            return Err(LoginError::Refused { host, why });
        }
        let key = read.get("key").and_then(Value::as_str).filter(|key| !key.is_empty());
        key.map(str::to_owned).ok_or_else(|| unreachable("answers without a key".to_owned()))
    }
}

/// Returns the address at which a login ends. The state is in its path, because the server does not
/// send one back.
pub(super) fn redirect(listener: &Url, state: &CsrfToken) -> Url {
    let mut redirect = listener.clone();
    if let Ok(mut path) = redirect.path_segments_mut() {
        path.pop_if_empty().push(state.secret());
    }
    redirect
}
