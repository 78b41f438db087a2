//! What is done elsewhere than in this program, as several tables say it.

/// What stops a run.
pub(crate) const STOP: &str = "Ctrl-C in the terminal of the run";

/// What changes the settings.
pub(crate) const SETTINGS: &str =
    "$XDG_CONFIG_HOME/regatta/config.yml, with the keys of engine/config/src/defaults.yml";

/// What installs a new version.
pub(crate) const UPDATE: &str =
    "cargo install --locked --path cli --force, in a checkout of the new version";
