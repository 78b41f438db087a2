//! What stood in the damaged lines of a session file, as far as it matters for the entries around them:
//! those behind a damaged line stay with those before it.

use std::collections::HashMap;

use engine::session::SessionTree;
use protocol::EntryId;

/// The longest id that is looked for in a damaged line, in bytes.
const LONGEST_ID: usize = 64;

/// The damaged lines of a file up to a line.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// For the ids in damaged lines, the place of the entry that was before it. Only looked up.
    before: HashMap<EntryId, usize>,
    /// The place of the last entry before the last damaged line.
    last: Option<usize>,
}

impl Gaps {
    /// Records a damaged line, which follows the entries in `tree`.
    pub(super) fn note<B>(&mut self, tree: &SessionTree<B>, line: &[u8]) {
        let named = find(line, b"\"parentId\":\"")
            .and_then(|parent| tree.place(&parent).or_else(|| self.before.get(&parent).copied()));
        let Some(before) = named.or_else(|| tree.nodes().len().checked_sub(1)) else { return };
        if let Some(id) = find(line, b"\"id\":\"") {
            self.before.insert(id, before);
        }
        self.last = Some(before);
    }

    /// Returns the place of the entry that an entry of this parent follows, if the parent is missing
    /// in `tree` and may have stood in a damaged line.
    pub(super) fn bridge<B>(
        &self,
        tree: &SessionTree<B>,
        parent: Option<&EntryId>,
    ) -> Option<usize> {
        let (last, parent) = (self.last?, parent?);
        let is_missing = tree.place(parent).is_none();
        is_missing.then(|| self.before.get(parent).copied().unwrap_or(last))
    }
}

/// Returns the first id behind `key` in a line that is no JSON.
fn find(line: &[u8], key: &[u8]) -> Option<EntryId> {
    let begin = line.windows(key.len()).position(|part| part == key)? + key.len();
    let rest = line.get(begin..)?;
    let end = rest.iter().take(LONGEST_ID).position(|byte| *byte == b'"')?;
    std::str::from_utf8(&rest[..end]).ok().map(EntryId::new)
}
