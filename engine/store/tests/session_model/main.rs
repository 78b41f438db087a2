//! Any sequence of steps of a session gives the context of a model that knows only the format, in a
//! file as in memory.

#[macro_use]
extern crate test_limit;

mod model;
mod step;
mod storages;
mod tested;

use engine::session::MemorySessionLogs;
use proptest::prelude::*;
use store::Durability;
use tokio::runtime::Builder;

use step::{Step, step};
use tested::{Storage, Tested};

/// Takes the steps in one storage. A file is written by the thread that asks if the runtime has
/// several, and otherwise by another one.
fn take(steps: &[Step], storage: Storage, mut runtime: Builder) {
    let runtime = runtime.build().expect("it starts");
    runtime.block_on(async {
        let mut tested = Tested::begin(storage).await;
        for step in steps {
            tested.take(step).await;
        }
        tested.reload().await;
    });
}

/// Returns how often sequences of steps are taken.
fn config() -> ProptestConfig {
    let cases = test_limit::by_depth(32, 256);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_sequence_of_steps_gives_the_context_of_the_model(
        steps in proptest::collection::vec(step(), 1..32),
        has_threads in any::<bool>(),
    ) {
        take(&steps, Storage::Memory(MemorySessionLogs::default()), Builder::new_current_thread());
        let folder = tempfile::tempdir().unwrap();
        let (durability, runtime) = match has_threads {
            true => (Durability::Written, Builder::new_multi_thread()),
            false => (Durability::EachMessage, Builder::new_current_thread()),
        };
        take(&steps, Storage::files(folder.path(), durability), runtime);
    }
}
