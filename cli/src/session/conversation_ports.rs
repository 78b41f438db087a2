//! What a conversation on the terminal needs of the rest of the program: models, files, and the prompts
//! that were typed before.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::DataPaths;
use engine::ports::{ArtifactStore as _, CancelToken, Clock, CommandOwner, LineSink};
use futures_util::future::BoxFuture;
use isolation::git_state_at;
use protocol::{ApprovalMode, BashExecution, ModelRoute};
use providers::UserProviders as _;
use store::{ArtifactFolders, PromptHistory, artifacts_of};
use tools::UserShell;

use super::approvals::SessionApprovals;
use super::mentions::Mentions;
use crate::render::{Terminal, agent_notes, agent_table};
use crate::view::{ConversationPorts, Reader, UserCommand};
use regatta::app_context::AppContext;
use regatta::model::{LocalSources, ModelDirectory, UserModels};
use regatta::session::ImageSizes;
use regatta::trust::project_root;

/// The most prompts of before that a conversation has.
const PROMPTS: u32 = 1_000;

/// The most files that are completed.
const FILES: usize = 50_000;

/// The models, files and prompts of a session.
pub(crate) struct SessionPorts {
    directory: ModelDirectory,
    user: Arc<UserModels>,
    clock: Arc<dyn Clock>,
    /// The models of `--models`, in their order.
    scope: Option<Vec<String>>,
    /// The model with which the session began.
    model: ModelRoute,
    folder: PathBuf,
    places: DataPaths,
    images: ImageSizes,
    shell: UserShell,
    approvals: SessionApprovals,
    disabled_agents: Vec<String>,
    /// `None` if it cannot be opened. Then the prompts of this conversation are all there are.
    history: Option<PromptHistory>,
}

impl SessionPorts {
    /// Returns the ports of a session with this model in this folder.
    pub(crate) async fn new(
        app: &AppContext,
        model: ModelRoute,
        folder: PathBuf,
        (commands, log): (Arc<dyn CommandOwner>, &Path),
        approvals: SessionApprovals,
    ) -> Self {
        let history = PromptHistory::open(&app.places.prompt_history());
        let history = history.inspect_err(|error| tracing::warn!(%error, "no history of prompts"));
        let directory = ModelDirectory::with_local(&app.user_models, LocalSources::All).await;
        let (user, clock) = (Arc::clone(&app.user_models), Arc::clone(&app.clock));
        let shell = UserShell {
            commands,
            shells: Arc::clone(&app.shells),
            artifacts: ArtifactFolders.open(&artifacts_of(log)),
            folder: folder.clone(),
            keep: app.settings.task_limits().output,
        };
        let (places, images) = (app.places.clone(), app.image_sizes());
        let (scope, history) = (None, history.ok());
        Self {
            directory,
            user,
            clock,
            scope,
            model,
            folder,
            places,
            images,
            shell,
            approvals,
            disabled_agents: app.settings.disabled_agents.value.clone(),
            history,
        }
    }

    /// Lets the user change between the models with these names only.
    pub(crate) fn with_scope(mut self, patterns: Option<&Vec<String>>) -> Self {
        let scope = patterns.and_then(|patterns| self.directory.scope(patterns).ok());
        self.scope = scope.map(|scope| scope.models.iter().map(ModelRoute::name).collect());
        self
    }
}

/// Returns the agents that there are in a folder, as a text.
fn agents_of(places: &DataPaths, folder: &Path, disabled: &[String]) -> String {
    let catalog = config::agents::discover(places, &project_root(folder), folder);
    let catalog = catalog.without(disabled);
    let table = agent_table(&catalog, Terminal::here().stdout_room());
    let notes = agent_notes(&catalog);
    [&[table.trim_end().to_owned()], &notes[..]].concat().join("\n")
}

/// Returns the files that a prompt can name: those that git tracks, or those in the folder itself.
fn files_of(folder: &Path) -> Vec<String> {
    let Some((root, _)) = git_state_at(folder) else { return names_in(folder) };
    let subfolder = folder.strip_prefix(&root).unwrap_or(Path::new(""));
    let tracked = isolation::tracked_files(&root).unwrap_or_default();
    let below = tracked.iter().filter_map(|file| file.as_path().strip_prefix(subfolder).ok());
    below.take(FILES).filter_map(|path| path.to_str().map(str::to_owned)).collect()
}

impl ConversationPorts for SessionPorts {
    fn models(&self) -> Vec<String> {
        let usable = self.directory.models().iter().filter(|model| model.obstacle.is_none());
        self.directory.each_once(usable.collect()).iter().map(ToString::to_string).collect()
    }

    fn cycled_models(&self) -> Vec<String> {
        match &self.scope {
            Some(scope) => scope.clone(),
            None => self.models(),
        }
    }

    fn find_model(&self, name: &str) -> Result<ModelRoute, String> {
        if *name == self.model.name() {
            return Ok(self.model.clone());
        }
        model_called(&self.directory, name)
    }

    fn context_window(&self, model: &ModelRoute) -> Option<u64> {
        self.user.model_facts(model).context
    }

    fn change_approvals(&self, mode: ApprovalMode) -> String {
        self.approvals.change(mode)
    }

    fn approvals(&self) -> BoxFuture<'static, Vec<String>> {
        Box::pin(self.approvals.clone().lines())
    }

    fn agents(&self) -> BoxFuture<'static, String> {
        let (places, folder) = (self.places.clone(), self.folder.clone());
        let disabled = self.disabled_agents.clone();
        let listed = tokio::task::spawn_blocking(move || agents_of(&places, &folder, &disabled));
        Box::pin(async move { listed.await.unwrap_or_default() }) // it does not panic
    }

    fn files(&self) -> BoxFuture<'static, Vec<String>> {
        let folder = self.folder.clone();
        let listed = tokio::task::spawn_blocking(move || files_of(&folder));
        Box::pin(async move { listed.await.unwrap_or_default() }) // it does not panic
    }

    fn mentions(&self, text: &str) -> Mentions {
        Mentions::of(text, &self.folder, self.places.home(), self.images)
    }

    fn prompts(&self) -> Vec<String> {
        let found = self.history.as_ref().and_then(|history| history.recent(PROMPTS).ok());
        found.unwrap_or_default().into_iter().map(|prompt| prompt.text).collect()
    }

    fn remember(&self, prompt: &str) {
        let Some(history) = &self.history else { return };
        if let Err(error) = history.add([prompt], &self.folder, self.clock.now()) {
            tracing::warn!(%error, "a prompt is not in the history");
        }
    }

    fn run(
        &self,
        command: UserCommand,
        line: LineSink,
        stop: CancelToken,
    ) -> BoxFuture<'static, Result<BashExecution, String>> {
        let (shell, clock) = (self.shell.clone(), Arc::clone(&self.clock));
        Box::pin(async move {
            let ran = shell.run(&command.script, line, stop).await;
            let ended = ran.map_err(|error| protocol::error_chain(&error))?;
            Ok(BashExecution {
                command: command.script,
                output: ended.output,
                exit_code: ended.exit_code.map(i64::from),
                cancelled: ended.exit_code.is_none(),
                truncated: ended.full_output.is_some(),
                full_output_path: ended.full_output.map(|path| path.display().to_string()),
                meta: None,
                exclude_from_context: command.reader == Reader::User,
                timestamp: clock.now(),
            })
        })
    }
}

/// Returns the model that is called `name`, or why it cannot be used and what to type. A model that is not
/// listed is asked all the same, if its provider can be.
fn model_called(directory: &ModelDirectory, name: &str) -> Result<ModelRoute, String> {
    directory.named(name).or_else(|mut error| {
        let route = name.parse::<ModelRoute>().ok();
        if let Some(route) = route.filter(|route| directory.obstacle(route).is_none()) {
            return directory.checked(route).map_err(|error| error.in_one_line());
        }
        for hint in &mut error.hints {
            if let Some(model) = hint.strip_prefix("--model ") {
                *hint = format!("/model {model}");
            }
        }
        let lacks_key = error.hints.iter().any(|hint| hint.starts_with("regatta login"));
        let error = match lacks_key {
            true => error.hint("regatta --continue (after that: keys are read at the start)"),
            false => error,
        };
        Err(error.in_one_line())
    })
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.take(FILES).filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use regatta::model::{ListedModel, Obstacle};

    #[test]
    fn a_model_that_cannot_be_used_says_why_and_how_to_set_its_key() {
        let listed = |provider: &str, id: &str, obstacle| ListedModel {
            provider: provider.to_owned(),
            id: id.to_owned(),
            facts: providers::ModelFacts::default(),
            obstacle,
        };
        let no_key = Obstacle::new("no key").hint("regatta login a (or export A_API_KEY=…)");
        let directory = ModelDirectory::new(vec![
            listed("a", "claude-opus-5", Some(no_key)),
            listed("b", "one", None),
            listed("c", "one", None),
        ]);
        let told = |name: &str| model_called(&directory, name).unwrap_err();
        let opus = "cannot use the model a/claude-opus-5: no key; try: regatta login a (or export \
                    A_API_KEY=…); try: regatta models (those that can be used); try: regatta \
                    --continue (after that: keys are read at the start)";
        for name in ["opus", "claude-opus-5", "a/claude-opus-5", "opus:high"] {
            assert_eq!(told(name), opus, "{name}");
        }
        assert_eq!(told("one"), "`one` may name 2 models: b/one, c/one; try: /model b/one");
        assert!(
            told("nope").starts_with("no model is called `nope`: a model is"),
            "{}",
            told("nope")
        );
        assert!(
            told("a/other").starts_with("no model is called `a/other`"),
            "its provider has no key"
        );
        for name in ["b/one", "b/other", "b/one:high"] {
            assert_eq!(model_called(&directory, name).unwrap().to_string(), name);
        }
    }
}
