//! What has to outlive a power cut is on the disk before it is relied upon. A library that is
//! loaded before all others writes down each sync and each rename as it happens, and the first byte
//! of each request.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::json;
use tests::model::{Answer, Asked, LoopbackModel, marker};
use tests::sandbox::{Finished, Invocation, Plan, Sandbox};

use crate::binary::sandbox_on_disk as sandbox;

/// Stands between the binary and the system library.
const WITNESS: &str = r#"
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static void note(const char *what, const char *path) {
  const char *log = getenv("WITNESS");
  char line[PATH_MAX + 16];
  int length = snprintf(line, sizeof line, "%s %s\n", what, path);
  int fd = log ? open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (fd < 0 || write(fd, line, length) != length || close(fd) != 0) abort();
}

static int synced(const char *name, int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  char link[32], path[PATH_MAX] = {0};
  const char *slow = getenv("SLOW_SYNC");
  int end = real(fd);
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  if (end == 0 && readlink(link, path, sizeof path - 1) > 0) note("sync", path);
  if (slow && strstr(path, slow)) poll(0, 0, 50);
  return end;
}

int fsync(int fd) { return synced("fsync", fd); }
int fdatasync(int fd) { return synced("fdatasync", fd); }

int rename(const char *from, const char *to) {
  int (*real)(const char *, const char *) =
      (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
  int end = real(from, to);
  if (end == 0) note("rename", to);
  return end;
}

static void sending(int fd, const void *bytes, size_t length) {
  struct sockaddr_in to;
  socklen_t size = sizeof to;
  char port[8];
  if (length < 5 || memcmp(bytes, "POST ", 5) != 0) return;
  if (getpeername(fd, (struct sockaddr *)&to, &size) != 0 || to.sin_family != AF_INET) return;
  snprintf(port, sizeof port, "%d", ntohs(to.sin_port));
  note("post", port);
}

ssize_t send(int fd, const void *bytes, size_t length, int flags) {
  ssize_t (*real)(int, const void *, size_t, int) =
      (ssize_t (*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
  sending(fd, bytes, length);
  return real(fd, bytes, length, flags);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  ssize_t (*real)(int, const struct iovec *, int) =
      (ssize_t (*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");
  if (count > 0) sending(fd, parts[0].iov_base, parts[0].iov_len);
  return real(fd, parts, count);
}
"#;

/// Sets the time of day back by a day.
const YESTERDAY: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

int clock_gettime(clockid_t id, struct timespec *at) {
  int (*real)(clockid_t, struct timespec *) =
      (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int end = real(id, at);
  if (end == 0 && id == CLOCK_REALTIME) at->tv_sec -= 86400;
  return end;
}
"#;

/// Returns the library that stands between the binary and the system library.
fn witness() -> &'static PathBuf {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| library("witness", WITNESS))
}

/// Builds a library with the C compiler that the binary was built with as well.
fn library(name: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, library) = (folder.join(format!("{name}.c")), folder.join(format!("{name}.so")));
    std::fs::write(&source, text).expect("a file can be written");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-w", "-o"]).arg(&library).arg(&source).arg("-ldl");
    let built = compiler.output().expect("there is a C compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    library
}

/// Returns where a run writes down what it does.
fn witness_log(place: &Sandbox) -> PathBuf {
    place.folder().join("witness.log")
}

/// Runs `call` to its end with this code and returns what was synced and renamed meanwhile, in that
/// order.
fn witnessed(place: &Sandbox, call: Invocation, code: i32) -> (Finished, Vec<(String, String)>) {
    let log = witness_log(place);
    let call = call.env("LD_PRELOAD", witness()).env("WITNESS", &log);
    let finished = call.run().expect_code(code);
    let text = std::fs::read_to_string(log).expect("something was synced");
    let line = |line: &str| line.split_once(' ').map(|(what, at)| (what.into(), at.into()));
    (finished, text.lines().filter_map(line).collect())
}

#[test]
fn new_files_and_the_journal_are_on_the_disk_before_a_landing_is_committed_to() {
    let place = sandbox();
    let repository = place.repository();
    let call = place.run_in(&repository).exec("echo 1 > new.txt; mkdir d; echo 2 > d/other.txt");
    let (finished, seen) = witnessed(&place, call, 0);
    let id = format!("{}-1", finished.run_name());
    let at = |what: &str, ending: &str| {
        let found = |(kind, path): &(String, String)| kind == what && path.ends_with(ending);
        seen.iter().position(found).unwrap_or_else(|| panic!("{what} {ending}: {seen:?}"))
    };
    for state in ["intent", "committed"] {
        let renamed = at("rename", &format!("/{id}.{state}"));
        let journals = seen[renamed].1.rsplit_once('/').expect("it is in a folder").0;
        let below = |(_, path): &&(String, String)| path.starts_with(journals);
        let before = seen[..renamed].iter().rfind(below);
        assert_eq!(before, Some(&("sync".to_owned(), format!("{journals}/{id}.tmp"))), "{state}");
        let after = seen[renamed + 1..].iter().find(below);
        assert_eq!(after, Some(&("sync".to_owned(), journals.to_owned())), "{state}");
    }
    for number in 0..2 {
        let synced = at("sync", &format!(".regatta-{id}-{number}.tmp"));
        assert!(synced < at("rename", &format!("/{id}.committed")), "{seen:?}");
    }
    assert_eq!(repository.text("d/other.txt"), "2\n");
}

#[test]
fn a_capture_is_on_the_disk_before_the_ledger_says_so_and_its_workspace_goes() {
    let place = sandbox();
    let repository = place.repository();
    let script = "echo 1 > new.txt; mkdir d; echo 2 > d/other.txt; echo more >> README.md";
    // Killed when the ledger has the capture, and before the workspace is removed.
    let call = place.run_in(&repository).exec(script).fault("kill@capture.discard:1");
    let (finished, seen) = witnessed(&place, call, 128 + 9);
    let run = finished.run_name();
    let last = |what: &str, ending: &str| {
        let found = |(kind, path): &(String, String)| kind == what && path.ends_with(ending);
        seen.iter().rposition(found).unwrap_or_else(|| panic!("{what} {ending}: {seen:?}"))
    };
    let journal = place.home().stores()[0].join("captures.journal");
    let (kept, recorded) = (last("sync", "/captures.journal"), last("sync", "/ledger.db-wal"));
    assert!(kept < recorded, "{seen:?}");
    let store = place.home().stores()[0].display().to_string();
    assert!(last("sync", &store) < kept, "the name of the journal is durable, too: {seen:?}");
    assert_eq!(place.home().captures(), Vec::<String>::new(), "git does not have it yet");
    let bytes = std::fs::read(&journal).expect("there is a journal");
    assert!(String::from_utf8_lossy(&bytes).contains(&format!("refs/tasks/{run}/t1/1")));
    // Nothing but the journal is left, and bytes of a record that was never complete.
    std::fs::write(&journal, [&bytes[..], &bytes[..bytes.len() - 1]].concat()).unwrap();
    std::fs::remove_dir_all(place.home().data().join("workspaces")).unwrap();
    let diff = place.regatta(repository.root()).words("diff").run().expect_code(0);
    for line in ["+more", "+1", "+2", "+++ b/d/other.txt"] {
        assert!(diff.stdout.lines().any(|shown| shown == line), "{diff}");
    }
    assert_eq!(place.home().captures(), [format!("{run}/t1/1")]);
    assert_eq!(std::fs::metadata(&journal).unwrap().len(), 0, "the journal was moved");
    let _clean = place.home().store_git(&["fsck", "--full", "--strict", "--no-dangling"]);
}

#[test]
fn captures_that_end_together_share_syncs_and_are_moved_at_once_when_the_run_has_landed() {
    const TOGETHER: usize = 8;
    let tasks = test_limit::by_depth(2 * TOGETHER, 5 * TOGETHER);
    let place = sandbox();
    let repository = place.repository();
    let items: Vec<String> = (0..tasks).map(|number| number.to_string()).collect();
    let meeting = place.folder().join("meeting");
    std::fs::create_dir(&meeting).expect("a folder can be made");
    let meeting = meeting.display();
    let meet = format!(
        "g=$(({{{{item}}}} / {TOGETHER})); touch {meeting}/$g-{{{{item}}}}
         while test $(ls {meeting} | grep -c \"^$g-\") -lt {TOGETHER}; do sleep 0.01; done
         mkdir {{{{item}}}}; echo 1 > {{{{item}}}}/file"
    );
    let call = place.run_in(&repository).words("--each -");
    let call = call.arg("--jobs").arg(TOGETHER.to_string()).exec(&meet).stdin(items.join("\n"));
    // On a slow disk, what waits for it is gathered.
    let call = call.env("SLOW_SYNC", "/captures.journal");
    let (finished, seen) = witnessed(&place, call, 0);
    assert_eq!(finished.landed().len(), tasks, "{finished}");
    let store = place.home().stores()[0].display().to_string();
    let first = |what: &str, found: &dyn Fn(&str) -> bool| {
        let is_it = |(kind, path): &(String, String)| kind == what && found(path);
        seen.iter().position(is_it).unwrap_or_else(|| panic!("no {what}: {seen:?}"))
    };
    let made = first("rename", &|path| path == store);
    let landed = first("rename", &|path| path.ends_with("-1.committed"));
    let packed = first("sync", &|path| path.starts_with(&format!("{store}/objects/pack")));
    assert!(landed < packed, "the landing waits for no pack: {seen:?}");
    let synced = |part: &str| {
        let is_it = |(what, path): &&(String, String)| {
            what == "sync" && path.starts_with(&store) && path.contains(part)
        };
        seen[made..].iter().filter(is_it).count()
    };
    // One more empties the journal.
    let groups = synced("/captures.journal");
    assert!((2..=tasks / 2 + 1).contains(&groups), "{groups} syncs of the journal: {seen:?}");
    let rest = synced("") - groups;
    assert!(rest <= 24, "{rest} syncs of the store besides: {seen:?}");
    let workspaces = place.home().data().join("workspaces").display().to_string();
    let below = seen.iter().filter(|(what, path)| what == "sync" && path.starts_with(&workspaces));
    assert_eq!(below.count(), 0, "nothing is synced that can be made again: {seen:?}");
    let kept = place.home().captures();
    assert_eq!(kept.len(), tasks, "{kept:?}");
    let _clean = place.home().store_git(&["fsck", "--full", "--strict", "--no-dangling"]);
}

#[test]
fn tasks_on_the_work_of_others_read_it_from_the_journal_which_is_moved_when_the_run_has_landed() {
    const TASKS: usize = 8;
    let place = sandbox();
    let repository = place.repository();
    let mut plan = Plan::default().task("t0", "echo 0 > file");
    for number in 1..TASKS {
        let command = format!("grep {} file && echo {number} > file", number - 1);
        plan = plan.task(&format!("t{number}"), &command).after(&[&format!("t{}", number - 1)]);
    }
    let (finished, seen) = witnessed(&place, place.run_plan(&repository, &plan), 0);
    assert_eq!(finished.landed().len(), TASKS, "{finished}");
    assert_eq!(repository.text("file"), format!("{}\n", TASKS - 1));
    let store = place.home().stores()[0].display().to_string();
    let at = |what: &str, path: &dyn Fn(&str) -> bool| {
        let found = seen.iter().position(|(kind, at)| kind == what && path(at));
        found.unwrap_or_else(|| panic!("no {what}: {seen:?}"))
    };
    let made = at("rename", &|path| path == store);
    let landed = at("rename", &|path| path.ends_with("-1.committed"));
    let synced = |part: &str| {
        let is_it = |(what, path): &&(String, String)| {
            what == "sync" && path.starts_with(&store) && path.contains(part)
        };
        seen[made..landed].iter().filter(is_it).count()
    };
    assert_eq!(synced("/captures.journal"), TASKS, "{seen:?}");
    // The landing protects what it needs.
    let moved = synced("/refs/tasks") + synced("/packed-refs") + synced("/objects/pack");
    assert_eq!(moved, 0, "a task waits for no capture to be moved: {seen:?}");
    assert_eq!(place.home().captures().len(), TASKS);
    let _clean = place.home().store_git(&["fsck", "--full", "--strict", "--no-dangling"]);
}

#[test]
fn a_program_ends_before_its_captures_are_moved_and_the_next_start_moves_them() {
    test_limit::waits("a program waits a while for what goes on in the background");
    let place = sandbox();
    let repository = place.repository();
    let gate = place.folder().join("gate");
    // The gate stays closed.
    let call = place.run_in(&repository).exec("echo 1 > new.txt").wait_at("settle.objects", &gate);
    let finished = call.run().expect_code(0);
    assert_eq!(repository.text("new.txt"), "1\n");
    assert!(gate.exists(), "the move has begun: {finished}");
    assert_eq!(place.home().captures(), Vec::<String>::new());
    let runs = place.regatta(repository.root()).words("runs").run().expect_code(0);
    assert!(!runs.stdout.contains("interrupted"), "{runs}");
    assert_eq!(place.home().captures(), [format!("{}/t1/1", finished.run_name())]);
    place.expect_nothing_left(&repository);
}

#[test]
fn each_message_of_a_session_is_on_the_disk_before_the_next_is_said() {
    const SCENARIO: &str = r#"
version = 1
[[scenario]]
[[scenario.turn]]
calls = [{ tool = "write", arguments = { path = "a.txt", content = "1\n" } }]
[[scenario.turn]]
calls = [{ tool = "yield", arguments = { result = { data = "done" } } }]
"#;
    let place = sandbox();
    let repository = place.repository();
    let scenario = place.folder().join("scenario.toml");
    std::fs::write(&scenario, SCENARIO).expect("a file can be written");
    let model = format!("offline/{}", scenario.display());
    let call = place.run_in(&repository).arg("--model").arg(model).arg("do it");
    let (finished, seen) = witnessed(&place, call, 0);
    let task = finished.names_in("task_finished").concat();
    let messages = place.home().messages(&finished.run_name(), &task).len();
    assert_eq!(messages, 5);
    let syncs =
        |of: &str| seen.iter().filter(|(what, path)| what == "sync" && path.ends_with(of)).count();
    // It is alone, so its own file is synced.
    assert!(syncs("/session.jsonl") >= messages, "{seen:?}");
    assert!(syncs(&format!("/{task}")) > 0, "the name of the file is durable, too: {seen:?}");
    assert_eq!(syncs("/sessions.journal"), 0, "{seen:?}");
}

/// Runs a session that runs a command, and returns its file and what was synced and sent meanwhile.
fn witnessed_session(place: &Sandbox, command: &str) -> (PathBuf, String, Vec<(String, String)>) {
    let model = LoopbackModel::start();
    let command = command.to_owned();
    model.talk("s", move |asked: &Asked| match asked.answers() {
        0 => Answer::call("bash", &json!({ "command": command })),
        _ => Answer::text("done"),
    });
    let folder = place.folder().join("work");
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let session = place.regatta(&folder).words("-p --approval-mode yolo --model");
    let session = session.arg(model.route());
    let session = session.arg("--base-url").arg(model.base_url());
    let session = session.arg(format!("Run it. {}", marker("s")));
    let (finished, seen) = witnessed(place, session, 0);
    assert_eq!(finished.stdout, "done\n");
    let files = place.home().session_files();
    let [file] = files.as_slice() else { panic!("one session, not {files:?}") };
    (file.clone(), model.base_url(), seen)
}

#[test]
fn messages_are_on_the_disk_before_requests_and_calls_unless_sessions_need_not_be_durable() {
    let place = sandbox();
    // The tool writes down that it runs.
    let command = format!("echo tool runs >> '{}'", witness_log(&place).display());
    let (file, url, seen) = witnessed_session(&place, &command);
    let port = url.trim_end_matches("/v1").rsplit(':').next().unwrap_or_default();
    let own = |(what, at): &(String, String)| match what.as_str() {
        "sync" if at == &file.display().to_string() => Some("session"),
        "sync" if file.parent().is_some_and(|folder| at == &folder.display().to_string()) => {
            Some("folder")
        }
        "post" if at == port => Some("request"),
        "tool" => Some("tool"),
        _ => None,
    };
    let mut order: Vec<_> = seen.iter().filter_map(own).collect();
    order.dedup();
    let expected = "session folder request session tool session request session";
    assert_eq!(order.join(" "), expected, "{seen:?}");

    // One that need not be durable waits for no sync, and its messages are in the file.
    let place = sandbox();
    place.home().configure("sessions:\n  durable: false\n");
    let (file, _, seen) = witnessed_session(&place, "true");
    let name = file.display().to_string();
    assert!(!seen.iter().any(|(what, at)| what == "sync" && *at == name), "{seen:?}");
    assert!(seen.iter().any(|(what, _)| what == "post"), "the witness saw nothing: {seen:?}");
    let text = std::fs::read_to_string(file).expect("the session has a file");
    assert_eq!(text.matches("\"type\":\"message\"").count(), 4, "{text}");
}

#[test]
fn a_clock_that_was_set_back_between_a_kill_and_the_next_start_changes_nothing() {
    let place = sandbox();
    let repository = place.repository();
    let died = place.run_in(&repository).exec("echo 1 > a.txt").fault("kill@landing.begin").run();
    assert_eq!(died.code, 128 + 9, "{died}");
    let yesterday = library("yesterday", YESTERDAY);
    let runs = place.regatta(repository.root()).words("runs").env("LD_PRELOAD", &yesterday).run();
    let runs = runs.expect_code(0);
    assert!(runs.stdout.contains("interrupted"), "{runs}");
    let day = |time: &str| time.split('T').next().map(str::to_owned);
    let query = "SELECT at FROM transition ORDER BY seq";
    let times = place.home().ledger(query, |row| row.get::<_, String>(0));
    assert_ne!(day(&times[0]), day(times.last().expect("there are some")), "it was set back");
    let _applied = place.regatta(repository.root()).words("apply").run().expect_code(0);
    assert_eq!(repository.text("a.txt"), "1\n");
    place.expect_nothing_left(&repository);
}
