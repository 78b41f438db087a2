//! The tool `ask`: asks the user questions, each with options to choose from.

use std::sync::Arc;

use engine::ports::{
    Access, Ask as AskPort, Concurrency, SessionPurpose, ToolContext, ToolOutcome, ToolOutput,
    Visibility,
};
use protocol::{Question, QuestionChoice, QuestionForm, QuestionId, quote_within};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::builtin::{Builtin, Session, rename, text};
use crate::error::ToolError;

/// The tool `ask`.
pub(crate) struct Ask;

/// The longest question and the longest option, in characters.
const QUESTION: usize = 1_000;
const OPTION: usize = 80;

/// The choice of none of the options.
const NONE: &str = "none";

/// What to ask.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskArguments {
    /// The questions, which are asked one after the other.
    #[schemars(length(min = 1, max = 4))]
    questions: Vec<AskedQuestion>,
}

/// A question.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskedQuestion {
    /// The question.
    question: String,
    /// The options to choose from, in a few words each. The user may also choose none of them.
    #[schemars(length(min = 2, max = 9))]
    options: Vec<String>,
    /// The number of the option that you would choose, from 0.
    recommended: Option<usize>,
}

impl Builtin for Ask {
    const NAME: &'static str = "ask";
    const DESCRIPTION: &'static str = "Asks the user up to four questions, each with two to nine options, of \
        which the user chooses one or none. Ask only what you can neither find out nor decide.";
    const EXAMPLE: &'static str = r#"{"questions":[{"question":"Which database?","options":["SQLite","Postgres"],"recommended":0}]}"#;
    const VISIBILITY: Visibility = Visibility::Answered;
    const PURPOSE: Option<SessionPurpose> = Some(SessionPurpose::Conversation);

    type Arguments = AskArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        if !arguments.contains_key("questions") && arguments.contains_key("question") {
            let question = Value::Object(std::mem::take(arguments));
            arguments.insert("questions".to_owned(), json!([question]));
        }
        let asked = arguments.get_mut("questions").and_then(Value::as_array_mut);
        for asked in asked.into_iter().flatten().filter_map(Value::as_object_mut) {
            rename(asked, "question", &["text", "prompt"]);
            rename(asked, "options", &["choices", "answers"]);
            // What other agents have with a question.
            asked.retain(|name, _| ["question", "options", "recommended"].contains(&name.as_str()));
            let options = asked.get_mut("options").and_then(Value::as_array_mut);
            for option in options.into_iter().flatten() {
                if let Some(label) = option.as_object().map(|option| text(option, "label")) {
                    *option = json!(label);
                }
            }
        }
    }

    fn title(arguments: &Map<String, Value>) -> Option<String> {
        let asked = arguments.get("questions")?.as_array()?;
        let asked: Vec<_> =
            asked.iter().filter_map(|asked| asked.get("question")?.as_str()).collect();
        Some(asked.join(" "))
    }

    fn new(_session: &Arc<Session>) -> Self {
        Self
    }

    fn classify(_arguments: &Map<String, Value>) -> Access {
        // What follows may depend on the answers.
        Access { concurrency: Concurrency::Exclusive, ..Access::none() }
    }

    async fn run(
        &self,
        AskArguments { questions }: AskArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        for (number, asked) in questions.iter().enumerate() {
            asked.check(number)?;
        }
        let ask = context.ask.as_deref().ok_or_else(|| ToolError::own(AskError::Alone))?;
        let mut answers = Vec::new();
        for asked in &questions {
            let chosen = tokio::select! {
                biased;
                () = context.cancel.cancelled() => return Err(ToolError::Aborted),
                chosen = asked.answer(ask, &context.call_id) => chosen,
            };
            answers.push((asked, chosen.ok_or_else(|| ToolError::own(AskError::Unanswered))?));
        }
        Ok(ToolOutcome::Output(output(&answers)))
    }
}

/// Why the question has no answer.
#[derive(Debug, thiserror::Error)]
enum AskError {
    /// The session has no user to ask.
    #[error(
        "no one can be asked here: decide yourself, and say in your answer what you have assumed"
    )]
    Alone,
    /// The time for an answer is over.
    #[error("no answer came: decide yourself, and say in your answer what you have assumed")]
    Unanswered,
}

/// What the user chose.
enum Chosen<'a> {
    Option(&'a str),
    None,
}

impl AskedQuestion {
    fn check(&self, number: usize) -> Result<(), ToolError> {
        let wrong = |what: &str| Err(ToolError::Arguments(format!("/questions/{number}: {what}")));
        let mut seen: Vec<&str> = self.options.iter().map(|option| option.trim()).collect();
        seen.sort_unstable();
        seen.dedup();
        if self.question.trim().is_empty() || seen.first().is_some_and(|option| option.is_empty()) {
            return wrong("a question and its options have a text");
        }
        if self.question.chars().count() > QUESTION
            || seen.iter().any(|option| option.chars().count() > OPTION)
        {
            let what = format!(
                "a question has at most {QUESTION} characters, and an option {OPTION}: say the rest before the call"
            );
            return wrong(&what);
        }
        if seen.len() != self.options.len() {
            return wrong("two options are the same");
        }
        if self.recommended.is_some_and(|recommended| recommended >= self.options.len()) {
            return wrong("`recommended` is the number of an option, from 0");
        }
        Ok(())
    }

    /// Asks the question; `None` if the user does not answer in time.
    async fn answer(&self, ask: &dyn AskPort, call: &str) -> Option<Chosen<'_>> {
        let chosen = ask.ask(self.to_question(call)).await?;
        let number = chosen.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let option = number.and_then(|number| self.options.get(number));
        Some(option.map_or(Chosen::None, |option| Chosen::Option(option.trim())))
    }

    fn to_question(&self, call: &str) -> Question {
        let keys = self.options.iter().zip('1'..).enumerate();
        let choices = keys.map(|(at, (option, key))| {
            let mark = if self.recommended == Some(at) { " (recommended)" } else { "" };
            let label = format!("{}{mark}", quote_within(option.trim(), OPTION));
            QuestionChoice { id: key.to_string(), key, label }
        });
        let none =
            QuestionChoice { id: NONE.to_owned(), key: 'n', label: "none of these".to_owned() };
        let text = self.question.trim().trim_end_matches('?').trim_end();
        let lines: Vec<_> = text.lines().map(|line| quote_within(line, QUESTION)).collect();
        Question {
            id: QuestionId::generate(),
            form: QuestionForm::Sentence,
            text: format!("{}?", lines.join("\n")),
            reason: "the model asks".to_owned(),
            choices: choices.chain([none]).collect(),
            default: NONE.to_owned(),
            tool_call_id: Some(call.to_owned()),
            deadline_ms: None,
            diff: None,
        }
    }
}

fn output(answers: &[(&AskedQuestion, Chosen<'_>)]) -> ToolOutput {
    let said = |chosen: &Chosen<'_>| match chosen {
        Chosen::Option(option) => format!("User selected: {option}"),
        Chosen::None => "The user chose none of these: ask in your answer what is meant".to_owned(),
    };
    let text = match answers {
        [(_, chosen)] => said(chosen),
        answers => {
            let lines = answers
                .iter()
                .map(|(asked, chosen)| format!("{}\n{}", asked.question, said(chosen)));
            lines.collect::<Vec<_>>().join("\n\n")
        }
    };
    let details: Vec<_> = answers
        .iter()
        .map(|(asked, chosen)| {
            let answer = match chosen {
                Chosen::Option(option) => json!(option),
                Chosen::None => Value::Null,
            };
            json!({ "question": asked.question, "answer": answer })
        })
        .collect();
    ToolOutput::text(text).with_details(json!({ "answers": details }))
}
