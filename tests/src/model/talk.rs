//! One conversation: its script, what was asked in it, and what was answered.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::cache::PromptCache;
use super::{Answer, Asked, Checks, Script, audit};

/// One conversation as the model remembers it.
pub(super) struct Talk {
    name: String,
    script: Box<dyn Script>,
    /// Every request, with the answer it was given.
    pub(super) said: Vec<(Asked, Answer)>,
}

impl Talk {
    pub(super) fn new(name: &str, script: Box<dyn Script>) -> Self {
        Self { name: name.to_owned(), script, said: Vec::new() }
    }

    /// Decides on the answer to a request, and tells what is wrong with it.
    pub(super) fn answer(
        &mut self,
        asked: Asked,
        checks: Checks,
        cache: Option<&mut PromptCache>,
        faults: &mut Vec<String>,
    ) -> Answer {
        let mut found = match checks {
            Checks::Strict => asked.wire.faults(&asked),
            Checks::None => Vec::new(),
        };
        let before = self.said.iter().rev().find(|(asked, _)| !asked.is_summary());
        if let (Checks::Strict, Some((before, answer)), false) =
            (checks, before, asked.is_summary())
        {
            found.extend(audit::faults(before, answer, &asked));
        }
        let next = catch_unwind(AssertUnwindSafe(|| self.script.next(&asked)));
        let mut answer = next.unwrap_or_else(|panic| {
            let words = panic.downcast_ref::<String>().map(String::as_str);
            let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
            found.push(format!("the script: {}", words.unwrap_or("panicked")));
            Answer::error(400, "script", "the script panicked")
        });
        self.identify(&mut answer);
        if let (Some(cache), Answer::Says(said)) = (cache, &mut answer) {
            cache.count(asked.wire, &asked.bytes, said);
        }
        let number = self.said.len() + 1;
        faults
            .extend(found.iter().map(|fault| format!("{}, request {number}: {fault}", self.name)));
        self.said.push((asked, answer.clone()));
        answer
    }

    /// Gives each call without an identity one that no other call has.
    fn identify(&self, answer: &mut Answer) {
        let (Answer::Says(said) | Answer::Cut(said, _)) = answer else { return };
        // Letters that every provider takes, and not too many of them.
        let plain = self.name.chars().filter(char::is_ascii_alphanumeric).take(16);
        let (talk, number) = (plain.collect::<String>(), self.said.len());
        for (index, call) in said.calls.iter_mut().enumerate() {
            call.id.get_or_insert_with(|| format!("call_{talk}_{number}_{index}"));
        }
    }
}
