//! Commands that do as they are told, and work in the background of a session.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use engine::ports::{
    Background, BackgroundWork, CancelToken, CommandEnd, CommandError, CommandOwner,
    CommandRequest, EndCause, OwnerEnd, SHORT_OUTPUT_BYTES, SHORT_OUTPUT_LINES, ShortOutput,
};
use tokio::sync::Notify;

/// Work that goes on when its call has ended.
#[derive(Default)]
pub(crate) struct InBackground {
    pub(crate) stop: CancelToken,
    /// What is told about work that has ended.
    pub(crate) told: Arc<Mutex<Vec<String>>>,
    /// Told when there is more of it.
    pub(crate) news: Arc<Notify>,
}

impl Background for InBackground {
    fn stop(&self) -> CancelToken {
        self.stop.clone()
    }

    fn run(&self, work: BackgroundWork) {
        let (told, news) = (Arc::clone(&self.told), Arc::clone(&self.news));
        tokio::spawn(async move {
            if let Some(text) = work.await {
                told.lock().unwrap().push(text);
                news.notify_one();
            }
        });
    }
}

/// Commands that do what the test says.
#[derive(Default)]
pub(crate) struct ScriptedCommands {
    pub(crate) requests: Mutex<Vec<CommandRequest>>,
    pub(crate) script: Mutex<Script>,
    /// Told when a command waits.
    pub(crate) waits: Notify,
}

/// What a command does.
#[derive(Clone, Default)]
pub(crate) enum Script {
    /// Ends at once, silent.
    #[default]
    Nothing,
    /// Prints this and ends so.
    Print(Vec<u8>, EndCause),
    /// Prints this, of which so many bytes are left out.
    Overflow(Vec<u8>, u64),
    /// Prints so many bytes, of which none is kept.
    Unkept(u64),
    /// Ends when it is stopped.
    Wait,
    /// Prints more and ends when it is told to.
    Until(Arc<Notify>),
    /// Cannot be run.
    Refuse,
    /// Is run, with this folder as that of the user, and without a terminal.
    Run(PathBuf),
}

#[async_trait]
impl CommandOwner for ScriptedCommands {
    async fn run(
        &self,
        request: CommandRequest,
        line: Arc<dyn Fn(String) + Send + Sync>,
        cancel: CancelToken,
    ) -> Result<CommandEnd, CommandError> {
        let script = self.script.lock().unwrap().clone();
        self.requests.lock().unwrap().push(request.clone());
        let is_background = request.short == ShortOutput::File;
        let overflows = matches!(script, Script::Overflow(..));
        let mut end = CommandEnd {
            cause: EndCause::Exited(0),
            last_line: None,
            failure_line: None,
            written: 0,
            dropped: 0,
            output: None,
            launch: std::time::Duration::ZERO,
        };
        let mut print = |bytes: &[u8]| {
            end.written = bytes.len() as u64;
            let text = String::from_utf8_lossy(bytes);
            end.last_line = text.lines().rfind(|line| !line.trim().is_empty()).map(str::to_owned);
            let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
            if !is_background
                && bytes.len() <= SHORT_OUTPUT_BYTES
                && lines <= SHORT_OUTPUT_LINES
                && !overflows
            {
                end.output = Some(bytes.to_vec());
                return;
            }
            fs::create_dir_all(request.output.parent().unwrap()).unwrap();
            fs::write(&request.output, bytes).unwrap();
        };
        line("begun".to_owned());
        match script {
            Script::Nothing => print(b""),
            Script::Print(bytes, cause) => {
                print(&bytes);
                end.cause = cause;
            }
            Script::Overflow(bytes, dropped) => {
                print(&bytes);
                (end.written, end.dropped) = (end.written + dropped, dropped);
            }
            Script::Unkept(dropped) => {
                print(b"");
                (end.written, end.dropped) = (dropped, dropped);
            }
            Script::Wait => {
                print(b"half\n");
                self.waits.notify_one();
                cancel.cancelled().await;
                end.cause = EndCause::Stopped;
            }
            Script::Until(told) => {
                print(b"half\n");
                self.waits.notify_one();
                told.notified().await;
                print(b"half\nthe end\n");
            }
            Script::Run(home) => {
                let mut command = std::process::Command::new("setsid");
                command.args(["-w", "/bin/sh", "-c", &request.script, "sh"]);
                command.args(&request.arguments).current_dir(&request.folder).env_clear();
                command.env("HOME", home).env("PATH", "/usr/bin:/bin").envs(&request.environment);
                let ran = tokio::task::spawn_blocking(move || {
                    command.stdin(std::process::Stdio::null()).output().unwrap()
                });
                let ran = ran.await.unwrap();
                print(&ran.stdout);
                end.cause = EndCause::Exited(ran.status.code().unwrap());
            }
            Script::Refuse => {
                let source = std::io::Error::from_raw_os_error(11);
                return Err(CommandError::Resources { what: "start /bin/sh".to_owned(), source });
            }
        }
        Ok(end)
    }

    async fn end(&self) -> OwnerEnd {
        OwnerEnd::Childless
    }

    async fn end_for_good(&self) -> OwnerEnd {
        self.end().await
    }

    async fn remove_temporary(&self) {}
}
