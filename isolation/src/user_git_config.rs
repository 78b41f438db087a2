//! The git configuration that the environment gives: other files than those of the user and the system,
//! and single values. libgit2 reads none of it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use git2::{Config, ConfigLevel};
use rustix::fs::{MemfdFlags, memfd_create};

/// The most values that are read.
const MOST: usize = 10_000;

/// What the environment says about the configuration of git.
#[derive(Debug, Default)]
pub(crate) struct GivenConfig {
    /// The file in place of the user's own: `GIT_CONFIG_GLOBAL`.
    pub(crate) global: Option<PathBuf>,
    /// The file in place of the system's: `GIT_CONFIG_SYSTEM`, or none with `GIT_CONFIG_NOSYSTEM`.
    pub(crate) system: GivenSystem,
    /// The file with the values of `GIT_CONFIG_COUNT`, which has no name.
    values: Option<File>,
}

/// Which file has the configuration of the system.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum GivenSystem {
    #[default]
    Usual,
    None,
    File(PathBuf),
}

impl GivenConfig {
    /// Returns what the environment of this process says.
    pub(crate) fn of_this_process() -> &'static Self {
        static GIVEN: OnceLock<GivenConfig> = OnceLock::new();
        GIVEN.get_or_init(|| {
            Self::read(&|name| std::env::var_os(name)).unwrap_or_else(|error| {
                tracing::warn!(%error, "the git configuration of the environment is left out");
                Self::default()
            })
        })
    }

    /// Reads the environment. `variable` looks up a variable.
    fn read(variable: &dyn Fn(&str) -> Option<OsString>) -> io::Result<Self> {
        let is_true = |value: OsString| {
            value.to_str().is_some_and(|value| Config::parse_bool(value).unwrap_or(false))
        };
        let file = |name: &str| variable(name).map(PathBuf::from);
        let system = match variable("GIT_CONFIG_NOSYSTEM").is_some_and(is_true) {
            true => GivenSystem::None,
            false => file("GIT_CONFIG_SYSTEM").map_or(GivenSystem::Usual, GivenSystem::File),
        };
        let number = |name: &str| variable(name)?.to_str()?.parse::<usize>().ok();
        let count = number("GIT_CONFIG_COUNT").unwrap_or_default().min(MOST);
        let mut text = String::new();
        for at in 0..count {
            let word =
                |name: &str| variable(&format!("GIT_CONFIG_{name}_{at}"))?.into_string().ok();
            let (Some(key), Some(value)) = (word("KEY"), word("VALUE")) else { continue };
            text.extend(line_of(&key, &value));
        }
        let values = (!text.is_empty()).then(|| file_of(&text)).transpose()?;
        Ok(Self { global: file("GIT_CONFIG_GLOBAL"), system, values })
    }

    /// Adds what the environment gives to a configuration.
    pub(crate) fn add_to(&self, config: &mut Config) -> Result<(), git2::Error> {
        if let GivenSystem::File(file) = &self.system {
            config.add_file(file, ConfigLevel::System, true)?;
        }
        if let Some(file) = &self.global {
            config.add_file(file, ConfigLevel::Global, true)?;
        }
        if let Some(file) = &self.values {
            let path = format!("/proc/self/fd/{}", file.as_raw_fd());
            config.add_file(Path::new(&path), ConfigLevel::App, true)?;
        }
        Ok(())
    }

    /// Returns whether the environment allows the repository at `root` although it belongs to another
    /// user.
    pub(crate) fn allows(&self, root: &Path) -> bool {
        let is_listed = || -> Result<bool, git2::Error> {
            let mut config = Config::new()?;
            self.add_to(&mut config)?;
            let mut found = false;
            config.multivar("safe.directory", None)?.for_each(|entry| {
                found = match entry.value().unwrap_or_default() {
                    // As in git, it makes the list empty.
                    "" => false,
                    folder => found || is_at(OsStr::new(folder), root),
                };
            })?;
            Ok(found)
        };
        is_listed().unwrap_or(false)
    }
}

/// Returns whether a value of `safe.directory` stands for a repository.
fn is_at(folder: &OsStr, root: &Path) -> bool {
    let above = folder.to_str().and_then(|folder| folder.strip_suffix("/*")).map(Path::new);
    let is_below = above.is_some_and(|above| root.starts_with(above) && root != above);
    folder == "*" || Path::new(folder) == root || is_below
}

/// Returns the lines that set a value, if there can be such a key.
fn line_of(key: &str, value: &str) -> Option<String> {
    let (section, rest) = key.split_once('.')?;
    let (part, name) =
        rest.rsplit_once('.').map_or((None, rest), |(part, name)| (Some(part), name));
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|it| it.is_ascii_alphanumeric() || it == '-')
    };
    if !is_word(section) || !is_word(name) || part.is_some_and(|part| part.contains(['\n', '\0'])) {
        return None;
    }
    let quoted = |text: &str| {
        let text = text.replace('\\', r"\\").replace('"', r#"\""#);
        format!("\"{}\"", text.replace('\n', r"\n"))
    };
    let part = part.map(|part| format!(" {}", quoted(part))).unwrap_or_default();
    Some(format!("[{section}{part}]\n{name} = {}\n", quoted(value)))
}

/// Returns a file with this text that is in no folder.
fn file_of(text: &str) -> io::Result<File> {
    let mut file = File::from(memfd_create("git-config", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Sample, write};

    fn given(variables: &[(&str, &str)]) -> GivenConfig {
        GivenConfig::read(&|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| OsString::from(value))
        })
        .unwrap()
    }

    #[test]
    fn files_and_values_of_the_environment_count_as_in_git() {
        let sample = Sample::empty();
        let home = sample.root.parent().unwrap();
        write(home, "global", "[user]\nname = Global\nemail = global@localhost\n");
        write(home, "system", "[user]\nname = System\n[core]\nexcludesFile = /of/the/system\n");
        let file = |name: &str| home.join(name).display().to_string();
        let odd = "a \"b\" \\ ; # c\nd ";
        let (global, system) = (file("global"), file("system"));
        let variables = [
            ("GIT_CONFIG_GLOBAL", global.as_str()),
            ("GIT_CONFIG_SYSTEM", system.as_str()),
            ("GIT_CONFIG_COUNT", "3"),
            ("GIT_CONFIG_KEY_0", "user.email"),
            ("GIT_CONFIG_VALUE_0", "value@localhost"),
            ("GIT_CONFIG_KEY_1", "url.of \"x\".y.insteadOf"),
            ("GIT_CONFIG_VALUE_1", odd),
            ("GIT_CONFIG_KEY_2", "nothing"),
            ("GIT_CONFIG_VALUE_2", "x"),
        ];
        let mut config = Config::new().unwrap();
        // libgit2 reads the file again at each value: it must stay open.
        let given_config = given(&variables);
        given_config.add_to(&mut config).unwrap();
        let value = |name: &str| config.get_string(name).unwrap();
        assert_eq!(value("user.name"), "Global");
        assert_eq!(value("user.email"), "value@localhost");
        assert_eq!(value("core.excludesfile"), "/of/the/system");
        assert_eq!(value("url.of \"x\".y.insteadof"), odd);
        let without = [("GIT_CONFIG_SYSTEM", system.as_str()), ("GIT_CONFIG_NOSYSTEM", "1")];
        assert_eq!(given(&without).system, GivenSystem::None);
    }

    #[test]
    fn a_repository_of_another_user_is_allowed_as_git_allows_it() {
        for (folders, expected) in [
            (&["/a/b"][..], true),
            (&["/a/*"], true),
            (&["/*"], true),
            (&["/a/b/*"], false),
            (&["*"], true),
            (&["/a"], false),
            (&["/a/b", ""], false),
            (&["", "/a/b"], true),
            (&[], false),
        ] {
            let mut variables = vec![("GIT_CONFIG_COUNT".to_owned(), folders.len().to_string())];
            for (at, folder) in folders.iter().enumerate() {
                variables.push((format!("GIT_CONFIG_KEY_{at}"), "safe.directory".to_owned()));
                variables.push((format!("GIT_CONFIG_VALUE_{at}"), (*folder).to_owned()));
            }
            let variables: Vec<_> =
                variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            assert_eq!(given(&variables).allows(Path::new("/a/b")), expected, "{folders:?}");
        }
    }
}
