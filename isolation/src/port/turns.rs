//! Orders the steps that use one workspace: a step on a blocking thread goes on when whoever waits
//! for it dies, and the next must not run beside it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::TaskName;

/// Lets one step at a time use the workspace of a task. Clones share the order.
#[derive(Clone, Default)]
pub(super) struct Turns(Arc<Mutex<BTreeMap<TaskName, Turn>>>);

type Turn = Arc<Mutex<()>>;

impl Turns {
    /// Runs `step` when no other step uses the workspace of `task`. Blocks until then.
    pub(super) fn take<T>(&self, task: &TaskName, step: impl FnOnce() -> T) -> T {
        let turn = Arc::clone(lock(&self.0).entry(task.clone()).or_default());
        let held = lock(&turn);
        let end = step();
        drop(held);
        let mut turns = lock(&self.0);
        // One handle is in the table, and one is here: no step waits.
        if Arc::strong_count(&turn) == 2 {
            turns.remove(task);
        }
        end
    }
}

/// Locks a mutex whose holder may have panicked, after which its workspace is captured again.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    use super::*;

    #[test]
    fn two_steps_on_one_workspace_never_run_at_once_and_those_on_two_do() {
        let turns = Turns::default();
        let [one, two] = ["one", "two"].map(TaskName::nearest);
        let (say, said) = channel();
        let waiting = turns.take(&one, || {
            let spawn = |task: &TaskName, word| {
                let (turns, task, say) = (turns.clone(), task.clone(), say.clone());
                std::thread::spawn(move || turns.take(&task, || say.send(word)))
            };
            let waiting = spawn(&one, "the next");
            let other = spawn(&two, "another");
            assert_eq!(said.recv(), Ok("another"));
            assert!(other.join().unwrap().is_ok());
            while Arc::strong_count(&lock(&turns.0)[&one]) < 3 {
                std::thread::yield_now();
            }
            let early = said.recv_timeout(Duration::from_millis(50));
            assert_eq!(early, Err(RecvTimeoutError::Timeout));
            waiting
        });
        assert_eq!(said.recv(), Ok("the next"));
        assert!(waiting.join().unwrap().is_ok());
        assert!(lock(&turns.0).is_empty());
    }

    #[test]
    fn a_step_that_panics_does_not_hold_up_the_next() {
        let turns = Turns::default();
        let task = TaskName::nearest("one");
        let (again, name) = (turns.clone(), task.clone());
        let panicked = std::thread::spawn(move || again.take(&name, || panic!("a test wants it")));
        assert!(panicked.join().is_err());
        assert_eq!(turns.take(&task, || 1), 1);
    }
}
