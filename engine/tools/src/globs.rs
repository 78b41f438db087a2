//! Globs over paths, as models write them.

use std::path::Path;

use globset::{Error, GlobBuilder, GlobMatcher};

/// A glob: without a slash it is compared with names, else with paths below the searched folder.
pub(crate) struct PathGlob {
    matcher: GlobMatcher,
    against: Against,
    sign: Sign,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Against {
    Name,
    Path,
}

/// Whether the glob selects what it matches, or, with `!` before it, everything else.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Matching,
    Others,
}

impl PathGlob {
    /// Reads a glob.
    pub(crate) fn new(text: &str) -> Result<Self, Error> {
        let (glob, sign) = match text.strip_prefix('!') {
            Some(rest) => (rest, Sign::Others),
            None => (text, Sign::Matching),
        };
        let against = if glob.contains('/') { Against::Path } else { Against::Name };
        let glob = glob.strip_prefix("./").or_else(|| glob.strip_prefix('/')).unwrap_or(glob);
        // A folder stands for all that is in it.
        let inside = glob.strip_suffix('/').map(|folder| format!("{folder}/**"));
        let mut glob = GlobBuilder::new(inside.as_deref().unwrap_or(glob));
        let matcher = glob.literal_separator(true).build()?.compile_matcher();
        Ok(Self { matcher, against, sign })
    }

    /// Returns whether the glob selects a path, which is relative to the searched folder.
    pub(crate) fn selects(&self, path: &Path) -> bool {
        let is_match = match self.against {
            Against::Path => self.matcher.is_match(path),
            Against::Name => path.file_name().is_some_and(|name| self.matcher.is_match(name)),
        };
        is_match == (self.sign == Sign::Matching)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_without_a_slash_is_of_names_and_one_with_a_slash_of_paths() {
        let cases = [
            ("*.rs", "a/b.rs", true),
            ("*.{rs,toml}", "Cargo.toml", true),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/a/b.rs", false),
            ("src/**/*.rs", "src/a/b.rs", true),
            ("**/*.rs", "a.rs", true),
            ("./src/*", "src/a", true),
            ("/a.rs", "a.rs", true),
            ("/a.rs", "src/a.rs", false),
            ("src/", "src/a/b", true),
            ("!*.md", "a.rs", true),
            ("!*.md", "a.md", false),
        ];
        for (glob, path, selected) in cases {
            let glob = PathGlob::new(glob).unwrap_or_else(|error| panic!("{glob}: {error}"));
            assert_eq!(glob.selects(Path::new(path)), selected, "{path}");
        }
        assert!(PathGlob::new("a{b").is_err());
    }
}
