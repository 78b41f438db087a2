//! The fault points at which an engine can be killed, and how often a small run and its recovery
//! come past each.

/// A point at which `REGATTA_FAULT=kill@NAME:N` kills an engine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// Its name.
    pub(super) name: &'static str,
    /// How often a run of a few tasks reaches it, about; 0 if it does not.
    pub(super) in_run: usize,
    /// How often the recovery of such a run reaches it, about; 0 if it does not.
    pub(super) in_recovery: usize,
}

const fn point(name: &'static str, in_run: usize, in_recovery: usize) -> Point {
    Point { name, in_run, in_recovery }
}

/// Every point that there is, but for those that are named after tools or jobs.
pub(super) const POINTS: &[Point] = &[
    point("capture.begin", 8, 4),
    point("capture.blobs", 20, 10),
    point("capture.discard", 8, 4),
    point("capture.discarded", 8, 4),
    // Where these fail, something is missing: a capture, the record of what views have written.
    point("capture.lost", 0, 0),
    point("capture.record", 0, 0),
    point("capture.record.check", 0, 0),
    point("capture.ref", 8, 4),
    point("freeze.scan", 1, 0),
    // Only sessions of models make requests.
    point("gate", 0, 0),
    // Only `gc` reaches these.
    point("gc.files", 0, 0),
    point("gc.lists", 0, 0),
    point("gc.loose", 0, 0),
    point("gc.pack", 0, 0),
    point("gc.packed", 0, 0),
    point("gc.packs", 0, 0),
    point("gc.packs.next", 0, 0),
    point("gc.references", 0, 0),
    point("landing.begin", 1, 0),
    point("landing.ref", 12, 2),
    // Only where programs that write cannot be seen.
    point("landing.compare", 0, 0),
    point("landing.done", 1, 1),
    point("landing.drop", 20, 20),
    point("landing.exchange", 20, 0),
    // Where these fail, the file system lacks something.
    point("landing.exchange.support", 0, 0),
    point("landing.intent", 1, 0),
    point("landing.journal", 1, 0),
    point("landing.lease", 0, 0),
    // Once before the run begins and once before it lands.
    point("landing.lock", 2, 0),
    point("landing.move", 40, 40),
    point("landing.record", 8, 6),
    point("landing.roll", 0, 20),
    point("landing.temps", 20, 0),
    // Only where a program writes.
    point("landing.pause", 0, 0),
    point("ledger.append", 24, 2),
    point("pool.restore", 4, 0),
    point("prepare.copy", 16, 0),
    point("prepare.manifest", 8, 0),
    point("prepare.rename", 8, 0),
    point("recover.begin", 0, 1),
    point("recover.finish", 0, 1),
    point("recover.remove", 0, 1),
    point("session", 6, 0),
    // Only sessions of models have logs.
    point("session.append", 0, 0),
    point("session.rewrite.rename", 0, 0),
    point("session.rewrite.write", 0, 0),
    point("session.sync", 0, 0),
    // In the background, after what a run has given up.
    point("removal.begin", 1, 1),
    point("settle.empty", 1, 1),
    point("settle.objects", 1, 1),
    point("settle.references", 4, 4),
    // Only where workspaces are set up.
    point("setup.manifest", 0, 0),
    // Only a conversation on a terminal has keys.
    // Only models send patches.
    point("tool.file", 0, 0),
    point("view.key", 0, 0),
    point("workspace.lend", 8, 0),
];

/// Returns the points that a run comes past.
#[must_use]
pub(super) fn of_runs() -> Vec<Point> {
    POINTS.iter().copied().filter(|point| point.in_run > 0).collect()
}

/// Returns the points that a recovery comes past.
#[must_use]
pub(super) fn of_recoveries() -> Vec<Point> {
    POINTS.iter().copied().filter(|point| point.in_recovery > 0).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::failpoints;

    #[test]
    fn every_fault_point_of_the_engine_is_listed() {
        let listed: BTreeSet<_> = POINTS.iter().map(|point| point.name.to_owned()).collect();
        assert_eq!(listed, failpoints::names());
    }
}
