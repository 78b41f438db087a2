//! A command whose target is a group: it is done for each run of the group, in the repository of that run.

use std::fs;
use std::io::{self, Write as _};

use config::DataPaths;
use engine::exit_code::group_exit_code;
use protocol::{ExitCode, GroupName};
use regatta::error::Error;
use store::{Reader, RunRow};

use super::run_group::root_of;
use crate::args::{Arguments, Command, Form, Verbosity};
use crate::process;
use crate::render::one_line;

/// Does a command for each run of the group that is its target, or for the task of that name in each;
/// `None` if its target is not a group. The latest run of a group stands for the group. With `--repo`, only the runs in that repository are meant. The newest run is
/// undone first.
///
/// # Errors
/// The ledger cannot be read. The errors of single runs are printed, and the others go on.
pub(super) fn for_each_run(
    arguments: &Arguments,
    work: impl Fn(&Arguments) -> Result<ExitCode, Error>,
) -> Result<Option<ExitCode>, Error> {
    let Some(target) = arguments.command.target() else { return Ok(None) };
    let reader = Reader::open(DataPaths::of_this_process()?.ledger());
    let (run, task) =
        target.split_once('/').map_or((target, None), |(run, task)| (run, Some(task)));
    let group = match (run, arguments.globals.repo()) {
        ("@", None) => group_of_latest(&reader)?,
        (group, _) => group.parse().ok(),
    };
    let Some(group) = group else { return Ok(None) };
    let mut runs = reader.runs_of_group(&group)?;
    if runs.is_empty() {
        return Ok(None);
    }
    if let Some(only) = arguments.globals.repo() {
        let root = root_of(only);
        runs.retain(|run| run.repo == root);
        if runs.is_empty() {
            return Err(Error::usage(format!("group {group} has no run in `{}`", only.display()))
                .hint(format!("regatta runs show {group}")));
        }
    }
    // A later run may have changed what an earlier one has landed.
    if matches!(arguments.command, Command::Undo(_)) {
        runs.reverse();
    }
    let (mut codes, mut refused) = (Vec::new(), Vec::new());
    for run in runs {
        let mut one = arguments.clone();
        let name = task.map_or_else(|| run.name.to_string(), |task| format!("{}/{task}", run.name));
        one.command = arguments.command.with_target(&name);
        one.globals.repos = vec![run.repo.clone()];
        print_heading(&one, &group, &run).map_err(|error| Error::output(&error))?;
        match work(&one) {
            Ok(code) => codes.push(Some(code)),
            Err(error) => {
                process::notify(&error.to_string());
                // A run in which there is nothing to do does not make the others fail.
                match error.exit {
                    ExitCode::NotStarted => refused.push(Some(error.exit)),
                    code => codes.push(Some(code)),
                }
            }
        }
    }
    Ok(Some(group_exit_code(if codes.is_empty() { &refused } else { &codes })))
}

/// Returns the group of the latest run in the repository of the current folder, or of the latest run of all
/// where the folder is in none.
fn group_of_latest(reader: &Reader) -> Result<Option<GroupName>, Error> {
    let here = fs::canonicalize(".").ok().and_then(|here| isolation::git_state_at(&here));
    let root = here.map(|(root, _)| root);
    Ok(reader.runs(root.as_deref(), 1)?.pop().and_then(|latest| latest.spec.group))
}

/// Prints which run the next lines are about: for a program, as a JSON object on a line of its own.
fn print_heading(arguments: &Arguments, group: &GroupName, run: &RunRow) -> io::Result<()> {
    let place = run.repo.to_string_lossy();
    if arguments.globals.form() == Form::Json || arguments.command.is_jsonl() {
        let heading = serde_json::json!({ "group": group, "run": run.name, "repo": place });
        writeln!(io::stdout(), "{heading}")
    } else if arguments.globals.verbosity() == Verbosity::Quiet {
        Ok(())
    } else {
        writeln!(io::stdout(), "== {}  run {}", one_line(&place), run.name)
    }
}
