//! A plan as it stands in its file. This is also where its JSON Schema comes from.

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

/// A plan of `regatta run --plan`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Regatta plan")]
pub(super) struct PlanFile {
    /// The version of the format: 1.
    #[schemars(with = "i64", range(min = 1, max = 1))]
    pub(super) version: Spanned<i64>,

    /// What the run is called in lists.
    pub(super) name: Option<String>,

    /// How many tasks run at the same time; the number of cores by default.
    #[schemars(with = "Option<i64>", range(min = 1))]
    pub(super) jobs: Option<Spanned<i64>>,

    /// Where the work of the tasks goes: `patch` (the working tree, the default), `branch` (one
    /// branch per task) or `none` (it is only kept).
    #[schemars(with = "Option<MergeWord>")]
    pub(super) merge: Option<Spanned<String>>,

    /// How much each task may use.
    #[serde(default)]
    pub(super) limits: LimitsTable,

    /// The tasks, in the order in which their work lands.
    #[serde(default)]
    #[schemars(with = "Vec<TaskTable>", length(min = 1))]
    pub(super) task: Vec<Spanned<TaskTable>>,
}

/// How much each task may use.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitsTable {
    /// Time from the start of its command, for instance `20m`, `90s` or `1h30m`.
    #[schemars(with = "Option<String>")]
    pub(super) wall: Option<Spanned<String>>,

    /// Output that is kept, for instance `10MB`; what is beyond is dropped and told.
    #[schemars(with = "Option<String>")]
    pub(super) output: Option<Spanned<String>>,
}

/// One task.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskTable {
    /// Its name: segments of letters, digits, `_` and `-`, each beginning with a letter or digit,
    /// joined by single dots; compared without case. `t1`, `t2` … by default.
    #[schemars(with = "Option<String>", regex(pattern = TASK_NAME))]
    pub(super) id: Option<Spanned<String>>,

    /// The command that does its work, run by `/bin/sh -c` in the task's own copy.
    #[schemars(with = "String", length(min = 1))]
    pub(super) exec: Option<Spanned<String>>,

    /// The tasks that come first. Their work is in this task's copy when it starts.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(super) depends_on: Vec<Spanned<String>>,

    /// Higher runs earlier.
    #[serde(default)]
    pub(super) priority: i32,

    /// Whether a success that changes nothing counts as a failure.
    #[serde(default)]
    pub(super) must_change: bool,

    /// The JSON Schema of what it yields: the last line of its standard output.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub(super) schema: Option<Spanned<toml::Value>>,

    /// A file with that schema, from the folder of the plan on.
    #[schemars(with = "Option<String>")]
    pub(super) schema_file: Option<Spanned<String>>,
}

/// The names of tasks.
const TASK_NAME: &str = "^[A-Za-z0-9][A-Za-z0-9_-]{0,47}([.][A-Za-z0-9][A-Za-z0-9_-]{0,47})*$";

/// The words of `merge`.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is wanted")]
pub(super) enum MergeWord {
    Patch,
    Branch,
    None,
}
