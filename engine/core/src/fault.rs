//! Failpoints, with which tests check how the engine handles failures.
//!
//! A plan is a comma-separated list of words, for instance
//! `kill@landing.exchange:3,crash@session`. The fault `ACTION@POINT` occurs the first time the code
//! reaches the point, with `:N` the N-th time, and with `:*` every time. The actions are `kill`,
//! `crash`, `fail`, `full` and `slow`. Without debug assertions, neither failpoints nor their names
//! nor the parser of plans are compiled.

#[cfg(debug_assertions)]
mod plan;

#[cfg(debug_assertions)]
use std::sync::Arc;

/// The planned faults of one engine. Clones share the counters.
#[derive(Clone, Default)]
pub struct Faults {
    #[cfg(debug_assertions)]
    planned: Arc<[plan::Planned]>,
    #[cfg(debug_assertions)]
    hooks: FaultHooks,
}

/// The faults that the caller has to implement, because the engine itself has no access to the
/// system.
#[derive(Clone, Copy)]
pub struct FaultHooks {
    /// Kills the process with SIGKILL.
    pub kill: fn(),
    /// Blocks until a condition of the caller holds, for instance until a test removes a file.
    pub wait: fn(),
}

impl Default for FaultHooks {
    fn default() -> Self {
        Self { kill: || {}, wait: || {} }
    }
}

/// Counts that the code has reached a point, and causes the fault that is planned there: an error of
/// type [`std::io::Error`], a panic, the end of the process or a wait.
///
/// The first argument is the [`Faults`] of the engine, the second the name of the point. Both are
/// evaluated with debug assertions only. Without them, the result is always `Ok(())`.
#[cfg(debug_assertions)]
#[macro_export]
macro_rules! failpoint {
    ($faults:expr, $point:expr) => {
        $crate::fault::Faults::failpoint(&$faults, $point)
    };
}

/// Returns `Ok(())`: without debug assertions there are no failpoints.
#[cfg(not(debug_assertions))]
#[macro_export]
macro_rules! failpoint {
    ($faults:expr, $point:expr) => {{
        // This closure is never called, so that it is checked but not compiled.
        let _ = || {
            let _: (&$crate::fault::Faults, &str) = (&$faults, $point);
        };
        Ok::<(), std::io::Error>(())
    }};
}

#[cfg(not(debug_assertions))]
impl Faults {
    /// Ignores the plan, so that tests and benches can be compiled without debug assertions.
    ///
    /// # Errors
    /// None.
    pub fn read(_plan: &str, _hooks: FaultHooks) -> Result<Self, String> {
        Ok(Self::default())
    }
}
