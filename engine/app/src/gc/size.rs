//! Chooses the runs whose work is removed although it is young, because there is too much of it.

use std::collections::BTreeSet;

use engine::retention::KeptWork;
use isolation::StoreRetention;
use protocol::{CaptureRef, RunName, Timestamp};

use super::plan::{Kept, RepositoryPlan, RunPlan, TaskPlan};
use crate::error::Error;

/// Work of a run that could be removed if its age did not keep it.
#[derive(Clone, Debug)]
pub(super) struct YoungRun {
    /// When the last thing happened to the run.
    pub(super) last: Timestamp,
    /// The run.
    pub(super) name: RunName,
    /// An estimate of the bytes that its removal would free.
    pub(super) bytes: u64,
}

/// Returns the runs of a repository whose work only its age keeps, with estimates of its size.
pub(super) fn young_runs(
    plan: &RepositoryPlan,
    store: Option<(&StoreRetention, u64)>,
) -> Result<Vec<YoungRun>, Error> {
    let mut young: Vec<&RunPlan> =
        plan.runs.iter().filter(|run| run.tasks.iter().any(is_young)).collect();
    // What several runs need is freed with the latest of them.
    young.sort_by_key(|run| std::cmp::Reverse(run.last));
    let of = |run: &RunPlan, wanted: fn(&TaskPlan) -> bool| -> Vec<CaptureRef> {
        let tasks = run.tasks.iter().filter(|task| wanted(task));
        tasks.flat_map(|task| task.captures.iter().cloned()).collect()
    };
    let stays = |task: &TaskPlan| task.decision.is_err() && !is_young(task);
    let mut groups = vec![plan.runs.iter().flat_map(|run| of(run, stays)).collect::<Vec<_>>()];
    groups.extend(young.iter().map(|run| of(run, is_young)));
    let weights = match store {
        Some((store, bytes)) => scaled(&store.weights(&groups)?, bytes),
        None => vec![0; groups.len()],
    };
    let runs = young.into_iter().zip(weights.into_iter().skip(1));
    Ok(runs
        .map(|(run, bytes)| {
            let outputs = run.tasks.iter().filter(|task| is_young(task));
            let outputs: u64 = outputs.filter_map(|task| task.output).sum();
            let log = run.log.unwrap_or(0);
            YoungRun { last: run.last, name: run.name.clone(), bytes: bytes + outputs + log }
        })
        .collect())
}

fn is_young(task: &TaskPlan) -> bool {
    task.decision == Err(Kept::Work(KeptWork::Young))
}

/// Estimates the bytes of a store that the removal of what is planned would free.
pub(super) fn freed_of_store(
    plan: &RepositoryPlan,
    store: &StoreRetention,
    bytes: u64,
) -> Result<u64, Error> {
    let all = || plan.runs.iter().flat_map(|run| &run.tasks);
    let of = |goes: bool| -> Vec<CaptureRef> {
        let tasks = all().filter(|task| task.decision.is_ok() == goes);
        tasks.flat_map(|task| task.captures.iter().cloned()).collect()
    };
    let weights = store.weights(&[of(false), of(true)])?;
    Ok(scaled(&weights, bytes).pop().unwrap_or(0))
}

/// Scales weights so that they are `bytes` together.
fn scaled(weights: &[u64], bytes: u64) -> Vec<u64> {
    let all: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    let scale = |weight: &u64| {
        let part = u128::from(*weight) * u128::from(bytes) / all.max(1);
        u64::try_from(part).unwrap_or(u64::MAX)
    };
    weights.iter().map(scale).collect()
}

/// Chooses the oldest runs, until `excess` bytes are freed.
pub(super) fn choose(mut young: Vec<YoungRun>, excess: u64) -> BTreeSet<RunName> {
    young.sort_by(|one, other| (one.last, &one.name).cmp(&(other.last, &other.name)));
    let mut freed = 0;
    let mut chosen = BTreeSet::new();
    for run in young {
        if freed >= excess {
            break;
        }
        freed += run.bytes;
        chosen.insert(run.name);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_runs_are_chosen_until_enough_is_freed() {
        let run = |name: &str, last: i64, bytes| YoungRun {
            last: Timestamp::from_millisecond(last),
            name: name.parse().unwrap(),
            bytes,
        };
        let young = || vec![run("rcccc", 3, 10), run("raaaa", 1, 10), run("rbbbb", 2, 10)];
        let names = |excess| -> Vec<String> {
            choose(young(), excess).iter().map(ToString::to_string).collect()
        };
        assert_eq!(names(0), Vec::<String>::new());
        assert_eq!(names(1), ["raaaa"]);
        assert_eq!(names(11), ["raaaa", "rbbbb"]);
        assert_eq!(names(1_000), ["raaaa", "rbbbb", "rcccc"]);
        assert_eq!(scaled(&[1, 3, 0], 100), [25, 75, 0]);
        assert_eq!(scaled(&[0], 100), [0]);
    }
}
