//! What the OAuth server has given to whom, and what it refuses.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::forms::base64url;

/// The id of the program at the server.
pub(super) const CLIENT: &str = "regatta-test";

/// What the page does with a user who logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginPage {
    /// It sends the browser back with a code.
    Grants,
    /// The user says no.
    Denies,
    /// It sends the browser back with the state of another user.
    WrongState,
}

/// What the server says to a device that asks whether the user has typed the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceAnswer {
    /// Not yet.
    Pending,
    /// Yes.
    Granted,
    /// The user says no.
    Denied,
}

/// An answer: its status, and a document.
pub(super) type Reply = (StatusCode, Value);

pub(super) struct State {
    pub(super) page: LoginPage,
    pub(super) device: DeviceAnswer,
    /// How long a code for a device lasts, in seconds.
    pub(super) device_lasts: u64,
    /// How long a token lasts, in seconds.
    pub(super) lasts: u64,
    /// Says no to every renewal.
    pub(super) ends_logins: bool,
    /// The codes that were given, each with the challenge and the address.
    codes: BTreeMap<String, (String, String)>,
    /// How many tokens were given.
    pub(super) given: usize,
    /// The token that can be renewed.
    refresh: Option<String>,
    pub(super) renewals: usize,
    pub(super) polls: usize,
    pub(super) violations: Vec<String>,
}

impl State {
    pub(super) fn new() -> Self {
        Self {
            page: LoginPage::Grants,
            device: DeviceAnswer::Pending,
            device_lasts: 600,
            lasts: 3_600,
            ends_logins: false,
            codes: BTreeMap::new(),
            given: 0,
            refresh: None,
            renewals: 0,
            polls: 0,
            violations: Vec::new(),
        }
    }

    /// Returns the address to which the browser is sent from the page.
    pub(super) fn authorize(&mut self, query: &BTreeMap<String, String>) -> String {
        let field = |name: &str| query.get(name).cloned().unwrap_or_default();
        let expected = [
            ("response_type", "code"),
            ("client_id", CLIENT),
            ("code_challenge_method", "S256"),
            ("scope", "models offline"),
        ];
        for (name, value) in expected {
            if field(name) != value {
                self.violations.push(format!("authorize: {name}={}", field(name)));
            }
        }
        let (redirect, state) = (field("redirect_uri"), field("state"));
        if state.len() < 16 || !redirect.starts_with("http://127.0.0.1:") {
            self.violations.push(format!("authorize: {redirect} {state}"));
        }
        match self.page {
            LoginPage::Denies => {
                format!("{redirect}?error=access_denied&error_description=Not+today&state={state}")
            }
            LoginPage::Grants => {
                let code = self.code(&field("code_challenge"), &redirect);
                format!("{redirect}?code={code}&state={state}")
            }
            LoginPage::WrongState => {
                let code = self.code(&field("code_challenge"), &redirect);
                format!("{redirect}?code={code}&state=of-somebody-else")
            }
        }
    }

    /// Returns the address to which the browser is sent from the page of OpenRouter.
    pub(super) fn authorize_key(&mut self, query: &BTreeMap<String, String>) -> String {
        let field = |name: &str| query.get(name).cloned().unwrap_or_default();
        let redirect = field("callback_url");
        if field("code_challenge_method") != "S256" || !redirect.starts_with("http://localhost:") {
            self.violations.push(format!("auth: {query:?}"));
        }
        let code = self.code(&field("code_challenge"), &redirect);
        match self.page {
            LoginPage::Denies => format!("{redirect}?error=access_denied"),
            LoginPage::Grants => format!("{redirect}?code={code}"),
            LoginPage::WrongState => {
                let (front, _state) = redirect.rsplit_once('/').expect("it has a path");
                format!("{front}/of-somebody-else?code={code}")
            }
        }
    }

    fn code(&mut self, challenge: &str, redirect: &str) -> String {
        let code = format!("canary-code-{}", self.codes.len() + 1);
        self.codes.insert(code.clone(), (challenge.to_owned(), redirect.to_owned()));
        code
    }

    /// Returns whether a code was given for this verifier, and takes it back.
    fn is_given(&mut self, code: &str, verifier: &str, redirect: Option<&str>) -> bool {
        let Some((challenge, given)) = self.codes.remove(code) else { return false };
        let proved = base64url(&Sha256::digest(verifier.as_bytes())) == challenge;
        proved && redirect.is_none_or(|redirect| redirect == given)
    }

    /// Answers a request for tokens.
    pub(super) fn token(&mut self, form: &BTreeMap<String, String>) -> Reply {
        let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
        if field("client_id") != CLIENT {
            return refusal("invalid_client", "nobody of this id");
        }
        match field("grant_type") {
            "authorization_code" => {
                let redirect = Some(field("redirect_uri"));
                if self.is_given(field("code"), field("code_verifier"), redirect) {
                    self.tokens()
                } else {
                    refusal("invalid_grant", &format!("the code {} is not one", field("code")))
                }
            }
            "refresh_token" => {
                let given = field("refresh_token");
                if self.ends_logins || self.refresh.as_deref() != Some(given) {
                    return refusal("invalid_grant", &format!("{given} has ended"));
                }
                self.renewals += 1;
                self.tokens()
            }
            "urn:ietf:params:oauth:grant-type:device_code" => {
                self.polls += 1;
                match self.device {
                    _ if field("device_code") != "canary-device-code" => {
                        refusal("invalid_grant", "no such code")
                    }
                    DeviceAnswer::Pending => refusal("authorization_pending", "not yet"),
                    DeviceAnswer::Denied => refusal("access_denied", "no"),
                    DeviceAnswer::Granted => self.tokens(),
                }
            }
            other => refusal("unsupported_grant_type", other),
        }
    }

    /// Answers a request for a code that is typed on another device.
    pub(super) fn device(&self, form: &BTreeMap<String, String>, base: &str) -> Reply {
        if form.get("client_id").map(String::as_str) != Some(CLIENT) {
            return refusal("invalid_client", "nobody of this id");
        }
        let document = json!({
            "device_code": "canary-device-code", "user_code": "WDJB-MJHT",
            "verification_uri": format!("{base}/device"), "expires_in": self.device_lasts,
            "interval": 1,
        });
        (StatusCode::OK, document)
    }

    /// Answers a request for a key of OpenRouter.
    pub(super) fn key(&mut self, body: &Value) -> Reply {
        let field = |name: &str| body[name].as_str().unwrap_or_default();
        if !self.is_given(field("code"), field("code_verifier"), None) {
            let error = json!({ "error": { "message": "Invalid code or code_verifier" } });
            return (StatusCode::FORBIDDEN, error);
        }
        (StatusCode::OK, json!({ "key": "canary-key-of-a-login", "user_id": "u" }))
    }

    fn tokens(&mut self) -> Reply {
        self.given += 1;
        let refresh = format!("canary-refresh-{}", self.given);
        self.refresh = Some(refresh.clone());
        let document = json!({
            "access_token": format!("canary-access-{}", self.given), "token_type": "Bearer",
            "refresh_token": refresh, "expires_in": self.lasts,
        });
        (StatusCode::OK, document)
    }
}

fn refusal(error: &str, description: &str) -> Reply {
    let document = json!({ "error": error, "error_description": description });
    (StatusCode::BAD_REQUEST, document)
}
