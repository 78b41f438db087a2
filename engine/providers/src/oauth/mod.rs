//! Logins at providers by OAuth: in a browser that comes back to a port of this machine, or by a code
//! that is typed on another device; and the renewal of the tokens that they bring.

mod browser_login;
mod client;
mod device_login;
mod error;
mod open_router;
mod redirect_listener;
mod renewal;
mod service;

pub use browser_login::{BrowserLogin, Granted};
pub use device_login::DeviceLogin;
pub use error::LoginError;
pub use redirect_listener::RedirectListener;
pub use renewal::renewed;
pub use service::{LoginService, OauthConfig, OauthTexts, PlainHttp, Tokens};

#[cfg(test)]
mod tests;
