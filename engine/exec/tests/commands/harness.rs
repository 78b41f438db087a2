//! The harness: a folder, a shell, and this test binary as the engine and the launcher.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::ports::{
    CancelToken, CommandEnd, CommandError, CommandOwner, CommandRequest, CommandTerminal,
    Commands as _, ShortOutput, VariableChoice,
};
use exec::{BaseEnvironment, EnvironmentRules, Processes, Shell};
use tempfile::TempDir;

/// Long enough for anything on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Enough for every output but a flood.
const KEEP: u64 = 1 << 20;

pub(crate) struct Harness {
    folder: TempDir,
    pub(crate) shell: Arc<dyn CommandOwner>,
    pub(crate) lines: Arc<Mutex<Vec<String>>>,
}

impl Harness {
    pub(crate) fn new() -> Self {
        Self::with_grace(Duration::from_millis(300))
    }

    pub(crate) fn with_grace(grace: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let shell = shell(grace, part("launcher", folder.path()));
        Self { folder, shell, lines: Arc::default() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn request(&self, script: &str) -> CommandRequest {
        request(self.folder.path(), "output.log", script)
    }

    pub(crate) async fn run(&self, script: &str) -> CommandEnd {
        self.ask(self.request(script), CancelToken::default()).await.unwrap()
    }

    pub(crate) async fn ask(
        &self,
        request: CommandRequest,
        stop: CancelToken,
    ) -> Result<CommandEnd, CommandError> {
        let lines = Arc::clone(&self.lines);
        let line = Arc::new(move |line| lines.lock().unwrap().push(line));
        let run = self.shell.run(request, line, stop);
        tokio::time::timeout(PATIENCE, run).await.expect("the command ends in time")
    }

    /// Runs a command, and `then` beside it when it has made the file `ready`.
    pub(crate) async fn run_and(
        &self,
        script: &str,
        stop: &CancelToken,
        then: impl FnOnce(),
    ) -> CommandEnd {
        let run = self.ask(self.request(script), stop.clone());
        let act = async {
            self.appears("ready").await;
            then();
        };
        tokio::join!(run, act).0.unwrap()
    }

    pub(crate) async fn appears(&self, name: &str) {
        let path = self.path(name);
        until(move || path.exists()).await;
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Returns the processes that run in the folder.
    pub(crate) fn living(&self) -> Vec<String> {
        let folder = self.folder.path().canonicalize().unwrap();
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let here = processes.filter(|process| {
            fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == folder)
        });
        let names = here.map(|process| process.file_name().to_string_lossy().into_owned());
        names.filter(|process| runs(process)).collect()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

pub(crate) fn request(folder: &Path, output: &str, script: &str) -> CommandRequest {
    CommandRequest {
        short: ShortOutput::File,
        terminal: CommandTerminal::None,
        script: script.to_owned(),
        arguments: Vec::new(),
        folder: folder.to_owned(),
        environment: BTreeMap::new(),
        output: folder.join(output),
        keep: KEEP,
    }
}

/// Returns an owner of commands.
pub(crate) fn shell(grace: Duration, launcher: Command) -> Arc<dyn CommandOwner> {
    let environment = BaseEnvironment::new(std::env::vars_os(), &EnvironmentRules::default());
    Arc::new(Shell::new(environment, grace, Processes::new(launcher)))
        .owner(&VariableChoice::default())
}

/// Returns what makes owners of commands.
pub(crate) fn commands(launcher: Command) -> Arc<Shell> {
    let environment = BaseEnvironment::new(std::env::vars_os(), &EnvironmentRules::default());
    Arc::new(Shell::new(environment, Duration::from_millis(300), Processes::new(launcher)))
}

/// Returns a command that plays `part` in `folder`.
pub(crate) fn part(part: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "harness::a_process_plays_the_part_it_is_given", "--nocapture"])
        .env("REGATTA_TEST_TIMES", "/dev/null")
        .env("STAGE_PART", part)
        .env("STAGE_FOLDER", folder);
    command
}

#[test]
fn a_process_plays_the_part_it_is_given() {
    let folder = std::env::var_os("STAGE_FOLDER").map(PathBuf::from).unwrap_or_default();
    match std::env::var("STAGE_PART").as_deref() {
        Ok("launcher") => exec::launch().unwrap(),
        Ok("subreaper") => crate::owners::subreaper(&folder),
        Ok("suspended") => crate::deaf_reaper::suspended(&folder),
        Ok("engine") => crate::engine_killed::engine(&folder),
        Ok("short") => crate::leaks::short_of_descriptors(&folder),
        Ok("queued") => crate::owners::queued(&folder),
        Ok("crowded") => crate::crowded::crowded(&folder),
        Ok("leaks") => crate::leaks::two_hundred_commands(&folder),
        Ok(unknown) => panic!("no part is called {unknown}"),
        Err(_none) => assert!(std::env::var_os("STAGE_FOLDER").is_none()),
    }
}

/// Waits until something is so, while other futures of its task go on; the file system and the
/// process table send no events.
pub(crate) async fn until(is_so: impl Fn() -> bool + Send + 'static) {
    let (see, seen) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        wait_until(is_so);
        let _nobody_waits = see.send(());
    });
    seen.await.expect("it is so in time");
}

/// Waits until something is so.
pub(crate) fn wait_until(is_so: impl Fn() -> bool) {
    test_limit::eventually(PATIENCE, "waited in vain", is_so);
}

/// Returns whether a process runs. One that is dead but not collected does not.
pub(crate) fn runs(process: &str) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else { return false };
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// Returns the numbers that a command's processes wrote into a file, one each.
pub(crate) fn numbers(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
