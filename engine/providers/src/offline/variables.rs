//! The variables of a scripted conversation: what its regular expressions found in what was said.

use std::collections::BTreeMap;
use std::sync::Arc;

use protocol::{AssistantMessage, Message, StopReason};

use super::script::{Remember, Scenario};

/// A conversation, as a script sees it.
pub(crate) struct Conversation<'a> {
    /// What was said first.
    pub(crate) prompt: String,
    /// What was said to the model before each of its answers, and since the last.
    heard: Vec<Vec<&'a Message>>,
}

/// Something could not be remembered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "turn {turn} of the scenario cannot remember `{name}`: nothing said before it matches `{regex}`"
)]
pub(crate) struct Forgotten {
    turn: usize,
    name: String,
    regex: String,
}

impl<'a> Conversation<'a> {
    pub(crate) fn of(messages: &'a [Arc<Message>]) -> Self {
        let mut heard = vec![Vec::new()];
        let mut prompt = None;
        for message in messages {
            match &**message {
                Message::Assistant(answer) if is_whole(answer) => heard.push(Vec::new()),
                Message::Assistant(_) => {}
                other => {
                    if let (None, Message::User(user)) = (&prompt, other) {
                        prompt = Some(user.text());
                    }
                    heard.last_mut().expect("there is a first").push(other);
                }
            }
        }
        Self { prompt: prompt.unwrap_or_default(), heard }
    }

    /// Returns how many answers the model has given.
    pub(crate) fn answers(&self) -> usize {
        self.heard.len() - 1
    }

    /// Returns what is remembered before the next answer.
    pub(crate) fn remember(
        &self,
        scenario: &Scenario,
    ) -> Result<BTreeMap<String, String>, Forgotten> {
        let mut remembered = BTreeMap::new();
        for (said, heard) in self.heard.iter().enumerate() {
            let Some((number, turn)) = scenario.turn(said) else { break };
            for remember in &turn.remember {
                let found = self.find(remember, heard).ok_or_else(|| Forgotten {
                    turn: number + 1,
                    name: remember.name.clone(),
                    regex: remember.regex.to_string(),
                })?;
                remembered.insert(remember.name.clone(), found);
            }
        }
        Ok(remembered)
    }

    /// Looks in what was said last, the newest first, then in the prompt.
    fn find(&self, remember: &Remember, heard: &[&Message]) -> Option<String> {
        let texts = heard.iter().rev().map(|message| match message {
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

/// An answer that failed or was stopped is given again.
fn is_whole(answer: &AssistantMessage) -> bool {
    !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted)
}
