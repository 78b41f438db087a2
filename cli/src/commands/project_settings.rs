//! Reads the settings, with those of the project in which a command works.

use std::path::Path;

use config::{DataPaths, Origin, Settings, Sources};
use regatta::app_context::AppContext;
use regatta::error::Error;
use regatta::trust::{LoadedProject, load_settings, project_root};
use store::TrustFile;

use crate::render::shell_word;

/// Loads the settings, with those of the project at `folder` if one is given.
///
/// # Errors
/// A file of settings cannot be read, or has an invalid value.
pub(super) fn load(places: &DataPaths, folder: Option<&Path>) -> Result<LoadedProject, Error> {
    let root = folder.map(project_root);
    let sources = Sources {
        file: &places.config_file(),
        home: places.home(),
        variable: &|name| std::env::var_os(name),
        flags: &[],
    };
    // In the workspace of a task, the task may have written the settings.
    let trust_file = (!is_in_task()).then(|| TrustFile::new(places.trust_file()));
    load_settings(&sources, root.as_deref(), trust_file.as_ref())
}

/// Loads the settings as [`load`] does, and says what the user should know about them. `named` is the
/// folder of `--repo`.
///
/// # Errors
/// As [`load`].
pub(super) fn settings(
    say: &dyn Fn(&str),
    places: &DataPaths,
    folder: Option<&Path>,
    named: Option<&Path>,
) -> Result<Settings, Error> {
    let loaded = load(places, folder)?;
    let trust = match named {
        Some(named) => format!("regatta trust --repo {}", shell_word(&named.to_string_lossy())),
        None => "regatta trust".to_owned(),
    };
    loaded.warnings(&trust).iter().for_each(|line| say(line));
    Ok(loaded.loaded.settings)
}

/// Returns the context of a run in the repository at `root`, one of several: with the settings of its
/// project, but for those that hold for the whole engine.
///
/// # Errors
/// As [`load`].
pub(super) fn context_of(
    say: &dyn Fn(&str),
    app: &AppContext,
    root: &Path,
) -> Result<AppContext, Error> {
    let settings = settings(say, &app.places, Some(root), Some(root))?;
    for (key, origin) in [
        ("env.remove", &settings.env_remove.origin),
        ("env.keep_only", &settings.env_keep_only.origin),
        ("provider.maxConcurrency", &settings.provider_concurrency.origin),
    ] {
        if matches!(origin, Origin::Project { .. }) {
            say(&format!(
                "warning: {origin}: `{key}` does not count in several repositories at once"
            ));
        }
    }
    let mut app = app.clone();
    app.settings = settings;
    Ok(app)
}

/// Returns whether a task of a run has started this program.
pub(super) fn is_in_task() -> bool {
    std::env::var_os("REGATTA_TASK").is_some_and(|task| !task.is_empty())
}
