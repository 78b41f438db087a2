//! `regatta schema`: prints a published JSON Schema.

use protocol::ExitCode;

use crate::args::SchemaArgs;
use crate::error::Error;
use crate::{plan, process};

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
        "events" => Err(Error::not_implemented("the schema of events").hint("regatta schema plan")),
        _ => Err(Error::usage(format!("there is no schema `{name}`")).hint("regatta schema plan")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_of_a_plan_is_one_json_document() {
        let schema: serde_json::Value = serde_json::from_str(&text("plan").unwrap()).unwrap();
        assert_eq!(schema["title"], "Regatta plan");
        assert_eq!(schema["additionalProperties"], false);
    }

    #[test]
    fn another_schema_is_refused() {
        let said = text("plans").unwrap_err().to_string();
        assert_eq!(said, "error: there is no schema `plans`\n  try: regatta schema plan");
        assert!(text("events").unwrap_err().to_string().contains("not implemented yet"));
    }
}
