//! The port of this machine to which a browser comes back at the end of a login.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use url::{Host, Url};

use super::browser_login::{BrowserLogin, LONGEST_ADDRESS};
use super::error::LoginError;
use super::login_service::LoginService;

/// How many connections are read at the same time.
const MOST_CONNECTIONS: usize = 16;

/// How long a browser may take to send its request.
const REQUEST: Duration = Duration::from_secs(10);

/// A port that waits for a browser.
pub struct RedirectListener {
    listener: TcpListener,
    port: u16,
    /// The path to which the service sends browsers back, or below which it does.
    path: String,
}

impl RedirectListener {
    /// Listens at the port to which the service sends browsers back, or at any if it sends them to
    /// any.
    ///
    /// # Errors
    /// The port is taken.
    pub async fn bind(service: &LoginService) -> Result<Self, LoginError> {
        let redirect = service.redirect();
        let port = redirect.port().unwrap_or(0);
        let address = match redirect.host() {
            Some(Host::Ipv6(_)) => IpAddr::V6(Ipv6Addr::LOCALHOST),
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Domain(_)) | None => IpAddr::V4(Ipv4Addr::LOCALHOST),
        };
        let failed = |error: std::io::Error| LoginError::Port { port, why: error.to_string() };
        let bound = TcpListener::bind(SocketAddr::new(address, port)).await;
        let listener = bound.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self { listener, port, path: redirect.path().to_owned() })
    }

    /// Returns the port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Waits for the browser of this login, and returns the code that it brings.
    ///
    /// # Errors
    /// The login was denied, or what the browser brings does not belong to it.
    pub async fn code(&self, login: &BrowserLogin<'_>) -> Result<String, LoginError> {
        let mut connections = FuturesUnordered::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if connections.len() < MOST_CONNECTIONS => {
                    // A connection that is lost at once is none.
                    if let Ok((stream, _)) = accepted {
                        connections.push(self.answer(stream, login));
                    }
                }
                Some(end) = connections.next(), if !connections.is_empty() => {
                    if let Some(end) = end {
                        return end;
                    }
                }
            }
        }
    }

    /// Answers one request. Returns the end of the login if it is that.
    async fn answer(
        &self,
        mut stream: TcpStream,
        login: &BrowserLogin<'_>,
    ) -> Option<Result<String, LoginError>> {
        let target = timeout(REQUEST, target(&mut stream)).await.ok()??;
        let redirect = login.redirect();
        let below = format!("{}/", self.path.trim_end_matches('/'));
        // Browsers also ask for an icon.
        let meant = |url: &Url| {
            let path = url.path();
            let known = path == redirect.path() || path == self.path;
            url.origin() == redirect.origin()
                && (known || (self.path != "/" && path.starts_with(&below)))
        };
        let url = redirect.join(&target).ok();
        let Some(url) = url.filter(meant) else {
            reply(&mut stream, "404 Not Found", "There is nothing here.").await;
            return None;
        };
        let code = login.code_of(&url);
        let page = match &code {
            Ok(_code) => "The login is complete. You can close this page.",
            Err(_error) => "The login failed. The terminal says why.",
        };
        reply(&mut stream, "200 OK", page).await;
        Some(code)
    }
}

/// Reads the first line of a request and returns what it asks for; `None` if it is not a GET.
async fn target(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        if bytes.len() > 2 * LONGEST_ADDRESS || stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let line = bytes.split(|byte| *byte == b'\r').next()?;
    let line = std::str::from_utf8(line).ok().filter(|line| line.len() <= LONGEST_ADDRESS)?;
    let target = line.strip_prefix("GET ")?.split(' ').next()?;
    target.starts_with('/').then(|| target.to_owned())
}

async fn reply(stream: &mut TcpStream, status: &str, text: &str) {
    let page = format!("<!doctype html><title>regatta</title><p>{text}</p>\n");
    let length = page.len();
    let reply = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{page}"
    );
    // The browser shows an error of its own if it has gone.
    let _shown = stream.write_all(reply.as_bytes()).await;
    let _closed = stream.shutdown().await;
}
