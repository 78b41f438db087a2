//! The files that a prompt names with `@`.

use protocol::{FileMention, MentionedFile, Timestamp, UserInput};

use super::ViewState;
use crate::session::Mentions;
use crate::view::earlier::mentioned_text;
use crate::view::entry::NoteKind;

impl ViewState {
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
