//! The files that keep output whole: `<n>.<tool>.log`, counted from 0.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The folder of a session's output.
pub(crate) struct Artifacts {
    folder: PathBuf,
    /// The number of the next file, once it is known.
    next: Mutex<Option<u64>>,
}

impl Artifacts {
    /// Returns the artifacts in `folder`, which need not be there yet.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, next: Mutex::new(None) }
    }

    /// Returns the path of a new file for the output of `tool`. No other call gets the same one,
    /// and no file that is there has its number.
    pub(crate) fn take(&self, tool: &str) -> PathBuf {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let number = next.unwrap_or_else(|| self.first());
        *next = Some(number + 1);
        self.folder.join(format!("{number}.{tool}.log"))
    }

    fn first(&self) -> u64 {
        let Ok(entries) = fs::read_dir(&self.folder) else { return 0 };
        let names = entries.flatten().map(|entry| entry.file_name());
        let numbers =
            names.filter_map(|name| name.to_str()?.split_once('.')?.0.parse::<u32>().ok());
        numbers.max().map_or(0, |number| u64::from(number) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_on_after_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let names = |artifacts: &Artifacts| {
            let paths = [artifacts.take("bash"), artifacts.take("read")];
            paths.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        };
        let artifacts = Artifacts::new(folder.path().to_owned());
        assert_eq!(names(&artifacts), ["0.bash.log", "1.read.log"]);
        for name in ["7.bash.log", "session.jsonl", "output.log", "x.1", "99999999999.bash.log"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let again = Artifacts::new(folder.path().to_owned());
        assert_eq!(names(&again), ["8.bash.log", "9.read.log"]);
    }

    #[test]
    fn a_folder_that_is_not_there_begins_at_0() {
        let artifacts = Artifacts::new(PathBuf::from("/nowhere/at/all"));
        assert_eq!(artifacts.take("bash"), PathBuf::from("/nowhere/at/all/0.bash.log"));
    }
}
