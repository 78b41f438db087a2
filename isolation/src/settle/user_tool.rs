//! The merge tool of the user's own git configuration.

use git2::{Config, ErrorCode};

use crate::error::{OrCannot, Result};
use crate::user_git_config::GivenConfig;

/// The merge tool that the user's git configuration names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeTool {
    /// The value of `merge.guitool` or `merge.tool`.
    pub name: String,
    /// The value of `mergetool.NAME.cmd`, a script for a shell.
    pub command: Option<String>,
    /// The value of `mergetool.NAME.path`, the place of the program.
    pub path: Option<String>,
}

/// Whether there is a screen on which a program can open windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Display {
    /// There is one.
    Present,
    /// There is none.
    Absent,
}

/// Returns the merge tool of the user: that of `merge.guitool`, if there is one and
/// `mergetool.guiDefault` is true, or auto and there is a display; else that of `merge.tool`. Only the
/// configuration of the user and of the system counts, never that of a repository, which anybody may
/// have written.
///
/// # Errors
/// If the configuration cannot be read.
pub fn merge_tool(display: Display) -> Result<Option<MergeTool>> {
    let what = || "read your git configuration";
    let mut config = Config::open_default().or_cannot(what)?;
    GivenConfig::of_this_process().add_to(&mut config).or_cannot(what)?;
    tool_of(&config, display)
}

fn tool_of(config: &Config, display: Display) -> Result<Option<MergeTool>> {
    let what = || "read your git configuration";
    let value = |name: &str| match config.get_string(name) {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error).or_cannot(what),
    };
    let with_windows = match value("mergetool.guidefault")? {
        None => false,
        Some(text) if text.eq_ignore_ascii_case("auto") => display == Display::Present,
        Some(text) => Config::parse_bool(text.as_str()).or_cannot(|| {
            format!("read mergetool.guiDefault of your git configuration: it is `{text}`")
        })?,
    };
    let keys: &[&str] =
        if with_windows { &["merge.guitool", "merge.tool"] } else { &["merge.tool"] };
    let mut name = None;
    for key in keys {
        name = name.or(value(key)?.filter(|name| !name.is_empty()));
    }
    let Some(name) = name else { return Ok(None) };
    let command = value(&format!("mergetool.{name}.cmd"))?;
    let path = value(&format!("mergetool.{name}.path"))?;
    Ok(Some(MergeTool { name, command, path }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(text: &str, display: Display) -> Result<Option<String>> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        std::fs::write(&file, text).unwrap();
        let found = tool_of(&Config::open(&file).unwrap(), display)?;
        Ok(found.map(|tool| tool.name))
    }

    #[test]
    fn the_tool_with_windows_is_taken_where_git_takes_it() {
        use Display::{Absent, Present};
        let both = "[merge]\n tool = one\n guitool = two\n";
        let of = |mode: &str, display| {
            let text = format!("{both}[mergetool]\n guiDefault = {mode}\n");
            tool(&text, display).unwrap().unwrap()
        };
        for (mode, display, expected) in [
            ("false", Present, "one"),
            ("no", Present, "one"),
            ("true", Present, "two"),
            ("true", Absent, "two"),
            ("Auto", Present, "two"),
            ("auto", Absent, "one"),
        ] {
            assert_eq!(of(mode, display), expected, "{mode} {display:?}");
        }
        assert_eq!(tool(both, Present).unwrap().unwrap(), "one");
        let only = "[merge]\n tool = one\n[mergetool]\n guiDefault = true\n";
        assert_eq!(tool(only, Present).unwrap().unwrap(), "one", "the other one stands in");
        let other = "[merge]\n guitool = two\n";
        assert_eq!(tool(other, Present).unwrap(), None, "it was not asked for");
        let odd = format!("{both}[mergetool]\n guiDefault = sometimes\n");
        let error = tool(&odd, Present).unwrap_err();
        assert!(crate::error::error_text(&error).contains("sometimes"), "{error:?}");
    }
}
