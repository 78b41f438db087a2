//! Names for tasks that nobody named: slugs of their items, each once.

use std::collections::{HashMap, HashSet};

use protocol::TaskName;

/// Hands out names; two that differ only in case never both.
#[derive(Default)]
pub(crate) struct Names {
    taken: HashSet<String>,
    /// The last number given after a beginning, so that equal items do not count from the start.
    last: HashMap<String, usize>,
}

/// A number may cut the end off a long name, so what may meet there counts together.
const BEGINNING: usize = 40;

impl Names {
    /// Returns the nearest free name to `text`.
    pub(crate) fn nearest(&mut self, text: &str) -> TaskName {
        let name = TaskName::nearest(text);
        let folded = name.folded();
        if self.taken.insert(folded.clone()) {
            return name;
        }
        let beginning = folded.get(..BEGINNING).unwrap_or(&folded).to_owned();
        let last = self.last.entry(beginning).or_insert(1);
        loop {
            *last += 1;
            let numbered = name.numbered(*last);
            if self.taken.insert(numbered.folded()) {
                return numbered;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(texts: &[&str]) -> Vec<String> {
        let mut names = Names::default();
        texts.iter().map(|text| names.nearest(text).to_string()).collect()
    }

    #[test]
    fn a_name_is_the_slug_of_its_item_and_collisions_are_numbered() {
        assert_eq!(
            names(&["src/a.rs", "src-a.rs", "SRC/A.rs"]),
            ["src-a-rs", "src-a-rs-2", "SRC-A-rs-3"]
        );
        assert_eq!(names(&["a", "a", "a-2", "a"]), ["a", "a-2", "a-2-2", "a-3"]);
        assert_eq!(names(&["...", "ä", "-"]), ["task", "task-2", "task-3"]);
    }

    #[test]
    fn a_hundred_thousand_items_get_names_at_once() {
        let mut names = Names::default();
        let long = "x".repeat(60);
        let all: HashSet<_> = (0..100_000)
            .map(|n| match n % 3 {
                0 => names.nearest("the same").folded(),
                1 => names.nearest(&long).folded(),
                _ => names.nearest(&format!("{}{}", &long[..44], n / 6)).folded(),
            })
            .collect();
        assert_eq!(all.len(), 100_000);
    }
}
