//! What a run comes to.

use protocol::{ExitCode, Totals};

/// What stopped a run before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// A pillar of the house fell.
    Bug,
}

/// Returns how the program ends after a run with these totals. The first that holds, in the
/// order 130/143, 70, 5, 3, 4, 0.
#[must_use]
pub fn exit_code(totals: &Totals, interruption: Option<Interruption>) -> ExitCode {
    match interruption {
        Some(Interruption::Interrupt) => ExitCode::Interrupted,
        Some(Interruption::Terminate) => ExitCode::Terminated,
        Some(Interruption::Bug) => ExitCode::Bug,
        None if totals.done == 0 => ExitCode::NoSuccess,
        None if totals.failed + totals.cancelled > 0 => ExitCode::Partial,
        None if totals.unlanded > 0 => ExitCode::Kept,
        None => ExitCode::Success,
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
        let all = totals(3, 0, 0);
        assert_eq!(exit_code(&all, Some(Interruption::Interrupt)), ExitCode::Interrupted);
        assert_eq!(exit_code(&all, Some(Interruption::Terminate)), ExitCode::Terminated);
        assert_eq!(exit_code(&all, Some(Interruption::Bug)), ExitCode::Bug);
    }
}
