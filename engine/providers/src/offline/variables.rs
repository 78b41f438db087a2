//! The variables of a scripted conversation, captured by regular expressions from earlier messages.

use std::collections::BTreeMap;
use std::sync::Arc;

use protocol::{AssistantMessage, Message, StopReason};

use super::scenario::{Remember, Scenario};

/// The messages of a request, grouped by the answers of the model.
pub(crate) struct Conversation<'a> {
    /// The text of the first user message.
    pub(crate) prompt: String,
    /// One group of messages before each answer of the model, and one after the last answer.
    inputs: Vec<Vec<&'a Message>>,
}

/// The error for a regular expression of `remember` that matches no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "turn {turn} of the scenario cannot remember `{name}`: nothing said before it matches `{regex}`"
)]
pub(crate) struct NoMatchError {
    turn: usize,
    name: String,
    regex: String,
}

impl<'a> Conversation<'a> {
    pub(crate) fn of(messages: &'a [Arc<Message>]) -> Self {
        let mut inputs = vec![Vec::new()];
        let mut prompt = None;
        for message in messages {
            match &**message {
                Message::Assistant(answer) if is_complete(answer) => inputs.push(Vec::new()),
                Message::Assistant(_) => {}
                other => {
                    if let (None, Message::User(user)) = (&prompt, other) {
                        prompt = Some(user.text());
                    }
                    inputs.last_mut().expect("there is a first").push(other);
                }
            }
        }
        Self { prompt: prompt.unwrap_or_default(), inputs }
    }

    /// Returns how many answers the model has given.
    pub(crate) fn answers(&self) -> usize {
        self.inputs.len() - 1
    }

    /// Returns the variables as they are before the next answer.
    pub(crate) fn variables(
        &self,
        scenario: &Scenario,
    ) -> Result<BTreeMap<String, String>, NoMatchError> {
        let mut variables = BTreeMap::new();
        for (said, inputs) in self.inputs.iter().enumerate() {
            let Some((number, turn)) = scenario.turn(said) else { break };
            for remember in &turn.remember {
                let found = self.find(remember, inputs).ok_or_else(|| NoMatchError {
                    turn: number + 1,
                    name: remember.name.clone(),
                    regex: remember.regex.to_string(),
                })?;
                variables.insert(remember.name.clone(), found);
            }
        }
        Ok(variables)
    }

    /// Searches the messages before this answer, the newest first, then the prompt.
    fn find(&self, remember: &Remember, inputs: &[&Message]) -> Option<String> {
        let texts = inputs.iter().rev().map(|message| match message {
            Message::User(user) => user.text(),
            Message::ToolResult(result) => result.text(),
            Message::Assistant(answer) => answer.text(),
        });
        let mut texts = texts.chain(std::iter::once_with(|| self.prompt.clone()));
        texts.find_map(|text| {
            let captures = remember.regex.captures(&text)?;
            let group = captures.iter().skip(1).flatten().next()?;
            Some(group.as_str().to_owned())
        })
    }
}

/// Returns whether an answer is complete. The model repeats an answer that failed or was aborted.
fn is_complete(answer: &AssistantMessage) -> bool {
    !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted)
}
