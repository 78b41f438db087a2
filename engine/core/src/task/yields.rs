//! Puts the yields of predecessors into the prompt of a task.

use protocol::{Agent, Failure, FailureClass, FailureDetail, TaskName, Work, YieldPlaceholder};
use serde_json::Value;

/// The longest prompt with its yields, in bytes: more than any model reads.
const LONGEST_PROMPT: usize = 16_000_000;

/// Returns `work` with the yields of its predecessors in the prompt. Text is put in as it is, and
/// other values as compact JSON. What is put in is not searched for placeholders.
///
/// # Errors
/// A predecessor did not yield what a placeholder stands for, or the prompt becomes too long. The
/// task cannot start.
pub fn with_yields(work: &Work, yields: &[(TaskName, Value)]) -> Result<Work, Failure> {
    match work {
        Work::Agent(agent) if !agent.yields.is_empty() => {
            let prompt = filled(agent, yields)?;
            Ok(Work::from(Agent { prompt, yields: Vec::new(), ..(**agent).clone() }))
        }
        Work::Agent(_) | Work::Command(_) | Work::Conversation(_) => Ok(work.clone()),
    }
}

fn filled(agent: &Agent, yields: &[(TaskName, Value)]) -> Result<String, Failure> {
    let mut prompt = String::new();
    let mut from = 0;
    for place in &agent.yields {
        let before = agent.prompt.get(from..place.start).unwrap_or_default();
        let text = text(found(place, yields)?);
        if prompt.len() + before.len() + text.len() > LONGEST_PROMPT {
            let what = "its prompt is longer than 16 MB with the yields of other tasks in it";
            return Err(Failure::new(FailureClass::Invalid, what));
        }
        prompt.extend([before, &text]);
        from = place.end;
    }
    prompt.push_str(agent.prompt.get(from..).unwrap_or_default());
    Ok(prompt)
}

/// Returns the value that a placeholder stands for.
fn found<'a>(
    place: &YieldPlaceholder,
    yields: &'a [(TaskName, Value)],
) -> Result<&'a Value, Failure> {
    let missing = |what: &str| {
        let message = format!("it could not start: `{}` yielded no {what}", place.task);
        let tasks = vec![place.task.clone()];
        Failure::new(FailureClass::Dependency, message).with(FailureDetail::Tasks { tasks })
    };
    let named = yields.iter().find(|(task, _)| task.folded() == place.task.folded());
    let (_, whole) = named.ok_or_else(|| missing("value"))?;
    place
        .path
        .iter()
        .try_fold(whole, |value, part| part_of(value, part))
        .ok_or_else(|| missing(&format!("`{}`", place.path.join("."))))
}

fn part_of<'a>(value: &'a Value, part: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => fields.get(part),
        Value::Array(elements) => elements.get(part.parse::<usize>().ok()?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn agent(prompt: &str, places: &[(&str, &str, &[&str])]) -> Work {
        let mut from = 0;
        let place = |(written, task, path): &(&str, &str, &[&str])| {
            let start = from + prompt[from..].find(written).unwrap();
            from = start + written.len();
            let path = path.iter().map(|part| (*part).to_owned()).collect();
            YieldPlaceholder { start, end: from, task: task.parse().unwrap(), path }
        };
        let yields = places.iter().map(place).collect();
        let model = "local/qwen".parse().unwrap();
        Work::from(Agent {
            model,
            prompt: prompt.to_owned(),
            fallback: Vec::new(),
            yields,
            context: None,
            approvals: Default::default(),
            subagent: None,
            servers: Default::default(),
        })
    }

    fn filled(work: &Work, yields: &[(&str, Value)]) -> Result<String, Failure> {
        let yields: Vec<_> =
            yields.iter().map(|(task, value)| (task.parse().unwrap(), value.clone())).collect();
        match with_yields(work, &yields)? {
            Work::Agent(agent) => Ok(agent.prompt),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn text_is_put_in_as_it_is_and_data_as_json_and_neither_is_read_again() {
        let places: &[(&str, &str, &[&str])] =
            &[("{{A}}", "a", &[]), ("{{B}}", "b", &["list", "1", "name"]), ("{{A}}", "A", &[])];
        let work = agent("Read {{A}}, then {{B}}, then {{A}}. {{A}} stays.", places);
        let b = json!({ "list": [1, { "name": { "first": "x" } }] });
        let given = filled(&work, &[("b", b), ("a", json!("\u{1b}[2J {{B}}\0"))]).unwrap();
        let a = "\u{1b}[2J {{B}}\0";
        let expected = format!("Read {a}, then {{\"first\":\"x\"}}, then {a}. {{{{A}}}} stays.");
        assert_eq!(given, expected);
    }

    #[test]
    fn what_was_not_yielded_is_named_and_the_task_does_not_start() {
        let work = agent("{{A}}", &[("{{A}}", "a", &["list", "2"])]);
        for value in [json!({ "list": [1, 2] }), json!("text"), Value::Null, json!({})] {
            let failure = filled(&work, &[("a", value)]).unwrap_err();
            assert_eq!(failure.class, FailureClass::Dependency);
            assert!(failure.message.ends_with(": `a` yielded no `list.2`"), "{failure:?}");
        }
        assert!(filled(&work, &[]).unwrap_err().message.ends_with("`a` yielded no value"));
    }

    #[test]
    fn a_prompt_that_becomes_too_long_is_not_sent() {
        let work = agent("{{A}}", &[("{{A}}", "a", &[])]);
        let long = "x".repeat(LONGEST_PROMPT + 1);
        let failure = filled(&work, &[("a", json!(long))]).unwrap_err();
        assert_eq!(failure.class, FailureClass::Invalid);
    }
}
