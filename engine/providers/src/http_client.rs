//! The HTTP clients: one for servers on this machine and one for all others, each built when it is
//! first needed.

use std::sync::OnceLock;
use std::time::Duration;

use protocol::{Failure, FailureClass};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};
use url::{Host, Url};

const CONNECT: Duration = Duration::from_secs(10);
/// How long an idle connection to this machine is kept: less than five seconds, after which local
/// servers close it. A new connection to this machine is cheap.
const IDLE: Duration = Duration::from_secs(4);
const AGENT: &str = concat!("regatta/", env!("CARGO_PKG_VERSION"));

/// The clients, shared by all models.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    near: OnceLock<Option<Client>>,
    far: OnceLock<Option<Client>>,
}

impl Clients {
    /// Returns the client for requests to `url`.
    pub(crate) fn client_for(&self, url: &Url) -> Result<Client, Failure> {
        let client = if is_near(url) {
            // Requests to this machine need neither a proxy nor certificates.
            let near = || builder().no_proxy().tls_certs_only([]).pool_idle_timeout(IDLE);
            self.near.get_or_init(|| near().build().ok())
        } else {
            self.far.get_or_init(far)
        };
        client.clone().ok_or_else(|| {
            Failure::new(FailureClass::Invalid, "no connection can be made: the settings for proxies or certificates in the environment are not usable")
        })
    }
}

/// Returns whether `url` is plain HTTP to this machine.
pub(crate) fn is_near(url: &Url) -> bool {
    let here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_unspecified(),
        Some(Host::Ipv6(address)) => address.is_loopback() || address.is_unspecified(),
        None => false,
    };
    here && url.scheme() == "http"
}

fn far() -> Option<Client> {
    // A machine without root certificates gets a client without any: its plain HTTP requests work,
    // and its HTTPS requests fail with a message.
    builder().build().or_else(|_none| builder().tls_certs_only([]).build()).ok()
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
        let near =
            ["http://127.0.0.1:1/v1", "http://localhost/v1", "http://[::1]:9/", "http://0.0.0.0:1"];
        let far = ["https://127.0.0.1/", "http://10.0.0.1/", "http://localhost.example.org/"];
        for url in near {
            assert!(is_near(&Url::parse(url).unwrap()), "{url}");
        }
        for url in far {
            assert!(!is_near(&Url::parse(url).unwrap()), "{url}");
        }
    }

    #[test]
    fn clients_can_be_made_any_number_of_times() {
        for url in ["http://127.0.0.1:1/", "https://example.org/"] {
            for _time in 0..2 {
                assert!(Clients::default().client_for(&Url::parse(url).unwrap()).is_ok());
            }
        }
    }
}
