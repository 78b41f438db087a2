//! The application context: names the concrete type behind each port, and wires them together.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use actors::{Deps, Engine, Policy};
use config::{DataPaths, Settings};
use engine::fault::Faults;
use engine::ports::{
    Clock, Commands, GateStoreError, Ids, Isolation, Schemas, SessionLogs, Syntax, ToolFactory,
    TrustedRules,
};
use exec::{BaseEnvironment, EnvironmentRules, GRACE, Processes, Shell, TemporaryFolders};
use isolation::Repositories;
use protocol::{LandingId, SessionId, Timestamp};
use providers::{Catalogue, CatalogueConfig, UserProviders};
use schema::{CachedSchemas, JsonSchemas};
use shell_syntax::BashSyntax;
use store::{ArtifactFolders, BlobFolder, Durability, GateFiles, Ledger, SessionLogFiles};
use tools::{Builtins, ImageSizes, UserShells};

use crate::engine_wide::{branch_summary_policy, compaction_policy, request_policy};
use crate::error::{Error, ErrorKind};
use crate::launcher;
use crate::model::{UserModels, price_of_user};
use crate::session::LogStorage;
use crate::session::user_instructions;
use crate::subagents::EngineSpawner;
use crate::user_rules::UserRules;

/// The time of day of this machine.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millisecond(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// Generates globally unique ids.
#[derive(Clone, Copy, Debug)]
pub struct UniqueIds;

impl Ids for UniqueIds {
    fn landing(&self) -> LandingId {
        LandingId::generate()
    }

    fn session(&self) -> SessionId {
        SessionId::generate()
    }
}

/// The settings, stores and adapters that every command over a repository uses.
#[derive(Clone)]
pub struct AppContext {
    /// The paths of the program's settings and data.
    pub places: DataPaths,
    /// The settings.
    pub settings: Settings,
    /// The failpoints, for tests.
    pub faults: Faults,
    /// The durable record of all runs.
    pub ledger: Arc<Ledger>,
    /// Opens repositories.
    pub isolation: Arc<dyn Isolation>,
    /// Resolves models to providers.
    pub models: Arc<Catalogue>,
    /// The providers and models of the user.
    pub user_models: Arc<UserModels>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// The user's shell.
    pub shells: Arc<UserShells>,
    /// Knows the syntax of languages, if the program does.
    syntax: Option<Arc<dyn Syntax>>,
    /// The tools besides those that are built in.
    pub(crate) own_tools: Vec<Arc<dyn ToolFactory>>,
    /// The files of session logs.
    log_files: SessionLogFiles,
    /// Looks up a variable of the environment, which may hold a setting.
    pub(crate) variable: fn(&str) -> Option<OsString>,
}

/// How long a session that is open in another process is waited for.
const SESSION_LOCK_TIMEOUT: Duration = Duration::from_millis(500);

impl AppContext {
    /// Opens the ledger and builds the rest.
    ///
    /// # Errors
    /// The ledger cannot be opened.
    pub fn build(places: DataPaths, settings: Settings, faults: Faults) -> Result<Self, Error> {
        let places = places.with_workspaces(settings.isolation_dir.value.clone());
        make_private(&places);
        let ledger = Ledger::open(places.ledger(), faults.clone()).map_err(Error::of_home)?;
        let ledger = Arc::new(ledger);
        let isolation = Arc::new(Repositories::new(isolation_places(&places), faults.clone()));
        let clock = Arc::new(SystemClock);
        let user_models = Arc::new(UserModels::new(&places));
        let user = Arc::clone(&user_models) as Arc<_>;
        let models = Arc::new(catalogue(&settings, user, Arc::clone(&clock) as Arc<_>));
        let log_files = log_files(&places, &settings, &faults);
        let variable = |name: &str| std::env::var_os(name);
        let shells = user_shells(&places, variable);
        Ok(Self {
            places,
            settings,
            faults,
            ledger,
            isolation,
            models,
            user_models,
            clock,
            shells,
            syntax: None,
            own_tools: Vec::new(),
            log_files,
            variable,
        })
    }

    /// Returns this context with other settings, and with what [`Self::build`] makes of them.
    pub(crate) fn with_other_settings(self, settings: Settings) -> Self {
        let places = self.places.with_workspaces(settings.isolation_dir.value.clone());
        make_private(&places);
        let isolation = Repositories::new(isolation_places(&places), self.faults.clone());
        let user = Arc::clone(&self.user_models) as Arc<_>;
        let models = Arc::new(catalogue(&settings, user, Arc::clone(&self.clock)));
        let log_files = log_files(&places, &settings, &self.faults);
        Self { places, isolation: Arc::new(isolation), models, log_files, settings, ..self }
    }

    /// Returns this context with the tools `ast_grep` and `ast_edit`, for sessions that name them.
    #[must_use]
    pub fn with_syntax(self, syntax: Arc<dyn Syntax>) -> Self {
        Self { syntax: Some(syntax), ..self }
    }

    /// Returns the rules by which the user always allows calls.
    #[must_use]
    pub fn trusted_rules(&self) -> Arc<dyn TrustedRules> {
        Arc::new(UserRules::new(&self.places))
    }

    /// Returns the files in which engines share what they know about provider accounts.
    ///
    /// # Errors
    /// Nothing can be shared. An engine works all the same, with limits of its own.
    pub fn gate_files(&self) -> Result<GateFiles, GateStoreError> {
        let files = GateFiles::new(self.places.gates());
        files.prepare().map(|()| files)
    }

    /// Returns what the user should know where nothing can be shared about provider accounts.
    pub fn unshared_gates(&self) -> Option<String> {
        let error = self.gate_files().err()?;
        Some(format!("warning: {error}; the limits of accounts hold for this process only"))
    }

    /// Opens an engine that works on at most `capacity` tasks at the same time, of all its runs together.
    ///
    /// # Errors
    /// The engine cannot be opened, for instance because the machine has no resources left.
    pub async fn open_engine(&self, capacity: NonZeroUsize) -> Result<Engine, Error> {
        launcher::check_prepared()?;
        // `main` has called this already, but a program that embeds this crate possibly has not.
        launcher::hide_memory();
        let rules = self.environment_rules();
        let environment = BaseEnvironment::new(std::env::vars_os(), &rules).without_questions();
        let processes = Processes::new(launcher::launcher());
        let mcp = self.mcp_ports(&processes);
        let shell = Shell::new(environment, GRACE, processes);
        let commands: Arc<dyn Commands> =
            Arc::new(shell.with_temporary(temporary_folders(&self.places)));
        let schemas: Arc<dyn Schemas> = Arc::new(CachedSchemas::<JsonSchemas>::default());
        let artifacts = self.places.all_artifacts();
        let spawner = Arc::new(EngineSpawner::new(self.clone()));
        let deps = Deps {
            ledger: Arc::clone(&self.ledger) as Arc<_>,
            commands,
            gates: self.gate_files().ok().map(|files| Arc::new(files) as Arc<_>),
            models: Arc::clone(&self.models) as Arc<_>,
            tools: self.tools(),
            mcp: Some(mcp),
            spawner: Some(Arc::clone(&spawner) as Arc<_>),
            artifacts: Arc::new(ArtifactFolders),
            absences: Arc::default(),
            session_logs: Arc::new(self.log_files.clone()),
            shell: Arc::new(BashSyntax),
            trusted_rules: self.trusted_rules(),
            schemas,
            clock: Arc::clone(&self.clock),
            ids: Arc::new(UniqueIds),
            faults: self.faults.clone(),
            policy: Policy {
                capacity,
                grace: GRACE,
                artifacts,
                requests: request_policy(&self.settings),
                compaction: compaction_policy(&self.settings),
                branch_summary: branch_summary_policy(&self.settings),
                user_instructions: user_instructions(&self.places),
            },
        };
        let engine = Engine::open(deps)
            .await
            .map_err(|error| machine_error("cannot open the engine").because(error.to_string()))?;
        spawner.run_on(&engine);
        Ok(engine)
    }
}

impl AppContext {
    /// Returns where the logs of sessions without a task are kept. The logs of a [`LogStorage::Memory`] are
    /// freed with the last session and clone that has them.
    pub fn session_logs(&self, storage: LogStorage) -> Arc<dyn SessionLogs> {
        match storage {
            LogStorage::Memory(logs) => Arc::new(logs),
            LogStorage::File => {
                Arc::new(self.log_files.clone().with_lock_timeout(SESSION_LOCK_TIMEOUT))
            }
        }
    }

    /// Returns what builds the tools of sessions and tasks.
    pub(crate) fn tools(&self) -> Vec<Arc<dyn ToolFactory>> {
        let built_in = Builtins::new(self.faults.clone()).with_shells(Arc::clone(&self.shells));
        let built_in = built_in.with_edit_mode(self.settings.edit_mode.value);
        let built_in = built_in.with_images(self.image_sizes());
        let built_in = built_in.with_syntax(self.syntax.clone());
        let built_in: Arc<dyn ToolFactory> = Arc::new(built_in);
        std::iter::once(built_in).chain(self.own_tools.iter().cloned()).collect()
    }

    /// Returns whether images for models are made smaller.
    pub fn image_sizes(&self) -> ImageSizes {
        match self.settings.images_auto_resize.value {
            true => ImageSizes::Fitted,
            false => ImageSizes::AsTheyAre,
        }
    }

    /// Returns which environment variables the processes of tasks and sessions get. Those of a task or session
    /// do not get the keys of its models either.
    fn environment_rules(&self) -> EnvironmentRules {
        let mut remove = self.settings.env_remove.value.clone();
        remove.extend(self.user_models.variables());
        let keep_only = self.settings.env_keep_only.value.clone().unwrap_or_default();
        EnvironmentRules { remove, keep_only }
    }
}

/// Returns the shell that the environment names.
pub(crate) fn user_shells(
    places: &DataPaths,
    variable: fn(&str) -> Option<OsString>,
) -> Arc<UserShells> {
    let shell = variable("SHELL");
    Arc::new(UserShells::new(shell.as_deref(), &places.data().join("shells")))
}

/// Makes the data folders, for this user only.
fn make_private(places: &DataPaths) {
    if let Err(error) = places.make_private() {
        // Only a warning, because some file systems do not support permissions. If a folder
        // could not be created, its first use returns an error.
        tracing::warn!(%error, "cannot make the data folders private");
    }
}

/// Returns the files of session logs.
fn log_files(places: &DataPaths, settings: &Settings, faults: &Faults) -> SessionLogFiles {
    let files = SessionLogFiles::new(faults.clone());
    let files = files.with_blobs(BlobFolder::new(places.blobs()));
    files.with_durability(match settings.sessions_durable.value {
        true => Durability::EachMessage,
        false => Durability::Written,
    })
}

/// Returns the catalogue of models. The catalogue reads an API key only when a model needs it.
fn catalogue(
    settings: &Settings,
    user: Arc<dyn UserProviders>,
    clock: Arc<dyn Clock>,
) -> Catalogue {
    let prices = settings.prices.value.iter();
    let prices: BTreeMap<_, _> =
        prices.filter_map(|(model, said)| Some((model.clone(), price_of_user(*said)?))).collect();
    Catalogue::new(CatalogueConfig {
        keys: Arc::new(|variable| std::env::var(variable).ok()),
        user,
        prices,
        clock,
    })
}

/// Returns what makes the folders for the temporary files of tasks.
pub fn temporary_folders(places: &DataPaths) -> TemporaryFolders {
    TemporaryFolders::new(std::env::temp_dir(), places.temporary_folders())
}

/// Returns the folders of the isolation layer.
#[must_use]
pub fn isolation_places(places: &DataPaths) -> isolation::IsolationPaths {
    isolation::IsolationPaths {
        workspaces: places.workspaces().to_path_buf(),
        stores: places.stores(),
        landings: places.landings(),
    }
}

fn machine_error(what: &str) -> Error {
    Error::new(ErrorKind::Machine, what)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use config::ModelPrice;
    use providers::Rate;

    #[test]
    fn no_key_of_a_provider_that_we_know_reaches_a_command() {
        let keys = providers::known_providers()
            .filter_map(providers::KnownProvider::key)
            .chain(["REGATTA_API_KEY"]);
        let keys = keys.map(|key| (OsString::from(key), OsString::from("secret")));
        let environment = BaseEnvironment::new(keys, &EnvironmentRules::default());
        assert_eq!(environment.variables().count(), 0);
    }

    #[test]
    fn a_price_is_what_the_settings_say() {
        let said = ModelPrice {
            input: 37_500_000,
            output: 15_000_000_000,
            cache_read: 0,
            cache_write: 1_000_000,
        };
        let rate = |dollars| Rate::per_million(dollars).unwrap();
        let price = price_of_user(said).unwrap();
        assert_eq!((price.input, price.output), (rate(0.0375), rate(15.0)));
        assert_eq!((price.cache_read, price.cache_write), (Some(rate(0.0)), Some(rate(0.001))));
    }
}
