//! Whether a word of a mistyped command line is the name of a run.

use config::DataPaths;
use protocol::RunName;
use store::Reader;

/// Returns whether the user's ledger has a run with this name. A ledger that cannot be read has none.
pub(crate) fn is_recorded(word: &str) -> bool {
    let paths = DataPaths::of_this_process();
    paths.is_ok_and(|paths| is_in(&Reader::open(paths.ledger()), word))
}

fn is_in(ledger: &Reader, word: &str) -> bool {
    let Ok(name) = word.parse::<RunName>() else { return false };
    ledger.run_by_name(&name).is_ok_and(|found| found.is_some())
}

#[cfg(test)]
mod tests {
    use super::super::fake_repository::{Bench, End};
    use super::*;

    #[test]
    async fn the_ledger_says_whether_a_word_is_a_run() {
        let bench = Bench::new();
        let run = bench.record(vec![("a", &[], End::Done(1, None))]).await;
        let reader = &bench.context.runs.reader;
        assert!(is_in(reader, run.as_str()) && is_in(reader, &run.as_str().to_uppercase()));
        assert!(!is_in(reader, "ready") && !is_in(reader, "research") && !is_in(reader, ""));
        assert!(!is_in(&Reader::open("/nowhere/ledger.db"), run.as_str()));
    }
}
