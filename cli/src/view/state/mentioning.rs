//! The files that a prompt names with `@`.

use protocol::{FileMention, MentionedFile, Timestamp, UserInput};

use super::ViewState;
use crate::session::Mentions;
use crate::view::earlier::mentioned_text;
use crate::view::entry::NoteKind;

/// How many long pastes are known at once.
const PASTES: usize = 8;

impl ViewState {
    /// Remembers the long pastes of the input, before it is taken.
    pub(super) fn keep_pastes(&mut self) {
        self.pastes.extend(self.editor.long_pastes().map(str::to_owned));
        let most = self.pastes.len().saturating_sub(PASTES);
        self.pastes.drain(..most);
    }

    /// Returns the part of an input that can name files: not a long paste, which the user has not
    /// typed and does not see.
    pub(in crate::view) fn typed_part(&self, text: &str) -> String {
        self.pastes.iter().fold(text.to_owned(), |text, paste| text.replacen(paste, " ", 1))
    }

    /// Returns the files that go with an input. `None` if files are missing and the user was not told
    /// yet: the input goes back to the editor then, and is sent as it is when it is sent again.
    pub(in crate::view) fn mention(
        &mut self,
        input: &UserInput,
        found: Mentions,
    ) -> Option<Vec<MentionedFile>> {
        let Mentions { files, notices, missing } = found;
        let told = self.told.take();
        if !missing.is_empty() && told.as_deref() != Some(&input.text) {
            let names = missing.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
            self.hint = Some(format!("no file {}: Enter sends it as it is", names.join(", ")));
            self.told = Some(input.text.clone());
            self.queue.retain(|queued| queued.id != input.id);
            self.given_back.push(input.text.clone());
            self.give_back();
            return None;
        }
        notices.into_iter().for_each(|notice| self.note(NoteKind::Warning, notice));
        let mention = FileMention { files, timestamp: Timestamp::from_millisecond(0) };
        let text = (!mention.files.is_empty()).then(|| mentioned_text(&mention));
        let queued = self.queue.iter_mut().filter(|queued| queued.id == input.id);
        queued.for_each(|queued| queued.files.clone_from(&text));
        Some(mention.files)
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyModifiers};

    use crate::view::state::Effect;
    use crate::view::state::tests::{press, test_view};

    #[test]
    fn a_long_paste_names_no_files_and_is_no_command() {
        let mut view = test_view();
        let paste = "! rm @a.rs\n".repeat(9);
        view.paste(&paste);
        view.paste("and @b.rs");
        let effects = press(&mut view, KeyCode::Enter, KeyModifiers::NONE);
        let Some(Effect::SendTyped(_, input)) = effects.last() else { panic!("{effects:?}") };
        assert_eq!(input.text, format!("{paste}and @b.rs"));
        assert_eq!(view.typed_part(&input.text), " and @b.rs");
    }
}
