//! Too many descriptors are on their way to other processes, so that a command cannot be given its own.

use std::fs;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::{CancelToken, CommandError, EndCause};
use rustix::cmsg_space;
use rustix::io::{Errno, IoSlice};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    sendmsg, socketpair,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use crate::harness::{part, request, shell, wait_until};

/// More than the part itself needs.
const MOST_FILES: u64 = 100;

#[test]
fn a_start_that_is_refused_as_too_many_descriptors_are_under_way_costs_nobody_else_anything() {
    test_limit::waits("twice a start is tried for a second until it is refused");
    let folder = tempfile::tempdir().unwrap();
    let output = part("crowded", folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The part of the process whose user has too many descriptors under way, twice: when it needs a
/// reaper, and when it has one.
pub(crate) fn crowded(folder: &Path) {
    // With these, nothing is ever too much. The threads of the runtime inherit what is left.
    let mut own = capabilities(None).unwrap();
    own.effective -= CapabilitySet::SYS_ADMIN | CapabilitySet::SYS_RESOURCE;
    set_capabilities(None, own).unwrap();
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(MOST_FILES), ..limit }).unwrap();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let shell = shell(Duration::from_millis(700), part("launcher", folder));
    let run = || {
        let request = request(folder, "log", "echo $PPID");
        runtime.block_on(shell.run(request, Arc::new(|_| {}), CancelToken::default()))
    };
    let mut reapers = Vec::new();
    for _ in 0..2 {
        let crowd = crowd();
        let error = run().unwrap_err();
        let CommandError::Resources { source, .. } = &error else { panic!("{error:?}") };
        assert_eq!(source.raw_os_error(), Some(Errno::TOOMANYREFS.raw_os_error()), "{error:?}");
        drop(crowd);
        // Descriptors that were not received are closed by the kernel in its own time.
        let ran = loop {
            match run() {
                Err(CommandError::Resources { .. }) => {}
                ended => break ended.unwrap(),
            }
        };
        assert_eq!(ran.cause, EndCause::Exited(0));
        reapers.push(ran.last_line.unwrap());
    }
    assert_eq!(reapers[0], reapers[1], "neither the launcher nor the reaper was given up");
    assert_eq!(fs::read_to_string(folder.join("log")).unwrap().trim(), reapers[0]);
}

/// Sends more descriptors than may be under way, without a receiver. Those of other processes of this
/// user count, too: as long as they leave no room, what is refused now need not be refused later.
fn crowd() -> [OwnedFd; 2] {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
    let files = vec![ours.as_fd(); MOST_FILES as usize * 2];
    wait_until(|| {
        let mut space = vec![std::mem::MaybeUninit::uninit(); cmsg_space!(ScmRights(files.len()))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&files)));
        match sendmsg(&ours, &[IoSlice::new(b"x")], &mut control, SendFlags::NOSIGNAL) {
            Ok(_) => true,
            Err(Errno::TOOMANYREFS) => false,
            Err(error) => panic!("{error}"),
        }
    });
    drop(files);
    [ours, theirs]
}
