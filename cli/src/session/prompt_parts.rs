//! The parts of a session's system prompt that options give.

use std::path::Path;

use config::text_or_file;
use engine::prompt::Role;
use regatta::error::Error;
use regatta::session::PromptParts;

use crate::args::LaunchArgs;
use crate::render::one_line;

/// Returns what the options say for the system prompt.
///
/// # Errors
/// An option names a file that cannot be read.
pub(crate) fn prompt_parts(args: &LaunchArgs) -> Result<PromptParts, Error> {
    let own = option("--system-prompt", args.system_prompt.as_deref())?;
    Ok(PromptParts {
        role: own.map_or(Role::Assistant, Role::Own),
        appended: option("--append-system-prompt", args.append_system_prompt.as_deref())?,
        has_context_files: !args.no_context_files,
        copy_of: None,
    })
}

fn option(name: &str, given: Option<&str>) -> Result<Option<String>, Error> {
    let Some(given) = given else { return Ok(None) };
    if names_missing_file(given) {
        return Err(Error::usage(format!("there is no file `{}`", one_line(given)))
            .because(format!("the value of {name} is a text or a file, and this names a file")));
    }
    let text = text_or_file(given).map_err(|error| {
        Error::usage(format!("cannot use the value of {name}")).caused_by(&error)
    })?;
    Ok(Some(text))
}

/// Returns whether a value names a file that is not there: it is one word, with a `/` or the end of a text file.
fn names_missing_file(given: &str) -> bool {
    let ends = [".md", ".markdown", ".txt", ".prompt"];
    let is_name = given.contains('/') || ends.iter().any(|end| given.ends_with(end));
    is_name && !given.contains(char::is_whitespace) && !Path::new(given).exists()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_option_is_a_text_or_a_file_and_a_file_that_is_no_text_is_one_clear_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("own.md");
        fs::write(&file, "Be brief.").unwrap();
        let options = LaunchArgs {
            system_prompt: Some(file.display().to_string()),
            append_system_prompt: Some("And kind.".to_owned()),
            ..LaunchArgs::default()
        };
        let parts = prompt_parts(&options).unwrap();
        assert_eq!(parts.role, Role::Own("Be brief.".to_owned()));
        assert_eq!(parts.appended.as_deref(), Some("And kind."));
        fs::write(&file, b"\xff").unwrap();
        let error = prompt_parts(&options).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with("error: cannot use the value of --system-prompt"), "{error}");
        assert!(error.contains("own.md is not UTF-8"), "{error}");
        for (given, is_missing) in [
            ("nope.md", true),
            ("prompts/nope", true),
            ("Brief!", false),
            ("see docs/a.md", false),
            ("src/session", false),
        ] {
            assert_eq!(names_missing_file(given), is_missing, "{given}");
        }
    }
}
