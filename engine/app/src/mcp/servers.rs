//! The servers that are defined for a folder, and which of them its sessions use.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::mcp::{
    ServerAddress, ServerCatalog, ServerEntry, ServerLevel, ServerProgram, ServerWarning, Sought,
    UrlKind, discover,
};
use config::{DataPaths, nearest};
use engine::ports::McpDefinition;
use serde_json::Value;
use tokio::task::spawn_blocking;

use super::definition::{definition, definition_digest};
use super::project::{enabled_before, in_order, is_enabled_by_user};
use super::resolve::Resolver;
use super::values::Values;
use crate::app_context::AppContext;
use crate::error::Error;
use crate::model::UserModels;
use crate::text::one_line;
use crate::trust::{Power, PowerKind, PowerState, project_root, settings_to_look};

/// The MCP servers that are defined for a folder.
#[derive(Debug)]
pub struct McpServers {
    /// All of them, those first that take precedence.
    pub servers: Vec<ListedServer>,
    /// What is wrong with their files.
    pub warnings: Vec<ServerWarning>,
    /// Whether servers of other programs' files start without being enabled.
    foreign: bool,
    /// The file of the user's own servers.
    pub(super) own_file: PathBuf,
    root: PathBuf,
    home: Option<PathBuf>,
    /// The variables that the user takes from every program.
    removed: Vec<String>,
}

/// A server, and whether it is used.
#[derive(Debug)]
pub struct ListedServer {
    /// What its file says.
    pub entry: ServerEntry,
    /// Whether it is used.
    pub state: ServerState,
}

/// Whether a server is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// It is.
    Enabled,
    /// It is not, because the user or its file says so.
    Disabled(String),
    /// It stands in a file of another program, and the user has not enabled it.
    Offered(String),
    /// It stands in a file of the project, and the user does not trust it as it is.
    Untrusted(String),
    /// A server of the same name takes precedence.
    Shadowed(String),
}

impl ServerState {
    /// Returns the name of the state.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Disabled(_) => "disabled",
            Self::Offered(_) => "offered",
            Self::Untrusted(_) => "untrusted",
            Self::Shadowed(_) => "shadowed",
        }
    }

    /// Returns why the server is not used, and what to do about it.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Enabled => None,
            Self::Disabled(why)
            | Self::Offered(why)
            | Self::Untrusted(why)
            | Self::Shadowed(why) => Some(why),
        }
    }
}

impl ListedServer {
    /// Returns its definition without secrets, as [`super::definition_lines`] describes it.
    #[must_use]
    pub fn definition(&self) -> Value {
        definition(&self.entry)
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// Returns the place of its definition: a file and a line.
    #[must_use]
    pub fn source(&self) -> String {
        self.entry.place.to_string()
    }

    /// Returns the name of the program whose file defines it.
    #[must_use]
    pub fn program(&self) -> &'static str {
        self.entry.place.program.as_str()
    }

    /// Returns whether it stands in a file of a project.
    #[must_use]
    pub fn is_of_project(&self) -> bool {
        self.entry.place.level == ServerLevel::Project
    }

    /// Returns its transport: `stdio`, `http` or `sse`.
    #[must_use]
    pub fn transport(&self) -> &'static str {
        match &self.entry.address {
            ServerAddress::Program { .. } => "stdio",
            ServerAddress::Url { kind: UrlKind::Http, .. } => "http",
            ServerAddress::Url { kind: UrlKind::Sse, .. } => "sse",
        }
    }

    /// Returns whether it stands in a file of another program.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.entry.place.program != ServerProgram::Regatta
    }

    /// Returns the digest of its definition, to which it is bound where the user enables it.
    #[must_use]
    pub fn definition_digest(&self) -> String {
        definition_digest(&self.entry)
    }
}

impl McpServers {
    /// Finds the servers that are defined for `folder`, as [`Self::find`], with the files of this process.
    ///
    /// # Errors
    /// As [`Self::find`], or no variable names the user's home.
    pub fn of_this_process(folder: &Path) -> Result<Self, Error> {
        Self::find(&DataPaths::of_this_process()?, folder)
    }

    /// Returns the server of a name that takes precedence.
    ///
    /// # Errors
    /// There is none.
    pub fn named(&self, name: &str) -> Result<&ListedServer, Error> {
        self.servers.iter().find(|server| server.entry.name == name).ok_or_else(|| {
            let error = Error::usage(format!("there is no MCP server `{}`", one_line(name)));
            match nearest(name, self.servers.iter().map(ListedServer::name)) {
                Some(near) => error.hint(format!("regatta mcp show {near}")),
                None => error.hint("regatta mcp"),
            }
        })
    }

    /// Finds the servers that are defined for `folder`. Nothing is resolved or started.
    ///
    /// # Errors
    /// The settings of the user or of the environment cannot be read, or have an invalid value.
    pub fn find(places: &DataPaths, folder: &Path) -> Result<Self, Error> {
        let project = settings_to_look(places, Some(folder))?;
        let root = project_root(folder);
        let mut catalog = discover(places, (&root, folder), Sought::All);
        let settings = &project.loaded.settings;
        let choices = Choices {
            foreign: settings.mcp_foreign.value,
            powers: &project.powers,
            own_file: places.mcp_file(),
        };
        let entries = std::mem::take(&mut catalog.entries);
        Ok(Self {
            servers: choices.listed(entries, &catalog),
            warnings: catalog.warnings,
            foreign: settings.mcp_foreign.value,
            own_file: places.mcp_file(),
            root,
            home: places.home().map(Path::to_owned),
            removed: settings.env_remove.value.clone(),
        })
    }

    /// Returns the definitions of the servers that sessions in `folder` use, with every value resolved, and
    /// warnings about the others. A server that needs trust or has to be enabled first is not among them.
    pub async fn for_folder(
        app: &AppContext,
        folder: &Path,
    ) -> (Vec<Arc<McpDefinition>>, Vec<String>) {
        let (places, folder) = (app.places.clone(), folder.to_owned());
        let found = spawn_blocking(move || Self::find(&places, &folder)).await;
        let found = match found {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => return (Vec::new(), vec![error.in_one_line()]),
            Err(panicked) => return (Vec::new(), vec![panicked.to_string()]),
        };
        // The files of other programs are not about this one until their servers start here.
        let is_of_use = |it: &&ServerWarning| found.foreign || it.program == ServerProgram::Regatta;
        let warnings = found.warnings.iter().filter(is_of_use);
        let mut warnings: Vec<_> = warnings.map(ToString::to_string).collect();
        let mut definitions = Vec::new();
        for server in found.servers.iter().filter(|it| it.state == ServerState::Enabled) {
            match found.definition(&app.user_models, server).await {
                Ok(definition) => definitions.push(Arc::new(definition)),
                Err(why) => warnings.push(format!("{why}; it is left out")),
            }
        }
        (definitions, warnings)
    }

    /// Returns the root of the project.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the definition of a server, with every value resolved.
    ///
    /// # Errors
    /// A value cannot be resolved. The error names the place and the key, and contains no value.
    pub async fn definition(
        &self,
        user: &UserModels,
        server: &ListedServer,
    ) -> Result<McpDefinition, String> {
        let keys = user.variables();
        let home = self.home.as_deref();
        let values = Values::new(std::env::vars_os(), keys, &self.root, home);
        let resolver = Resolver { values, removed: &self.removed, user };
        let ListedServer { entry, .. } = server;
        let definition = resolver.definition(entry).await;
        definition.map_err(|why| format!("{}: the server `{}`: {why}", entry.place, entry.name))
    }
}

/// What decides whether a server is used.
struct Choices<'a> {
    foreign: bool,
    powers: &'a [Power],
    own_file: PathBuf,
}

impl Choices<'_> {
    /// Returns the entries with their states. Servers of the user's own file come first, then those that the user has
    /// enabled, and those of a repository that the user does not trust last: they replace no other.
    fn listed(&self, entries: Vec<ServerEntry>, catalog: &ServerCatalog) -> Vec<ListedServer> {
        let order =
            |entry: &ServerEntry| (!self.may_count(entry), !is_enabled_by_user(entry, catalog));
        let mut counting: BTreeMap<String, String> = BTreeMap::new();
        let mut servers = Vec::new();
        for entry in in_order(entries, order) {
            let state = match counting.get(&entry.name) {
                Some(place) => ServerState::Shadowed(format!("{place} has a server of this name")),
                None => {
                    counting.insert(entry.name.clone(), entry.place.to_string());
                    self.state(&entry, catalog)
                }
            };
            servers.push(ListedServer { entry, state });
        }
        servers
    }

    fn may_count(&self, entry: &ServerEntry) -> bool {
        entry.place.level == ServerLevel::User
            || self.power(entry).is_some_and(|power| power.state == PowerState::Trusted)
    }

    /// Returns the power of a project to start a server.
    fn power(&self, entry: &ServerEntry) -> Option<&Power> {
        let definition = definition(entry);
        let is_it = |power: &&Power| {
            matches!(&power.kind, PowerKind::Server(name) if *name == entry.name)
                && power.now.value == definition
        };
        self.powers.iter().find(is_it)
    }

    fn state(&self, entry: &ServerEntry, catalog: &ServerCatalog) -> ServerState {
        let (name, place) = (&entry.name, &entry.place);
        if catalog.disabled.contains(name) {
            let own = self.own_file.display();
            return ServerState::Disabled(format!(
                "`disabledServers` of {own}: regatta mcp enable {name}"
            ));
        }
        if !entry.is_enabled {
            let how = match place.is_own() {
                true => format!("regatta mcp enable {name}"),
                false => "change it there".to_owned(),
            };
            return ServerState::Disabled(format!("its file says so: {how}"));
        }
        let is_foreign = place.program != ServerProgram::Regatta;
        if is_foreign && !self.foreign && !is_enabled_by_user(entry, catalog) {
            let why = match enabled_before(entry, catalog) {
                Some(_) => "it has changed since you enabled it".to_owned(),
                None => format!("of {}", place.program.as_str()),
            };
            return ServerState::Offered(format!("{why}: regatta mcp enable {name}"));
        }
        if place.level == ServerLevel::User {
            return ServerState::Enabled;
        }
        match self.power(entry).map(|power| &power.state) {
            Some(PowerState::Trusted) => ServerState::Enabled,
            Some(PowerState::Changed(_)) => ServerState::Untrusted(
                "it has changed since you trusted it: regatta trust".to_owned(),
            ),
            Some(PowerState::Unbounded) => ServerState::Untrusted(
                "it may run any file, and there is no commit: git commit, then regatta trust"
                    .to_owned(),
            ),
            Some(PowerState::New) | None => {
                ServerState::Untrusted("of this repository: regatta trust".to_owned())
            }
        }
    }
}
