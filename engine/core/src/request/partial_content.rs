//! The content of an answer that is not complete yet: text and thinking, by block.

use std::collections::BTreeMap;

use protocol::Part;

/// The text and thinking of an answer received so far. Calls are not part of it, because a call that
/// is not complete is not carried out.
#[derive(Debug, Default)]
pub(crate) struct PartialContent(BTreeMap<usize, Part>);

impl PartialContent {
    /// Appends text to the block with this index.
    pub(crate) fn push_text(&mut self, block: usize, more: &str) {
        if let Part::Text { text, .. } = self.0.entry(block).or_insert_with(|| Part::text("")) {
            text.push_str(more);
        }
    }

    /// Appends thinking to the block with this index.
    pub(crate) fn push_thinking(&mut self, block: usize, more: &str) {
        let part = self.0.entry(block).or_insert_with(|| Part::thinking(""));
        if let Part::Thinking { thinking, .. } = part {
            thinking.push_str(more);
        }
    }

    /// Returns the parts in their order.
    pub(crate) fn into_parts(self) -> Vec<Part> {
        self.0.into_values().collect()
    }
}
