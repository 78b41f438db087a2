//! How the work of a run is verified. The command line goes before the plan.

use protocol::{FailingStart, IsolationMode, MergeMode, VerifySpec};

use crate::args::{RunArgs, VerifyTimeout};
use regatta::error::Error;
use regatta::plan::Plan;
use regatta::workspace_needs::verify_command;

/// Returns how the work of a run is verified before it lands.
///
/// # Errors
/// A command is invalid, an option is for a verification and there is none, or nothing lands.
pub(super) fn verify_spec(
    args: &RunArgs,
    plan: Option<&Plan>,
    isolation: IsolationMode,
    merge: MergeMode,
) -> Result<VerifySpec, Error> {
    for script in &args.verify.commands {
        verify_command(script).map_err(|fault| Error::usage(format!("--verify: {fault}")))?;
    }
    let planned = plan.and_then(|plan| plan.verify.as_deref()).unwrap_or_default();
    let commands = match args.verify.commands.as_slice() {
        [] => planned.to_vec(),
        typed => typed.to_vec(),
    };
    let failing_start = args.verify.failing_start();
    if commands.is_empty() {
        let option = match (args.verify.timeout, failing_start) {
            (Some(_), _) => "--verify-timeout",
            (None, FailingStart::Land) => "--verify-anyway",
            (None, FailingStart::Keep) => return Ok(VerifySpec::default()),
        };
        return Err(Error::usage(format!("{option} has no effect without --verify"))
            .because("nothing is verified")
            .hint("--verify CMD")
            .hint("leave it out"));
    }
    if !isolation.capabilities().can_capture {
        let isolation = isolation.name();
        return Err(Error::usage(format!(
            "`--verify` cannot be used with isolation `{isolation}`"
        ))
        .because("the work is done in the repository itself, so nothing can be kept from it")
        .hint("--isolation worktree")
        .hint("leave it out"));
    }
    if merge == MergeMode::None {
        return Err(Error::usage("--verify has no effect with merge `none`")
            .because("nothing lands")
            .hint("--merge patch")
            .hint("leave it out"));
    }
    let default = VerifySpec::default().limit;
    let limit = args.verify.timeout.map_or(default, |VerifyTimeout(time)| time);
    Ok(VerifySpec { commands, limit, failing_start })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: RunArgs,
    }

    /// Returns what is said about these options of `regatta run`.
    fn refused(words: &[&str]) -> String {
        let line = std::iter::once("run").chain(words.iter().copied());
        let args = match Line::try_parse_from(line) {
            Ok(line) => line.args,
            Err(error) => return error.to_string(),
        };
        let isolation = if words.contains(&"--isolation") {
            IsolationMode::None
        } else {
            IsolationMode::Worktree
        };
        let merge = if words.contains(&"--merge") { MergeMode::None } else { MergeMode::Patch };
        let spec = verify_spec(&args, None, isolation, merge);
        spec.expect_err("it makes no sense").to_string()
    }

    #[test]
    fn options_that_make_no_sense_are_refused_with_what_to_do() {
        for (words, said) in [
            (
                &["--verify", "true", "--merge", "none"][..],
                &["--verify", "merge `none`", "--merge patch"][..],
            ),
            (
                &["--verify", "true", "--isolation", "none"],
                &["--verify", "isolation `none`", "--isolation worktree"],
            ),
            (&["--verify-timeout", "5m"], &["--verify-timeout", "without --verify"]),
            (&["--verify-anyway"], &["--verify-anyway", "without --verify"]),
            (
                &["--verify", "true", "--verify-timeout", "0s"],
                &["--verify-timeout", "longer than 0"],
            ),
            (&["--verify", "true", "--verify-timeout", "soon"], &["--verify-timeout", "soon"]),
            (&["--verify", ""], &["--verify", "empty"]),
            (&["--verify", " \n"], &["--verify", "empty"]),
        ] {
            let error = refused(words);
            for part in said {
                assert!(error.contains(part), "{words:?}: `{part}` in {error}");
            }
        }
    }
}
