//! The tokens that a login brings.

use std::fmt;
use std::time::Duration;

use oauth2::TokenResponse;
use oauth2::basic::BasicTokenResponse;

/// The tokens of a login.
#[derive(Clone, PartialEq, Eq)]
pub struct Tokens {
    /// The token that is sent with requests.
    pub access: String,
    /// The token with which a new one can be had.
    pub refresh: Option<String>,
    /// How long the first one can be used, if it is known.
    pub expires_in: Option<Duration>,
}

impl Tokens {
    pub(super) fn of(response: &BasicTokenResponse) -> Self {
        Self {
            access: response.access_token().secret().clone(),
            refresh: response.refresh_token().map(|token| token.secret().clone()),
            expires_in: response.expires_in(),
        }
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("expires_in", &self.expires_in).finish_non_exhaustive()
    }
}
