//! Where the time of a run went, as its program tells.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Returns a sentence with the median and the 95th percentile of each phase of the latest run in
/// `repository`, as `regatta runs show --timing` has them. A program that does not tell them has none.
#[must_use]
pub fn phases(what: &str, binary: &Path, home: &Path, repository: &Path) -> Option<String> {
    let mut show = Command::new(binary);
    show.current_dir(repository).env("REGATTA_HOME", home);
    let output = show.args(["runs", "show", "--timing", "--json"]).output().ok()?;
    sentence(what, &serde_json::from_slice(&output.stdout).ok()?)
}

fn sentence(what: &str, document: &Value) -> Option<String> {
    let phase = |row: &Value| {
        let number = |key: &str| row[key].as_f64();
        let (median, most) = (number("median_ms")?, number("p95_ms")?);
        Some(format!("{} {median:.1} ({most:.1})", row["phase"].as_str()?))
    };
    let rows: Vec<_> = document["phases"].as_array()?.iter().filter_map(phase).collect();
    (!rows.is_empty()).then(|| {
        let rows = rows.join(", ");
        format!("Where the time went, {what}, in ms, median (95 %) of a phase: {rows}.")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn phases_are_told_as_far_as_they_are_there() {
        let phases = json!([
            { "phase": "work", "count": 2, "sum_ms": 30.0, "median_ms": 15.04, "p95_ms": 20.0 },
            { "phase": "later" },
        ]);
        let said = sentence("of two", &json!({ "phases": phases }));
        let expected =
            "Where the time went, of two, in ms, median (95 %) of a phase: work 15.0 (20.0).";
        assert_eq!(said.as_deref(), Some(expected));
        assert_eq!(sentence("of none", &json!({ "tasks": [] })), None);
    }
}
