//! The HTTP client of logins: no redirect is followed, and answers are bounded in size and time.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use oauth2::http::response;
use oauth2::{AsyncHttpClient, HttpRequest, HttpResponse};
use reqwest::{Client, Proxy};
use tokio::time::timeout;

use super::error::{HttpError, LoginError};
use crate::failure::lost_because;
use crate::http_client::{Clients, builder};
use crate::proxy::UsedProxy;
use crate::trust::extra_certificates;

/// The maximum size of an answer, in bytes.
const LARGEST: usize = 256 << 10;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Sends the requests of a login.
pub(super) struct HttpClient {
    clients: Clients,
    /// The client that uses the proxy of the provider, if it has one.
    own: Option<(Client, Option<UsedProxy>)>,
}

impl HttpClient {
    /// Returns a client that uses this proxy, else that of the system.
    pub(super) fn new(proxy: Option<&str>) -> Result<Self, LoginError> {
        let own = proxy.map(|url| {
            let refused = || LoginError::Config("the URL of the proxy cannot be used".to_owned());
            let proxy = Proxy::all(url).map_err(|_may_quote_it| refused())?;
            let client = builder().tls_certs_merge(extra_certificates()).proxy(proxy).build();
            let client = client.map_err(|_may_quote_it| refused())?;
            Ok((client, UsedProxy::of_file(url)))
        });
        Ok(Self { clients: Clients::default(), own: own.transpose()? })
    }

    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let request = reqwest::Request::try_from(request).map_err(|_invalid| {
            HttpError("cannot be asked: the request is not valid".to_owned())
        })?;
        let answered = timeout(TIMEOUT, self.answer(request)).await;
        answered.map_err(|_elapsed| {
            HttpError(format!("did not answer within {} seconds", TIMEOUT.as_secs()))
        })?
    }

    async fn answer(&self, request: reqwest::Request) -> Result<HttpResponse, HttpError> {
        let (client, proxy) = match &self.own {
            Some(own) => own.clone(),
            None => {
                let client = self.clients.client_for(request.url());
                let proxy = UsedProxy::of_environment(request.url());
                (client.map_err(|it| HttpError(it.message))?, proxy)
            }
        };
        let lost = |error| {
            let why = lost_because(error, proxy.as_ref());
            HttpError(format!("cannot be reached: {why}"))
        };
        let mut answer = client.execute(request).await.map_err(lost)?;
        if answer.status().is_redirection() {
            let why = "answers with a redirect, which a login does not follow";
            return Err(HttpError(why.to_owned()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(lost)? {
            body.extend_from_slice(&chunk);
            if body.len() > LARGEST {
                return Err(HttpError(format!("answers with more than {LARGEST} bytes")));
            }
        }
        let mut built = response::Builder::new().status(answer.status());
        if let Some(headers) = built.headers_mut() {
            headers.clone_from(answer.headers());
        }
        built.body(body).map_err(|_invalid| HttpError("answers with no valid answer".to_owned()))
    }
}

impl<'c> AsyncHttpClient<'c> for HttpClient {
    type Error = HttpError;
    type Future = BoxFuture<'c, Result<HttpResponse, HttpError>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        self.send(request).boxed()
    }
}
