//! Changes what is trusted in a repository.

use std::collections::BTreeMap;
use std::path::Path;

use config::DataPaths;
use store::{RepositoryTrust, TrustError, TrustFile};

use super::powers::{Power, PowerState};
use super::project::LoadedProject;
use crate::error::{Error, ErrorKind};

/// Why trust was not ended.
#[derive(Debug, thiserror::Error)]
pub enum RevokeError {
    /// Neither a setting nor a rule of this name is trusted there.
    #[error("`{0}` is not trusted")]
    NotTrusted(String),
    /// The file of trust cannot be read or written.
    #[error(transparent)]
    File(#[from] TrustError),
}

/// Returns whether a task of a run has started this program.
pub(super) fn is_in_task() -> bool {
    std::env::var_os("REGATTA_TASK").is_some_and(|task| !task.is_empty())
}

/// Checks that this program may change what is trusted.
///
/// # Errors
/// A task of a run has started it.
pub fn check_outside_task() -> Result<(), Error> {
    match is_in_task() {
        true => Err(Error::usage("a task cannot change what is trusted")
            .because("the variable REGATTA_TASK is set")
            .hint("regatta trust (outside of the run)")),
        false => Ok(()),
    }
}

/// Returns what is trusted, by the root of each repository.
///
/// # Errors
/// The file of trust cannot be read.
pub fn trusted(places: &DataPaths) -> Result<BTreeMap<String, RepositoryTrust>, TrustError> {
    TrustFile::new(places.trust_file()).all()
}

/// Ends the trust in settings and rules of these names in the repository at `root`, or in all of them if
/// there are no names. Returns whether any was trusted.
///
/// # Errors
/// A name is not trusted there, or the file of trust cannot be read or written.
pub fn revoke(places: &DataPaths, root: &Path, names: &[String]) -> Result<bool, RevokeError> {
    let file = TrustFile::new(places.trust_file());
    let there = file.of(root)?;
    let is_there = |name: &&String| {
        let is_rule = there.rules.iter().any(|rule| rule.to_string() == **name);
        is_rule || there.powers.contains_key(*name)
    };
    if let Some(name) = names.iter().find(|name| !is_there(name)) {
        return Err(RevokeError::NotTrusted(name.clone()));
    }
    if there.is_empty() {
        return Ok(false);
    }
    let is_revoked = |name: &str| names.is_empty() || names.iter().any(|it| it == name);
    file.change(root, |trust| {
        trust.rules.retain(|rule| !is_revoked(&rule.to_string()));
        trust.powers.retain(|key, _| !is_revoked(key));
    })?;
    Ok(true)
}

impl LoadedProject {
    /// Trusts the powers of the project as they are now.
    ///
    /// # Errors
    /// A task of a run has started this program, or the file of trust cannot be used.
    pub fn trust(&self, places: &DataPaths) -> Result<(), Error> {
        check_outside_task()?;
        if let Some(why) = &self.unusable {
            return Err(Error::new(ErrorKind::Settings, why.clone()));
        }
        let is_unbounded = |power: &&Power| power.state == PowerState::Unbounded;
        if let Some(power) = self.powers.iter().find(is_unbounded) {
            let what = format!("cannot trust `{}`", power.kind);
            return Err(Error::new(ErrorKind::Settings, what)
                .because("it may run any file, and without a commit nothing says when one changes")
                .hint("git commit (then: regatta trust)"));
        }
        let Some(root) = &self.root else { return Ok(()) };
        places.make_private().map_err(|error| {
            Error::new(ErrorKind::Settings, "cannot make the data folder")
                .because(error.to_string())
        })?;
        let powers = self.powers.iter();
        let now = powers.map(|power| (power.kind.to_string(), power.now.clone())).collect();
        TrustFile::new(places.trust_file()).change(root, |trust| trust.powers = now)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::app_context::AppContext;
    use crate::trust::{project_settings, settings_to_look};

    #[test]
    fn a_program_that_embeds_the_engine_has_the_settings_of_a_project_as_far_as_they_are_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(project.join(".regatta")).unwrap();
        let copies = project.parent().unwrap().join("copies");
        let settings = format!(
            "limits:\n  turns: 7\nisolation:\n  setup: [make]\n  dir: {}\nedit:\n  mode: apply_patch\n",
            copies.display()
        );
        fs::write(project.join(".regatta/config.yml"), settings).unwrap();
        let mut app = AppContext::open_in(&folder.path().join("data")).unwrap();
        let (in_project, loaded) = app.in_project(&project).unwrap();
        assert_eq!(in_project.settings.task_limits().turns.get(), 7);
        assert!(in_project.settings.isolation_setup.value.is_empty(), "it is a power");
        let (file, keys) = loaded.engine_wide().unwrap();
        assert_eq!(file, project.join(".regatta/config.yml"));
        assert_eq!(keys, [config::Key::EditMode]);
        loaded.trust(&app.places).unwrap();
        let (in_project, _) = app.in_project(&project).unwrap();
        assert_eq!(in_project.settings.isolation_setup.value, ["make"]);
        assert_eq!(in_project.places.workspaces(), copies, "it is trusted, too");
        let (elsewhere, _) = in_project.in_project(folder.path()).unwrap();
        assert_eq!(elsewhere.places, app.places, "what one project sets counts in no other");
        assert_eq!((app.variable)("PATH"), None, "the settings are the built-in ones");
        app.variable = |name| (name == "REGATTA_LIMITS_TURNS").then(|| "9".into());
        let (in_project, _) = app.in_project(&project).unwrap();
        assert_eq!(in_project.settings.task_limits().turns.get(), 9);
        let other = ["env.pass".to_owned()];
        assert!(matches!(
            revoke(&app.places, &project, &other),
            Err(RevokeError::NotTrusted(name)) if name == "env.pass"
        ));
        assert!(revoke(&app.places, &project, &[]).unwrap());
        assert!(!revoke(&app.places, &project, &[]).unwrap());
        let loaded = project_settings(&app.places, Some(&project)).unwrap();
        assert!(loaded.loaded.settings.isolation_setup.value.is_empty());
        assert!(trusted(&app.places).unwrap().values().all(RepositoryTrust::is_empty));
    }

    #[test]
    fn settings_of_a_project_that_cannot_be_read_are_left_out_by_who_only_looks() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(project.join(".regatta")).unwrap();
        let app = AppContext::open_in(&folder.path().join("data")).unwrap();
        for broken in ["branch: [\n", "branch.prefix: x/\n", "jobs: 1\n\0"] {
            fs::write(project.join(".regatta/config.yml"), broken).unwrap();
            assert!(project_settings(&app.places, Some(&project)).is_err(), "{broken}");
            let loaded = settings_to_look(&app.places, Some(&project)).unwrap();
            assert!(loaded.left_out.is_some(), "{broken}");
            let [warning] = &loaded.warnings("regatta trust")[..] else { panic!("{loaded:?}") };
            assert!(warning.contains(".regatta/config.yml:"), "{warning}");
        }
        fs::write(project.join(".regatta/config.yml"), "branch.prefix: x\n").unwrap();
        let loaded = settings_to_look(&app.places, Some(&project)).unwrap();
        assert_eq!(
            (loaded.left_out, loaded.loaded.settings.branch_prefix.value),
            (None, "x".into())
        );
        fs::create_dir_all(app.places.config_file().parent().unwrap()).unwrap();
        fs::write(app.places.config_file(), "branch: [\n").unwrap();
        assert!(settings_to_look(&app.places, Some(&project)).is_err(), "the user's own file");
    }

    #[test]
    fn what_may_run_any_file_is_not_trusted_where_no_commit_says_when_one_changes() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(project.join(".regatta")).unwrap();
        let app = AppContext::open_in(&folder.path().join("data")).unwrap();
        for (setup, is_refused) in [("python3 setup.py", true), ("sh setup.sh", false)] {
            let settings = format!("isolation.setup: {setup}\n");
            fs::write(project.join(".regatta/config.yml"), settings).unwrap();
            let loaded = project_settings(&app.places, Some(&project)).unwrap();
            let trusted = loaded.trust(&app.places);
            assert_eq!(trusted.is_err(), is_refused, "{setup}: {trusted:?}");
            if let Err(error) = trusted {
                assert_eq!(error.what, "cannot trust `isolation.setup`");
                assert_eq!(error.hints, ["git commit (then: regatta trust)"]);
            }
        }
    }
}
