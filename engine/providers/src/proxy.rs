//! The proxy that a request goes through, and what is wrong with it.

use hyper_util::client::proxy::matcher::Matcher;
use protocol::{Failure, FailureClass};
use url::Url;

use crate::http_client::is_near;

/// The proxy that a request goes through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UsedProxy {
    /// Its URL, without user and password.
    url: String,
    /// The variable or the key that names it.
    source: &'static str,
}

impl UsedProxy {
    /// Returns the proxy that the environment names for requests to `url`.
    pub(crate) fn of_environment(url: &Url) -> Option<Self> {
        Self::named_in(url, |name| std::env::var(name).ok())
    }

    /// Returns the proxy that the user's file names.
    pub(crate) fn of_file(url: &str) -> Option<Self> {
        let mut url = Url::parse(url).ok()?;
        let _no_password = (url.set_username(""), url.set_password(None));
        Some(Self { url: url.as_str().trim_end_matches('/').to_owned(), source: "`proxyUrl`" })
    }

    /// Returns the proxy for requests to `url`, chosen as the client chooses it.
    fn named_in(url: &Url, environment: impl Fn(&str) -> Option<String>) -> Option<Self> {
        if is_near(url) {
            return None;
        }
        let first = |names: [&'static str; 2]| {
            names.into_iter().find_map(|name| Some((name, environment(name)?)))
        };
        let no_proxy = first(["NO_PROXY", "no_proxy"]).map(|(_, hosts)| hosts).unwrap_or_default();
        let of_scheme = match url.scheme() {
            "https" => ["HTTPS_PROXY", "https_proxy"],
            _ => ["HTTP_PROXY", "http_proxy"],
        };
        let target = url.as_str().parse().ok()?;
        let named = [first(of_scheme), first(["ALL_PROXY", "all_proxy"])];
        named.into_iter().flatten().find_map(|(source, proxy)| {
            let matcher = Matcher::builder().all(proxy).no(no_proxy.as_str()).build();
            let proxy = matcher.intercept(&target)?;
            Some(Self { url: proxy.uri().to_string().trim_end_matches('/').to_owned(), source })
        })
    }

    /// Returns the failure of a connection to `target` that was not made, by the texts of the error.
    pub(crate) fn fault(&self, target: &Url, causes: &[String]) -> Failure {
        let says = |words: &str| causes.iter().any(|cause| cause.contains(words));
        let host = target.host_str().unwrap_or_default();
        let root = causes.last().map_or("", String::as_str);
        if says("proxy authorization required") {
            return self.wants_password();
        }
        let what = if says("timed out") || says("deadline has elapsed") {
            "did not take the connection in time".to_owned()
        } else if says("tunnel error: unsuccessful") {
            format!("refuses a connection to {host}")
        } else if target.scheme() == "http" || says("failed to create underlying connection") {
            format!("cannot be reached: {root}")
        } else {
            format!("made no connection to {host}: {root}")
        };
        let failure = Failure::new(FailureClass::Transient, format!("{self} {what}"));
        match self.source.starts_with('`') {
            true => failure,
            false => failure.advise(format!("try: NO_PROXY={host}, or unset {}", self.source)),
        }
    }

    /// Returns the failure that it wants a password, or another one.
    pub(crate) fn wants_password(&self) -> Failure {
        let what = format!("{self} asks for a user and a password, or refuses those in its URL");
        Failure::new(FailureClass::Invalid, what)
    }
}

impl std::fmt::Display for UsedProxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the proxy {} in {}", self.url, self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(url: &str, variables: &[(&str, &str)]) -> Option<String> {
        let set = |name: &str| variables.iter().find(|(set, _)| *set == name);
        let environment = |name: &str| set(name).map(|(_, value)| (*value).to_owned());
        let proxy = UsedProxy::named_in(&Url::parse(url).unwrap(), environment);
        proxy.map(|proxy| proxy.to_string())
    }

    #[test]
    fn the_proxy_of_a_request_is_known_with_its_variable_and_without_its_password() {
        let all = [
            ("HTTPS_PROXY", "http://ada:sekret@p:1"),
            ("http_proxy", "p:2"),
            ("ALL_PROXY", "socks5://p:3/"),
            ("NO_PROXY", "direct.example"),
        ];
        for (url, variables, expected) in [
            ("https://h/v1", &all[..], Some("the proxy http://p:1 in HTTPS_PROXY")),
            ("http://h/v1", &all, Some("the proxy http://p:2 in http_proxy")),
            ("https://h/v1", &all[1..], Some("the proxy socks5://p:3 in ALL_PROXY")),
            ("https://a.direct.example/v1", &all, None),
            ("https://127.0.0.1/v1", &all, None),
            ("http://localhost:8080/v1", &all, None),
            ("https://h/v1", &[("HTTPS_PROXY", ""), ("all_proxy", "")], None),
        ] {
            assert_eq!(proxy(url, variables).as_deref(), expected, "{url}");
        }
        let of_file = UsedProxy::of_file("http://ada:sekret@p:4/").unwrap();
        assert_eq!(of_file.to_string(), "the proxy http://p:4 in `proxyUrl`");
    }

    #[test]
    fn what_is_wrong_with_a_proxy_names_it() {
        let proxy = UsedProxy { url: "http://p:1".to_owned(), source: "HTTPS_PROXY" };
        let tunnel = |what: &str| vec![format!("tunnel error: {what}"), "refused".to_owned()];
        let underlying = tunnel("failed to create underlying connection");
        for (url, causes, expected) in [
            (
                "https://h/",
                tunnel("proxy authorization required"),
                "asks for a user and a password",
            ),
            (
                "https://h/",
                vec!["tunnel error: unsuccessful".to_owned()],
                "refuses a connection to h;",
            ),
            (
                "https://h/",
                underlying,
                "cannot be reached: refused; try: NO_PROXY=h, or unset HTTPS_PROXY",
            ),
            ("http://h/", vec!["refused".to_owned()], "cannot be reached: refused;"),
            ("https://h/", vec!["eof".to_owned()], "made no connection to h: eof;"),
            (
                "https://h/",
                vec!["operation timed out".to_owned()],
                "did not take the connection in time;",
            ),
        ] {
            let failure = proxy.fault(&Url::parse(url).unwrap(), &causes);
            let expected = format!("the proxy http://p:1 in HTTPS_PROXY {expected}");
            assert!(failure.message.starts_with(&expected), "{}", failure.message);
        }
    }
}
