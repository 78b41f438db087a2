//! What `/help` says about keys. No line is wider than 80 columns.

/// The keys of a conversation.
pub(super) const KEYS: &str = "
Enter           sends the input; while the model works, with the next request
Alt-Enter       sends the input when the model would stop
Alt-Up          takes the newest waiting input back
Esc             stops the model, and sends the waiting inputs
Ctrl-C          clears the input, else stops the model, else leaves (twice)
Ctrl-D          leaves
Ctrl-J          begins a new line
Up, Down        go through earlier prompts; Ctrl-R searches them
@PATH           sends the file with the input
Tab             completes a command, or a file after `@`
Ctrl-P          uses the next model; Shift-Tab, the next thinking level
Ctrl-T          toggles full display of thinking
Ctrl-Z          suspends; `fg` goes on
!COMMAND        runs a command, whose output the model gets; !!COMMAND: you only
y, s, a, n, d   answer a question: once, for the session, always, no; d: details";

/// The same for a terminal that edits each line itself.
pub(super) const LINE_KEYS: &str = "
Enter           sends the line; while the model works, with the next request
Ctrl-C          stops the model and returns waiting inputs, else leaves (twice)
Ctrl-D          leaves
@PATH           sends the file with the input
!COMMAND        runs a command, whose output the model gets; !!COMMAND: you only
y, s, a, n, d   answer a question: once, for the session, always, no; d: details";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::width;

    #[test]
    fn no_line_about_a_key_is_wider_than_eighty_columns() {
        for line in KEYS.lines().chain(LINE_KEYS.lines()) {
            assert!(width(line) <= 80, "{line}");
        }
    }
}
