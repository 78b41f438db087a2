//! A repository in which commands start processes that hide, and how long these live.

use std::fs::{File, TryLockError};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use test_limit::InTime;
use tests::sandbox::{
    Invocation, Plan, Process, Repository, Running, Sandbox, User, eventually, skip,
};

use crate::binary::sandbox;

/// How long what was started may live after the end of its owner.
pub(crate) const GONE: Duration = Duration::from_secs(1);

/// Long enough for anything on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Six processes that hide, each in its own way: in a session, by a double fork, deaf to SIGTERM, with
/// its streams closed, with nohup, and as daemon(3) does it, without an environment. They all hold
/// the lock on `$HELD`, note their number in `$ALL` and sleep.
pub(crate) const SIX: &str = r#"
exec 9>>$HELD; flock -s 9
note='echo $$ >>$ALL; exec sleep 600'
setsid sh -c "$note" &
(setsid sh -c "sh -c '$note' & exit" &)
sh -c "trap '' TERM HUP INT; $note" &
setsid sh -c "exec 0<&- 1>&- 2>&-; $note" &
nohup setsid sh -c "$note" >/dev/null 2>&1 &
setsid sh -c "cd /; exec </dev/null >/dev/null 2>&1; (env -i PATH=$PATH ALL=$ALL sh -c '$note' &); exit" &
until [ $(cat $ALL | wc -l) -eq 6 ]; do sleep 0.01; done
"#;

/// A repository, and files in which commands leave traces.
pub(crate) struct Scene {
    pub(crate) place: Sandbox,
    pub(crate) repository: Repository,
    user: Option<User>,
}

impl Scene {
    pub(crate) fn new(user: Option<User>) -> Self {
        let mut place = sandbox();
        let repository = place.repository();
        if let Some(user) = user {
            place.hand_to(user);
        }
        Self { place, repository, user }
    }

    /// Returns the path of a file that commands can write.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.place.folder().join("user").join(name)
    }

    /// Returns a run of these tasks, which find the names of the files in their environment.
    pub(crate) fn run(&self, plan: &Plan) -> Invocation {
        for name in ["all", "held", "ready", "go"] {
            let _new = std::fs::remove_file(self.file(name)); // it is there from the second try on
        }
        std::fs::write(self.file("all"), "").expect("it can be written");
        std::fs::write(self.file("held"), "").expect("it can be written");
        if let Some(user) = self.user {
            user.own(&self.file(""));
        }
        let run = self.place.run_plan(&self.repository, plan).words("--jobs 4");
        let run = ["all", "held", "ready", "go"]
            .iter()
            .fold(run, |run, name| run.env(&name.to_uppercase(), self.file(name)));
        match self.user {
            Some(user) => run.by(user),
            None => run,
        }
    }

    /// Starts a run of these tasks.
    pub(crate) fn start(&self, plan: &Plan) -> Running {
        self.run(plan).start()
    }

    /// Waits for a file.
    pub(crate) fn appears(&self, name: &str) {
        let file = self.file(name);
        eventually(PATIENCE, name, || file.exists());
    }

    /// Returns whether the lock is free.
    pub(crate) fn is_free(&self) -> bool {
        let held = File::open(self.file("held")).expect("it can be opened");
        !matches!(held.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Checks that these processes end, and all that hold the lock, and returns whether that was
    /// within a second after `since`.
    pub(crate) fn all_gone(&self, processes: &[Process], since: Instant) -> InTime {
        let left = || processes.iter().filter(|process| process.is_alive()).collect::<Vec<_>>();
        let marked = self.place.processes();
        let gone = || left().is_empty() && self.is_free();
        let in_time = InTime::wait(since, GONE, gone);
        let gone_late = test_limit::within(PATIENCE, gone);
        let (left, marked) = (left(), marked.alive());
        assert!(gone_late, "left: {left:?}, marked: {marked:?}, free: {}", self.is_free());
        in_time
    }
}

/// Returns who runs an engine: who runs the tests, and an ordinary user, if there is another.
pub(crate) fn users(test: &str) -> Vec<Option<User>> {
    match User::fresh() {
        Some(user) => vec![None, Some(user)],
        None => {
            skip(test, "only root can become another user");
            vec![None]
        }
    }
}

/// Returns the launcher among these processes.
pub(crate) fn launcher(processes: &[Process]) -> &Process {
    processes.iter().find(|process| process.what.contains("__launcher")).expect("it runs")
}
