//! The HTTP client of one server: its headers, its proxy, and no request to another origin.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Certificate, Client, ClientBuilder};
use url::{Host, Origin, Url};

/// How long connecting takes at most.
const CONNECT: Duration = Duration::from_secs(10);

/// How many redirects are followed.
const REDIRECTS: usize = 5;

/// The variable that names a file of certificates which are trusted besides those of the system.
const CERTIFICATES: &str = "NODE_EXTRA_CA_CERTS";

/// Headers that belong to the protocol.
const RESERVED: [&str; 8] = [
    "accept",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
];

/// Returns the address of a server.
///
/// # Errors
/// The text of the error says what is wrong with it, without the address.
pub(crate) fn address(url: &str) -> Result<Url, String> {
    let url = Url::parse(url).map_err(|error| format!("has an invalid `url`: {error}"))?;
    match (url.scheme(), url.has_host()) {
        ("http" | "https", true) => Ok(url),
        _ => Err("has an invalid `url`: it does not begin with http:// or https://".to_owned()),
    }
}

/// Returns the client for a server. It sends the headers with every request, and refuses a redirect to another
/// origin.
///
/// # Errors
/// The text of the error says which header is invalid, or that no client can be made.
pub(crate) fn client(url: &Url, headers: &BTreeMap<String, String>) -> Result<Client, String> {
    // An error means that a crypto provider is already installed. The client works with any.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let builder = || -> Result<ClientBuilder, String> {
        let builder = Client::builder()
            .user_agent(concat!("regatta/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .default_headers(header_map(headers)?)
            .redirect(same_origin(url.origin()));
        Ok(if is_near(url) { builder.no_proxy() } else { builder })
    };
    // Requests over plain HTTP need no certificates, which take time to load. A certificate of the
    // environment may be malformed, and a machine may have none.
    let with_all = builder()?.tls_certs_merge(extra_certificates());
    let client = match url.scheme() {
        "http" => builder()?.tls_certs_only([]).build(),
        _ => with_all.build().or(builder()?.build()).or(builder()?.tls_certs_only([]).build()),
    };
    client.map_err(|_error| {
        "cannot be reached: the settings for proxies or certificates in the environment are not usable"
            .to_owned()
    })
}

fn header_map(headers: &BTreeMap<String, String>) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        if RESERVED.contains(&&name.to_lowercase()[..]) {
            return Err(format!("cannot have the header `{name}`: it belongs to the protocol"));
        }
        let invalid = || format!("has an invalid header `{name}`");
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_error| invalid())?;
        let mut value = HeaderValue::from_str(value).map_err(|_error| invalid())?;
        value.set_sensitive(true);
        map.insert(parsed, value);
    }
    Ok(map)
}

/// Follows redirects within an origin, since headers and tokens are for that origin only.
fn same_origin(origin: Origin) -> Policy {
    Policy::custom(move |attempt: Attempt<'_>| {
        let next = attempt.url().origin();
        if next != origin {
            let next = next.ascii_serialization();
            return attempt.error(format!("redirects to {next}: set `url` to where it is now"));
        }
        match attempt.previous().len() > REDIRECTS {
            true => attempt.error("redirects again and again"),
            false => attempt.follow(),
        }
    })
}

fn extra_certificates() -> Vec<Certificate> {
    let file = std::env::var_os(CERTIFICATES).filter(|file| !file.is_empty());
    let text = file.and_then(|file| std::fs::read(file).ok());
    text.and_then(|text| Certificate::from_pem_bundle(&text).ok()).unwrap_or_default()
}

/// Returns whether an address leads to this machine. Requests to it pass no proxy.
fn is_near(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_unspecified(),
        Some(Host::Ipv6(address)) => address.is_loopback() || address.is_unspecified(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_of_http() {
        assert!(address("https://h/mcp?key=1").is_ok() && address("http://127.0.0.1:1").is_ok());
        for (url, expected) in [
            ("file:///etc/passwd", "it does not begin with http:// or https://"),
            ("mcp", "relative URL without a base"),
            ("http://", "empty host"),
        ] {
            let error = address(url).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_header_is_checked_and_its_value_is_never_shown() {
        let url = address("http://127.0.0.1:1/").unwrap();
        let with = |name: &str, value: &str| {
            client(&url, &BTreeMap::from([(name.to_owned(), value.to_owned())]))
        };
        let client = with("Authorization", "Bearer secret").unwrap();
        assert!(!format!("{client:?}").contains("secret"));
        for (name, value, expected) in [
            ("X\n", "a", "has an invalid header"),
            ("X-Key", "secret\n", "has an invalid header `X-Key`"),
            ("Mcp-Session-Id", "a", "cannot have the header `Mcp-Session-Id`"),
        ] {
            let error = with(name, value).unwrap_err();
            assert!(error.contains(expected) && !error.contains("secret"), "{error}");
        }
    }
}
