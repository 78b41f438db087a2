//! `regatta completions` and `regatta man`: print what a shell and man(1) need.

use protocol::ExitCode;

use crate::args::{
    CompletionsArgs, ManArgs, completion_grammar, displayed_grammar, has_help, instead_of_path,
};
use crate::process;
use regatta::error::Error;

/// Prints a script that completes command lines in a shell.
///
/// # Errors
/// Standard output cannot be written.
pub fn completions(args: &CompletionsArgs) -> Result<ExitCode, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut completion_grammar(), "regatta", &mut script);
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
    let mut command = displayed_grammar();
    let mut title = String::from("regatta");
    for name in path {
        let found = command.find_subcommand(name).filter(|command| has_help(command));
        let Some(found) = found.cloned() else {
            let what = format!("no manual page for `{}`", path.join(" "));
            let instead = instead_of_path("man", path, &[]);
            return Err(instead
                .into_iter()
                .fold(Error::usage(what), Error::hint)
                .hint("regatta man"));
        };
        command = found;
        title = format!("{title}-{name}");
    }
    // A manual page describes the options that `-h` leaves out, too.
    let command = command.mut_args(|arg| arg.hide_short_help(false));
    let mut page = Vec::new();
    let source = format!("{} {}", title.replace('-', " "), env!("CARGO_PKG_VERSION"));
    let written = clap_mangen::Man::new(command).title(title).source(source).render(&mut page);
    written.map_err(|error| Error::output(&error))?;
    Ok(with_lists(&String::from_utf8_lossy(&page)))
}

/// The requests around examples, which keep their lines. An example of 80 columns, as wide as the help may
/// be, begins where the help has it and not where the text of the page does.
const EXAMPLES: [&str; 2] = [".nf\n.in -7n", ".in +7n\n.fi"];

/// Returns the page with its indented lines as requests of man(1), see groff_man(7). Lines other than
/// examples are filled: a term and two blanks begin an entry of a list, and deeper lines go on
/// with it.
fn with_lists(page: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut block = Block::None;
    for line in page.lines() {
        let Some(indented) = line.strip_prefix("  ") else {
            lines.extend(block.end().map(str::to_owned));
            block = Block::None;
            lines.push(line.to_owned());
            continue;
        };
        if block == Block::None {
            let is_example = lines.last().is_some_and(|last| last == "Examples:");
            block = if is_example { Block::Examples } else { Block::Prose };
            lines.push(if is_example { EXAMPLES[0] } else { ".RS 4" }.to_owned());
        }
        if block == Block::Examples {
            lines.push(line.to_owned());
        } else if indented.starts_with("  ") {
            lines.push(text(indented));
        } else if let Some((term, rest)) = indented.split_once("  ") {
            lines.extend([".TP".to_owned(), text(term), text(rest)]);
            block = Block::List;
        } else {
            lines.extend((block == Block::List).then(|| ".PP".to_owned()));
            lines.push(text(indented));
            block = Block::Prose;
        }
    }
    lines.extend(block.end().map(str::to_owned));
    // Options and commands are not hyphenated.
    if let Some(title) = lines.iter().position(|line| line.starts_with(".TH ")) {
        lines.insert(title + 1, ".nh".to_owned());
    }
    lines.join("\n") + "\n"
}

/// Returns a line without its indent, which is not a request whatever it begins with.
fn text(line: &str) -> String {
    let line = line.trim();
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_owned() }
}

/// What indented lines are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    /// There are none.
    None,
    /// Lines that are not filled.
    Examples,
    /// A paragraph.
    Prose,
    /// Entries with a term.
    List,
}

impl Block {
    fn end(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Examples => Some(EXAMPLES[1]),
            Self::Prose | Self::List => Some(".RE"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(path: &[&str]) -> Result<String, Error> {
        page(&path.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn lists_and_paragraphs_are_filled_and_every_option_is_described() {
        let page = said(&["run"]).unwrap();
        let entry = "\n.TP\n\\-\\-merge patch\nyour files, not committed";
        assert!(page.contains(entry), "{page}");
        assert!(page.contains("\nModels:\n.RS 4\nA model has tools"), "{page}");
        let options: Vec<_> = page.split("\n.TP\n").skip(1).collect();
        for option in options.iter().filter(|option| option.starts_with("\\fB")) {
            assert!(option.trim_end().lines().count() > 1, "{option}");
        }
        assert!(said(&["launch"]).unwrap().contains(".TH regatta-launch 1"));
        assert!(page.lines().any(|line| line == ".nh"), "{page}");
    }

    #[test]
    fn every_command_has_a_page_and_nothing_else_has() {
        let version = env!("CARGO_PKG_VERSION");
        let title = format!(".TH regatta 1  \"regatta {version}\"");
        assert!(said(&[]).unwrap().contains(&title));
        let page = said(&["runs", "show"]).unwrap();
        let title = format!(".TH regatta-runs-show 1  \"regatta runs show {version}\"");
        assert!(page.contains(&title), "{page}");
        assert!(page.contains("Examples:\n.nf\n.in -7n\n  regatta runs show "), "{page}");
        assert!(page.contains("\n.in +7n\n.fi\n.PP\n"), "{page}");
        for (path, hints) in [
            (&["replay"][..], &["regatta logs RUN", "regatta results RUN", "regatta man"][..]),
            (&["__launcher"], &["regatta man"]),
            (&["runs", "zebra"], &["regatta man runs", "regatta man"]),
            (&["rnu"], &["regatta man run", "regatta man"]),
            (&["runs", "retyr"], &["regatta man runs retry", "regatta man"]),
        ] {
            let error = said(path).unwrap_err();
            assert!(error.what.starts_with("no manual page for `"), "{error}");
            assert_eq!(error.hints, hints, "{path:?}");
        }
    }
}
