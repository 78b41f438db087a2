//! The inputs of a session: a queue of the inputs that users and tasks send to the model.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use async_trait::async_trait;
use protocol::{InputId, ModelRoute, QueueKind, ThinkingLevel, UserInput};

use crate::ports::ToolChoice;
use crate::prompt::SystemPrompt;
use crate::request::ModelClient;

/// The source of inputs for a running agent loop. It returns every input once.
#[async_trait]
pub trait Inputs: Send + Sync {
    /// Returns the changes that apply from the next request on.
    async fn before_request(&self) -> RequestChanges;

    /// Returns the next inputs for a model that is about to stop. It may stop if there are none.
    async fn before_stop(&self) -> Vec<UserInput>;

    /// Returns whether an input waits that the model is to get at once, so that the calls that have
    /// not ended are skipped.
    async fn interrupts(&self) -> bool;
}

/// How many inputs of one kind a model gets at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueMode {
    /// All that wait.
    All,
    /// The oldest.
    #[default]
    OneAtATime,
}

/// What steering does to the tool calls under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InterruptMode {
    /// When the first of them has ended, the others are stopped or not started.
    #[default]
    Immediate,
    /// It waits until all have ended.
    Wait,
}

/// How a session treats the inputs that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueModes {
    /// How many steering inputs a request gets.
    pub steering: QueueMode,
    /// How many follow-ups a model gets that is about to stop.
    pub follow_up: QueueMode,
    /// What steering does to tool calls.
    pub interrupt: InterruptMode,
}

/// Changes that apply from the next request on.
#[derive(Default)]
pub struct RequestChanges {
    /// The model that replaces the current one.
    pub model: Option<Model>,
    /// How much the model is to think.
    pub thinking: Option<ThinkingLevel>,
    /// The system prompt and the tools that replace the current ones.
    pub setup: Option<RequestSetup>,
    /// Inputs to add before the request.
    pub steering: Vec<UserInput>,
}

/// What requests have beside their messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestSetup {
    /// What the system prompt is made of.
    pub system: Arc<SystemPrompt>,
    /// The names of the tools that the model may use; all of the session if absent.
    pub only: Option<Arc<BTreeSet<String>>>,
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
    /// How the inputs are given out.
    pub modes: QueueModes,
    prompts: VecDeque<Prompt>,
    steering: VecDeque<UserInput>,
    follow_ups: VecDeque<UserInput>,
    waiting: BTreeSet<InputId>,
}

impl InputQueue {
    /// Returns a queue without inputs.
    #[must_use]
    pub fn new(modes: QueueModes) -> Self {
        Self { modes, ..Self::default() }
    }

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
        let inputs = take(&mut self.steering, self.modes.steering);
        self.forget(inputs)
    }

    /// Removes and returns the next inputs for a model that is about to stop; steering inputs come
    /// before follow-ups.
    pub fn before_stop(&mut self) -> Vec<UserInput> {
        let inputs = match self.steering.is_empty() {
            false => take(&mut self.steering, self.modes.steering),
            true => take(&mut self.follow_ups, self.modes.follow_up),
        };
        self.forget(inputs)
    }

    /// Returns whether steering waits that skips tool calls.
    #[must_use]
    pub fn interrupts(&self) -> bool {
        self.modes.interrupt == InterruptMode::Immediate && !self.steering.is_empty()
    }

    /// Removes and returns the newest input of a kind.
    pub fn pop_last(&mut self, kind: QueueKind) -> Option<UserInput> {
        let input = match kind {
            QueueKind::Prompt => self.prompts.pop_back()?.input,
            QueueKind::Steering => self.steering.pop_back()?,
            QueueKind::FollowUp => self.follow_ups.pop_back()?,
        };
        self.waiting.remove(&input.id);
        Some(input)
    }

    /// Removes and returns all inputs of a kind, oldest first.
    pub fn pop_all(&mut self, kind: QueueKind) -> Vec<UserInput> {
        let mut inputs: Vec<_> = std::iter::from_fn(|| self.pop_last(kind)).collect();
        inputs.reverse();
        inputs
    }

    /// Removes and returns the input with which an idle session starts to work. Inputs that came
    /// too late for the previous work come first.
    pub fn next_prompt(&mut self) -> Option<Prompt> {
        let late = self.steering.pop_front().or_else(|| self.follow_ups.pop_front());
        let prompt = late.map(Prompt::free).or_else(|| self.prompts.pop_front())?;
        self.waiting.remove(&prompt.input.id);
        Some(prompt)
    }

    /// Removes all inputs and returns their ids.
    pub fn clear(&mut self) -> BTreeSet<InputId> {
        let modes = self.modes;
        std::mem::replace(self, Self::new(modes)).waiting
    }

    fn forget(&mut self, inputs: Vec<UserInput>) -> Vec<UserInput> {
        for input in &inputs {
            self.waiting.remove(&input.id);
        }
        inputs
    }
}

fn take(queue: &mut VecDeque<UserInput>, mode: QueueMode) -> Vec<UserInput> {
    let count = match mode {
        QueueMode::All => queue.len(),
        QueueMode::OneAtATime => queue.len().min(1),
    };
    queue.drain(..count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(text: &str) -> UserInput {
        UserInput::new(InputId::generate(), text)
    }

    #[test]
    fn steering_comes_before_the_next_request_and_follow_ups_one_by_one_at_the_stop() {
        let mut queue = InputQueue::default();
        queue.modes.steering = QueueMode::All;
        for text in ["one", "two"] {
            queue.follow_up(input(text));
            queue.steer(input(text));
        }
        queue.prompt(Prompt::free(input("later")));
        let said: Vec<_> = queue.before_request().into_iter().map(|input| input.text).collect();
        assert_eq!(said, ["one", "two"]);
        assert_eq!(queue.before_request(), []);
        queue.steer(input("late"));
        let stops = std::iter::from_fn(|| queue.before_stop().pop()).map(|input| input.text);
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

    #[test]
    fn each_queue_gives_out_one_input_or_all_as_its_mode_says() {
        let texts = |inputs: Vec<UserInput>| -> Vec<String> {
            inputs.into_iter().map(|input| input.text).collect()
        };
        for (mode, first) in [(QueueMode::OneAtATime, 1), (QueueMode::All, 3)] {
            let mut queue = InputQueue::default();
            queue.modes = QueueModes { steering: mode, follow_up: mode, ..queue.modes };
            for text in ["one", "two", "three"] {
                queue.follow_up(input(text));
            }
            assert_eq!(texts(queue.before_stop()), ["one", "two", "three"][..first]);
            for text in ["one", "two", "three"] {
                queue.steer(input(text));
            }
            assert_eq!(texts(queue.before_request()), ["one", "two", "three"][..first]);
        }
    }

    #[test]
    fn only_steering_interrupts_and_only_at_once() {
        let mut queue = InputQueue::default();
        queue.follow_up(input("later"));
        assert!(!queue.interrupts());
        queue.steer(input("now"));
        assert!(queue.interrupts());
        queue.modes.interrupt = InterruptMode::Wait;
        assert!(!queue.interrupts());
    }

    #[test]
    fn the_newest_input_of_a_kind_can_be_taken_back() {
        let mut queue = InputQueue::default();
        let (one, two) = (input("one"), input("two"));
        queue.steer(one.clone());
        queue.steer(two.clone());
        assert_eq!(queue.pop_last(QueueKind::FollowUp), None);
        assert_eq!(queue.pop_last(QueueKind::Steering), Some(two.clone()));
        queue.steer(two.clone());
        assert_eq!(queue.before_request(), [one]);
        assert_eq!(queue.pop_last(QueueKind::Steering), Some(two));
        assert_eq!(queue.clear(), BTreeSet::new());
    }

    #[test]
    fn all_inputs_of_a_kind_can_be_taken_back_oldest_first() {
        let mut queue = InputQueue::default();
        let (one, two, other) = (input("one"), input("two"), input("other"));
        queue.follow_up(one.clone());
        queue.follow_up(two.clone());
        queue.prompt(Prompt::free(other.clone()));
        assert_eq!(queue.pop_all(QueueKind::FollowUp), [one, two]);
        assert_eq!(queue.pop_all(QueueKind::FollowUp), []);
        assert_eq!(queue.pop_all(QueueKind::Prompt), [other]);
    }
}
