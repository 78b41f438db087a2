//! Journals of landings: what was begun, on disk before it is done, so that whoever starts next
//! can finish it or take it back. The state of a landing is the ending of its journal's name, and
//! goes from one to the next by a rename, which needs no room on the disk. Journals of landings that
//! are done are kept in a folder of their own, so that nobody has to go through them to see what is
//! open.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use engine::fault::Faults;
use engine::ports::IsolationError;
use protocol::{LandingId, LandingReport, RepoPath, RunName};
use serde::{Deserialize, Serialize};

use crate::error::{OrCannot, Result, cannot};
use crate::landing::plan::FileChange;

/// How far a landing has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// New files are being written beside their targets. Nothing of the tree has changed.
    Intent,
    /// The tree is being changed, and will be whatever happens.
    Committed,
    /// Somebody came between: the tree is being changed back.
    Undoing,
    /// The tree is changed; what was in the way of the new files is being removed.
    Landed,
    /// Nothing is left to do in the tree. The ledger does not have the report yet.
    Unreported,
    /// Nothing is left to do. The journal is kept.
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

/// The folder of the journals that are done, in the folder of the others.
const DONE: &str = "done";

/// What a journal says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Journal {
    version: u32,
    /// Names the landing: the run and a number.
    pub(super) id: String,
    pub(super) run: RunName,
    /// What the ledger calls the landing. Several journals may be of one: it is tried again where
    /// somebody comes between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) landing: Option<LandingId>,
    /// Folders that the landing makes.
    pub(super) folders: Vec<RepoPath>,
    /// In the order in which they are taken.
    #[serde(rename = "steps")]
    pub(super) changes: Vec<FileChange>,
    pub(super) report: LandingReport,
}

impl Journal {
    const VERSION: u32 = 1;

    /// Returns the journal of a landing that is about to begin.
    pub(super) fn new(
        id: String,
        (run, landing): (RunName, LandingId),
        folders: Vec<RepoPath>,
        changes: Vec<FileChange>,
        report: LandingReport,
    ) -> Self {
        let landing = Some(landing);
        Self { version: Self::VERSION, id, run, landing, folders, changes, report }
    }

    /// Returns the reference of the task store that keeps the landing's bytes.
    pub(super) fn reference(&self) -> String {
        format!("refs/landings/{}", self.id)
    }
}

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

    /// Returns the name for the next landing of `run`.
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

    /// Returns the names of the landings that are not done, with the furthest state of each.
    pub(super) fn open(&self) -> Result<Vec<(String, State)>> {
        let mut furthest: BTreeMap<String, State> = BTreeMap::new();
        for (id, state) in self.names()? {
            let known = furthest.entry(id).or_insert(state);
            *known = state.max(*known);
        }
        furthest.retain(|_, state| *state != State::Done);
        Ok(furthest.into_iter().collect())
    }

    /// Returns the names of the landings of `run` that are done, in their order.
    pub(super) fn done(&self, run: &RunName) -> Result<Vec<String>> {
        let number = |(id, state): (String, State)| {
            let number = id.rsplit_once('-')?.1.parse::<u64>().ok()?;
            (state == State::Done && is_of(&id, run)).then_some((number, id))
        };
        let names = names_in(&self.folder.join(DONE))?;
        let done: BTreeMap<u64, String> = names.into_iter().filter_map(number).collect();
        Ok(done.into_values().collect())
    }

    /// Reads a journal. Nothing comes back if it is not there any more.
    ///
    /// # Errors
    /// A refusal if it cannot be understood: it stays where it is, and a person must look at it.
    pub(super) fn read(&self, id: &str, state: State) -> Result<Option<Journal>> {
        let path = self.path(id, state);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.or_cannot(|| format!("read {}", path.display()))?,
        };
        let journal: Journal = serde_json::from_slice(&bytes)
            .map_err(|error| refused(&path, format!("it cannot be read: {error}")))?;
        if journal.version != Journal::VERSION || journal.id != id {
            return Err(refused(&path, "it is of another version or another landing".into()));
        }
        Ok(Some(journal))
    }

    /// Writes a journal, durably. An earlier state of it goes.
    pub(super) fn write(&self, journal: &Journal, state: State) -> Result<()> {
        let path = self.path(&journal.id, state);
        let what = || format!("write the journal {}", path.display());
        // Made now, so that a full disk keeps nobody from putting the journal away.
        fs::create_dir_all(self.folder.join(DONE)).or_cannot(what)?;
        let bytes = serde_json::to_vec(journal).or_cannot(what)?;
        self.strike()?;
        let beside = self.folder.join(format!("{}.tmp", journal.id));
        let written = write_durably(&beside, &bytes).and_then(|()| fs::rename(&beside, &path));
        if let Err(error) = written {
            let _gone = fs::remove_file(&beside);
            return Err(error).or_cannot(what);
        }
        self.sync()?;
        self.forget_below(&journal.id, state)
    }

    /// Takes a journal from one state to the next, durably.
    pub(super) fn advance(&self, id: &str, from: State, to: State) -> Result<()> {
        let (old, new) = (self.path(id, from), self.path(id, to));
        self.strike()?;
        fs::rename(&old, &new)
            .or_cannot(|| format!("rename {} to {}", old.display(), new.display()))?;
        self.sync()?;
        self.forget_below(id, to)
    }

    /// Puts the journal of a landing that is reported to those that are done, durably. Succeeds if
    /// somebody else has.
    pub(super) fn put_away(&self, id: &str) -> Result<()> {
        let (old, new) = (self.path(id, State::Unreported), self.path(id, State::Done));
        let what = || format!("rename {} to {}", old.display(), new.display());
        let done = self.folder.join(DONE);
        fs::create_dir_all(&done).or_cannot(what)?;
        self.strike()?;
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

    /// Removes what a kill left of journals that were being written.
    pub(super) fn drop_unfinished(&self) -> Result<()> {
        let what = || format!("tidy {}", self.folder.display());
        let listed = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            listed => listed.or_cannot(what)?,
        };
        for entry in listed {
            let path = entry.or_cannot(what)?.path();
            if path.extension() == Some(OsStr::new("tmp")) {
                fs::remove_file(path).or_cannot(what)?;
            }
        }
        Ok(())
    }

    /// Removes earlier states that a kill left beside a later one.
    fn forget_below(&self, id: &str, state: State) -> Result<()> {
        for earlier in State::ALL.into_iter().filter(|earlier| *earlier < state) {
            let path = self.path(id, earlier);
            self.strike()?;
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(cannot(format!("remove {}", path.display()), error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Every single change of a journal passes here before it is made.
    fn strike(&self) -> Result<()> {
        self.faults.strike("landing.record").or_cannot(|| "change the journal of a landing")
    }

    fn path(&self, id: &str, state: State) -> PathBuf {
        let folder = match state {
            State::Done => self.folder.join(DONE),
            _ => self.folder.clone(),
        };
        folder.join(format!("{id}.{}", state.ending()))
    }

    /// Returns every journal that is not put away, with its state.
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
        // Where no journal could be written, none has to be synced.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened.and_then(|folder| folder.sync_all()),
    };
    synced.or_cannot(|| format!("sync {}", folder.display()))
}

/// Returns whether a landing is one of `run`.
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
        what: format!("a landing is open and its journal is not one: {}", path.display()),
        because,
        hint: format!(
            "compare your files with what the run was to change, then: mv '{0}' '{0}.kept'",
            path.display()
        ),
    }
}
