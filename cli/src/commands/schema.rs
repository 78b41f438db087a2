//! `regatta schema`: prints a published JSON Schema, or the settings with their defaults.

use protocol::{Event, ExitCode};
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::args::SchemaArgs;
use crate::process;
use regatta::error::Error;
use regatta::plan;

/// Prints the schema.
///
/// # Errors
/// There is no schema of that name.
pub fn run(args: &SchemaArgs) -> Result<ExitCode, Error> {
    process::print(&text(&args.name)?)?;
    Ok(ExitCode::Success)
}

fn text(name: &str) -> Result<String, Error> {
    match name {
        "plan" => Ok(format!("{:#}\n", plan::schema())),
        "events" => Ok(format!("{:#}\n", events())),
        // The settings are not checked against a schema: their defaults say what each takes.
        "settings" => Ok(config::DEFAULT_SETTINGS.to_owned()),
        _ => Err(Error::usage(format!("there is no schema `{name}`"))
            .hint("regatta schema plan")
            .hint("regatta schema events")
            .hint("regatta schema settings")),
    }
}

/// Returns the schema of one event: a line of `--json`.
fn events() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<Event>();
    schema.insert("title".to_owned(), "Regatta event".into());
    schema.to_value()
}

#[cfg(test)]
mod tests {
    use engine::ports::Schemas as _;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_schema_of_a_plan_is_one_json_document() {
        let schema: serde_json::Value = serde_json::from_str(&text("plan").unwrap()).unwrap();
        assert_eq!(schema["title"], "Regatta plan");
        assert_eq!(schema["additionalProperties"], false);
        for key in ["version", "jobs", "task"] {
            assert!(schema["properties"][key].is_object(), "{key} in {schema}");
        }
        let text = schema.to_string();
        for key in ["id", "exec", "depends_on", "priority", "must_change", "schema"] {
            assert!(text.contains(&format!("\"{key}\"")), "{key} in {schema}");
        }
    }

    #[test]
    fn the_settings_are_printed_with_what_each_does() {
        let settings = text("settings").unwrap();
        assert!(settings.starts_with('#') && settings.contains("modelRoles:"), "{settings}");
    }

    #[test]
    fn another_schema_is_refused() {
        let said = text("plans").unwrap_err().to_string();
        let hint =
            "regatta schema plan\n  try: regatta schema events\n  try: regatta schema settings";
        assert_eq!(said, format!("error: there is no schema `plans`\n  try: {hint}"));
    }

    #[test]
    fn the_schema_of_events_takes_every_event_and_refuses_what_is_none() {
        let schema = events();
        assert_eq!(schema["title"], "Regatta event");
        let compiled = schema::JsonSchemas.compile(&schema).unwrap();
        let event = |fields: Value| {
            let mut event = json!({ "seq": 1, "at": "2026-01-02T03:04:05.678Z" });
            event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            event
        };
        let said =
            |event: Value| json!({ "type": "session_event", "task": "auth", "event": event });
        let usage =
            json!({ "input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3 });
        let answer = json!({
            "role": "assistant", "content": [{ "type": "text", "text": "hi" }], "api": "a",
            "provider": "p", "model": "m", "usage": usage, "stopReason": "stop", "timestamp": 7,
        });
        let events = [
            json!({ "run": "r7k3f", "type": "landing_waited" }),
            json!({
                "run": "r7k3f", "type": "task_started", "task": "auth",
                "id": protocol::TaskId::generate(), "attempt": 1,
            }),
            said(json!({ "type": "text_delta", "contentIndex": 0, "delta": "hi" })),
            said(json!({ "type": "message_end", "message": answer })),
            said(json!({ "type": "compaction_start", "reason": "overflow" })),
        ];
        for fields in events {
            let event = event(fields);
            assert_eq!(compiled.faults(&event), Vec::<String>::new(), "{event}");
            serde_json::from_value::<Event>(event).unwrap();
        }
        let wrong = [
            json!({ "type": "no_such_event" }),
            json!({ "type": "task_started", "task": "auth" }),
            said(json!({ "type": "text_delta", "contentIndex": "0", "delta": "hi" })),
        ];
        for fields in wrong {
            assert_ne!(compiled.faults(&event(fields)), Vec::<String>::new());
        }
    }
}
