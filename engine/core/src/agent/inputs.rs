//! The inputs of a session: a queue of the inputs that users and tasks send to the model.

use std::collections::{BTreeSet, VecDeque};

use async_trait::async_trait;
use protocol::{InputId, ModelRoute, UserInput};

use crate::ports::ToolChoice;
use crate::request::ModelClient;

/// The source of inputs for a running agent loop. It returns every input once.
#[async_trait]
pub trait Inputs: Send + Sync {
    /// Returns the changes that apply from the next request on.
    async fn before_request(&self) -> RequestChanges;

    /// Returns the next input for a model that is about to stop, or `None` if it may stop.
    async fn before_stop(&self) -> Option<UserInput>;
}

/// Changes that apply from the next request on.
#[derive(Default)]
pub struct RequestChanges {
    /// The model that replaces the current one.
    pub model: Option<Model>,
    /// Inputs to add before the request.
    pub steering: Vec<UserInput>,
}

/// A model and the client to ask it.
#[derive(Clone)]
pub struct Model {
    /// The route of the model.
    pub route: ModelRoute,
    /// The client to ask the model.
    pub client: ModelClient,
}

/// An input that starts new work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The input.
    pub input: UserInput,
    /// Whether the first answer has to call a tool.
    pub choice: ToolChoice,
}

impl Prompt {
    /// Returns a prompt whose first answer need not call a tool.
    #[must_use]
    pub fn free(input: UserInput) -> Self {
        Self { input, choice: ToolChoice::Free }
    }
}

/// The inputs that a session has not added yet, by kind and in order of arrival.
#[derive(Debug, Default)]
pub struct InputQueue {
    prompts: VecDeque<Prompt>,
    steering: VecDeque<UserInput>,
    follow_ups: VecDeque<UserInput>,
    waiting: BTreeSet<InputId>,
}

impl InputQueue {
    /// Queues an input that starts new work when the current work has ended.
    pub fn prompt(&mut self, prompt: Prompt) {
        if self.waiting.insert(prompt.input.id) {
            self.prompts.push_back(prompt);
        }
    }

    /// Queues an input for the next request of the current work.
    pub fn steer(&mut self, input: UserInput) {
        if self.waiting.insert(input.id) {
            self.steering.push_back(input);
        }
    }

    /// Queues an input for the moment when the model is about to stop.
    pub fn follow_up(&mut self, input: UserInput) {
        if self.waiting.insert(input.id) {
            self.follow_ups.push_back(input);
        }
    }

    /// Removes and returns the inputs for the next request.
    pub fn before_request(&mut self) -> Vec<UserInput> {
        let steering: Vec<_> = self.steering.drain(..).collect();
        for input in &steering {
            self.waiting.remove(&input.id);
        }
        steering
    }

    /// Removes and returns the next input for a model that is about to stop; steering inputs come
    /// before follow-ups.
    pub fn before_stop(&mut self) -> Option<UserInput> {
        let input = self.steering.pop_front().or_else(|| self.follow_ups.pop_front())?;
        self.waiting.remove(&input.id);
        Some(input)
    }

    /// Removes and returns the input with which an idle session starts to work. Inputs that came
    /// too late for the previous work come first.
    pub fn next_prompt(&mut self) -> Option<Prompt> {
        if let Some(input) = self.before_stop() {
            return Some(Prompt::free(input));
        }
        let prompt = self.prompts.pop_front()?;
        self.waiting.remove(&prompt.input.id);
        Some(prompt)
    }

    /// Removes all inputs and returns their ids.
    pub fn clear(&mut self) -> BTreeSet<InputId> {
        std::mem::take(self).waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(text: &str) -> UserInput {
        UserInput { id: InputId::generate(), text: text.to_owned() }
    }

    #[test]
    fn steering_comes_before_the_next_request_and_follow_ups_one_by_one_at_the_stop() {
        let mut queue = InputQueue::default();
        for text in ["one", "two"] {
            queue.follow_up(input(text));
            queue.steer(input(text));
        }
        queue.prompt(Prompt::free(input("later")));
        let said: Vec<_> = queue.before_request().into_iter().map(|input| input.text).collect();
        assert_eq!(said, ["one", "two"]);
        assert_eq!(queue.before_request(), []);
        queue.steer(input("late"));
        let stops = std::iter::from_fn(|| queue.before_stop()).map(|input| input.text);
        assert_eq!(stops.collect::<Vec<_>>(), ["late", "one", "two"]);
        assert_eq!(queue.next_prompt().map(|prompt| prompt.input.text), Some("later".to_owned()));
    }

    #[test]
    fn the_same_text_twice_is_two_inputs_and_the_same_id_twice_is_one() {
        let mut queue = InputQueue::default();
        let first = input("again");
        queue.prompt(Prompt::free(first.clone()));
        queue.prompt(Prompt::free(first.clone()));
        queue.steer(first);
        queue.prompt(Prompt::free(input("again")));
        let texts = std::iter::from_fn(|| queue.next_prompt()).map(|prompt| prompt.input.text);
        assert_eq!(texts.collect::<Vec<_>>(), ["again", "again"]);
    }

    #[test]
    fn what_was_steering_too_late_begins_work_before_the_prompts() {
        let mut queue = InputQueue::default();
        queue.prompt(Prompt::free(input("prompt")));
        queue.follow_up(input("follow-up"));
        queue.steer(input("steering"));
        let texts = std::iter::from_fn(|| queue.next_prompt()).map(|prompt| prompt.input.text);
        assert_eq!(texts.collect::<Vec<_>>(), ["steering", "follow-up", "prompt"]);
    }

    #[test]
    fn what_is_cleared_is_named_and_can_come_again() {
        let mut queue = InputQueue::default();
        let (one, two) = (input("one"), input("two"));
        queue.prompt(Prompt::free(one.clone()));
        queue.steer(two.clone());
        assert_eq!(queue.clear(), BTreeSet::from([one.id, two.id]));
        assert_eq!(queue.next_prompt(), None);
        queue.prompt(Prompt::free(one.clone()));
        assert_eq!(queue.next_prompt(), Some(Prompt::free(one)));
    }
}
