//! What each workspace of a run needs besides the files of the repository: set-up commands, and
//! ignored files to carry along. The command line goes before the plan, and the plan before the
//! settings.

use std::path::Path;

use config::Setting;
use isolation::CarryGlobs;
use protocol::{
    CarryDefault, IsolationMode, SetupFolder, TaskNeeds, WorkspaceKind, WorkspaceNeeds,
};

use crate::each::refuse_placeholders;
use crate::error::{Error, ErrorKind};

/// The longest script, in bytes: what Linux allows as one argument of a process.
const LONGEST_SCRIPT: usize = (128 << 10) - 1;

/// The needs that the settings files name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeedsSettings {
    /// The commands that set up each workspace.
    pub setup: Setting<Vec<String>>,
    /// The globs of ignored files, from the root of the repository on.
    pub carry: Setting<Vec<String>>,
    /// The maximum total size of these files in bytes.
    pub carry_limit: u64,
}

/// The needs that one source names; `None` for those that it leaves to the next source.
#[derive(Clone, Copy, Debug, Default)]
pub struct GivenNeeds<'a> {
    /// The commands that set up each workspace.
    pub setup: Option<&'a [String]>,
    /// The globs of ignored files, from the folder in which tasks work on.
    pub carry: Option<&'a [String]>,
}

/// Returns the needs of the workspaces of a run whose tasks work in `subfolder`.
///
/// # Errors
/// A command or a glob is invalid, or there are no workspaces.
pub fn workspace_needs(
    typed: GivenNeeds<'_>,
    planned: GivenNeeds<'_>,
    settings: &NeedsSettings,
    subfolder: &Path,
    isolation: IsolationMode,
) -> Result<WorkspaceNeeds, Error> {
    for script in typed.setup.unwrap_or_default() {
        setup_command(script).map_err(|fault| Error::usage(format!("--setup: {fault}")))?;
    }
    for glob in typed.carry.unwrap_or_default() {
        carry_glob(glob).map_err(|fault| Error::usage(format!("--carry: {fault}")))?;
    }
    for script in &settings.setup.value {
        setup_command(script).map_err(|fault| invalid_setting(&settings.setup, &fault))?;
    }
    for glob in &settings.carry.value {
        carry_glob(glob).map_err(|fault| invalid_setting(&settings.carry, &fault))?;
    }
    let (setup, carry) = (typed.setup.or(planned.setup), typed.carry.or(planned.carry));
    match isolation.capabilities().workspace {
        WorkspaceKind::Private => {}
        WorkspaceKind::Shared => {
            let carry = carry.filter(|globs| !globs.is_empty());
            return in_place(setup, carry).map(|()| WorkspaceNeeds::default());
        }
    }
    // An empty list says that nothing is carried.
    let (carry, carry_default) = match carry {
        Some([]) => (Vec::new(), CarryDefault::Nothing),
        Some(globs) => {
            (globs.iter().map(|glob| below(subfolder, glob)).collect(), CarryDefault::default())
        }
        None => (settings.carry.value.clone(), CarryDefault::default()),
    };
    let (setup, setup_folder) = match (setup, settings.setup.origin.project_root()) {
        (Some(given), _) => (given.to_vec(), SetupFolder::WorkingFolder),
        (None, None) => (settings.setup.value.clone(), SetupFolder::WorkingFolder),
        // What the user has trusted are the files as they are named from there.
        (None, Some(_)) => (settings.setup.value.clone(), SetupFolder::Root),
    };
    let carry_limit = settings.carry_limit;
    Ok(WorkspaceNeeds { setup, setup_folder, carry, carry_default, carry_limit })
}

/// Returns the needs of a task's workspace that differ from those of its run.
///
/// # Errors
/// There are no workspaces.
pub fn own_needs(
    own: GivenNeeds<'_>,
    subfolder: &Path,
    isolation: IsolationMode,
) -> Result<TaskNeeds, Error> {
    match isolation.capabilities().workspace {
        WorkspaceKind::Private => Ok(TaskNeeds {
            setup: own.setup.map(<[String]>::to_vec),
            carry: own.carry.map(|globs| globs.iter().map(|glob| below(subfolder, glob)).collect()),
        }),
        WorkspaceKind::Shared => in_place(own.setup, own.carry).map(|()| TaskNeeds::default()),
    }
}

/// Checks a set-up command.
///
/// # Errors
/// Returns what is wrong with it.
pub fn setup_command(script: &str) -> Result<(), String> {
    shell_script(script, "a set-up command")?;
    let placeholder = refuse_placeholders(script, "$REGATTA_ITEM").err();
    match placeholder {
        None => Ok(()),
        Some(error) => Err(format!("{} in a set-up command; use $REGATTA_ITEM", error.what)),
    }
}

/// Checks a command that verifies work.
///
/// # Errors
/// Returns what is wrong with it.
pub fn verify_command(script: &str) -> Result<(), String> {
    shell_script(script, "a command that verifies")
}

/// Checks that a shell can be given a script, which `what` names.
///
/// # Errors
/// Returns what is wrong with it.
fn shell_script(script: &str, what: &str) -> Result<(), String> {
    if script.trim().is_empty() {
        return Err(format!("{what} is empty"));
    }
    if script.len() > LONGEST_SCRIPT || script.contains('\0') {
        return Err(format!("{what} is longer than 128 KiB or has a NUL byte; put it into a file"));
    }
    Ok(())
}

/// Checks a glob of files to carry along.
///
/// # Errors
/// Returns what is wrong with it.
pub fn carry_glob(glob: &str) -> Result<(), String> {
    CarryGlobs::parse(&[glob.to_owned()]).map(drop).map_err(|error| error.to_string())
}

/// Returns the error of an invalid glob or command in the settings.
pub fn invalid_setting(setting: &Setting<Vec<String>>, fault: &str) -> Error {
    Error::new(ErrorKind::Settings, fault.to_owned())
        .because(format!("{} names it", setting.origin))
}

/// Refuses needs that were asked for where there are no workspaces. Those of the settings are for
/// other runs.
fn in_place(setup: Option<&[String]>, carry: Option<&[String]>) -> Result<(), Error> {
    let given = [(setup, "--setup"), (carry, "--carry")];
    let given = given.into_iter().find(|(needs, _)| needs.is_some_and(|needs| !needs.is_empty()));
    match given {
        None => Ok(()),
        Some((_, option)) => {
            Err(Error::usage(format!("`{option}` cannot be used with isolation `none`"))
                .because("tasks work in the repository itself, which has what it needs")
                .hint("--isolation worktree")
                .hint("leave it out"))
        }
    }
}

/// Returns a glob from the root of the repository on.
pub fn below(subfolder: &Path, glob: &str) -> String {
    let folder = globset::escape(&subfolder.to_string_lossy());
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    if folder.is_empty() { glob.to_owned() } else { format!("{folder}/{glob}") }
}
