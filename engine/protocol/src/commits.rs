//! How the messages of commits with the work of tasks are made.

use serde::{Deserialize, Serialize};

use crate::ModelRoute;

/// Who writes the subjects of commits, as a setting names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommitStyle {
    /// Nobody: a subject is made of the title of the task.
    #[default]
    Generic,
    /// A small model.
    Ai,
}

/// Who writes the subjects of the commits of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum CommitSubjects {
    /// Nobody: a subject is made of the title of the task.
    #[default]
    Title,
    /// A model; without a usable answer a subject is made of the title.
    Model {
        /// The model; `None` if the settings name none for small things.
        model: Option<ModelRoute>,
    },
}

impl CommitSubjects {
    /// Returns whether nobody is asked.
    #[must_use]
    pub fn is_title(&self) -> bool {
        *self == Self::Title
    }
}
