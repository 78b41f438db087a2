//! The one place that names the concrete types and wires them.

use std::num::NonZeroUsize;
use std::process::Command;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use actors::{House, Means, Policy};
use config::{Places, Settings};
use engine::fault::Faults;
use engine::ports::{Clock, Isolation};
use exec::{BaseEnvironment, EnvironmentRules, GRACE, Shell};
use isolation::Worktrees;
use protocol::Timestamp;
use schema::JsonSchemas;
use store::{Ledger, SessionLogFiles};

use crate::error::{Error, ErrorKind};

/// The time of day of this machine.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millisecond(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// What every command that touches a repository works with.
#[derive(Clone)]
pub struct Equipment {
    /// Where everything is.
    pub places: Places,
    /// How everything is to be.
    pub settings: Settings,
    /// Faults on purpose.
    pub faults: Faults,
    /// The record of what runs did.
    pub ledger: Arc<Ledger>,
    /// Opens repositories.
    pub isolation: Arc<dyn Isolation>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
}

impl Equipment {
    /// Opens the ledger and names the means for everything else.
    ///
    /// # Errors
    /// The ledger cannot be opened.
    pub fn gather(places: Places, settings: Settings, faults: Faults) -> Result<Self, Error> {
        let places = places.with_workspaces(settings.isolation_dir.value.clone());
        let ledger = Arc::new(Ledger::open(places.ledger(), faults.clone())?);
        let isolation = Arc::new(Worktrees::new(isolation_places(&places), faults.clone()));
        Ok(Self { places, settings, faults, ledger, isolation, clock: Arc::new(SystemClock) })
    }

    /// Opens a house for at most `capacity` tasks at a time.
    ///
    /// # Errors
    /// The machine has no room for it.
    pub async fn open_house(&self, capacity: NonZeroUsize) -> Result<House, Error> {
        let rules = EnvironmentRules {
            remove: self.settings.env_remove.value.clone(),
            keep_only: self.settings.env_keep_only.value.clone().unwrap_or_default(),
        };
        let environment = BaseEnvironment::new(std::env::vars_os(), &rules);
        let shell = Shell::new(environment, GRACE, watcher())
            .map_err(|error| machine("cannot start the shell").caused_by(&error))?;
        let means = Means {
            ledger: Arc::clone(&self.ledger) as Arc<_>,
            commands: Arc::new(shell),
            models: Arc::new(Unwired),
            toolbox: Arc::new(Unwired),
            session_logs: Arc::new(SessionLogFiles::new(self.faults.clone())),
            schemas: Arc::new(JsonSchemas),
            clock: Arc::clone(&self.clock),
            faults: self.faults.clone(),
            policy: Policy { capacity, grace: GRACE, artifacts: self.places.all_artifacts() },
        };
        House::open(means)
            .await
            .map_err(|error| machine("cannot open the house").because(error.to_string()))
    }
}

/// Returns where isolation keeps its things.
#[must_use]
pub fn isolation_places(places: &Places) -> isolation::Places {
    isolation::Places {
        workspaces: places.workspaces().to_path_buf(),
        stores: places.stores(),
        landings: places.landings(),
    }
}

/// The command that starts this program as the watcher over process groups. Linux finds the file
/// that runs now even when another has taken its name since.
fn watcher() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg("__watch");
    command
}

fn machine(what: &str) -> Error {
    Error::new(ErrorKind::Machine, what)
}

/// Stands where the means of agents will be.
struct Unwired;

impl engine::ports::Models for Unwired {
    fn open(
        &self,
        _route: &protocol::ModelRoute,
    ) -> Result<Arc<dyn engine::ports::Provider>, protocol::Failure> {
        let class = protocol::FailureClass::Invalid;
        Err(protocol::Failure::new(class, "agents are not yet built"))
    }
}

impl engine::ports::Toolbox for Unwired {
    fn open(&self, _bench: engine::ports::Workbench) -> Arc<dyn engine::ports::Tools> {
        unreachable!("no model is opened")
    }
}
