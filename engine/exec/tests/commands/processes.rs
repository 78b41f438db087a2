//! Processes that are started as they are: no shell, their own streams, folder, terminal, limits
//! and namespaces.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use engine::ports::{
    CommandError, Namespaces, Process, ProcessEnd, ProcessRequest, ProcessSession, ProcessSignal,
    ProcessStdio, Processes as _, ResourceLimit,
};
use exec::{Owner, Processes};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::tcgetpgrp;
use tempfile::TempDir;

use crate::harness::part;

/// What starts processes, in a folder of its own.
struct Bench {
    folder: TempDir,
    processes: Owner,
}

/// The ends of a process's streams that stay with us.
struct Ends {
    input: PipeWriter,
    output: PipeReader,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let processes = Processes::new(part("launcher", folder.path())).owner();
        Self { folder, processes }
    }

    fn request(&self, argv: &[&str]) -> (ProcessRequest, Ends) {
        let (input_end, input) = io::pipe().unwrap();
        let (output, output_end) = io::pipe().unwrap();
        let stdio = ProcessStdio {
            input: input_end.into(),
            output: output_end.into(),
            error: File::open("/dev/null").unwrap().into(),
        };
        let request = ProcessRequest {
            argv: argv.iter().map(OsString::from).collect(),
            environment: BTreeMap::from([("PATH".into(), std::env::var_os("PATH").unwrap())]),
            folder: folder(self.folder.path()),
            stdio,
            session: ProcessSession::Detached,
            limits: BTreeMap::new(),
            namespaces: Namespaces::Shared,
        };
        (request, Ends { input, output })
    }

    async fn start(&self, request: ProcessRequest) -> Result<Box<dyn Process>, CommandError> {
        self.processes.start(request).await
    }

    /// Runs a script to its end and returns what it wrote.
    async fn script(
        &self,
        script: &str,
        change: impl FnOnce(&mut ProcessRequest),
    ) -> (ProcessEnd, String) {
        let (mut request, ends) = self.request(&["/bin/sh", "-c", script]);
        change(&mut request);
        let mut process = self.start(request).await.unwrap();
        drop(ends.input);
        let end = process.wait().await.unwrap();
        (end, text(ends.output))
    }
}

fn folder(path: &Path) -> OwnedFd {
    File::open(path).unwrap().into()
}

fn text(mut output: PipeReader) -> String {
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    text
}

#[test]
async fn a_process_talks_over_the_streams_it_was_given_for_as_long_as_it_lives() {
    let bench = Bench::new();
    let (request, mut ends) = bench.request(&["cat"]);
    let mut process = bench.start(request).await.unwrap();
    for line in ["one\n", "two\n"] {
        ends.input.write_all(line.as_bytes()).unwrap();
        let mut back = [0; 4];
        ends.output.read_exact(&mut back).unwrap();
        assert_eq!(back, line.as_bytes());
    }
    drop(ends.input);
    assert_eq!(process.wait().await.unwrap(), ProcessEnd::Exited(0));
    assert_eq!(process.wait().await.unwrap(), ProcessEnd::Exited(0), "it has ended once");
}

#[test]
async fn a_process_has_the_environment_it_was_given_and_nothing_else() {
    let (end, text) = Bench::new()
        .script("env", |request| {
            request.environment.insert("ONLY".into(), "this".into());
        })
        .await;
    assert_eq!(end, ProcessEnd::Exited(0));
    let own =
        |line: &&str| !["PATH=", "PWD=", "_=", "SHLVL="].iter().any(|own| line.starts_with(own));
    assert_eq!(text.lines().filter(own).collect::<Vec<_>>(), ["ONLY=this"]);
}

#[test]
async fn a_process_starts_in_its_folder_also_where_that_is_called_something_else_now() {
    let bench = Bench::new();
    let (old, new) = (bench.folder.path().join("old"), bench.folder.path().join("new"));
    fs::create_dir(&old).unwrap();
    let held = folder(&old);
    fs::rename(&old, &new).unwrap();
    let (_, text) = bench.script("pwd -P", |request| request.folder = held).await;
    assert_eq!(Path::new(text.trim_end()), new.canonicalize().unwrap());
}

#[test]
async fn a_signal_ends_a_process_and_dropping_one_kills_its_group() {
    let bench = Bench::new();
    for (signal, number) in
        [(ProcessSignal::Interrupt, 2), (ProcessSignal::Terminate, 15), (ProcessSignal::Kill, 9)]
    {
        let (request, _ends) = bench.request(&["sleep", "600"]);
        let mut process = bench.start(request).await.unwrap();
        process.signal(signal);
        assert_eq!(process.wait().await.unwrap(), ProcessEnd::Signalled(number));
    }
    let (request, ends) = bench.request(&["/bin/sh", "-c", "sleep 600 & echo ready; wait"]);
    let process = bench.start(request).await.unwrap();
    let mut ready = [0; 6];
    let mut output = ends.output;
    output.read_exact(&mut ready).unwrap();
    drop(process);
    assert_eq!(text(output), "", "the stream ends when the last who has it is gone");
}

#[test]
async fn a_process_has_no_terminal_or_the_one_that_is_its_input() {
    let bench = Bench::new();
    let (end, _) = bench.script("exec < /dev/tty", |_| {}).await;
    assert!(matches!(end, ProcessEnd::Exited(code) if code != 0), "{end:?}");

    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let end = ioctl_tiocgptpeer(&terminal, OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    let (mut request, ends) = bench.request(&["/bin/sh", "-c", "echo ready; exec sleep 600"]);
    request.stdio.input = end;
    request.session = ProcessSession::Terminal;
    let mut process = bench.start(request).await.unwrap();
    let mut output = ends.output;
    let mut ready = [0; 6];
    output.read_exact(&mut ready).unwrap();
    let foreground = tcgetpgrp(&terminal).unwrap().as_raw_nonzero().get().unsigned_abs();
    assert_eq!(foreground, process.id());
    let mut terminal = File::from(terminal);
    terminal.write_all(b"\x03").unwrap(); // Ctrl-C
    assert_eq!(process.wait().await.unwrap(), ProcessEnd::Signalled(2));
}

#[test]
async fn a_process_may_use_as_much_as_it_was_given() {
    let limits = |limits: &[(ResourceLimit, u64)]| limits.iter().copied().collect();
    let bench = Bench::new();
    let set = |request: &mut ProcessRequest| {
        request.limits =
            limits(&[(ResourceLimit::OpenFiles, 32), (ResourceLimit::FileSize, 1 << 20)]);
    };
    let (_, text) = bench.script("ulimit -n; ulimit -Hn", set).await;
    assert_eq!(text, "32\n32\n");
    let (_, text) = bench.script("ulimit -n", |_| {}).await;
    assert_ne!(text, "32\n", "who is given no limit has the engine's");
}

#[test]
async fn a_process_in_namespaces_of_its_own_reaches_no_network_and_mounts_for_itself() {
    let bench = Bench::new();
    let script = "tail -n +3 /proc/net/dev | cut -d: -f1; id -u; readlink /proc/self/ns/mnt";
    let (mut request, ends) = bench.request(&["/bin/sh", "-c", script]);
    request.namespaces = Namespaces::Private;
    let mut process = match bench.start(request).await {
        Ok(process) => process,
        // Kernels and containers may refuse it; then it is said, and nothing runs.
        Err(error) => {
            assert!(error.to_string().contains("in namespaces of its own"), "{error}");
            return test_limit::skip(
                "a_process_in_namespaces_of_its_own_reaches_no_network_and_mounts_for_itself",
                &error.to_string(),
            );
        }
    };
    assert_eq!(process.wait().await.unwrap(), ProcessEnd::Exited(0));
    let written = text(ends.output);
    let lines: Vec<_> = written.lines().map(str::trim).collect();
    let own = fs::read_link("/proc/self/ns/mnt").unwrap();
    let id = rustix::process::geteuid().as_raw().to_string();
    assert_eq!(lines[..2], ["lo", id.as_str()]);
    assert_ne!(Path::new(lines[2]), own);
}

#[test]
async fn a_program_that_is_not_there_is_named() {
    let bench = Bench::new();
    for argv in [&["no-such-program"][..], &[]] {
        let (request, _ends) = bench.request(argv);
        let error = bench.start(request).await.err().expect("it cannot be started");
        let named = argv.first().unwrap_or(&"without a program");
        assert!(error.to_string().contains(named), "{error}");
    }
}
