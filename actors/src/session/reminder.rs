//! What a model is told whose yield was not accepted.

use engine::agent::{Nudge, YIELD};
use engine::ports::ToolChoice;
use engine::task::Reminder;

/// Returns the words of a reminder. The last one leaves the model no choice.
pub(super) fn nudge(reminder: &Reminder) -> Nudge {
    let Reminder { complaint, number, of } = reminder;
    let text = format!(
        "Reminder {number} of {of}: {complaint}. Go on with the task if it is not done; then call \
         `{YIELD}` with your result, or with an error if you cannot do it."
    );
    let choice = match reminder.is_last() {
        true => ToolChoice::Force(YIELD.to_owned()),
        false => ToolChoice::Free,
    };
    Nudge { text, choice }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_reminder_leaves_no_choice() {
        let reminder = |number| Reminder { complaint: "/a: is missing".to_owned(), number, of: 3 };
        let (second, third) = (nudge(&reminder(2)), nudge(&reminder(3)));
        assert_eq!(second.choice, ToolChoice::Free);
        assert_eq!(third.choice, ToolChoice::Force(YIELD.to_owned()));
        assert!(third.text.starts_with("Reminder 3 of 3: /a: is missing."), "{}", third.text);
    }
}
