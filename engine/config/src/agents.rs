//! The agents that sessions can give tasks to, from the folders of Regatta and of other programs: in each
//! the nearest folder of the project, then that of the user. Those that come with Regatta are the last.

mod bundled;
mod codex;
mod definition;
mod field_names;
mod fields;
mod files;
mod frontmatter;
mod model_words;
mod tool_words;

use std::path::Path;

use protocol::{AgentCatalog, AgentFamily};

use crate::data_paths::DataPaths;
pub use files::AgentFiles;
pub(crate) use model_words::model_names;

/// Returns the agents of the user and of the project with the root `root`, as seen from its folder `folder`.
#[must_use]
pub fn discover(places: &DataPaths, root: &Path, folder: &Path) -> AgentCatalog {
    AgentFiles::default().discover(places, root, folder)
}

impl AgentFiles {
    /// Returns the agents as [`discover`] does. Files that have not changed since the last call are not read
    /// again.
    #[must_use]
    pub fn discover(&self, places: &DataPaths, root: &Path, folder: &Path) -> AgentCatalog {
        let mut catalog = AgentCatalog::default();
        for family in AgentFamily::ALL {
            self.add_of_project(&mut catalog, family, places, root, folder);
            self.add_of_user(&mut catalog, family, places);
        }
        for agent in bundled::agents() {
            catalog.add(agent.clone());
        }
        catalog
    }
}

#[cfg(test)]
mod public_formats;
#[cfg(test)]
mod tests;
