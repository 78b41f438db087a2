//! What a program that embeds the engine begins with: the settings and data it uses, its own tools, and
//! specifications of tasks and runs with what the settings say.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use actors::{SessionSpec, ToolSetup};
use config::{DataPaths, LoadedSettings, Settings, Sources, UnknownKey};
use engine::fault::Faults;
use engine::ports::{Repository, RepositoryFacts, ToolFactory};
use engine::prompt::{Environment, Role, SystemPrompt};
use protocol::{
    Agent, ChangeDemand, Command, CommitSubjects, IsolationMode, LandTime, MergeMode, ModelRoute,
    OnFailure, RunId, RunSpec, SessionId, TaskId, TaskName, TaskNeeds, TaskSpec, VerifySpec, Work,
    WorkspaceKind,
};
use store::{SessionPlaces, new_log_path};

use crate::app_context::{AppContext, user_shells};
use crate::error::Error;
use crate::text::one_line;
use crate::trust::{LoadedProject, project_settings, settings_of};
use crate::workspace_needs::{GivenNeeds, NeedsSettings, workspace_needs};

/// How many tasks of a run work at the same time, if the settings do not say.
const AT_ONCE: std::num::NonZeroUsize =
    std::num::NonZeroUsize::new(32).expect("thirty-two is not zero");

impl AppContext {
    /// Opens the settings and the data of this user, as the program `regatta` does. What it runs can be
    /// listed, landed and undone with that program.
    ///
    /// # Errors
    /// The user has no home, a setting is invalid, or the data cannot be opened.
    pub fn open() -> Result<Self, Error> {
        let places = DataPaths::of_this_process()?;
        let LoadedSettings { settings, unknown, .. } = project_settings(&places, None)?.loaded;
        Self::with_settings(places, settings, &unknown)
    }

    /// Returns this context with the settings of the project at `folder`, besides those that it was opened with:
    /// those of the user's file, and unless it is from [`Self::open_in`], those of the environment. They are
    /// read anew. Of what the project's settings would run or allow, that counts which the user trusts. An
    /// engine that is open already keeps the settings of the context that has opened it: how requests to models
    /// are made, when conversations are compacted, and what its tools and the environment of its commands are.
    ///
    /// # Errors
    /// A setting is invalid.
    pub fn in_project(&self, folder: &Path) -> Result<(Self, LoadedProject), Error> {
        let project = settings_of(&self.places, Some(folder), &self.variable)?;
        let app = self.clone().with_other_settings(project.loaded.settings.clone());
        Ok((app, project))
    }

    /// Opens data in a folder of its own, which is made if it does not exist. The settings are the built-in
    /// ones and those of `config/config.yml` in that folder, and no variable of the environment counts.
    ///
    /// # Errors
    /// A setting is invalid, or the data cannot be opened.
    pub fn open_in(folder: &Path) -> Result<Self, Error> {
        let variable = |name: &str| (name == "REGATTA_HOME").then(|| OsString::from(folder));
        let places = DataPaths::resolve(variable)?;
        let file = places.config_file();
        let sources = Sources { file: &file, home: None, variable: &|_| None, flags: &[] };
        let (settings, unknown) = Settings::load(&sources)?;
        let mut app = Self::with_settings(places, settings, &unknown)?;
        app.variable = |_| None;
        app.shells = user_shells(&app.places, app.variable);
        Ok(app)
    }

    fn with_settings(
        places: DataPaths,
        settings: Settings,
        unknown: &[UnknownKey],
    ) -> Result<Self, Error> {
        for key in unknown {
            tracing::warn!(?key, "unknown setting");
        }
        Self::build(places, settings, Faults::default())
    }

    /// Adds tools to those that are built in. Each session and each task of a model has them.
    #[must_use]
    pub fn with_tools(mut self, tools: impl ToolFactory + 'static) -> Self {
        self.own_tools.push(Arc::new(tools));
        self
    }

    /// Returns what [`actors::Engine::open_session`] opens a new session with that works in `folder`, a canonical path,
    /// in place. `instructions` say who its model is; the log is among the sessions of the folder.
    #[must_use]
    pub fn session(
        &self,
        folder: &Path,
        model: ModelRoute,
        instructions: &str,
    ) -> (SessionSpec, ToolSetup) {
        let places = SessionPlaces::below(self.places.all_sessions(), folder.to_owned());
        let id = SessionId::generate();
        let log = new_log_path(places.new_folder(), self.clock.now(), id);
        let role = Role::Own(instructions.to_owned());
        let system = SystemPrompt::of(role, Environment::default());
        let (spec, tools) = self.session_in(folder.to_owned(), model, system, log);
        (SessionSpec { id: Some(id), ..spec }, tools)
    }

    /// Returns a task that runs a script in a shell, with the limits of the settings.
    #[must_use]
    pub fn command(&self, name: TaskName, script: impl Into<String>) -> TaskSpec {
        let script = script.into();
        let title = one_line(&script);
        let command = Command { script, item: None, arguments: Vec::new() };
        self.task(name, title, Work::Command(command))
    }

    /// Returns a task that a model works at, with the limits and approvals of the settings.
    #[must_use]
    pub fn prompt(&self, name: TaskName, model: ModelRoute, prompt: impl Into<String>) -> TaskSpec {
        let prompt = prompt.into();
        let title = one_line(prompt.lines().next().unwrap_or_default());
        let agent = Agent {
            model,
            fallback: Vec::new(),
            prompt,
            yields: Vec::new(),
            context: None,
            approvals: self.settings.approvals(None),
            subagent: None,
            servers: Default::default(),
        };
        self.task(name, title, Work::from(agent))
    }

    fn task(&self, name: TaskName, title: String, work: Work) -> TaskSpec {
        TaskSpec {
            id: TaskId::generate(),
            name,
            title,
            items: Vec::new(),
            work,
            depends_on: Vec::new(),
            priority: 0,
            change: ChangeDemand::Optional,
            schema: None,
            limits: self.settings.task_limits(),
            needs: TaskNeeds::default(),
        }
    }

    /// Returns a run of these tasks in a repository, with what the settings say. Its fields can be changed
    /// before it is submitted.
    ///
    /// # Errors
    /// A set-up command or a glob of the settings is invalid.
    pub fn run_of(
        &self,
        repository: &dyn Repository,
        tasks: Vec<TaskSpec>,
    ) -> Result<RunSpec, Error> {
        let settings = &self.settings;
        let isolation = settings.isolation_mode.value;
        let spec = self.run_in(repository.facts(), Path::new(""), isolation, tasks)?;
        let jobs = match isolation.capabilities().workspace {
            WorkspaceKind::Shared => std::num::NonZeroUsize::MIN,
            WorkspaceKind::Private => settings.max_concurrency.value.unwrap_or(AT_ONCE),
        };
        let (merge, pass_env) = (settings.merge_mode.value, settings.env_pass.value.clone());
        Ok(RunSpec { jobs, merge, pass_env, ..spec })
    }

    /// Returns a run of tasks that begin in a folder of the repository, one at a time, as far as the settings
    /// say nothing else. It lands nothing.
    ///
    /// # Errors
    /// A set-up command or a glob of the settings is invalid.
    pub(crate) fn run_in(
        &self,
        facts: &RepositoryFacts,
        subfolder: &Path,
        isolation: IsolationMode,
        tasks: Vec<TaskSpec>,
    ) -> Result<RunSpec, Error> {
        let settings = &self.settings;
        let needs = NeedsSettings {
            setup: settings.isolation_setup.clone(),
            carry: settings.isolation_carry.clone(),
            carry_limit: settings.carry_limit.value,
        };
        let given = GivenNeeds::default();
        let needs = workspace_needs(given, given, &needs, subfolder, isolation)?;
        Ok(RunSpec {
            id: RunId::generate(),
            label: None,
            group: None,
            repo: facts.root.clone(),
            subfolder: subfolder.to_owned(),
            tasks,
            jobs: std::num::NonZeroUsize::MIN,
            isolation,
            merge: MergeMode::None,
            stack: None,
            land: LandTime::End,
            union: settings.isolation_union.value.clone(),
            on_failure: OnFailure::Continue,
            branch_prefix: settings.branch_prefix.value.clone(),
            untracked_limit: settings.untracked_limit.value,
            pass_env: Vec::new(),
            needs,
            verify: VerifySpec::default(),
            commits: CommitSubjects::default(),
            retry: None,
            caller: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::own_tool::OwnTool;

    #[test]
    async fn sessions_and_tasks_have_the_tools_of_the_program_and_what_the_settings_say() {
        let folder = tempfile::tempdir().unwrap();
        let settings = "limits:\n  wall: 3m\napprovals:\n  mode: ask\n";
        std::fs::create_dir(folder.path().join("config")).unwrap();
        std::fs::write(folder.path().join("config/config.yml"), settings).unwrap();
        let tool = OwnTool::new("weather", "How warm it is", json!({}), |_| Ok("warm".to_owned()));
        let app = AppContext::open_in(folder.path()).unwrap().with_tools(tool);
        let model: ModelRoute = "offline/x.toml".parse().unwrap();
        let (session, tools) = app.session(folder.path(), model.clone(), "You are brief.");
        assert!(session.log.starts_with(folder.path()), "{:?}", session.log);
        let mut names = Vec::new();
        for factory in app.tools() {
            let built = factory.build(&tools.env).await.into_iter().flatten();
            names.extend(built.map(|tool| tool.spec().name.clone()));
        }
        assert_eq!(names.last().map(String::as_str), Some("weather"));
        assert!(names.iter().any(|name| name == "read"), "{names:?}");
        let name: TaskName = "one".parse().unwrap();
        for task in [app.command(name.clone(), "true"), app.prompt(name, model, "Do it.\nAll.")] {
            assert_eq!(task.limits.wall, std::time::Duration::from_secs(180), "{task:?}");
            if let Work::Agent(agent) = &task.work {
                assert_eq!(
                    (task.title.as_str(), &agent.approvals),
                    ("Do it.", &app.settings.approvals(None))
                );
            }
        }
    }

    #[test]
    fn data_in_a_folder_of_its_own_has_not_the_shell_of_the_environment() {
        let folder = tempfile::tempdir().unwrap();
        let app = AppContext::open_in(folder.path()).unwrap();
        assert!(user_shells(&app.places, |_| Some("/bin/bash".into())).is_known());
        assert!(!app.shells.is_known());
    }
}
