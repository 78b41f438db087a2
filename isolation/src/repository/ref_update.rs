//! Makes, moves and removes a branch, if it is still where it is expected. No lock of it stays for
//! good if the process dies meanwhile, as one that libgit2 takes does.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use git2::{ErrorCode, Oid, Reference, ReferenceType, Repository, Signature};

use crate::error::{OrCannot, Result, cannot};
use crate::repository::ref_lock::{RefLock, remove_empty_parents};

/// A change of one branch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RefUpdate<'a> {
    /// The full name of the branch.
    pub(crate) reference: &'a str,
    /// The commit that it has; `None` if it does not exist.
    pub(crate) from: Option<Oid>,
    /// The commit that it gets; `None` if it is removed.
    pub(crate) to: Option<Oid>,
    /// The message of the reference log.
    pub(crate) why: &'a str,
}

/// The result of a change of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefUpdated {
    /// The branch is where it was to go.
    Yes,
    /// Another program has changed it, and it is left as it is.
    Contested,
}

impl RefUpdate<'_> {
    /// Changes the branch. The caller holds the landing lock of the repository.
    ///
    /// # Errors
    /// Another process keeps the branch locked, or it cannot be written.
    pub(crate) fn carry_out(self, git: &Repository) -> Result<RefUpdated> {
        let content = format!("{}\n", self.to.unwrap_or(Oid::ZERO_SHA1));
        let lock = RefLock::acquire(git.commondir(), self.reference, content.as_bytes())?;
        if self.now(git)? != self.from {
            return Ok(RefUpdated::Contested);
        }
        match self.to {
            Some(_) => {
                if self.from.is_none() {
                    self.check_name_is_free(git)?;
                }
                self.log(git)?;
                lock.publish()?;
            }
            None => self.remove(git, &lock)?,
        }
        Ok(RefUpdated::Yes)
    }

    fn now(&self, git: &Repository) -> Result<Option<Oid>> {
        match git.find_reference(self.reference) {
            Ok(found) if found.kind() == Some(ReferenceType::Symbolic) => {
                Err(cannot(self.what(), "it stands for another branch"))
            }
            Ok(found) => Ok(found.target()),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error).or_cannot(|| self.what()),
        }
    }

    /// Checks that no packed branch is above or below: git cannot have them at once.
    fn check_name_is_free(&self, git: &Repository) -> Result<()> {
        let above = Path::new(self.reference).ancestors().skip(1).filter_map(Path::to_str);
        let above = above.filter(|name| Reference::is_valid_name(name));
        let mut above = above.filter(|name| git.find_reference(name).is_ok());
        let mut below =
            git.references_glob(&format!("{}/*", self.reference)).or_cannot(|| self.what())?;
        if let Some(name) = above.next() {
            return Err(cannot(self.what(), format!("{name} is in the way")));
        }
        match below.next() {
            Some(_) => Err(cannot(self.what(), "there are branches below it")),
            None => Ok(()),
        }
    }

    fn remove(&self, git: &Repository, lock: &RefLock<'_>) -> Result<()> {
        lock.change_packed(|packed| without(packed, self.reference))?;
        let logs = git.commondir().join("logs");
        for file in [git.commondir().join(self.reference), logs.join(self.reference)] {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).or_cannot(|| self.what());
                }
                _gone => {}
            }
        }
        remove_empty_parents(&logs, self.reference);
        Ok(())
    }

    /// Adds the change to the logs of the branch and of HEAD, if the user has them.
    fn log(&self, git: &Repository) -> Result<()> {
        let own = git.signature().or_else(|_| Signature::now("Regatta", "regatta@localhost"));
        let own = own.or_cannot(|| self.what())?;
        let (from, to) = (self.from.unwrap_or(Oid::ZERO_SHA1), self.to.unwrap_or(Oid::ZERO_SHA1));
        let (when, offset) = (own.when().seconds(), own.when().offset_minutes());
        let sign = if offset < 0 { '-' } else { '+' };
        let (hours, minutes) = (offset.abs() / 60, offset.abs() % 60);
        let who = [own.name_bytes(), own.email_bytes()].map(String::from_utf8_lossy);
        let line = format!(
            "{from} {to} {} <{}> {when} {sign}{hours:02}{minutes:02}\t{}\n",
            who[0], who[1], self.why
        );
        let head = git.find_reference("HEAD");
        let head = head.as_ref().ok().and_then(|head| head.symbolic_target().ok().flatten());
        let is_head = head == Some(self.reference);
        let config = git.config().or_cannot(|| self.what())?;
        let logs_all = config.get_string("core.logallrefupdates").map_or_else(
            |_unset| !git.is_bare(),
            |setting| {
                matches!(setting.to_lowercase().as_str(), "true" | "yes" | "on" | "1" | "always")
            },
        );
        let branch = git.commondir().join("logs").join(self.reference);
        let files = [Some(branch), is_head.then(|| git.path().join("logs/HEAD"))];
        for file in files.into_iter().flatten() {
            if !logs_all && !file.exists() {
                continue;
            }
            let folder = file.parent().unwrap_or(git.path());
            let appended = fs::create_dir_all(folder)
                .and_then(|()| OpenOptions::new().append(true).create(true).open(&file))
                .and_then(|mut file| file.write_all(line.as_bytes()));
            appended.or_cannot(|| format!("write {}", file.display()))?;
        }
        Ok(())
    }

    fn what(&self) -> String {
        format!("move {}", self.reference)
    }
}

/// Returns packed references without one; `None` if it is not one of them.
fn without(packed: &[u8], reference: &str) -> Option<Vec<u8>> {
    let is_it = |line: &[u8]| {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        line.first().is_some_and(|first| first.is_ascii_hexdigit())
            && line.splitn(2, |byte| *byte == b' ').nth(1) == Some(reference.as_bytes())
    };
    let (mut rest, mut is_removed, mut is_found) = (Vec::new(), false, false);
    for line in packed.split_inclusive(|byte| *byte == b'\n') {
        // What a tag stands for follows it in a line of its own.
        is_removed = is_it(line) || (is_removed && line.starts_with(b"^"));
        is_found |= is_removed;
        if !is_removed {
            rest.extend_from_slice(line);
        }
    }
    is_found.then_some(rest)
}
