//! The HTTP clients: one for all servers on other machines, and two for those on this one, over HTTP
//! and over HTTPS. Each is built when it is first needed.

use std::net::Ipv4Addr;
use std::sync::OnceLock;
use std::time::Duration;

use protocol::{Failure, FailureClass};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};
use url::{Host, Url};

use crate::trust::extra_certificates;

const CONNECT: Duration = Duration::from_secs(10);
/// How long an idle connection to this machine is kept: less than five seconds, after which local
/// servers close it. A new connection to this machine is cheap.
const IDLE: Duration = Duration::from_secs(4);
const AGENT: &str = concat!("regatta/", env!("CARGO_PKG_VERSION"));

/// The clients, shared by all models.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    near_http: OnceLock<Option<Client>>,
    near_https: OnceLock<Option<Client>>,
    far: OnceLock<Option<Client>>,
}

impl Clients {
    /// Returns the client for requests to `url`.
    pub(crate) fn client_for(&self, url: &Url) -> Result<Client, Failure> {
        let client = match (is_near(url), url.scheme()) {
            // Requests over plain HTTP need no certificates, which take time to load.
            (true, "http") => self.near_http.get_or_init(|| near().tls_certs_only([]).build().ok()),
            (true, _) => self.near_https.get_or_init(|| trusting(near)),
            (false, _) => self.far.get_or_init(|| trusting(builder)),
        };
        client.clone().ok_or_else(|| {
            Failure::new(FailureClass::Invalid, "no connection can be made: the settings for proxies or certificates in the environment are not usable")
        })
    }
}

/// Returns whether `url` leads to this machine. Requests to it pass no proxy of the environment.
pub(crate) fn is_near(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            name == "localhost" || name.ends_with(".localhost")
        }
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_unspecified(),
        Some(Host::Ipv6(address)) => {
            let is_near = |four: Ipv4Addr| four.is_loopback() || four.is_unspecified();
            let four = address.to_ipv4_mapped();
            address.is_loopback() || address.is_unspecified() || four.is_some_and(is_near)
        }
        None => false,
    }
}

/// Returns the client of a builder that trusts the servers that the system and the environment trust.
fn trusting(begin: fn() -> ClientBuilder) -> Option<Client> {
    let all = begin().tls_certs_merge(extra_certificates()).build();
    // A certificate of the environment may be malformed.
    let all = all.or_else(|_malformed| begin().build());
    // A machine without root certificates gets a client without any: its plain HTTP requests work,
    // and its HTTPS requests fail with a message.
    all.or_else(|_none| begin().tls_certs_only([]).build()).ok()
}

/// Returns the builder of a client for servers on this machine.
pub(crate) fn near() -> ClientBuilder {
    builder().no_proxy().pool_idle_timeout(IDLE)
}

pub(crate) fn builder() -> ClientBuilder {
    // An error means that a crypto provider is already installed. The client works with any.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    Client::builder().user_agent(AGENT).redirect(Policy::none()).connect_timeout(CONNECT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_near_and_nothing_else_is() {
        let near = [
            "http://127.0.0.1:1/v1",
            "https://127.0.0.1/",
            "http://localhost/v1",
            "https://models.localhost./v1",
            "http://[::1]:9/",
            "https://[::ffff:127.0.0.1]/",
            "http://0.0.0.0:1",
        ];
        let far = ["https://10.0.0.1/", "http://10.0.0.1/", "http://localhost.example.org/"];
        for url in near {
            assert!(is_near(&Url::parse(url).unwrap()), "{url}");
        }
        for url in far {
            assert!(!is_near(&Url::parse(url).unwrap()), "{url}");
        }
    }

    #[test]
    fn clients_can_be_made_any_number_of_times_and_those_for_this_machine_pass_no_proxy() {
        let has_proxies = |url: &str| {
            let client = Clients::default().client_for(&Url::parse(url).unwrap()).unwrap();
            format!("{client:?}").contains("proxies")
        };
        for _time in 0..2 {
            assert!(!has_proxies("http://127.0.0.1:1/"));
            assert!(!has_proxies("https://127.0.0.1:1/"));
            assert!(has_proxies("https://example.org/"));
        }
    }
}
