//! Logins at providers by OAuth: in a browser that comes back to a port of this machine, or by a code
//! that is typed on another device; and the renewal of the tokens that they bring.

mod browser_login;
mod client;
mod device_login;
mod error;
mod login_service;
mod oauth_config;
mod open_router;
mod redirect_listener;
mod renewal;
mod tokens;

pub use browser_login::{BrowserLogin, Granted};
pub use device_login::DeviceLogin;
pub use error::LoginError;
pub use login_service::LoginService;
pub use oauth_config::{OauthConfig, OauthTexts, PlainHttp};
pub use redirect_listener::RedirectListener;
pub use renewal::renewed;
pub use tokens::Tokens;

#[cfg(test)]
mod tests;
