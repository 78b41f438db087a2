//! The prompts of a session: from the words of the command line, the files that they name, and
//! standard input.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use protocol::{Attachment, MentionedFile, utf8_text};
use tools::ImageSizes;

use super::prompt_files::{IncludedFile, find, include};
use crate::error::Error;

/// What prompts are made of.
#[derive(Clone, Copy)]
pub struct PromptInputs<'a> {
    /// The words of the command line.
    pub words: &'a [OsString],
    /// The text of standard input, if it is not a terminal and not empty.
    pub piped: Option<&'a str>,
    /// The folder at which relative paths begin.
    pub folder: &'a Path,
    /// The user's home, which `~` stands for.
    pub home: Option<&'a Path>,
    /// Whether images that have too many pixels are made smaller.
    pub images: ImageSizes,
}

/// The prompts of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompts {
    /// The text of each prompt, in order.
    pub texts: Vec<String>,
    /// Each prompt as it was typed, without standard input and the files before it.
    pub typed: Vec<String>,
    /// The images that belong to the first prompt.
    pub images: Vec<Attachment>,
    /// The files that each prompt names in its text.
    pub mentions: Vec<Vec<MentionedFile>>,
    /// What the user should know about files that are not included as they are.
    pub notices: Vec<String>,
}

/// Makes the prompts. Standard input and the files come first, and belong to the first word that is
/// not a file; each further word is a prompt of its own.
///
/// # Errors
/// A file cannot be read, or a word is not UTF-8.
pub fn assemble(inputs: PromptInputs<'_>) -> Result<Prompts, Error> {
    let mut prompts = Prompts::default();
    let (mut files, mut has_context) = (String::new(), inputs.piped.is_some());
    for word in inputs.words {
        let (folder, home) = (inputs.folder, inputs.home);
        if let Some(path) = file_named(word.as_bytes(), folder, home) {
            let IncludedFile { text, image, notice } = include(path, folder, home, inputs.images)?;
            files.push_str(&text);
            prompts.images.extend(image);
            prompts.notices.extend(notice);
            has_context = true;
            continue;
        }
        let text = utf8_text(word.as_bytes().to_vec()).map_err(|_not_utf8| {
            Error::usage(format!("the prompt `{}` is not UTF-8", word.to_string_lossy()))
        })?;
        if text.trim().is_empty() {
            return Err(Error::usage("a prompt is empty").hint("regatta -p 'explain this'"));
        }
        prompts.texts.push(text);
    }
    prompts.typed.clone_from(&prompts.texts);
    if has_context {
        let first = match prompts.texts.is_empty() {
            true => String::new(),
            false => prompts.texts.remove(0),
        };
        let body = files + &first;
        let piped = inputs.piped.map(|text| text.trim_end_matches(['\n', '\r']));
        let parts = piped.into_iter().chain(Some(body.as_str()).filter(|body| !body.is_empty()));
        let text = parts.collect::<Vec<_>>().join("\n");
        if !text.is_empty() {
            prompts.texts.insert(0, text);
        }
    }
    Ok(prompts)
}

/// Returns the path of the file that a word of the command line includes. Several words in one are a
/// prompt that begins with `@`, unless there is such a file.
fn file_named<'a>(word: &'a [u8], folder: &Path, home: Option<&Path>) -> Option<&'a [u8]> {
    let path = word.strip_prefix(b"@").filter(|path| !path.is_empty())?;
    let is_one_word = !path.iter().any(u8::is_ascii_whitespace);
    (is_one_word || find(path, folder, home).exists()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(words: &[&str], piped: Option<&str>, folder: &Path) -> Vec<String> {
        let words: Vec<_> = words.iter().map(OsString::from).collect();
        let (home, images) = (Some(folder), ImageSizes::Fitted);
        let inputs = PromptInputs { words: &words, piped, folder, home, images };
        assemble(inputs).unwrap().texts
    }

    #[test]
    fn each_word_is_a_prompt_and_what_is_piped_comes_before_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let texts = |words: &[&str], piped| texts(words, piped, folder.path());
        assert_eq!(texts(&["a b", "c"], None), ["a b", "c"]);
        assert_eq!(texts(&["B"], Some("A\n")), ["A\nB"]);
        assert_eq!(texts(&["B", "C"], Some("A")), ["A\nB", "C"]);
        assert_eq!(texts(&[], Some("A\r\n")), ["A"]);
        assert_eq!(texts(&[], None), [""; 0]);
        assert_eq!(texts(&["\u{feff}a\r\nb"], None), ["a\r\nb"], "a script of another editor");
    }

    #[test]
    fn a_file_stands_before_the_first_prompt_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "one\n").unwrap();
        std::fs::write(folder.path().join("empty"), "").unwrap();
        let name = folder.path().join("a.txt");
        let file = format!("<file name=\"{}\">\none\n\n</file>\n", name.display());
        for word in ["@a.txt", "@~/a.txt"] {
            assert_eq!(
                texts(&[word, "why?", "and?"], None, folder.path()),
                [format!("{file}why?"), "and?".to_owned()]
            );
        }
        assert_eq!(
            texts(&["why?", "@a.txt"], Some("in"), folder.path()),
            [format!("in\n{file}why?")]
        );
        assert_eq!(texts(&["@empty"], None, folder.path()), [""; 0]);
        let said = ["@alice please look at a.txt"];
        assert_eq!(texts(&said, None, folder.path()), said, "no file has such a name");
        std::fs::write(folder.path().join("b c.txt"), "two").unwrap();
        let [text] = &texts(&["@b c.txt"], None, folder.path())[..] else { panic!("one") };
        assert!(text.starts_with("<file name=") && text.contains("\ntwo\n"), "{text}");
    }

    #[test]
    fn an_empty_prompt_and_a_file_that_is_not_there_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for word in ["", " \n", "@missing", "@."] {
            let words = [OsString::from(word)];
            let (folder, images) = (folder.path(), ImageSizes::Fitted);
            let inputs = PromptInputs { words: &words, piped: None, folder, home: None, images };
            assert!(assemble(inputs).is_err(), "{word}");
        }
    }
}
