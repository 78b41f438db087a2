//! The message that starts a command: its encoding by the engine and its reading by the reaper.

use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use engine::ports::{Namespaces, ProcessSession, ResourceLimit};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::Resource;

use crate::wire::LONGEST;

/// The first byte of the message.
const START: u8 = 9;

/// The bytes before the limits.
const HEADER: usize = 24;

/// The bytes of one limit.
const LIMIT: usize = 12;

/// The most bytes of arguments and environment. The kernel takes less.
const MOST_TEXT: usize = 16 << 20;

/// The folders that are searched for a program if the environment has no `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// What happens to the group of a command when the command exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterExit {
    /// It is killed.
    KillGroup,
    /// It is left until the engine lets go of the command.
    KeepGroup,
}

/// An encoded message.
pub(crate) struct StartMessage {
    /// The part of fixed format.
    pub(crate) header: Vec<u8>,
    /// The arguments and the environment, if they are short.
    pub(crate) text: Vec<u8>,
    /// The file with the arguments and the environment, if they are long.
    pub(crate) file: Option<OwnedFd>,
}

/// How a command is started, apart from its texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StartOptions {
    pub(crate) session: ProcessSession,
    pub(crate) namespaces: Namespaces,
    pub(crate) after_exit: AfterExit,
    pub(crate) limits: BTreeMap<ResourceLimit, u64>,
}

const RESOURCES: [(ResourceLimit, Resource); 5] = [
    (ResourceLimit::AddressSpace, Resource::As),
    (ResourceLimit::CpuSeconds, Resource::Cpu),
    (ResourceLimit::FileSize, Resource::Fsize),
    (ResourceLimit::OpenFiles, Resource::Nofile),
    (ResourceLimit::Processes, Resource::Nproc),
];

/// Encodes the start of a command.
///
/// # Errors
/// There is no program, a text contains a zero byte, the texts are too long, or there is no file in
/// memory for them.
pub(crate) fn encode(
    argv: &[OsString],
    environment: &BTreeMap<OsString, OsString>,
    options: &StartOptions,
) -> io::Result<StartMessage> {
    let Some(program) = argv.first() else { return Err(io::ErrorKind::InvalidInput.into()) };
    let mut text = Vec::new();
    let mut push = |parts: &[&OsStr]| {
        if parts.iter().any(|part| part.as_bytes().contains(&0)) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "nul byte found"));
        }
        parts.iter().for_each(|part| text.extend_from_slice(part.as_bytes()));
        text.push(0);
        if text.len() > MOST_TEXT { Err(rustix::io::Errno::TOOBIG.into()) } else { Ok(()) }
    };
    let programs = candidates(program, environment);
    for program in &programs {
        push(&[program])?;
    }
    for word in argv {
        push(&[word])?;
    }
    for (name, value) in environment {
        push(&[name, OsStr::new("="), value])?;
    }
    let counts = [programs.len(), argv.len(), environment.len(), text.len()];
    let header = header(options, counts)?;
    if !is_long(options, text.len()) {
        return Ok(StartMessage { header, text, file: None });
    }
    let mut file = File::from(memfd_create("start", MemfdFlags::CLOEXEC)?);
    file.write_all(&text)?;
    Ok(StartMessage { header, text: Vec::new(), file: Some(file.into()) })
}

fn header(options: &StartOptions, counts: [usize; 4]) -> io::Result<Vec<u8>> {
    let flags = [
        START,
        u8::from(options.session == ProcessSession::Terminal),
        u8::from(options.namespaces == Namespaces::Private),
        u8::from(options.after_exit == AfterExit::KeepGroup),
        u8::from(is_long(options, counts[3])),
        u8::try_from(options.limits.len()).map_err(io::Error::other)?,
        0,
        0,
    ];
    let mut header = flags.to_vec();
    for count in counts {
        header.extend(u32::try_from(count).map_err(io::Error::other)?.to_ne_bytes());
    }
    for (limit, most) in &options.limits {
        let number = RESOURCES.iter().position(|(known, _)| known == limit).unwrap_or_default();
        header.extend(u32::try_from(number).map_err(io::Error::other)?.to_ne_bytes());
        header.extend(most.to_ne_bytes());
    }
    Ok(header)
}

/// Returns whether texts of this length are too long for a message.
fn is_long(options: &StartOptions, text: usize) -> bool {
    HEADER + options.limits.len() * LIMIT + text > LONGEST
}

/// Returns the files that may be the program, in the order in which they are tried.
fn candidates(program: &OsStr, environment: &BTreeMap<OsString, OsString>) -> Vec<OsString> {
    if program.as_bytes().contains(&b'/') || program.is_empty() {
        return vec![program.to_owned()];
    }
    let path = environment.get(OsStr::new("PATH")).map_or(OsStr::new(DEFAULT_PATH), |path| path);
    let folders = path.as_bytes().split(|&byte| byte == b':');
    let join = |folder: &[u8]| {
        let mut file = OsString::from(OsStr::from_bytes(folder));
        file.push(if folder.is_empty() { "./" } else { "/" });
        file.push(program);
        file
    };
    folders.map(join).collect()
}

/// A message as the reaper reads it.
pub(crate) struct ReceivedStart {
    pub(crate) session: ProcessSession,
    pub(crate) namespaces: Namespaces,
    pub(crate) after_exit: AfterExit,
    pub(crate) limits: Vec<(Resource, u64)>,
    counts: [usize; 3],
    length: usize,
    text_at: Option<usize>,
}

/// The texts of a start.
pub(crate) struct Texts<'text> {
    pub(crate) programs: Vec<&'text CStr>,
    pub(crate) argv: Vec<&'text CStr>,
    pub(crate) environment: Vec<&'text CStr>,
}

impl ReceivedStart {
    /// Reads a message; `None` if it is none.
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        let (header, mut rest) = message.split_at_checked(HEADER)?;
        let &[START, terminal, namespaces, keep, long, limit_count, 0, 0, ..] = header else {
            return None;
        };
        let number = |at: usize| {
            let bytes = header.get(at..at + 4)?.try_into().ok()?;
            usize::try_from(u32::from_ne_bytes(bytes)).ok()
        };
        let mut limits = Vec::new();
        for _ in 0..limit_count {
            let (limit, after) = rest.split_at_checked(LIMIT)?;
            rest = after;
            let (number, most) = limit.split_at(4);
            let number = usize::try_from(u32::from_ne_bytes(number.try_into().ok()?)).ok()?;
            let (_, resource) = *RESOURCES.get(number)?;
            limits.push((resource, u64::from_ne_bytes(most.try_into().ok()?)));
        }
        let session =
            if terminal == 0 { ProcessSession::Detached } else { ProcessSession::Terminal };
        Some(Self {
            session,
            namespaces: if namespaces == 0 { Namespaces::Shared } else { Namespaces::Private },
            after_exit: if keep == 0 { AfterExit::KillGroup } else { AfterExit::KeepGroup },
            limits,
            counts: [number(8)?, number(12)?, number(16)?],
            length: number(20).filter(|&length| length <= MOST_TEXT)?,
            text_at: (long == 0).then_some(message.len() - rest.len()),
        })
    }

    /// Returns whether the texts are in a file.
    pub(crate) fn is_long(&self) -> bool {
        self.text_at.is_none()
    }

    /// Reads the texts from the file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn read_file(&self, file: &OwnedFd) -> io::Result<Vec<u8>> {
        let mut text = vec![0; self.length];
        let mut file = File::from(file.try_clone()?);
        io::Seek::rewind(&mut file)?;
        file.read_exact(&mut text)?;
        Ok(text)
    }

    /// Returns the texts: of the message, or of what its file contains. `None` if they are not what
    /// the message says.
    pub(crate) fn texts<'text>(
        &self,
        message: &'text [u8],
        file: &'text [u8],
    ) -> Option<Texts<'text>> {
        let mut text = match self.text_at {
            Some(at) => message.get(at..)?,
            None => file,
        };
        if text.len() != self.length {
            return None;
        }
        let [programs, argv, environment] = self.counts;
        let mut next = |count: usize| {
            let mut strings = Vec::new();
            for _ in 0..count {
                let string = CStr::from_bytes_until_nul(text).ok()?;
                text = text.get(string.count_bytes() + 1..)?;
                strings.push(string);
            }
            Some(strings)
        };
        Some(Texts {
            programs: next(programs)?,
            argv: next(argv)?,
            environment: next(environment)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    fn options() -> StartOptions {
        StartOptions {
            session: ProcessSession::Terminal,
            namespaces: Namespaces::Shared,
            after_exit: AfterExit::KeepGroup,
            limits: BTreeMap::from([
                (ResourceLimit::OpenFiles, 32),
                (ResourceLimit::CpuSeconds, 9),
            ]),
        }
    }

    fn strings(texts: &[&CStr]) -> Vec<String> {
        texts.iter().map(|text| text.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_start_is_read_as_it_was_written_whether_short_or_long() {
        for length in [3, 100_000] {
            let long = "x".repeat(length);
            let environment = BTreeMap::from([("PATH".into(), "/a::b".into())]);
            let message = encode(&words(&["ls", &long]), &environment, &options()).unwrap();
            assert_eq!(message.file.is_some(), length > LONGEST);
            let bytes = [message.header, message.text].concat();
            let read = ReceivedStart::read(&bytes).unwrap();
            assert_eq!(read.session, ProcessSession::Terminal);
            assert_eq!(read.after_exit, AfterExit::KeepGroup);
            assert_eq!(read.limits, [(Resource::Cpu, 9), (Resource::Nofile, 32)]);
            assert_eq!(read.is_long(), message.file.is_some());
            let file = message.file.map(|file| read.read_file(&file).unwrap()).unwrap_or_default();
            let texts = read.texts(&bytes, &file).unwrap();
            assert_eq!(strings(&texts.programs), ["/a/ls", "./ls", "b/ls"]);
            assert_eq!(strings(&texts.argv), ["ls", &long]);
            assert_eq!(strings(&texts.environment), ["PATH=/a::b"]);
        }
    }

    #[test]
    fn a_message_that_was_cut_or_changed_is_none() {
        let message = encode(&words(&["/bin/ls", "-l"]), &BTreeMap::new(), &options()).unwrap();
        let bytes = [message.header, message.text].concat();
        for end in 0..bytes.len() {
            let cut = &bytes[..end];
            assert!(ReceivedStart::read(cut).is_none_or(|read| read.texts(cut, &[]).is_none()));
        }
        for (at, value) in [(0, 0), (5, 200), (8, 9), (12, 255), (20, 1)] {
            let mut changed = bytes.clone();
            changed[at] = value;
            let read = ReceivedStart::read(&changed);
            assert!(read.is_none_or(|read| read.texts(&changed, &[]).is_none()), "{at}");
        }
    }

    #[test]
    fn what_cannot_be_an_argument_is_refused() {
        for argv in [words(&[]), words(&["/bin/ls", "a\0b"])] {
            let error = encode(&argv, &BTreeMap::new(), &options()).err().unwrap();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
        let most = "x".repeat(MOST_TEXT);
        let error =
            encode(&words(&["/bin/ls", &most]), &BTreeMap::new(), &options()).err().unwrap();
        assert_eq!(error.raw_os_error(), Some(libc::E2BIG));
    }
}
