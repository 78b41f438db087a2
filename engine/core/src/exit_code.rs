//! The exit code of a run.

use protocol::{ExitCode, FailureClass, Totals};

/// Why a run was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// Ctrl-C was pressed.
    Interrupt,
    /// SIGTERM was received.
    Terminate,
    /// A critical actor of the engine died.
    Bug,
    /// There is no room for what the engine must record, for instance on a full disk.
    Resources,
}

/// Returns the exit code of a run with these totals. If several apply, the first of these is used:
/// the interruption, an exhausted budget or quota, no success, partial success, kept work, success.
/// A run that could not be recorded to its end has no more than partial success.
///
/// A task that reached its own budget fails alone: if others succeeded, it did not stop the run.
#[must_use]
pub fn exit_code(totals: &Totals, interruption: Option<Interruption>) -> ExitCode {
    match interruption {
        Some(Interruption::Interrupt) => ExitCode::Interrupted,
        Some(Interruption::Terminate) => ExitCode::Terminated,
        Some(Interruption::Bug) => ExitCode::Bug,
        Some(Interruption::Resources) if totals.done == 0 => ExitCode::NoSuccess,
        Some(Interruption::Resources) => ExitCode::Partial,
        None if is_exhausted(totals) => ExitCode::Exhausted,
        None if totals.done == 0 => ExitCode::NoSuccess,
        None if totals.failed + totals.cancelled > 0 => ExitCode::Partial,
        None if totals.unlanded > 0 => ExitCode::Kept,
        None => ExitCode::Success,
    }
}

/// Returns whether the quota of an account stopped tasks, or budgets every task.
fn is_exhausted(totals: &Totals) -> bool {
    let has = |class| totals.failures.contains(&class);
    has(FailureClass::Quota) || (totals.done == 0 && has(FailureClass::Budget))
}

/// Returns the exit code of a group of runs, one per repository, from the code of each. `None` stands for a
/// repository in which no run could start, and counts as a failed task. If several codes apply, the first of
/// these is used: the interruption, a bug, an exhausted budget or quota, no success, partial success, kept
/// work, success.
#[must_use]
pub fn group_exit_code(codes: &[Option<ExitCode>]) -> ExitCode {
    let has = |code| codes.contains(&Some(code));
    let first = [ExitCode::Interrupted, ExitCode::Terminated, ExitCode::Bug, ExitCode::Exhausted];
    if let Some(code) = first.into_iter().find(|code| has(*code)) {
        return code;
    }
    let failed = |code: &Option<ExitCode>| {
        matches!(code, None | Some(ExitCode::NotStarted | ExitCode::NoSuccess))
    };
    if codes.iter().all(|code| matches!(code, None | Some(ExitCode::NotStarted))) {
        ExitCode::NotStarted
    } else if codes.iter().all(failed) {
        ExitCode::NoSuccess
    } else if codes.iter().any(failed) || has(ExitCode::Partial) {
        ExitCode::Partial
    } else if has(ExitCode::Kept) {
        ExitCode::Kept
    } else {
        ExitCode::Success
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_its_run() {
        let totals =
            |done, failed, unlanded| Totals { done, failed, unlanded, ..Totals::default() };
        let code = |totals| exit_code(&totals, None);
        assert_eq!(code(totals(3, 0, 0)), ExitCode::Success);
        assert_eq!(code(totals(3, 0, 1)), ExitCode::Kept);
        assert_eq!(code(totals(2, 1, 1)), ExitCode::Partial);
        assert_eq!(code(totals(0, 3, 0)), ExitCode::NoSuccess);
        for spent in [FailureClass::Budget, FailureClass::Quota] {
            let failures = vec![FailureClass::Contract, spent];
            let run = Totals { failures, ..totals(0, 3, 0) };
            assert_eq!(code(run.clone()), ExitCode::Exhausted);
            assert_eq!(exit_code(&run, Some(Interruption::Interrupt)), ExitCode::Interrupted);
        }
        let with = |class, done| Totals { failures: vec![class], ..totals(done, 1, 0) };
        assert_eq!(code(with(FailureClass::Budget, 11)), ExitCode::Partial);
        assert_eq!(code(with(FailureClass::Quota, 11)), ExitCode::Exhausted);
        let all = totals(3, 0, 0);
        assert_eq!(exit_code(&all, Some(Interruption::Interrupt)), ExitCode::Interrupted);
        assert_eq!(exit_code(&all, Some(Interruption::Terminate)), ExitCode::Terminated);
        assert_eq!(exit_code(&all, Some(Interruption::Bug)), ExitCode::Bug);
        let full = |totals| exit_code(&totals, Some(Interruption::Resources));
        assert_eq!((full(all), full(totals(0, 3, 0))), (ExitCode::Partial, ExitCode::NoSuccess));
    }

    #[test]
    fn the_code_of_a_group_is_the_gravest_of_its_repositories() {
        use ExitCode::{
            Bug, Exhausted, Interrupted, Kept, NoSuccess, NotStarted, Partial, Success, Terminated,
        };
        for (codes, expected) in [
            (&[Some(Success), Some(Success)][..], Success),
            (&[Some(Success), Some(Kept)], Kept),
            (&[Some(Kept), Some(Partial)], Partial),
            (&[Some(Success), Some(NoSuccess)], Partial),
            (&[Some(NoSuccess), Some(NoSuccess)], NoSuccess),
            (&[Some(Success), None], Partial),
            (&[Some(NoSuccess), None], NoSuccess),
            (&[None, None], NotStarted),
            (&[Some(Success), Some(Exhausted)], Exhausted),
            (&[Some(Exhausted), Some(Bug)], Bug),
            (&[Some(Bug), Some(Terminated)], Terminated),
            (&[Some(Interrupted), None], Interrupted),
        ] {
            assert_eq!(group_exit_code(codes), expected, "{codes:?}");
        }
    }
}
