//! `regatta completions` and `regatta man`: print what a shell and man(1) need.

use protocol::ExitCode;

use crate::args::{CompletionsArgs, ManArgs, public_grammar};
use crate::error::Error;
use crate::process;

/// Prints a script that completes command lines in a shell.
///
/// # Errors
/// Standard output cannot be written.
pub fn completions(args: &CompletionsArgs) -> Result<ExitCode, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut public_grammar(), "regatta", &mut script);
    process::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::Success)
}

/// Prints the manual page of the program or of a command.
///
/// # Errors
/// There is no such command, or standard output cannot be written.
pub fn man(args: &ManArgs) -> Result<ExitCode, Error> {
    process::print(&page(&args.command)?)?;
    Ok(ExitCode::Success)
}

fn page(path: &[String]) -> Result<String, Error> {
    let mut command = public_grammar();
    let mut title = String::from("regatta");
    for name in path {
        let found = command.find_subcommand(name).filter(|command| !command.is_hide_set());
        let Some(found) = found.cloned() else {
            let what = format!("there is no manual page of `{}`", path.join(" "));
            return Err(Error::usage(what).hint("regatta man"));
        };
        command = found;
        title = format!("{title}-{name}");
    }
    let mut page = Vec::new();
    let written = clap_mangen::Man::new(command).title(title).render(&mut page);
    written.map_err(|error| Error::output(&error))?;
    Ok(with_examples_as_typed(&String::from_utf8_lossy(&page)))
}

/// Returns the page with indented lines, which are examples, between the requests that keep man(1) from
/// wrapping them (`.nf` and `.fi`, groff_man(7)).
fn with_examples_as_typed(page: &str) -> String {
    let mut lines = Vec::new();
    let mut is_example = false;
    for line in page.lines() {
        if line.starts_with("  ") != is_example {
            is_example = !is_example;
            lines.push(if is_example { ".nf" } else { ".fi" });
        }
        lines.push(line);
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(path: &[&str]) -> Result<String, Error> {
        page(&path.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn every_command_has_a_page_and_nothing_else_has() {
        assert!(said(&[]).unwrap().contains(".TH regatta 1"));
        let page = said(&["runs", "show"]).unwrap();
        assert!(page.contains(".TH regatta-runs-show 1"), "{page}");
        assert!(page.contains("Examples:\n.nf\n  regatta runs show "), "{page}");
        assert!(page.contains("\n.fi\n.PP\n"), "{page}");
        for path in [&["replay"][..], &["__launcher"], &["runs", "sail"]] {
            let error = said(path).unwrap_err().to_string();
            assert!(error.starts_with("error: there is no manual page of `"), "{error}");
        }
    }
}
