//! What a session has seen of files, so that it overwrites no change that it has not seen: one of another
//! task, of another program, or of its own command.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::ports::ViewPath;

use crate::display::MAX_FILE_BYTES;

/// The largest content that is kept, to tell later what has changed, and all that a session keeps.
const KEPT_FILE: usize = 256 << 10;
const KEPT: usize = 1 << 20;

/// The maximum number of files that are remembered.
const FILES: usize = 10_000;

/// The files that a session has read or written, as it has seen them last.
#[derive(Default)]
pub(crate) struct SeenFiles {
    hasher: RandomState,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    files: BTreeMap<ViewPath, Seen>,
    /// The bytes of the contents that are kept.
    kept: usize,
    /// Counts what was seen, so that it is known what was seen long ago.
    count: u64,
}

struct Seen {
    digest: u64,
    content: Option<Vec<u8>>,
    number: u64,
    by: SeenBy,
}

/// Who has seen a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SeenBy {
    /// The model, or the tool that wrote it.
    Session,
    /// Only the person who was asked about a change of it.
    Person,
}

/// The bytes of a file while it is read.
pub(crate) struct Glance {
    hasher: <RandomState as std::hash::BuildHasher>::Hasher,
    bytes: u64,
    content: Option<Vec<u8>>,
}

/// What is known of the content that a changed file had before.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Before {
    Known(Vec<u8>),
    /// It was too large to be kept, or was seen too long ago.
    Forgotten,
}

impl Glance {
    /// Adds the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        // A larger file is not remembered.
        if self.bytes <= MAX_FILE_BYTES {
            self.hasher.write(bytes);
        }
        match &mut self.content {
            Some(content) if content.len() + bytes.len() <= KEPT_FILE => content.extend(bytes),
            content => *content = None,
        }
    }
}

impl SeenFiles {
    /// Returns what a file is read into that is seen.
    pub(crate) fn glance(&self) -> Glance {
        Glance { hasher: self.hasher.build_hasher(), bytes: 0, content: Some(Vec::new()) }
    }

    /// Remembers a file that was seen whole.
    pub(crate) fn saw(&self, path: &ViewPath, glance: Glance) {
        self.add(path, glance, SeenBy::Session);
    }

    /// Remembers a file as a person judges a change of it, unless the session has seen it.
    pub(crate) fn judged(&self, path: &ViewPath, content: &[u8]) {
        let known = self.state().files.get(path).map(|seen| seen.by);
        if known != Some(SeenBy::Session) {
            let mut glance = self.glance();
            glance.push(content);
            self.add(path, glance, SeenBy::Person);
        }
    }

    fn add(&self, path: &ViewPath, glance: Glance, by: SeenBy) {
        // No tool overwrites such a file.
        if glance.bytes > MAX_FILE_BYTES {
            return self.forget(path);
        }
        let mut state = self.state();
        state.remove(path);
        state.count += 1;
        let (digest, content) = (glance.hasher.finish(), glance.content);
        let seen = Seen { digest, content, number: state.count, by };
        state.kept += seen.content.as_ref().map_or(0, Vec::len);
        state.files.insert(path.clone(), seen);
        state.shrink();
    }

    /// Forgets a file, which was removed.
    pub(crate) fn forget(&self, path: &ViewPath) {
        self.state().remove(path);
    }

    /// Returns what a file had before if it has changed since it was seen last. It counts as seen now.
    pub(crate) fn change(&self, path: &ViewPath, content: &[u8]) -> Option<Before> {
        let mut glance = self.glance();
        glance.push(content);
        let seen = {
            let mut state = self.state();
            match state.files.get(path) {
                Some(seen) if seen.digest != glance.hasher.finish() => state.remove(path)?,
                Some(_) | None => return None,
            }
        };
        self.saw(path, glance);
        Some(seen.content.map_or(Before::Forgotten, Before::Known))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn remove(&mut self, path: &ViewPath) -> Option<Seen> {
        let seen = self.files.remove(path)?;
        self.kept -= seen.content.as_ref().map_or(0, Vec::len);
        Some(seen)
    }

    /// Gives up the contents, and then the files, that were seen longest ago.
    fn shrink(&mut self) {
        while self.kept > KEPT {
            let kept = self.files.values_mut().filter(|seen| seen.content.is_some());
            let Some(oldest) = kept.min_by_key(|seen| seen.number) else { break };
            self.kept -= oldest.content.take().map_or(0, |content| content.len());
        }
        if self.files.len() > FILES {
            let oldest = self.files.iter().min_by_key(|(_, seen)| seen.number);
            if let Some(path) = oldest.map(|(path, _)| path.clone()) {
                self.remove(&path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn path(number: usize) -> ViewPath {
        ViewPath::new(Path::new(&format!("f{number}"))).unwrap()
    }

    impl SeenFiles {
        fn saw_content(&self, path: &ViewPath, content: &[u8]) {
            let mut glance = self.glance();
            glance.push(content);
            self.saw(path, glance);
        }
    }

    #[test]
    fn a_file_has_changed_if_its_bytes_differ_from_those_seen_last_and_only_once() {
        let seen = SeenFiles::default();
        assert_eq!(seen.change(&path(1), b"a"), None, "it was never seen");
        seen.saw_content(&path(1), b"a");
        assert_eq!(seen.change(&path(1), b"a"), None);
        assert_eq!(seen.change(&path(1), b"b"), Some(Before::Known(b"a".to_vec())));
        assert_eq!(seen.change(&path(1), b"b"), None);
        seen.forget(&path(1));
        assert_eq!(seen.change(&path(1), b"c"), None);
        let mut glance = seen.glance();
        b"abc".chunks(2).for_each(|part| glance.push(part));
        seen.saw(&path(2), glance);
        assert_eq!(seen.change(&path(2), b"abc"), None, "in any pieces");
        // What a person has judged counts as long as the session has not seen the file.
        seen.judged(&path(2), b"d");
        assert_eq!(seen.change(&path(2), b"abc"), None);
        seen.judged(&path(3), b"a");
        seen.judged(&path(3), b"b");
        assert_eq!(seen.change(&path(3), b"b"), None);
        assert_eq!(seen.change(&path(3), b"c"), Some(Before::Known(b"b".to_vec())));
    }

    #[test]
    fn what_is_kept_has_a_limit_but_a_change_is_still_noticed() {
        let seen = SeenFiles::default();
        for number in 0..10 {
            seen.saw_content(&path(number), &vec![b'x'; 200 << 10]);
        }
        assert!(seen.state().kept <= KEPT);
        assert_eq!(seen.change(&path(0), b"y"), Some(Before::Forgotten));
        assert!(matches!(seen.change(&path(9), b"y"), Some(Before::Known(_))));
        seen.saw_content(&path(11), &vec![b'x'; KEPT_FILE + 1]);
        assert_eq!(seen.change(&path(11), b"y"), Some(Before::Forgotten));
        seen.saw_content(&path(12), &vec![b'x'; MAX_FILE_BYTES as usize + 1]);
        assert_eq!(seen.change(&path(12), b"y"), None);
        for number in 0..FILES + 5 {
            seen.saw_content(&path(number), b"");
        }
        assert_eq!(seen.state().files.len(), FILES);
    }
}
