//! `regatta show`: prints one side of a conflict.

use std::os::unix::ffi::OsStrExt as _;

use protocol::{Conflict, ExitCode, Landed, RepoPath};
use store::TaskRow;

use super::context::{CommandContext, Out};
use super::settle_choices::{names, no_conflict};
use super::target::{Target, TargetKind};
use crate::args::{ShowArgs, SideChoice, TargetArgs};
use crate::error::Error;
use crate::render::{OutputWidth, one_line, shell_word, visible_line};

/// The mode of a submodule.
const GITLINK: u32 = 0o160_000;

/// Prints one side of a conflict: its bytes to a pipe, printable lines to a terminal.
///
/// # Errors
/// There is no such task or conflict, the side does not exist, or the task store cannot be read.
pub fn run(context: &CommandContext, args: &ShowArgs, out: Out<'_>) -> Result<ExitCode, Error> {
    let (target, path) = parse(args)?;
    let given = TargetArgs { target: Some(target), task: None };
    let target = Target::find(context, &given)?;
    let (TargetKind::Task, Some(row)) = (target.kind, target.tasks.first()) else {
        return Err(Error::usage(format!("{} is a run, not a task", target.run.name))
            .hint("regatta show RUN/TASK:PATH --theirs"));
    };
    let name = format!("{}/{}", target.run.name, row.name);
    let conflict = find(row, &path)?;
    let Some(choice) = args.side() else {
        return Err(Error::usage("`--base`, `--ours` or `--theirs` is missing")
            .hint(format!("regatta show {name}:{} --theirs", conflict.path)));
    };
    let (word, side) = match choice {
        SideChoice::Base => ("base", &conflict.base),
        SideChoice::Ours => ("ours", &conflict.ours),
        SideChoice::Theirs => ("theirs", &conflict.theirs),
    };
    let shown = one_line(&conflict.path.to_string());
    let Some(side) = side else {
        let why = match choice {
            SideChoice::Base => "the task began without it",
            SideChoice::Ours => "the tree had no such file",
            SideChoice::Theirs => "the task removed it",
        };
        return Err(Error::usage(format!("{shown} has no version `{word}`")).because(why));
    };
    if side.mode == GITLINK {
        let commit = one_line(&side.oid);
        return Err(Error::usage(format!("{shown} has no content to print"))
            .because(format!("it is a submodule at commit {commit}")));
    }
    let bytes = context.captured.content(&side.oid)?;
    write(context, &conflict.path, bytes, out)?;
    Ok(ExitCode::Success)
}

/// Splits `RUN/TASK:PATH`.
fn parse(args: &ShowArgs) -> Result<(String, std::ffi::OsString), Error> {
    let given = args.target.as_bytes();
    let parts = given.iter().position(|byte| *byte == b':').map(|at| given.split_at(at));
    let parts = parts.map(|(target, path)| (String::from_utf8_lossy(target), &path[1..]));
    match parts {
        Some((target, path)) if !target.is_empty() && !path.is_empty() => {
            Ok((target.into_owned(), std::ffi::OsStr::from_bytes(path).to_owned()))
        }
        _ => {
            let given = one_line(&args.target.to_string_lossy());
            Err(Error::usage(format!("`{given}` names no path of a task"))
                .hint("regatta show RUN/TASK:PATH --theirs")
                .hint(format!("regatta runs show {}", shell_word(&given))))
        }
    }
}

fn find<'a>(row: &'a TaskRow, path: &std::ffi::OsString) -> Result<&'a Conflict, Error> {
    let conflicts = match &row.landing {
        Some(Landed::Conflicted { conflicts }) => conflicts.as_slice(),
        _ => &[],
    };
    let wanted = path.as_bytes();
    let found =
        conflicts.iter().find(|conflict| names(conflict).any(|name| name.as_bytes() == wanted));
    found.ok_or_else(|| match conflicts {
        [] => Error::usage(format!("nothing of task {} conflicts", row.name))
            .hint(format!("regatta diff {}", row.name)),
        _ => no_conflict(path, conflicts),
    })
}

fn write(
    context: &CommandContext,
    path: &RepoPath,
    bytes: Vec<u8>,
    out: Out<'_>,
) -> Result<(), Error> {
    let written = match context.view.room() {
        OutputWidth::Pipe => out.write_all(&bytes),
        OutputWidth::Columns(_) => String::from_utf8_lossy(&context.captured.text(path, bytes))
            .lines()
            .try_for_each(|line| writeln!(out, "{}", visible_line(line))),
    };
    written.and_then(|()| out.flush()).map_err(|error| Error::output(&error))
}
