//! The format of a plan file, and its JSON Schema.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde_json::{Value, json};
use serde_spanned::Spanned;

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

    /// How many tasks run at the same time. By default 32 where a model does the work of some, and
    /// the number of cores where none does.
    #[schemars(with = "Option<i64>", range(min = 1))]
    pub(super) jobs: Option<Spanned<i64>>,

    /// The kind of agent that works at prompts: `task`.
    #[schemars(with = "Option<AgentWord>")]
    pub(super) agent: Option<Spanned<String>>,

    /// The model that works at prompts: `PROVIDER/ID`, or one of the roles `default`, `smol`, `slow`
    /// and `plan`. By default the one of the setting `modelRoles.default`.
    #[schemars(with = "Option<String>")]
    pub(super) model: Option<Spanned<String>>,

    /// Where the provider of `model` is, if not where it always is: `http://127.0.0.1:8080/v1`. It
    /// holds for every model of that provider in the plan. Without `model`, the provider is the one that
    /// the models of the tasks have.
    #[schemars(with = "Option<String>")]
    pub(super) base_url: Option<Spanned<String>>,

    /// The models that answer in place of the others where those cannot be had, in the order in which
    /// they are asked. By default those of the setting `retry.fallbackChains`.
    #[schemars(with = "Option<Vec<String>>")]
    pub(super) fallback: Option<Vec<Spanned<String>>>,

    /// The MCP servers whose tools the models of the tasks have; `all` stands for every enabled one. By default
    /// none.
    #[schemars(with = "Option<Vec<String>>")]
    pub(super) mcp: Option<Vec<Spanned<String>>>,

    /// The context that is given to the model of every task.
    #[schemars(with = "Option<String>")]
    pub(super) context: Option<Spanned<String>>,

    /// Where the work of the tasks goes: `patch` (the working tree, the default), `branch` (one
    /// branch per task), `stack` (one branch, a commit per task) or `none` (it is only kept).
    #[schemars(with = "Option<MergeWord>")]
    pub(super) merge: Option<Spanned<String>>,

    /// A branch to which the work is committed, a commit per task. If it is checked out, the files
    /// and the index are updated, too. `merge = "stack"` can be left out.
    #[schemars(with = "Option<String>", length(min = 1))]
    pub(super) onto: Option<Spanned<String>>,

    /// When work lands: `end` (when the last task has ended, the default) or `eager` (when its task
    /// has ended).
    #[schemars(with = "Option<LandWord>")]
    pub(super) land: Option<Spanned<String>>,

    /// The commands that run in each workspace before its task, such as `npm ci`.
    #[schemars(with = "Option<Vec<String>>")]
    pub(super) setup: Option<Vec<Spanned<String>>>,

    /// The ignored files that are copied into each workspace, as globs such as `node_modules/**`,
    /// from the folder in which tasks work on.
    #[schemars(with = "Option<Vec<String>>")]
    pub(super) carry: Option<Vec<Spanned<String>>>,

    /// The files in which the lines of both sides are kept where two tasks changed the same lines,
    /// as globs from the folder in which tasks work on.
    #[schemars(with = "Option<Vec<String>>")]
    pub(super) union: Option<Vec<Spanned<String>>>,

    /// The commands that must succeed in the merged work before it lands, such as `cargo test`. Work
    /// with which they fail is kept.
    #[schemars(with = "Option<Vec<String>>")]
    pub(super) verify: Option<Vec<Spanned<String>>>,

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
    /// Time from the start of its session, for instance `20m`, `90s` or `1h30m`.
    #[schemars(with = "Option<String>")]
    pub(super) wall: Option<Spanned<String>>,

    /// Output that is kept of each command, for instance `10MB`; of more, the middle is left out.
    #[schemars(with = "Option<String>")]
    pub(super) output: Option<Spanned<String>>,

    /// How often a model may answer; 50 by default.
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub(super) turns: Option<Spanned<i64>>,

    /// How many tokens a model may use, those read from caches included; no limit by default.
    #[schemars(with = "Option<i64>", range(min = 1))]
    pub(super) tokens: Option<Spanned<i64>>,

    /// What a task may cost, for instance `2.00 USD`; no limit by default. The price of its model has to
    /// be known.
    #[schemars(with = "Option<String>")]
    pub(super) cost: Option<Spanned<String>>,
}

/// One task. Exactly one of `prompt`, `prompt_file` and `exec` says what it does.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = json!([
    { "required": ["prompt"] }, { "required": ["prompt_file"] }, { "required": ["exec"] },
])))]
pub(super) struct TaskTable {
    /// Its name: segments of letters, digits, `_` and `-`, each beginning with a letter or digit,
    /// joined by single dots; compared without case. By default the first words of its prompt or the
    /// name of its prompt's file, and for a command its number: `t1`, `t2` ….
    #[schemars(with = "Option<String>", regex(pattern = TASK_NAME))]
    pub(super) id: Option<Spanned<String>>,

    /// What a model is asked to do in the task's own copy. `{{tasks.ID.yield}}` stands for what a
    /// task of `depends_on` yields, `{{tasks.ID.yield.FIELD}}` for a part of that.
    #[schemars(with = "Option<String>", length(min = 1))]
    pub(super) prompt: Option<Spanned<String>>,

    /// A file with that prompt, from the folder of the plan on; at most 16 MB. Only
    /// `{{tasks.ID.yield}}` is replaced in it.
    #[schemars(with = "Option<String>", length(min = 1))]
    pub(super) prompt_file: Option<Spanned<String>>,

    /// The model that works at the prompt, if not that of the plan.
    #[schemars(with = "Option<String>")]
    pub(super) model: Option<Spanned<String>>,

    /// How much it may use, key by key in place of the plan's `limits`.
    #[serde(default)]
    pub(super) limits: LimitsTable,

    /// The commands that run in its workspace before it, in place of the plan's `setup`.
    #[schemars(with = "Option<Vec<String>>")]
    pub(super) setup: Option<Vec<Spanned<String>>>,

    /// The ignored files that are copied into its workspace, in place of the plan's `carry`.
    #[schemars(with = "Option<Vec<String>>")]
    pub(super) carry: Option<Vec<Spanned<String>>>,

    /// The command that does its work instead, run by `/bin/sh -c` in the task's own copy. What a
    /// task of `depends_on` yields is in the file `$REGATTA_INPUTS/ID.json`.
    #[schemars(with = "Option<String>", length(min = 1))]
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

    /// The JSON Schema of what it yields: for a command, the last line of its standard output.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub(super) schema: Option<Spanned<Value>>,

    /// A file with that schema, from the folder of the plan on.
    #[schemars(with = "Option<String>")]
    pub(super) schema_file: Option<Spanned<String>>,
}

/// The regular expression that the names of tasks match.
const TASK_NAME: &str = "^[A-Za-z0-9][A-Za-z0-9_-]{0,47}([.][A-Za-z0-9][A-Za-z0-9_-]{0,47})*$";

/// The words of `merge`.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is wanted")]
pub(super) enum MergeWord {
    Patch,
    Branch,
    Stack,
    None,
}

/// The words of `land`.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is wanted")]
pub(super) enum LandWord {
    End,
    Eager,
}

/// The words of `agent`.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is wanted")]
pub(super) enum AgentWord {
    Task,
}

/// Returns the JSON Schema of a plan.
pub fn schema() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<PlanFile>().to_value()
}

#[cfg(test)]
mod tests {
    use engine::ports::Schemas;
    use serde_json::json;

    #[test]
    fn the_schema_takes_what_a_plan_may_be_and_nothing_else() {
        let schema = schema::JsonSchemas.compile(&super::schema()).unwrap();
        let good = json!({
            "version": 1,
            "name": "all",
            "jobs": 8,
            "merge": "branch",
            "limits": { "wall": "20m", "output": "10MB", "turns": 40, "tokens": 400_000, "cost": "2.00 USD" },
            "agent": "task",
            "model": "ollama/qwen3:8b",
            "base_url": "http://127.0.0.1:11434/v1",
            "fallback": ["openai/gpt-5"],
            "mcp": ["github"],
            "context": "It is a library.",
            "setup": ["npm ci"],
            "carry": [".env", "target/**"],
            "union": ["src/mod.rs"],
            "onto": "main",
            "land": "eager",
            "verify": ["cargo test"],
            "task": [{
                "prompt": "Fix it.",
                "model": "smol",
                "limits": { "turns": 3 },
                "setup": ["make deps"],
                "carry": [],
            }, { "prompt_file": "a.md" }, {
                "id": "auth.tests",
                "exec": "make",
                "depends_on": ["auth"],
                "priority": -1,
                "must_change": true,
                "schema": { "type": "object" },
            }],
        });
        assert_eq!(schema.faults(&good), Vec::<String>::new());
        for bad in [
            json!({ "version": 2, "task": [{ "exec": "a" }] }),
            json!({ "version": 1, "task": [] }),
            json!({ "version": 1, "task": [{ "id": "a" }] }),
            json!({ "version": 1, "task": [{ "exec": "a", "id": "-a" }] }),
            json!({ "version": 1, "task": [{ "exec": "a", "prompt": "b" }] }),
            json!({ "version": 1, "task": [{ "prompt": "" }] }),
            json!({ "version": 1, "agent": "scout", "task": [{ "prompt": "a" }] }),
            json!({ "version": 1, "limits": { "turns": 0 }, "task": [{ "prompt": "a" }] }),
            json!({ "version": 1, "task": [{ "exec": "a", "limits": { "turn": 1 } }] }),
            json!({ "version": 1, "merge": "onto", "task": [{ "exec": "a" }] }),
            json!({ "version": 1, "onto": "", "task": [{ "exec": "a" }] }),
            json!({ "version": 1, "land": "soon", "task": [{ "exec": "a" }] }),
        ] {
            assert_ne!(schema.faults(&bad), Vec::<String>::new(), "{bad}");
        }
    }
}
