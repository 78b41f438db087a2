//! The options that say how the work of a run is verified before it lands.

use std::str::FromStr;
use std::time::Duration;

use clap::{ArgAction, Args};

/// How the work of a run is verified.
#[derive(Args, Clone, Debug, Default)]
pub struct VerifyArgs {
    /// Run a command, such as 'cargo test', before work lands
    ///
    /// It is run in the merged result. Work with which it fails is kept. Can be used more than once.
    #[arg(long = "verify", value_name = "CMD")]
    pub commands: Vec<String>,

    /// How long one verification may take [default: 30m]
    #[arg(long = "verify-timeout", value_name = "TIME")]
    pub timeout: Option<VerifyTimeout>,

    /// Land unverified work if --verify fails even without any of it
    #[arg(long = "verify-anyway", action = ArgAction::SetTrue)]
    anyway: bool,
}

impl VerifyArgs {
    /// Returns what becomes of the work if the verification fails without it.
    #[must_use]
    pub fn failing_start(&self) -> protocol::FailingStart {
        if self.anyway { protocol::FailingStart::Land } else { protocol::FailingStart::Keep }
    }
}

/// The value of `--verify-timeout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyTimeout(pub Duration);

impl FromStr for VerifyTimeout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match config::parse_duration(text) {
            Ok(time) if time.is_zero() => Err("it must be longer than 0".to_owned()),
            Ok(time) => Ok(Self(time)),
            Err(error) => Err(error.to_string()),
        }
    }
}
