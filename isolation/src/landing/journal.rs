//! Journals of landings. Each step is recorded on disk before it is taken, so that a recovery can
//! finish or roll back a landing after a crash. The extension of a journal's file name is the state
//! of the landing. A rename changes the state, because it needs no space on the disk. Journals of
//! finished landings are moved to a folder of their own, so that open ones are found quickly.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use engine::failpoint;
use engine::fault::Faults;
use engine::ports::IsolationError;
use protocol::RunName;

use crate::error::{OrCannot, Result, cannot};
use crate::landing::journal_content::Journal;

/// The state of a landing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// New versions are being staged. The tree is unchanged.
    Intent,
    /// The changes are being applied. After a crash, a recovery applies the rest.
    Committed,
    /// Another program interfered: the changes are being rolled back.
    Undoing,
    /// All changes are applied; the replaced versions are being removed.
    Landed,
    /// The landing is complete in the tree. The ledger has not recorded the report yet.
    Unreported,
    /// The ledger has recorded the report. The journal is kept.
    Done,
}

impl State {
    const ALL: [Self; 6] =
        [Self::Intent, Self::Committed, Self::Undoing, Self::Landed, Self::Unreported, Self::Done];

    fn ending(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Committed => "committed",
            Self::Undoing => "undoing",
            Self::Landed => "landed",
            Self::Unreported => "unreported",
            Self::Done => "json",
        }
    }
}

/// The subfolder of the journals of finished landings.
const DONE: &str = "done";

/// The journals of one repository.
pub(super) struct Journals<'a> {
    folder: PathBuf,
    faults: &'a Faults,
}

impl<'a> Journals<'a> {
    /// Returns the journals in `folder`, which may not exist yet.
    pub(super) fn in_folder(folder: &Path, faults: &'a Faults) -> Self {
        Self { folder: folder.to_path_buf(), faults }
    }

    /// Returns the identifier for the next landing of `run`.
    pub(super) fn free_id(&self, run: &RunName) -> Result<String> {
        let names = self.names()?;
        let taken = |id: &str| {
            names.iter().any(|(taken, _)| taken == id) || self.path(id, State::Done).exists()
        };
        let mut number = 1_u64;
        while taken(&format!("{run}-{number}")) {
            number += 1;
        }
        Ok(format!("{run}-{number}"))
    }

    /// Returns the identifiers of the landings that are not done, each with its furthest state.
    pub(super) fn open(&self) -> Result<Vec<(String, State)>> {
        let mut furthest: BTreeMap<String, State> = BTreeMap::new();
        for (id, state) in self.names()? {
            let known = furthest.entry(id).or_insert(state);
            *known = state.max(*known);
        }
        furthest.retain(|_, state| *state != State::Done);
        Ok(furthest.into_iter().collect())
    }

    /// Returns the identifiers of the landings of `run` that are done, in their order.
    pub(super) fn done(&self, run: &RunName) -> Result<Vec<String>> {
        let number = |(id, state): (String, State)| {
            let number = id.rsplit_once('-')?.1.parse::<u64>().ok()?;
            (state == State::Done && is_of(&id, run)).then_some((number, id))
        };
        let names = names_in(&self.folder.join(DONE))?;
        let done: BTreeMap<u64, String> = names.into_iter().filter_map(number).collect();
        Ok(done.into_values().collect())
    }

    /// Reads a journal. Returns `None` if it does not exist any more.
    ///
    /// # Errors
    /// Returns `IsolationError::Refused` if the journal cannot be parsed, or is of another version
    /// or landing. The file is left in its place, and a person must examine it.
    pub(super) fn read(&self, id: &str, state: State) -> Result<Option<Journal>> {
        let path = self.path(id, state);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.or_cannot(|| format!("read {}", path.display()))?,
        };
        let journal: Journal = serde_json::from_slice(&bytes)
            .map_err(|error| refused(&path, format!("it cannot be read: {error}")))?;
        if !journal.is_known() || journal.id != id {
            return Err(refused(&path, "it is of another version or another landing".into()));
        }
        Ok(Some(journal))
    }

    /// Writes a journal durably, and removes its earlier states.
    pub(super) fn write(&self, journal: &Journal, state: State) -> Result<()> {
        let path = self.path(&journal.id, state);
        let what = || format!("write the journal {}", path.display());
        // The folder of finished journals is made now, so that a full disk cannot prevent a later
        // move into it.
        fs::create_dir_all(self.folder.join(DONE)).or_cannot(what)?;
        let bytes = serde_json::to_vec(journal).or_cannot(what)?;
        self.failpoint()?;
        let beside = self.folder.join(format!("{}.tmp", journal.id));
        let written = write_durably(&beside, &bytes).and_then(|()| fs::rename(&beside, &path));
        if let Err(error) = written {
            let _gone = fs::remove_file(&beside);
            return Err(error).or_cannot(what);
        }
        self.sync()?;
        self.forget_below(&journal.id, state)
    }

    /// Changes the state of a journal durably.
    pub(super) fn advance(&self, id: &str, from: State, to: State) -> Result<()> {
        let (old, new) = (self.path(id, from), self.path(id, to));
        self.failpoint()?;
        fs::rename(&old, &new)
            .or_cannot(|| format!("rename {} to {}", old.display(), new.display()))?;
        self.sync()?;
        self.forget_below(id, to)
    }

    /// Moves the journal of a recorded landing to the folder of finished ones, durably. Succeeds if
    /// another process has moved it already.
    pub(super) fn put_away(&self, id: &str) -> Result<()> {
        let (old, new) = (self.path(id, State::Unreported), self.path(id, State::Done));
        let what = || format!("rename {} to {}", old.display(), new.display());
        let done = self.folder.join(DONE);
        fs::create_dir_all(&done).or_cannot(what)?;
        self.failpoint()?;
        match fs::rename(&old, &new) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            renamed => renamed.or_cannot(what)?,
        }
        sync(&done)?;
        self.sync()
    }

    /// Removes a journal in every state, durably.
    pub(super) fn forget(&self, id: &str) -> Result<()> {
        self.forget_below(id, State::Done)?;
        self.sync()
    }

    /// Removes partly written journals.
    pub(super) fn drop_unfinished(&self) -> Result<()> {
        for path in self.unfinished()? {
            fs::remove_file(path).or_cannot(|| format!("tidy {}", self.folder.display()))?;
        }
        Ok(())
    }

    /// Returns the files of partly written journals.
    pub(super) fn unfinished(&self) -> Result<Vec<PathBuf>> {
        let what = || format!("list {}", self.folder.display());
        let listed = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed.or_cannot(what)?,
        };
        let mut found = Vec::new();
        for entry in listed {
            let path = entry.or_cannot(what)?.path();
            if path.extension() == Some(OsStr::new("tmp")) {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// Removes the files of a journal in states before `state`. A crash may leave such files beside
    /// the later one.
    fn forget_below(&self, id: &str, state: State) -> Result<()> {
        for earlier in State::ALL.into_iter().filter(|earlier| *earlier < state) {
            let path = self.path(id, earlier);
            self.failpoint()?;
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(cannot(format!("remove {}", path.display()), error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Runs the failpoint that precedes each change of a journal.
    fn failpoint(&self) -> Result<()> {
        failpoint!(self.faults, "landing.record").or_cannot(|| "change the journal of a landing")
    }

    fn path(&self, id: &str, state: State) -> PathBuf {
        let folder = match state {
            State::Done => self.folder.join(DONE),
            _ => self.folder.clone(),
        };
        folder.join(format!("{id}.{}", state.ending()))
    }

    /// Returns every journal outside the folder of finished ones, with its state.
    fn names(&self) -> Result<Vec<(String, State)>> {
        names_in(&self.folder)
    }

    fn sync(&self) -> Result<()> {
        sync(&self.folder)
    }
}

fn names_in(folder: &Path) -> Result<Vec<(String, State)>> {
    let what = || format!("list {}", folder.display());
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).or_cannot(what),
    };
    let mut names = Vec::new();
    for entry in listed {
        names.extend(named(&entry.or_cannot(what)?.file_name()));
    }
    Ok(names)
}

fn sync(folder: &Path) -> Result<()> {
    let synced = match File::open(folder) {
        // Without a folder there is no journal to sync.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened.and_then(|folder| folder.sync_all()),
    };
    synced.or_cannot(|| format!("sync {}", folder.display()))
}

/// Returns whether a landing belongs to `run`.
pub(super) fn is_of(id: &str, run: &RunName) -> bool {
    id.rsplit_once('-').is_some_and(|(name, _)| name == run.as_str())
}

fn named(name: &OsStr) -> Option<(String, State)> {
    let (id, ending) = name.to_str()?.rsplit_once('.')?;
    let state = State::ALL.into_iter().find(|state| state.ending() == ending)?;
    Some((id.to_owned(), state))
}

fn write_durably(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn refused(path: &Path, because: String) -> IsolationError {
    IsolationError::Refused {
        what: format!(
            "a landing is unfinished, and its journal cannot be read: {}",
            path.display()
        ),
        because,
        hint: format!(
            "compare your files with what the run was to change, then: mv '{0}' '{0}.kept'",
            path.display()
        ),
    }
}
