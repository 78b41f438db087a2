//! The prompts of a session: from the words of the command line, the files that they name, and
//! standard input.

use std::ffi::OsString;
use std::fs::File;
use std::io::{IsTerminal as _, Read as _, stdin};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use protocol::Attachment;

use super::prompt_files::{IncludedFile, include};
use super::prompt_image::ImageSizes;
use crate::error::{Error, ErrorKind};

/// The longest standard input, in bytes.
const LONGEST_PIPED: u64 = 16 << 20;

/// What prompts are made of.
#[derive(Clone, Copy)]
pub(crate) struct PromptInputs<'a> {
    /// The words of the command line.
    pub(crate) words: &'a [OsString],
    /// The text of standard input, if it is not a terminal and not empty.
    pub(crate) piped: Option<&'a str>,
    /// The folder at which relative paths begin.
    pub(crate) folder: &'a Path,
    /// The user's home, which `~` stands for.
    pub(crate) home: Option<&'a Path>,
    /// Whether images that have too many pixels are made smaller.
    pub(crate) images: ImageSizes,
}

/// The prompts of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prompts {
    /// The text of each prompt, in order.
    pub(crate) texts: Vec<String>,
    /// The images that belong to the first prompt.
    pub(crate) images: Vec<Attachment>,
    /// What the user should know about files that are not included as they are.
    pub(crate) notices: Vec<String>,
}

/// Returns standard input as text, unless it is a terminal or has nothing but white space.
///
/// # Errors
/// It cannot be read, is not UTF-8, or is too long.
pub(crate) fn read_piped() -> Result<Option<String>, Error> {
    let input = stdin();
    if input.is_terminal() {
        return Ok(None);
    }
    let failed = |error: &std::io::Error| {
        Error::new(ErrorKind::Machine, "cannot read standard input").caused_by(error)
    };
    // A program that was started without a standard input has nothing piped.
    let Ok(owned) = input.as_fd().try_clone_to_owned() else { return Ok(None) };
    let mut bytes = Vec::new();
    let mut limited = File::from(owned).take(LONGEST_PIPED + 1);
    limited.read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if bytes.len() as u64 > LONGEST_PIPED {
        return Err(Error::usage("standard input is too long for a prompt")
            .because(format!("it may have {} MiB", LONGEST_PIPED >> 20))
            .hint("write it to a file, and let the model read it with its tools"));
    }
    let text = String::from_utf8(bytes).map_err(|_not_text| {
        Error::usage("standard input is not UTF-8 text")
            .hint("write it to a file, and let the model read it with its tools")
    })?;
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

/// Makes the prompts. Standard input and the files come first, and belong to the first word that is
/// not a file; each further word is a prompt of its own.
///
/// # Errors
/// A file cannot be read, or a word is not UTF-8.
pub(crate) fn assemble(inputs: PromptInputs<'_>) -> Result<Prompts, Error> {
    let mut prompts = Prompts::default();
    let (mut files, mut has_context) = (String::new(), inputs.piped.is_some());
    for word in inputs.words {
        if let Some(path) = word.as_bytes().strip_prefix(b"@").filter(|path| !path.is_empty()) {
            let (folder, home) = (inputs.folder, inputs.home);
            let IncludedFile { text, image, notice } = include(path, folder, home, inputs.images)?;
            files.push_str(&text);
            prompts.images.extend(image);
            prompts.notices.extend(notice);
            has_context = true;
            continue;
        }
        let text = word.to_str().ok_or_else(|| {
            Error::usage(format!("the prompt `{}` is not UTF-8", word.to_string_lossy()))
        })?;
        if text.trim().is_empty() {
            return Err(Error::usage("a prompt is empty").hint("regatta -p 'explain this'"));
        }
        prompts.texts.push(text.to_owned());
    }
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
