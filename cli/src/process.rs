//! What this process does about itself before it does anything else.

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// Closes the memory and the environment of this process, where keys are, to other processes of the
/// same user: the commands of tasks are such. Root can still look.
///
/// A process that this one starts can be looked into again once it has become another program: it
/// must get an environment without keys.
pub fn hide() {
    // Where the kernel does not know that, nothing is worse than before.
    let _older = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_hidden_cannot_be_looked_into() {
        hide();
        let now = rustix::process::dumpable_behavior().unwrap();
        assert_eq!(now, DumpableBehavior::NotDumpable);
    }
}
