//! `regatta logs SESSION`: prints what was said in a session, and with `--follow` what comes until it
//! is closed.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::Duration;

use config::DataPaths;
use engine::ports::LogDamage;
use protocol::{EntryId, ExitCode, SessionEntry, Timestamp, Usage};
use serde::Serialize;
use store::{BlobFolder, LoadedSession, SessionLine, is_log_open, sessions_named};

use super::super::context::{CommandContext, Out, print_json, say, write_text};
use super::super::target;
use super::follow::settled;
use super::{DamagedLine, unreadable, warn_of_damage};
use crate::args::{Form, LogsArgs};
use crate::render::{Meaning, View, one_line, printable_json, transcript, usage_details};
use regatta::error::{Error, ErrorKind};
use regatta::session::TaskSession;

/// How often a log is looked at that is followed.
const INTERVAL: Duration = Duration::from_millis(100);

/// How long nothing may come until it is checked whether the session is still open.
const QUIET: Duration = Duration::from_secs(1);

/// How many sessions an error lists.
const LISTED: usize = 5;

/// A session whose log is printed.
pub(super) struct SessionTarget {
    path: PathBuf,
    blobs: BlobFolder,
}

impl SessionTarget {
    /// Returns the session that a target names: by its file, or by the beginning of its id. `None`
    /// if the target names a run or a task, or nothing. `context` is the repository, if there is one.
    ///
    /// # Errors
    /// Several sessions have such an id, or the sessions cannot be read.
    pub(super) fn find(
        places: &DataPaths,
        folder: &Path,
        args: &LogsArgs,
        context: Option<&CommandContext>,
    ) -> Result<Option<Self>, Error> {
        let (Some(given), None) = (&args.target.target, &args.target.task) else { return Ok(None) };
        if context.is_some_and(|context| target::find(context, &args.target).is_ok()) {
            return Ok(None);
        }
        let of = |path| Some(Self { path, blobs: BlobFolder::new(places.blobs()) });
        if given.contains('/') || given.ends_with(".jsonl") {
            let path = folder.join(given);
            return Ok(of(path).filter(|target| target.path.is_file()));
        }
        let found = sessions_named(&places.all_sessions(), given).map_err(|error| {
            Error::new(ErrorKind::Machine, "cannot read the sessions").caused_by(&error)
        })?;
        match found.as_slice() {
            [] => Ok(TaskSession::with_id(places, given).and_then(|task| of(task.log))),
            [session] => Ok(of(session.path.clone())),
            several => {
                let ids: Vec<_> =
                    several.iter().take(LISTED).map(|session| one_line(&session.id)).collect();
                let more = if several.len() > LISTED { ", …" } else { "" };
                let what = format!("{} sessions begin with `{given}`", several.len());
                Err(Error::usage(what).because(format!("{}{more}", ids.join(", "))))
            }
        }
    }

    /// Prints the conversation, or the whole log as JSON.
    ///
    /// # Errors
    /// The log cannot be read, or is that of no session.
    pub(super) fn show(&self, view: &View, out: Out<'_>) -> Result<ExitCode, Error> {
        let read = self.read()?;
        let damage = warn_of_damage(&self.path, &read.damage, 0);
        if view.form == Form::Json {
            print_json(out, &read.document(&self.path, &damage))?;
            return Ok(ExitCode::Success);
        }
        read.heading(view, out)?;
        let lines = transcript(&read.conversation(), view);
        lines.iter().try_for_each(|line| write_text(out, line))?;
        read.end(out)
    }

    /// Prints the conversation, and what comes until no process has the session open.
    ///
    /// # Errors
    /// The log cannot be read, or is that of no session.
    pub(super) async fn follow(&self, view: &View, out: Out<'_>) -> Result<ExitCode, Error> {
        let mut read = self.read()?;
        if view.form == Form::Text {
            read.heading(view, out)?;
        }
        let mut damaged = 0;
        let mut printed = Printed::default();
        let mut seen = self.metadata()?;
        let mut quiet = Duration::ZERO;
        let mut state = LogState::Open;
        loop {
            let damage = warn_of_damage(&self.path, &read.damage, damaged);
            damaged += damage.len();
            for line in damage.iter().filter(|_| view.form == Form::Json) {
                json_line(&JsonLine { damage: Some(line), ..JsonLine::of(&read) }, out)?;
            }
            printed.print(&read, state, view, out)?;
            if state == LogState::Closed {
                break;
            }
            tokio::time::sleep(INTERVAL).await;
            quiet += INTERVAL;
            let now = self.metadata()?;
            let is_same = (now.len(), now.modified().ok()) == (seen.len(), seen.modified().ok());
            if !is_same {
                (read, seen, quiet) = (self.read()?, now, Duration::ZERO);
            } else if quiet >= QUIET {
                quiet = Duration::ZERO;
                let is_open = is_log_open(&self.path);
                if !is_open.map_err(|error| unreadable(&self.path, &error))? {
                    // What was written since is read once more.
                    (read, state) = (self.read()?, LogState::Closed);
                }
            }
        }
        match view.form {
            Form::Json => json_line(&JsonLine { open: Some(false), ..JsonLine::of(&read) }, out)
                .map(|()| ExitCode::Success),
            Form::Text => read.end(out),
        }
    }

    fn metadata(&self) -> Result<Metadata, Error> {
        fs::metadata(&self.path).map_err(|error| unreadable(&self.path, &error))
    }

    fn read(&self) -> Result<ReadSession, Error> {
        let loaded = LoadedSession::read(&self.path);
        let loaded = loaded.map_err(|error| unreadable(&self.path, &error))?;
        let Some(mut session) = loaded else {
            return Err(Error::usage(format!("{} is not a session", self.path.display())));
        };
        let on_path = session.tree.path();
        let mut lines = Vec::new();
        for place in 0..session.tree.nodes().len() {
            let Some(entry) = session.entry(place, Some(&self.blobs)).cloned() else { continue };
            let node = &session.tree.nodes()[place];
            let (id, parent, timestamp) = (node.id.clone(), node.parent.clone(), node.at);
            lines.push(SessionLine { id, parent, timestamp, entry });
        }
        let header = &session.header;
        Ok(ReadSession {
            id: header.id.clone(),
            cwd: header.cwd.clone(),
            title: header.title.clone(),
            leaf: session.tree.leaf_id().cloned(),
            on_path,
            lines,
            damage: session.damage,
        })
    }
}

/// Whether a process has a session open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogState {
    Open,
    Closed,
}

/// A session as it was read.
struct ReadSession {
    id: String,
    cwd: PathBuf,
    title: Option<String>,
    leaf: Option<EntryId>,
    /// The places of the entries of the conversation.
    on_path: Vec<usize>,
    lines: Vec<SessionLine>,
    damage: Vec<LogDamage>,
}

/// The JSON document of a session.
#[derive(Serialize)]
struct Document<'a> {
    session: &'a str,
    file: &'a Path,
    cwd: &'a Path,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    /// The last entry of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    leaf: Option<&'a EntryId>,
    /// All entries, also those of branches that were left.
    entries: &'a [SessionLine],
    /// The lines of the file that cannot be read whole.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    damage: &'a [DamagedLine],
}

impl ReadSession {
    fn document<'a>(&'a self, file: &'a Path, damage: &'a [DamagedLine]) -> Document<'a> {
        let (leaf, title) = (self.leaf.as_ref(), self.title.as_deref());
        let entries = &self.lines;
        Document { session: &self.id, file, cwd: &self.cwd, title, leaf, entries, damage }
    }

    /// Returns the entries from the root to the leaf.
    fn conversation(&self) -> Vec<(Timestamp, &SessionEntry)> {
        let lines = self.on_path.iter().filter_map(|place| self.lines.get(*place));
        lines.map(|line| (line.timestamp, &line.entry)).collect()
    }

    fn heading(&self, view: &View, out: Out<'_>) -> Result<(), Error> {
        let mut parts = vec![one_line(&self.id)];
        parts.extend(self.title.as_deref().map(one_line));
        parts.push(one_line(&self.cwd.display().to_string()));
        say(out, &view.palette.paint(Meaning::Heading, &parts.join(" · ")))
    }

    fn end(&self, out: Out<'_>) -> Result<ExitCode, Error> {
        let entries = self.conversation();
        let used = entries.iter().filter_map(|(_, entry)| entry.usage());
        if let Some(used) = used.reduce(|one, other: Usage| one + other) {
            say(out, "")?;
            say(out, &usage_details(used))?;
        }
        Ok(ExitCode::Success)
    }
}

/// How much of a session has been printed.
#[derive(Default)]
struct Printed {
    /// Entries of the log.
    entries: usize,
    /// The lines of its transcript.
    lines: usize,
    /// The entry of the conversation up to which these lines go.
    last: Option<usize>,
}

impl Printed {
    /// Prints what is new. A call is printed with its result, unless the session has been closed.
    fn print(
        &mut self,
        read: &ReadSession,
        state: LogState,
        view: &View,
        out: Out<'_>,
    ) -> Result<(), Error> {
        if view.form == Form::Json {
            let first = self.entries.min(read.lines.len());
            self.entries = read.lines.len();
            return read.lines[first..].iter().try_for_each(|entry| {
                json_line(&JsonLine { entry: Some(entry), ..JsonLine::of(read) }, out)
            });
        }
        // On another branch, what it has in common with the one before is printed already.
        if self.last.is_some_and(|last| !read.on_path.contains(&last)) {
            *self = Self::default();
            say(out, "")?;
            say(out, &view.palette.paint(Meaning::Heading, "continues from an earlier entry"))?;
        }
        let path: Vec<_> =
            read.on_path.iter().filter_map(|place| read.lines.get(*place)).cloned().collect();
        let count = match state {
            LogState::Open => settled(&path),
            LogState::Closed => path.len(),
        };
        let shown: Vec<_> = path[..count].iter().map(|it| (it.timestamp, &it.entry)).collect();
        let lines = transcript(&shown, view);
        let new = lines.get(self.lines..).unwrap_or_default();
        new.iter().try_for_each(|line| write_text(out, line))?;
        self.lines = lines.len();
        self.last = count.checked_sub(1).and_then(|last| read.on_path.get(last).copied());
        Ok(())
    }
}

/// One line of `--json --follow`.
#[derive(Serialize)]
struct JsonLine<'a> {
    session: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<&'a SessionLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    damage: Option<&'a DamagedLine>,
    /// Whether a process has the session open.
    #[serde(skip_serializing_if = "Option::is_none")]
    open: Option<bool>,
}

impl<'a> JsonLine<'a> {
    fn of(read: &'a ReadSession) -> Self {
        Self { session: &read.id, entry: None, damage: None, open: None }
    }
}

fn json_line(line: &JsonLine<'_>, out: Out<'_>) -> Result<(), Error> {
    let json = serde_json::to_string(line).map_err(|error| {
        Error::new(ErrorKind::Bug, "cannot write a line as JSON").caused_by(&error)
    })?;
    write_text(out, &printable_json(json))
}
