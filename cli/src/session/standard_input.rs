//! Standard input as a part of the first prompt.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read, stdin};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use protocol::DecodedText;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::{Errno, retry_on_intr};

use regatta::error::{Error, ErrorKind};
use regatta::session::foreign_note;

/// The longest standard input, in bytes.
const LONGEST_PIPED: u64 = 16 << 20;

/// How long standard input may be silent before the user learns what is waited for.
const SILENCE: Duration = Duration::from_secs(1);

/// What standard input is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PipedRole {
    /// It is the prompt.
    Prompt,
    /// It comes before a prompt of the command line.
    Context,
}

/// Returns whether standard input is a pipe or a file, which may have a prompt.
pub(crate) fn may_be_piped() -> bool {
    let kind = fstat(stdin().as_fd()).map(|found| FileType::from_raw_mode(found.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::RegularFile))
}

/// Returns standard input as text, unless it is a terminal or has nothing but white space. A socket
/// that is silent for a second is not read if the command line has a prompt: programs leave sockets
/// open that they do not mean to use. `note` gets the lines that say what is waited for, and how the
/// text was decoded.
///
/// # Errors
/// It cannot be read, has NUL characters, or is too long.
pub(crate) fn read_piped(
    role: PipedRole,
    note: &mut dyn FnMut(&str),
) -> Result<Option<String>, Error> {
    let input = stdin();
    if input.is_terminal() {
        return Ok(None);
    }
    // A program that was started without a standard input has nothing piped.
    let Ok(owned) = input.as_fd().try_clone_to_owned() else { return Ok(None) };
    let read = read_whole(File::from(owned), role, SILENCE, note);
    let bytes = read.map_err(|error| {
        Error::new(ErrorKind::Machine, "cannot read standard input").caused_by(&error)
    })?;
    if bytes.len() as u64 > LONGEST_PIPED {
        return Err(Error::usage("standard input is too long for a prompt")
            .because(format!("it may have {} MiB", LONGEST_PIPED >> 20))
            .hint("write it to a file, and let the model read it with its tools"));
    }
    let DecodedText { text, foreign } = DecodedText::of(bytes);
    if text.contains('\0') {
        return Err(Error::usage("standard input is not text")
            .hint("write it to a file, and let the model read it with its tools"));
    }
    foreign_note("standard input", foreign).iter().for_each(|line| note(line));
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

/// Reads `input` to its end, or a byte more than may be read. Returns nothing for a silent socket that
/// is not needed.
fn read_whole(
    input: impl AsFd + Read,
    role: PipedRole,
    silence: Duration,
    note: &mut dyn FnMut(&str),
) -> io::Result<Vec<u8>> {
    if !is_ready(&input, silence)? {
        let kind = FileType::from_raw_mode(fstat(&input)?.st_mode);
        match (role, kind) {
            (PipedRole::Prompt, _) => {
                note("note: waiting for the prompt from standard input");
            }
            (PipedRole::Context, FileType::Socket) => {
                note(
                    "note: standard input is a socket without data, and is not read (add \
                     </dev/null to skip this)",
                );
                return Ok(Vec::new());
            }
            (PipedRole::Context, _) => {
                note(
                    "note: waiting for the end of standard input, which comes before the prompt \
                     (add </dev/null to skip this)",
                );
            }
        }
    }
    let mut bytes = Vec::new();
    input.take(LONGEST_PIPED + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Waits for a byte or for the end of `input`. Returns whether one of them came in time.
fn is_ready(input: &impl AsFd, time: Duration) -> io::Result<bool> {
    let began = Instant::now();
    // A signal is not silence: the rest of the time is waited for.
    let ready = retry_on_intr(|| {
        let left = time.saturating_sub(began.elapsed());
        let left = Timespec::try_from(left).map_err(|_| Errno::INVAL)?;
        poll(&mut [PollFd::new(input, PollFlags::IN)], Some(&left))
    })?;
    Ok(ready > 0)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;

    use super::*;

    const SHORT: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn a_silent_input_is_told_and_a_pipe_waited_for_and_a_socket_left_unread() {
        for role in [PipedRole::Context, PipedRole::Prompt] {
            let (reader, writer) = io::pipe().unwrap();
            let (mut writer, mut notes) = (Some(writer), Vec::new());
            let bytes = read_whole(reader, role, SHORT, &mut |line| {
                notes.push(line.to_owned());
                writer.take().unwrap().write_all(b"late").unwrap();
            });
            assert_eq!((bytes.unwrap(), notes.len()), (b"late".to_vec(), 1), "{role:?}");
            assert!(notes[0].contains("waiting for the"), "{notes:?}");
        }
        let (socket, _silent) = UnixStream::pair().unwrap();
        let mut notes = Vec::new();
        let mut note = |line: &str| notes.push(line.to_owned());
        assert_eq!(read_whole(socket, PipedRole::Context, SHORT, &mut note).unwrap(), b"");
        let [line] = &notes[..] else { panic!("{notes:?}") };
        assert!(line.contains("is not read") && line.contains("</dev/null"), "{line}");
        // Where it is the prompt, it is waited for.
        let (socket, mut other) = UnixStream::pair().unwrap();
        let read = read_whole(socket, PipedRole::Prompt, SHORT, &mut |_line| {
            other.write_all(b"late").unwrap();
            other.shutdown(Shutdown::Both).unwrap();
        });
        assert_eq!(read.unwrap(), b"late");
    }

    #[test]
    fn an_input_with_a_byte_or_an_end_is_read_whole_without_a_word() {
        let read = |input: &dyn Fn() -> File| {
            let mut note = |line: &str| panic!("{line}");
            read_whole(input(), PipedRole::Context, LONG, &mut note).unwrap()
        };
        let socket = |text: &'static [u8]| {
            move || {
                let (socket, mut other) = UnixStream::pair().unwrap();
                other.write_all(text).unwrap();
                File::from(std::os::fd::OwnedFd::from(socket))
            }
        };
        assert_eq!(read(&socket(b"in time")), b"in time");
        assert_eq!(read(&socket(b"")), b"");
        assert_eq!(read(&|| File::open("/dev/null").unwrap()), b"");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "a file").unwrap();
        assert_eq!(read(&|| File::open(file.path()).unwrap()), b"a file");
    }
}
