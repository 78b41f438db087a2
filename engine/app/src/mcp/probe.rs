//! Connects to one server, to see what it is.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use config::DataPaths;
use engine::ports::{McpClient, McpConnector as _, McpDefinition, McpList, McpServerInfo, McpTool};
use exec::Processes;
use peers::Connector;
use protocol::Question;
use tokio::time::{Instant, timeout};

use super::servers::{ListedServer, McpServers, ServerState};
use crate::error::{Error, ErrorKind};
use crate::launcher;
use crate::model::UserModels;

/// What a server says about itself.
#[derive(Debug)]
pub struct ProbedServer {
    /// Its program, its version and the revision that it speaks.
    pub info: McpServerInfo,
    /// Its tools, also those that the definition does not offer.
    pub tools: Vec<McpTool>,
    /// How long it took until it had listed them.
    pub time: Duration,
}

impl McpServers {
    /// Connects to a server, lists its tools and ends it.
    ///
    /// # Errors
    /// It is of a project and not used, or it cannot be used.
    pub async fn probe(&self, server: &ListedServer) -> Result<ProbedServer, Error> {
        let failed = || failure(server.name());
        // What a repository defines never runs without trust.
        if server.is_of_project() && server.state != ServerState::Enabled {
            let why = server.state.why().unwrap_or_default();
            let (why, hint) = why.rsplit_once(": ").unwrap_or((why, "regatta trust"));
            let state = server.state.as_str();
            return Err(failed().because(format!("it is {state}: {why}")).hint(hint));
        }
        let user = UserModels::new(&DataPaths::of_this_process()?);
        let definition = self.definition(&user, server).await;
        let definition = definition.map_err(|why| failed().because(why))?;
        probe(&definition, vec![self.root().to_owned()]).await
    }
}

fn failure(name: &str) -> Error {
    Error::new(ErrorKind::Machine, format!("cannot use the MCP server `{name}`"))
}

/// Connects to a server, lists its tools and ends it.
///
/// # Errors
/// The server cannot be used, or did not list its tools in the time that its definition gives it to start.
async fn probe(definition: &McpDefinition, roots: Vec<PathBuf>) -> Result<ProbedServer, Error> {
    launcher::check_prepared()?;
    let failed = || failure(&definition.name);
    let begun = Instant::now();
    let processes = Processes::new(launcher::launcher());
    let connector = Connector::new(move || Arc::new(processes.owner()));
    let listed = async {
        let connection = connector.connect(definition, Arc::new(ProbingClient(roots))).await?;
        let tools = connection.tools().await;
        let probed = tools.map(|tools| ProbedServer {
            info: connection.info().clone(),
            tools,
            time: begun.elapsed(),
        });
        connection.close().await;
        probed
    };
    match timeout(definition.startup_timeout, listed).await {
        Ok(probed) => probed.map_err(|error| failed().because(error.message)),
        Err(_elapsed) => {
            let limit = definition.startup_timeout.as_millis();
            Err(failed()
                .because(format!("it did not list its tools in {limit} ms"))
                .hint("`startupTimeout`, in milliseconds, gives it more time"))
        }
    }
}

/// A client that asks for nothing and answers no question.
struct ProbingClient(Vec<PathBuf>);

#[async_trait]
impl McpClient for ProbingClient {
    fn roots(&self) -> Vec<PathBuf> {
        self.0.clone()
    }

    fn changed(&self, _list: McpList) {}

    fn logged(&self, _line: String) {}

    async fn ask(&self, _question: Question) -> Option<String> {
        None
    }
}
