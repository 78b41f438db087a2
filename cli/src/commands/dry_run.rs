//! `regatta run --dry-run`: prints the tasks of a run, and what would be copied into their workspaces.

use std::io;
use std::path::Path;

use engine::ports::CarryRequest;
use protocol::{RunSpec, WorkspaceKind};

use super::context::{Output as _, print_json, say};
use super::note::note;
use crate::args::{Form, Globals};
use crate::render::{fallback_note, most_listed};
use crate::resolve::listing;
use regatta::app_context::{AppContext, isolation_places};
use regatta::error::Error;
use regatta::model::check_listed_models;

/// Prints the run without starting it. What would be copied is a note, as at the beginning of a run.
///
/// # Errors
/// A model cannot be used, the dependencies have a cycle, or the files to copy are too large.
pub(super) async fn print(
    globals: &Globals,
    app: &AppContext,
    root: &Path,
    spec: &RunSpec,
) -> Result<(), Error> {
    check_listed_models(&app.models, &app.user_models, spec).await?;
    let notices = match spec.isolation.capabilities().workspace {
        WorkspaceKind::Shared => Vec::new(),
        WorkspaceKind::Private => {
            let places = isolation_places(&app.places);
            isolation::carry_notices(root, &places, &CarryRequest::of_run(spec))?
        }
    };
    for notice in notices {
        note(globals, &fallback_note(&notice.from, &notice.to, &notice.why));
    }
    match globals.form() {
        Form::Text => {
            let mut out = io::stdout();
            let text = listing(spec)?.text(out.room(), most_listed(globals.verbosity()));
            say(&mut out, text.trim_end())
        }
        Form::Json => print_json(&mut io::stdout(), &listing(spec)?),
    }
}
