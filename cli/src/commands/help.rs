//! Explains a command or a topic.

use protocol::ExitCode;

use crate::args::{HelpArgs, help_of};
use crate::error::Error;
use crate::exit;

/// Prints the explanation.
///
/// # Errors
/// There is nothing of that name to explain.
pub fn run(args: &HelpArgs) -> Result<ExitCode, Error> {
    exit::print(&text(&args.topic)?)?;
    Ok(ExitCode::Success)
}

fn text(topic: &[String]) -> Result<String, Error> {
    if topic == ["exit-codes"] {
        return Ok(exit::table());
    }
    help_of(topic).ok_or_else(|| {
        Error::usage(format!("there is no help on `{}`", topic.join(" ")))
            .hint("regatta help exit-codes")
            .hint("regatta --help")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(topic: &[&str]) -> Result<String, Error> {
        text(&topic.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn every_topic_is_explained() {
        assert!(said(&[]).unwrap().contains("Usage: regatta"));
        assert!(said(&["runs", "show"]).unwrap().contains("Usage: regatta runs show"));
        assert_eq!(said(&["exit-codes"]).unwrap(), exit::table());
    }

    #[test]
    fn an_unknown_topic_is_refused() {
        let error = said(&["sailing"]).unwrap_err().to_string();
        assert!(error.starts_with("error: there is no help on `sailing`\n  try: "), "{error}");
    }
}
