//! Says what the user should know about the settings of the project in which a command works.

use std::path::Path;

use config::{DataPaths, Settings};
use regatta::app_context::AppContext;
use regatta::error::Error;
use regatta::trust::{LoadedProject, project_settings, settings_to_look};

use crate::render::shell_word;

/// What a command makes of settings of the project that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BrokenProject {
    /// It fails, because it may start a task.
    Refuse,
    /// It says so and leaves them out, because it starts none.
    LeaveOut,
}

/// Loads the settings, with those of the project at `folder` if one is given. `named` is the folder of
/// `--repo`.
///
/// # Errors
/// A file of settings cannot be read, or has an invalid value.
pub(super) fn settings(
    say: &dyn Fn(&str),
    places: &DataPaths,
    (folder, broken): (Option<&Path>, BrokenProject),
    named: Option<&Path>,
) -> Result<Settings, Error> {
    let project = match broken {
        BrokenProject::Refuse => project_settings(places, folder)?,
        BrokenProject::LeaveOut => settings_to_look(places, folder)?,
    };
    say_warnings(say, &project, named);
    Ok(project.loaded.settings)
}

/// Returns the context of a run in the repository at `root`, one of several: with the settings of its
/// project, but for those that hold for the whole engine.
///
/// # Errors
/// As [`settings`].
pub(super) fn context_of(
    say: &dyn Fn(&str),
    app: &AppContext,
    root: &Path,
) -> Result<AppContext, Error> {
    let project = project_settings(&app.places, Some(root))?;
    let mut app = app.clone();
    app.settings = project.loaded.settings.clone();
    say_warnings(say, &project, Some(root));
    if let Some((file, keys)) = project.engine_wide() {
        let names: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
        let (names, does) = (names.join(", "), if keys.len() == 1 { "does" } else { "do" });
        say(&format!(
            "warning: {}: {names} {does} not count in several repositories at once",
            file.display()
        ));
    }
    Ok(app)
}

/// Says what does not count of the settings of a project, and what is unknown. `named` is the folder of `--repo`.
pub(super) fn say_warnings(say: &dyn Fn(&str), project: &LoadedProject, named: Option<&Path>) {
    let trust = match named {
        Some(named) => format!("regatta trust --repo {}", shell_word(&named.to_string_lossy())),
        None => "regatta trust".to_owned(),
    };
    project.warnings(&trust).iter().for_each(|line| say(line));
}
