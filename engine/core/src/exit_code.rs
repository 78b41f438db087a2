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
}
