//! What a model is told whose yield was not accepted.

use engine::agent::{Prompt, YIELD};
use engine::ports::ToolChoice;
use engine::task::Reminder;
use protocol::{InputId, UserInput};

/// Returns a reminder as an input of its session. The last one leaves the model no choice.
pub(super) fn prompt(id: InputId, reminder: &Reminder) -> Prompt {
    let Reminder { feedback, number, of } = reminder;
    let text = format!(
        "Reminder {number} of {of}: {feedback}. Go on with the task if it is not done; then call \
         `{YIELD}` with your result, or with an error if you cannot do it."
    );
    let choice = match reminder.is_last() {
        true => ToolChoice::Force(YIELD.to_owned()),
        false => ToolChoice::Free,
    };
    Prompt { input: UserInput { id, text }, choice }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_reminder_leaves_no_choice() {
        let reminder = |number| Reminder { feedback: "/a: is missing".to_owned(), number, of: 3 };
        let id = InputId::generate();
        let (second, third) = (prompt(id, &reminder(2)), prompt(id, &reminder(3)));
        assert_eq!(second.choice, ToolChoice::Free);
        assert_eq!(third.choice, ToolChoice::Force(YIELD.to_owned()));
        let text = third.input.text;
        assert!(text.starts_with("Reminder 3 of 3: /a: is missing."), "{text}");
    }
}
