//! The inputs of a session: what users and tasks give it, and when the model is told.

use std::collections::{BTreeSet, VecDeque};

use async_trait::async_trait;
use protocol::{InputId, ModelRoute, UserInput};

use crate::ports::ToolChoice;
use crate::request::ModelClient;

/// Hands the loop what users have given its session. What was handed out does not come again.
#[async_trait]
pub trait Inputs: Send + Sync {
    /// Returns what counts from the next request on.
    async fn before_request(&self) -> RequestChanges;

    /// Returns what is to be said to a model that would stop now; nothing if it may stop.
    async fn before_stop(&self) -> Option<UserInput>;
}

/// What counts from a request on.
#[derive(Default)]
pub struct RequestChanges {
    /// Another model.
    pub model: Option<Model>,
    /// What is said to the model before it is asked.
    pub steering: Vec<UserInput>,
}

/// A model, and what answers for it.
#[derive(Clone)]
pub struct Model {
    /// Which model.
    pub route: ModelRoute,
    /// Asks it.
    pub client: ModelClient,
}

/// An input that begins work, and how free the model is in its first answer to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// What is said.
    pub input: UserInput,
    /// Whether the model has to call something.
    pub choice: ToolChoice,
}

impl Prompt {
    /// Returns a prompt that leaves the model free.
    #[must_use]
    pub fn free(input: UserInput) -> Self {
        Self { input, choice: ToolChoice::Free }
    }
}

/// Inputs in the order in which they came, by when they are to be said.
#[derive(Debug, Default)]
pub struct InputQueue {
    prompts: VecDeque<Prompt>,
    steering: VecDeque<UserInput>,
    follow_ups: VecDeque<UserInput>,
    waiting: BTreeSet<InputId>,
}

impl InputQueue {
    /// Adds an input that begins work of its own.
    pub fn prompt(&mut self, prompt: Prompt) {
        if self.waiting.insert(prompt.input.id) {
            self.prompts.push_back(prompt);
        }
    }

    /// Adds an input for the next request of the work that goes on.
    pub fn steer(&mut self, input: UserInput) {
        if self.waiting.insert(input.id) {
            self.steering.push_back(input);
        }
    }

    /// Adds an input for the moment at which the model would stop.
    pub fn follow_up(&mut self, input: UserInput) {
        if self.waiting.insert(input.id) {
            self.follow_ups.push_back(input);
        }
    }

    /// Takes what is to be said before the next request.
    pub fn before_request(&mut self) -> Vec<UserInput> {
        let steering: Vec<_> = self.steering.drain(..).collect();
        for input in &steering {
            self.waiting.remove(&input.id);
        }
        steering
    }

    /// Takes what is to be said to a model that would stop: what steers it comes first.
    pub fn before_stop(&mut self) -> Option<UserInput> {
        let input = self.steering.pop_front().or_else(|| self.follow_ups.pop_front())?;
        self.waiting.remove(&input.id);
        Some(input)
    }

    /// Takes what an idle session begins with. What came too late for the last work begins work of
    /// its own.
    pub fn next_prompt(&mut self) -> Option<Prompt> {
        if let Some(input) = self.before_stop() {
            return Some(Prompt::free(input));
        }
        let prompt = self.prompts.pop_front()?;
        self.waiting.remove(&prompt.input.id);
        Some(prompt)
    }

    /// Removes everything, and returns what was removed.
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
