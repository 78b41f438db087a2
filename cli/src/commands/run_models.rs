//! The models that the tasks of a run can have.

use std::sync::Arc;

use protocol::ModelRoute;

use regatta::app_context::AppContext;
use regatta::model::{FoundModel, LocalSources, ModelChoice, ModelDirectory, Roles, find_model};

/// Returns the models that can be named.
pub(super) async fn known_models(app: &AppContext, sources: LocalSources) -> Arc<ModelDirectory> {
    Arc::new(ModelDirectory::with_local(&app.user_models, sources).await)
}

/// Adds the models that can be named to the roles, and says what is wrong with the user's files.
pub(super) async fn add_known_models(
    say: &dyn Fn(&str),
    app: &AppContext,
    roles: &mut Roles,
    sources: LocalSources,
) {
    roles.directory = known_models(app, sources).await;
    app.user_models.notes().iter().for_each(|it| say(&format!("warning: {it}")));
}

/// Chooses a model for a command that names none. Returns it, and why it was chosen.
pub(super) async fn choose_default(
    app: &AppContext,
    roles: &mut Roles,
) -> Option<(ModelRoute, String)> {
    match find_model(&app.user_models).await {
        FoundModel::One(model, why) => {
            roles.default = Some(ModelChoice::Route(model.clone()));
            Some((model, why))
        }
        FoundModel::Unclear(found) => {
            roles.found = Some(found);
            None
        }
    }
}
