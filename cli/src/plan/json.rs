//! TOML as JSON, for schemas that stand in a plan.

use serde_json::{Number, Value};

/// Returns the same value as JSON.
///
/// # Errors
/// What JSON has no word for.
pub(super) fn json(value: &toml::Value) -> Result<Value, &'static str> {
    Ok(match value {
        toml::Value::String(text) => Value::String(text.clone()),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Float(number) => {
            Value::Number(Number::from_f64(*number).ok_or("JSON has no such number")?)
        }
        toml::Value::Boolean(is) => Value::Bool(*is),
        toml::Value::Datetime(_) => return Err("JSON has no dates; write it in quotes"),
        toml::Value::Array(values) => values.iter().map(json).collect::<Result<_, _>>()?,
        toml::Value::Table(table) => {
            let entry = |(key, value): (&String, &toml::Value)| Ok((key.clone(), json(value)?));
            Value::Object(table.iter().map(entry).collect::<Result<_, &'static str>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_json_can_say_is_said() {
        let toml = "a = 'x'\nb = [1, 2.5, true]\nc = { d = {} }".parse::<toml::Table>().unwrap();
        let expected = json!({ "a": "x", "b": [1, 2.5, true], "c": { "d": {} } });
        assert_eq!(json(&toml::Value::Table(toml)), Ok(expected));
        for bad in ["a = nan", "a = 2026-01-02"] {
            let toml = bad.parse::<toml::Table>().unwrap();
            assert!(json(&toml::Value::Table(toml)).is_err(), "{bad}");
        }
    }
}
