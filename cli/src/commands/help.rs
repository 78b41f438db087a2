//! `regatta help`: prints the help of a command or of a topic.

use std::fmt::Write as _;

use protocol::ExitCode;

use crate::args::{HelpArgs, command_names, help_of, instead_of_path};
use crate::process;
use regatta::error::Error;

/// Prints the help of a command or a topic.
///
/// # Errors
/// There is no such command or topic.
pub fn run(args: &HelpArgs) -> Result<ExitCode, Error> {
    process::print(&text(&args.topic)?)?;
    Ok(ExitCode::Success)
}

fn text(topic: &[String]) -> Result<String, Error> {
    if topic == ["exit-codes"] {
        return Ok(exit_codes());
    }
    help_of(topic).ok_or_else(|| {
        let error = Error::usage(format!("no help for `{}`", topic.join(" ")));
        let instead = instead_of_path("help", topic, &["exit-codes"]);
        if !instead.is_empty() {
            return instead.into_iter().fold(error, Error::hint).hint("regatta --help");
        }
        let commands = command_names().join(", ");
        error
            .because(format!("the topics are `exit-codes` and the names of commands: {commands}"))
            .hint("regatta help exit-codes")
            .hint("regatta --help")
    })
}

/// Returns the table of exit codes.
fn exit_codes() -> String {
    let mut table = String::from("code  meaning\n");
    for code in ExitCode::ALL {
        // Writing to a string cannot fail.
        let _written = writeln!(table, "{:>4}  {}", u8::from(code), code.meaning());
    }
    table.push_str("\nIf several apply, the first in this order: 130 or 143, 70, 6, 5, 3, 4, 0.\n");
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::public_grammar;
    use crate::render::width;

    fn said(topic: &[&str]) -> Result<String, Error> {
        text(&topic.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn every_topic_is_explained() {
        assert!(said(&[]).unwrap().contains("Usage: regatta"));
        assert!(said(&["runs", "show"]).unwrap().contains("Usage: regatta runs show"));
        assert_eq!(said(&["exit-codes"]).unwrap(), exit_codes());
    }

    #[test]
    fn a_mistyped_topic_is_refused_with_the_nearest_or_with_what_the_command_is_here() {
        for (topic, hint) in [
            (&["undoo"][..], "regatta help undo"),
            (&["runs", "shwo"], "regatta help runs show"),
            (&["rusn", "show"], "regatta help runs show"),
            (&["exit-code"], "regatta help exit-codes"),
            (&["exec"], "regatta -p PROMPT"),
            (&["approvals"], "regatta config approvals (lists the settings)"),
            (&["resume"], "regatta runs retry RUN --cancelled (a run)"),
        ] {
            let error = said(topic).unwrap_err().to_string();
            let first = format!("`{}`\n  try: {hint}\n", topic.join(" "));
            assert!(error.contains(&first) && error.ends_with("try: regatta --help"), "{error}");
        }
    }

    #[test]
    fn an_unknown_topic_is_refused_with_the_topics() {
        let error = said(&["sailing"]).unwrap_err().to_string();
        assert!(error.starts_with("error: no help for `sailing`\n"), "{error}");
        assert!(
            error.contains("the topics are `exit-codes` and the names of commands: demo, run, "),
            "{error}"
        );
    }

    #[test]
    fn what_clap_does_not_wrap_fits_into_eighty_columns() {
        let mut commands = vec![public_grammar()];
        while let Some(command) = commands.pop() {
            let texts = [command.get_long_about(), command.get_after_long_help()];
            for line in texts
                .into_iter()
                .flatten()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("\n")
                .lines()
            {
                assert!(width(line) <= 80, "{}: {line}", command.get_name());
            }
            commands.extend(command.get_subcommands().cloned());
        }
    }

    #[test]
    fn the_table_has_every_code_and_its_meaning() {
        let table = exit_codes();
        for code in ExitCode::ALL {
            let line = format!("{:>4}  {}\n", u8::from(code), code.meaning());
            assert!(table.contains(&line), "{line} is missing in {table}");
        }
        assert!(table.lines().all(|line| width(line) <= 80), "{table}");
        assert_eq!(table.lines().count(), ExitCode::ALL.len() + 3);
    }
}
