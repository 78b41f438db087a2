//! A session file as it was read: its header, the tree of its entries, and its damage.

use std::io::{self, Read};
use std::path::Path;

use engine::ports::LogDamage;
use engine::session::{
    MovePreview, PathEntry, SessionContext, SessionTree, UnknownEntry, build_context,
};
use protocol::{EntryId, SessionEntry, Timestamp};
use serde_json::{Map, Value};

use super::blobs::BlobFolder;
use super::gaps::Gaps;
use super::journal::settle_for;
use super::large::{may_refer, restore};
use super::line::{
    Envelope, First, LoadedHeader, clean, parse_entry, parse_envelope, parse_first, parse_message,
};
use super::reader::{LogLines, NO_TEXT, RawLine, TOO_LONG, is_blank};

/// How many damaged lines are described.
const DESCRIBED: usize = 20;

/// A session file as it was read.
#[derive(Clone, Debug)]
pub struct LoadedSession {
    /// The header.
    pub header: LoadedHeader,
    /// The entries.
    pub tree: SessionTree<Body>,
    /// The first damaged lines.
    pub damage: Vec<LogDamage>,
    /// The number of damaged lines.
    pub damaged: u64,
    /// Where the first line after the header begins.
    pub(super) begin: u64,
    /// Where the last complete line ends.
    pub(super) end: u64,
    /// Whether the file ends in an entry without a line break.
    pub(super) lacks_line_break: bool,
}

/// What an entry says.
#[derive(Clone, Debug)]
pub enum Body {
    /// The line of the entry.
    Unread {
        /// The number of the line, from 1.
        number: u64,
        /// The text.
        text: Box<str>,
    },
    /// The entry.
    Read(Box<SessionEntry>),
}

/// What is kept of the entries of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// What they say. A message is parsed at once, any other entry when it is needed.
    Entries,
    /// Their lines as they stand.
    Lines,
}

/// What a file is.
#[derive(Debug)]
pub(super) enum Loaded {
    Session(Box<LoadedSession>),
    Empty,
    /// Not a session.
    Other,
}

impl LoadedSession {
    /// Reads the session file at `path`, also while somebody writes it; `None` if it is none. A file
    /// of an older version is read as if it were migrated.
    ///
    /// # Errors
    /// The file does not exist or cannot be read.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        Self::read_as(path, Keep::Entries)
    }

    /// Reads the session file at `path` as [`Self::read`] does, with the lines of its entries.
    ///
    /// # Errors
    /// The file does not exist or cannot be read.
    pub(super) fn read_lines(path: &Path) -> io::Result<Option<Self>> {
        Self::read_as(path, Keep::Lines)
    }

    fn read_as(path: &Path, keep: Keep) -> io::Result<Option<Self>> {
        settle_for(path);
        let loaded = match load(std::fs::File::open(path)?, keep)? {
            Loaded::Session(session) if session.header.version < super::line::VERSION => {
                let migrated =
                    super::migrate::migrate(&std::fs::read(path)?, session.header.session());
                load(&migrated[..], keep)?
            }
            loaded => loaded,
        };
        Ok(match loaded {
            Loaded::Session(session) => Some(*session),
            Loaded::Empty | Loaded::Other => None,
        })
    }

    /// Reads the session file at `path` as [`Self::read`] does, and returns the lines after its header
    /// as they stand, also the damaged ones.
    ///
    /// # Errors
    /// The file does not exist or cannot be read.
    pub(super) fn read_rest(path: &Path) -> io::Result<Option<(Self, Vec<u8>)>> {
        settle_for(path);
        let mut bytes = std::fs::read(path)?;
        let mut loaded = load(&bytes[..], Keep::Lines)?;
        if let Loaded::Session(session) = &loaded
            && session.header.version < super::line::VERSION
        {
            bytes = super::migrate::migrate(&bytes, session.header.session());
            loaded = load(&bytes[..], Keep::Lines)?;
        }
        let Loaded::Session(session) = loaded else { return Ok(None) };
        if session.lacks_line_break {
            bytes.push(b'\n');
        } else {
            bytes.truncate(usize::try_from(session.end).unwrap_or(usize::MAX));
        }
        let begin = usize::try_from(session.begin).unwrap_or(usize::MAX).min(bytes.len());
        Ok(Some((*session, bytes.split_off(begin))))
    }

    /// Returns the entry at `place`, with what it has in blobs.
    pub fn entry(&mut self, place: usize, blobs: Option<&BlobFolder>) -> Option<&SessionEntry> {
        self.parse(place, blobs);
        match &self.tree.nodes().get(place)?.body {
            Body::Read(entry) => Some(entry),
            Body::Unread { .. } => None,
        }
    }

    /// Returns the context of the leaf. Its cost depends on the path to the leaf only.
    pub fn context(&mut self, blobs: Option<&BlobFolder>) -> SessionContext {
        let places = self.tree.path();
        places.iter().for_each(|place| self.parse(*place, blobs));
        let path = places.iter().filter_map(|place| {
            let node = &self.tree.nodes()[*place];
            let Body::Read(entry) = &node.body else { return None };
            Some(PathEntry { id: &node.id, at: node.at, entry })
        });
        build_context(&path.collect::<Vec<_>>())
    }

    /// Returns what a move to an entry would do, or before all entries without one.
    pub(super) fn preview(
        &mut self,
        chosen: Option<&EntryId>,
        blobs: Option<&BlobFolder>,
    ) -> Result<MovePreview, UnknownEntry> {
        let outline = self.tree.outline();
        MovePreview::of(&outline, chosen, |place| self.entry(place, blobs).cloned())
    }

    /// Parses what an entry says. One that cannot be parsed keeps its place and says nothing.
    fn parse(&mut self, place: usize, blobs: Option<&BlobFolder>) {
        let Some(body) = self.tree.body_mut(place) else { return };
        let Body::Unread { number, text } = body else { return };
        let number = *number;
        let (entry, damage) = parse_body(text, blobs);
        *body = Body::Read(Box::new(entry));
        damage.into_iter().for_each(|what| self.note(number, what));
    }

    fn note(&mut self, line: u64, what: String) {
        self.damaged += 1;
        if self.damage.len() < DESCRIBED {
            self.damage.push(LogDamage { line, what });
        }
    }
}

fn parse_body(text: &str, blobs: Option<&BlobFolder>) -> (SessionEntry, Vec<String>) {
    let mut fields: Map<String, Value> = match serde_json::from_str(text) {
        Ok(fields) => fields,
        Err(error) => return (SessionEntry::Unknown(Map::new()), vec![error.to_string()]),
    };
    let missing = if may_refer(text) { restore(&mut fields, blobs) } else { Vec::new() };
    let missing = missing.into_iter().map(|what| format!("{what} is missing"));
    match parse_entry(fields) {
        Ok(entry) => (entry, missing.collect()),
        Err(error) => (SessionEntry::Unknown(Map::new()), missing.chain([error]).collect()),
    }
}

/// Reads a session file.
pub(super) fn load(from: impl Read, keep: Keep) -> io::Result<Loaded> {
    let mut scan = LogLines::new(from);
    let mut number = 0;
    let mut is_empty = true;
    let header = loop {
        number += 1;
        let line = match scan.next()? {
            None if is_empty => return Ok(Loaded::Empty),
            None | Some(RawLine::TooLong | RawLine::Torn(_)) => return Ok(Loaded::Other),
            Some(RawLine::Complete(line)) => line,
        };
        is_empty = false;
        match parse_first(line) {
            First::Header(header) => break *header,
            First::Title => {}
            First::Other => return Ok(Loaded::Other),
        }
    };
    let mut session = LoadedSession {
        header,
        tree: SessionTree::default(),
        damage: Vec::new(),
        damaged: 0,
        begin: scan.end(),
        end: 0,
        lacks_line_break: false,
    };
    let mut gaps = Gaps::default();
    loop {
        number += 1;
        match scan.next()? {
            None => break,
            Some(RawLine::Complete(line)) if clean(line).is_empty() => {
                if !is_blank(line) {
                    session.note(number, NO_TEXT.to_owned());
                    gaps.note(&session.tree, b"");
                }
            }
            Some(RawLine::Complete(line)) => {
                if let Err(what) = add(&mut session, keep, &gaps, number, clean(line)) {
                    session.note(number, what);
                    gaps.note(&session.tree, clean(line));
                }
            }
            Some(RawLine::TooLong) => {
                session.note(number, TOO_LONG.to_owned());
                gaps.note(&session.tree, b"");
            }
            Some(RawLine::Torn(line)) => {
                // What is whole but for its line break is an entry; anything else was not written.
                session.lacks_line_break =
                    add(&mut session, keep, &gaps, number, clean(line)).is_ok();
            }
        }
    }
    session.end = scan.end();
    Ok(Loaded::Session(Box::new(session)))
}

fn add(
    session: &mut LoadedSession,
    keep: Keep,
    gaps: &Gaps,
    number: u64,
    line: &[u8],
) -> Result<(), String> {
    let text = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    // Entries of older versions have no ids; they are read again when they are migrated.
    if session.header.version < 2 {
        return Ok(());
    }
    let message = if keep == Keep::Entries { parse_message(text) } else { None };
    let (envelope, body) = match message {
        Some((envelope, entry)) => (envelope, Body::Read(Box::new(entry))),
        None => (parse_envelope(line)?, Body::Unread { number, text: text.into() }),
    };
    let Envelope { id, parent, at, label } = envelope;
    let before = || session.tree.nodes().last().map(|node| node.at);
    let at = at.or_else(before).unwrap_or_else(|| Timestamp::from_millisecond(0));
    if let Some((target, label)) = label {
        session.tree.set_label(target, label);
    }
    match gaps.bridge(&session.tree, parent.as_ref()) {
        Some(before) => session.tree.push_after_gap(before, (id, parent), at, body),
        None => session.tree.push(id, parent, at, body),
    };
    Ok(())
}

impl LoadedSession {
    /// Returns the ids of all entries.
    pub(super) fn ids(&self) -> impl Iterator<Item = &EntryId> {
        self.tree.nodes().iter().map(|node| &node.id)
    }
}

#[cfg(test)]
mod tests;
