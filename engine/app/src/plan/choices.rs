//! The words of a plan, and of options, that choose one of a few.

use protocol::{LandTime, MergeMode};

/// Checks the name of an agent. There is one for now, `task`: it has every tool, and yields a value that
/// fits the schema of its task.
///
/// # Errors
/// It is another name.
pub fn agent_name(word: &str) -> Result<(), String> {
    match word {
        "task" => Ok(()),
        "pi" => {
            Err("agent `pi` is not implemented yet; use --exec 'pi -p -ne {{item}}'".to_owned())
        }
        _ => {
            Err("other agents than `task` are not implemented yet; use --exec 'PROGRAM {{item}}' \
                  (runs any agent that has a command line)"
                .to_owned())
        }
    }
}

/// Returns where the work of a run goes.
///
/// # Errors
/// There is no such mode.
pub fn merge_mode(word: &str) -> Result<MergeMode, String> {
    match word {
        "patch" => Ok(MergeMode::Patch),
        "branch" => Ok(MergeMode::Branch),
        "stack" => Ok(MergeMode::Stack),
        "none" => Ok(MergeMode::None),
        _ => Err("the modes are patch, branch, stack and none".to_owned()),
    }
}

/// Returns when the work of a run lands.
///
/// # Errors
/// There is no such time.
pub fn land_time(word: &str) -> Result<LandTime, String> {
    match word {
        "end" => Ok(LandTime::End),
        "eager" => Ok(LandTime::Eager),
        _ => Err("the times are end and eager".to_owned()),
    }
}
