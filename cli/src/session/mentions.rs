//! The files that a prompt names with `@`: what a model gets of them.

use std::path::Path;

use protocol::{Content, DecodedText, MentionedFile, SkippedReason};

use regatta::session::{FileContent, IncludedImage, ReadFile, find, foreign_note, read};
use regatta::session::{ImageSizes, Prompts};

/// The most files that go with a prompt, and the most bytes of their texts together.
const MOST_FILES: usize = 20;
const MOST_BYTES: u64 = 5 << 20;

/// What ends a sentence and not a path.
const PUNCTUATION: &[char] = &['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '"', '`'];

/// The files that a prompt names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mentions {
    /// The files, as a model gets them.
    pub(crate) files: Vec<MentionedFile>,
    /// What the user should know about files that do not go with the prompt as they are.
    pub(crate) notices: Vec<String>,
    /// What looks like the path of a file, and is none.
    pub(crate) missing: Vec<String>,
}

impl Mentions {
    /// Reads the files that `text` names. Their paths begin at `folder` or, with `~`, at `home`; one
    /// with spaces stands between quotes. A word that is not a file is only a word.
    pub(crate) fn of(text: &str, folder: &Path, home: Option<&Path>, sizes: ImageSizes) -> Self {
        let mut found = Self::default();
        let mut bytes = 0;
        for word in named(text) {
            let Some((name, file)) = found.file_of(word, folder, home, sizes) else { continue };
            if found.files.iter().any(|file| file.path == name) {
                continue;
            }
            if let Some(why) = file.skipped() {
                found.notices.push(format!("`{name}` is not sent: {why}"));
            }
            if let FileContent::Text(_) = file.content {
                bytes += file.size;
            }
            if found.files.len() == MOST_FILES || bytes > MOST_BYTES {
                found.notices.push(format!("`{name}` is not sent: too much with one prompt"));
                continue;
            }
            found.files.extend(mentioned(name, file, &mut found.notices));
        }
        found
    }

    /// Adds the files that the prompts of a command line name. A prompt is sent as it is where there is no file.
    pub(crate) fn add_to(
        prompts: &mut Prompts,
        folder: &Path,
        home: Option<&Path>,
        sizes: ImageSizes,
    ) {
        for text in &prompts.typed {
            let Self { files, notices, missing } = Self::of(text, folder, home, sizes);
            prompts.mentions.push(files);
            prompts.notices.extend(notices);
            let missing =
                missing.iter().map(|name| format!("no file `{name}`: it is sent as a word"));
            prompts.notices.extend(missing);
        }
    }

    /// Returns the file that a word names, and its name. Notes that there is none if the word looks
    /// like a path.
    fn file_of<'a>(
        &mut self,
        word: &'a str,
        folder: &Path,
        home: Option<&Path>,
        sizes: ImageSizes,
    ) -> Option<(&'a str, ReadFile)> {
        let bare = word.trim_end_matches(PUNCTUATION);
        let is_there =
            |name: &&str| !name.is_empty() && find(name.as_bytes(), folder, home).exists();
        let Some(name) = [word, bare].into_iter().find(is_there) else {
            if bare.contains('/') || bare.trim_start_matches('.').contains('.') {
                self.missing.push(bare.to_owned());
            }
            return None;
        };
        let path = find(name.as_bytes(), folder, home);
        if path.is_dir() {
            return None;
        }
        match read(&path, sizes) {
            Ok(file) => Some((name, file)),
            Err(error) => {
                self.notices.push(format!("`{name}` is not sent: {error}"));
                None
            }
        }
    }
}

/// Returns a file as a model gets it. One that is not a text does not go with a prompt.
fn mentioned(name: &str, file: ReadFile, notices: &mut Vec<String>) -> Option<MentionedFile> {
    let mut mentioned = MentionedFile {
        path: name.to_owned(),
        content: String::new(),
        line_count: None,
        byte_size: Some(file.size),
        skipped_reason: None,
        image: None,
    };
    match file.content {
        FileContent::Text(DecodedText { text, foreign }) => {
            notices.extend(foreign_note(&format!("`{name}`"), foreign));
            mentioned.line_count = u64::try_from(text.lines().count()).ok();
            mentioned.content = text;
        }
        FileContent::Image(IncludedImage { image, notice, .. }) => {
            notices.extend(notice);
            let (data, mime_type) = (image.content, image.mime_type);
            mentioned.image = Some(Content::Image { data, mime_type });
        }
        FileContent::TooLarge => mentioned.skipped_reason = Some(SkippedReason::TooLarge),
        FileContent::NotText => return None,
    }
    Some(mentioned)
}

/// Returns what follows each `@` that begins a word.
fn named(text: &str) -> Vec<&str> {
    let begins = text.match_indices('@').map(|(at, _)| at);
    let of_words = begins.filter(|at| {
        text[..*at].chars().next_back().is_none_or(|before| before.is_whitespace() || before == '(')
    });
    let word = |at: usize| {
        let rest = &text[at + 1..];
        let quoted = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        quoted.map_or(&rest[..end], |(path, _)| path)
    };
    of_words.map(word).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mentions(text: &str, folder: &Path) -> Mentions {
        Mentions::of(text, folder, Some(folder), ImageSizes::Fitted)
    }

    #[test]
    fn a_file_is_named_by_a_word_and_a_word_that_names_none_is_a_word() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "one\ntwo\n").unwrap();
        std::fs::write(folder.path().join("b c"), "x").unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        let paths = |text: &str| {
            let found = mentions(text, folder.path());
            assert_eq!(found.notices, [""; 0], "{text}");
            let paths = found.files.into_iter().map(|file| file.path).collect::<Vec<_>>();
            (paths.join("|"), found.missing.join("|"))
        };
        let is = |files: &str, missing: &str| (files.to_owned(), missing.to_owned());
        assert_eq!(paths("look at @a.txt, @a.txt and (@~/a.txt)."), is("a.txt|~/a.txt", ""));
        assert_eq!(paths("@\"b c\" and\n@a.txt?"), is("b c|a.txt", ""));
        assert_eq!(paths("me@a.txt @alice @ @sub @..."), is("", ""));
        assert_eq!(paths("@src/nope and @nope.rs."), is("", "src/nope|nope.rs"));
        let file = mentions("@a.txt", folder.path()).files.remove(0);
        assert_eq!((&*file.content, file.line_count), ("one\ntwo\n", Some(2)));
    }

    #[test]
    fn prompts_of_a_command_line_have_the_files_that_were_typed_in_them() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "one").unwrap();
        let typed = ["explain @a.txt and @nope.rs", "go on"].map(str::to_owned).to_vec();
        let texts = vec!["piped @a.txt\nexplain @a.txt".to_owned(), "go on".to_owned()];
        let mut prompts = Prompts { texts, typed, ..Prompts::default() };
        Mentions::add_to(&mut prompts, folder.path(), None, ImageSizes::Fitted);
        let named: Vec<Vec<_>> = prompts
            .mentions
            .iter()
            .map(|files| files.iter().map(|it| &*it.path).collect())
            .collect();
        assert_eq!(named, [vec!["a.txt"], vec![]]);
        assert_eq!(prompts.notices, ["no file `nope.rs`: it is sent as a word"]);
    }

    #[test]
    fn what_is_too_much_or_no_text_is_told_and_not_sent() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("binary"), b"a\0b").unwrap();
        let long = std::fs::File::create(folder.path().join("long")).unwrap();
        long.set_len(6 << 20).unwrap();
        for name in ["half", "other"] {
            std::fs::write(folder.path().join(name), "x".repeat(3 << 20)).unwrap();
        }
        let found = mentions("@binary @long @half @other", folder.path());
        assert_eq!(
            found.notices,
            [
                "`binary` is not sent: not a text, 3 B",
                "`long` is not sent: too large, 6.0 MiB",
                "`other` is not sent: too much with one prompt",
            ]
        );
        let paths: Vec<_> =
            found.files.iter().map(|file| (&*file.path, file.content.len())).collect();
        assert_eq!(paths, [("long", 0), ("half", 3 << 20)]);
    }
}
