//! An OAuth server on the loopback, strict about what it is asked, and a browser that does what a user
//! would do there.

mod browser;
mod forms;
mod server;
mod state;

pub use browser::{Page, get};
pub use server::OauthServer;
pub use state::{DeviceAnswer, LoginPage};
