//! What a disk takes for the files of sessions, by themselves: a folder and a log each, line by line
//! durable. How much of the processor that is depends on the file system, and on what was deleted
//! from it in the minutes before.

use std::fs::{File, create_dir_all};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The word that makes a bench write files instead of measuring.
const WORD: &str = "--write-session-files";

/// How long each line of a log is: as long as the messages of a short session are on average.
const LINE: [u8; 400] = [b'x'; 400];

/// How many of the lines have to be durable before the next.
const DURABLE: usize = 5;

/// Returns the command that writes the files of `sessions` sessions into `folder`.
///
/// # Panics
/// When this program does not know where it is.
#[must_use]
pub fn session_files(folder: &Path, sessions: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a bench knows where it is"));
    command.arg(WORD).arg(folder).arg(sessions.to_string());
    command
}

/// Writes the files, if this process was started to do that. To be asked first.
///
/// # Panics
/// When they cannot be written.
#[must_use]
pub fn wrote_session_files() -> bool {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let [word, folder, sessions] = words.as_slice() else { return false };
    if word != WORD {
        return false;
    }
    let sessions = sessions.to_str().and_then(|number| number.parse().ok()).expect("a number");
    for session in 0..sessions {
        write(&PathBuf::from(folder).join(session.to_string())).expect("a disk can be written");
    }
    true
}

fn write(folder: &Path) -> std::io::Result<()> {
    create_dir_all(folder)?;
    let mut log = File::create(folder.join("session.jsonl"))?;
    for line in 0..DURABLE {
        log.write_all(&LINE)?;
        log.sync_data()?;
        if line == 0 {
            File::open(folder)?.sync_all()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_has_a_folder_and_a_log() {
        let scratch = tempfile::tempdir().unwrap();
        write(&scratch.path().join("a/b")).unwrap();
        let log = scratch.path().join("a/b/session.jsonl");
        assert_eq!(std::fs::metadata(log).unwrap().len(), 2000);
        assert!(!wrote_session_files());
    }
}
