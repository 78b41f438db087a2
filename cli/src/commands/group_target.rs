//! A command whose target is a group: it is done for each run of the group, in the repository of that run.

use std::io::{self, Write as _};

use config::DataPaths;
use engine::exit_code::group_exit_code;
use protocol::{ExitCode, GroupName};
use regatta::error::Error;
use store::{Reader, RunRow};

use crate::args::{Arguments, Form, Verbosity};
use crate::render::one_line;

/// Does a command for each run of the group that is its target; `None` if its target is no group.
///
/// # Errors
/// The ledger cannot be read. The errors of single runs are printed, and the others go on.
pub(super) fn for_each_run(
    arguments: &Arguments,
    work: impl Fn(&Arguments) -> Result<ExitCode, Error>,
) -> Result<Option<ExitCode>, Error> {
    let runs = runs(arguments)?;
    if runs.is_empty() {
        return Ok(None);
    }
    let mut codes = Vec::new();
    for run in runs {
        let mut one = arguments.clone();
        one.command = arguments.command.with_target(run.name.as_str());
        one.globals.repos = vec![run.repo.clone()];
        if let (Form::Text, Verbosity::Normal | Verbosity::Verbose) =
            (one.globals.form(), one.globals.verbosity())
        {
            let place = one_line(&run.repo.to_string_lossy());
            writeln!(io::stdout(), "== {place}  run {}", run.name)
                .map_err(|error| Error::output(&error))?;
        }
        codes.push(Some(work(&one).unwrap_or_else(|error| {
            // If standard error is closed too, the exit code still reports the failure.
            let _unread = writeln!(io::stderr(), "{error}");
            error.exit
        })));
    }
    Ok(Some(group_exit_code(&codes)))
}

/// Returns the runs of the group that is the target of a command; none if it is no group.
fn runs(arguments: &Arguments) -> Result<Vec<RunRow>, Error> {
    let group = arguments.command.target().and_then(|target| target.parse::<GroupName>().ok());
    let Some(group) = group else { return Ok(Vec::new()) };
    let ledger = DataPaths::of_this_process()?.ledger();
    Ok(Reader::open(&ledger).runs_of_group(&group)?)
}
