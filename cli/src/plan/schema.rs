//! The JSON Schema of a plan.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::file::PlanFile;

/// Returns the JSON Schema of a plan.
pub(crate) fn schema() -> Value {
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
            "limits": { "wall": "20m", "output": "10MB", "turns": 40, "tokens": 400_000 },
            "agent": "task",
            "model": "ollama/qwen3:8b",
            "base_url": "http://127.0.0.1:11434/v1",
            "context": "It is a library.",
            "task": [{ "prompt": "Fix it.", "model": "smol" }, { "prompt_file": "a.md" }, {
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
            json!({ "version": 1, "merge": "stack", "task": [{ "exec": "a" }] }),
        ] {
            assert_ne!(schema.faults(&bad), Vec::<String>::new(), "{bad}");
        }
    }
}
