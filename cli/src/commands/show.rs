//! `regatta show`: prints one side of a conflict.

use std::os::unix::ffi::OsStrExt as _;

use protocol::{Conflict, ExitCode, Landed};
use store::TaskRow;

use super::context::{CommandContext, Out};
use super::settle_choices::no_conflict;
use super::target;
use crate::args::{ShowArgs, SideChoice, TargetArgs};
use crate::render::{OutputWidth, one_line, shell_word, visible_line};
use regatta::error::Error;
use regatta::runs::{TargetKind, conflict_names};

/// The mode of a submodule.
const GITLINK: u32 = 0o160_000;

/// Prints one side of a conflict as git has it, as `git show` does: its bytes to a pipe, printable lines
/// to a terminal.
///
/// # Errors
/// There is no such task or conflict, the side does not exist, or the task store cannot be read.
pub fn run(context: &CommandContext, args: &ShowArgs, out: Out<'_>) -> Result<ExitCode, Error> {
    let (target, path) = parse(context, args)?;
    let given = TargetArgs { target: Some(target), task: None };
    let target = target::find(context, &given)?;
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
    let bytes = context.runs.captured.content(&side.oid)?;
    write(context, &context.runs.captured.text(&conflict.path, bytes), out)?;
    Ok(ExitCode::Success)
}

/// Splits `RUN/TASK:PATH`.
fn parse(context: &CommandContext, args: &ShowArgs) -> Result<(String, std::ffi::OsString), Error> {
    let given = args.target.as_bytes();
    let parts = given.iter().position(|byte| *byte == b':').map(|at| given.split_at(at));
    let parts = parts.map(|(target, path)| (String::from_utf8_lossy(target), &path[1..]));
    match parts {
        Some((target, path)) if !target.is_empty() && !path.is_empty() => {
            Ok((target.into_owned(), std::ffi::OsStr::from_bytes(path).to_owned()))
        }
        _ => {
            let given = one_line(&args.target.to_string_lossy());
            let error = Error::usage(format!("`{given}` names no path of a task"));
            let is_there = |target: &str| {
                let given = TargetArgs::from(Some(target.to_owned()));
                target::find(context, &given).is_ok()
            };
            // It may be the name of a run, of a task of the latest run, or a commit.
            let of_latest = format!("@/{given}");
            let named = [given.as_str(), of_latest.as_str()].into_iter().find(|it| is_there(it));
            let named = named.map(|target| format!("regatta runs show {}", shell_word(target)));
            let instead = named.unwrap_or_else(|| format!("git show {}", shell_word(&given)));
            Err(error.hint("regatta show RUN/TASK:PATH --theirs").hint(instead))
        }
    }
}

fn find<'a>(row: &'a TaskRow, path: &std::ffi::OsString) -> Result<&'a Conflict, Error> {
    let conflicts = match &row.landing {
        Some(Landed::Conflicted { conflicts }) => conflicts.as_slice(),
        _ => &[],
    };
    let wanted = path.as_bytes();
    let found = conflicts
        .iter()
        .find(|conflict| conflict_names(conflict).any(|name| name.as_bytes() == wanted));
    found.ok_or_else(|| match conflicts {
        [] => Error::usage(format!("nothing of task {} conflicts", row.name))
            .hint(format!("regatta diff {}", row.name)),
        _ => {
            let paths: Vec<_> = conflicts.iter().map(|conflict| conflict.path.clone()).collect();
            no_conflict(path, &paths)
        }
    })
}

fn write(context: &CommandContext, bytes: &[u8], out: Out<'_>) -> Result<(), Error> {
    let written = match context.view.room() {
        OutputWidth::Pipe => out.write_all(bytes),
        OutputWidth::Columns(_) => String::from_utf8_lossy(bytes)
            .lines()
            .try_for_each(|line| writeln!(out, "{}", visible_line(line))),
    };
    written.and_then(|()| out.flush()).map_err(|error| Error::output(&error))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use clap::Parser as _;

    use super::super::fake_captures::FakeCaptures;
    use super::super::fake_repository::{Bench, End, conflicting};
    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        show: ShowArgs,
    }

    #[test]
    async fn a_pipe_gets_a_side_as_git_has_it() {
        let mut bench = Bench::new();
        bench.record(vec![("own", &[][..], End::Done(2, conflicting("auth")))]).await;
        let args = Line::parse_from(["show", "own:src/\u{1b}config.rs", "--ours"]).show;
        for (are_encoded, expected) in [(false, "b".repeat(40)), (true, "decoded\n".to_owned())] {
            let captures = FakeCaptures { are_encoded, ..FakeCaptures::default() };
            bench.context.runs.captured = Arc::new(captures);
            let mut out = Vec::new();
            run(&bench.context, &args, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
