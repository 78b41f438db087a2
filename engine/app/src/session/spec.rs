//! What a session is opened with.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use actors::{Answerer, ChosenMode, SessionSpec, ToolSetup};
use engine::agent::{Limits, QueueModes, RequestHooks};
use engine::approvals::ApprovalPolicy;
use engine::ports::{Lineage, Requester, SessionPurpose, ToolEnv};
use engine::prompt::SystemPrompt;
use protocol::{ModelRoute, ServerChoice, WorkspaceKind};
use store::artifacts_of;

use super::log_choice::LogStorage;
use crate::app_context::AppContext;

impl AppContext {
    /// Returns what [`actors::Engine::open_session`] opens a session with that works in `folder`, in
    /// place, with every tool that needs no task. Its log is the file `log`; what is too long for the
    /// log is in a folder beside it.
    #[must_use]
    pub fn session_in(
        &self,
        folder: PathBuf,
        model: ModelRoute,
        system: SystemPrompt,
        log: PathBuf,
    ) -> (SessionSpec, ToolSetup) {
        let artifacts = artifacts_of(&log);
        let (model_id, is_scripted) = (model.id.clone(), model.is_scripted());
        let spec = SessionSpec {
            log,
            logs: Some(self.session_logs(LogStorage::File)),
            id: None,
            system: Arc::new(system),
            folder: folder.clone(),
            model,
            fallbacks: Vec::new(),
            requester: Requester::Person,
            limits: Limits { turns: NonZeroU32::MAX, tokens: None, cost: None },
            assignment: None,
            modes: QueueModes::default(),
            request_hooks: RequestHooks::default(),
        };
        let env = ToolEnv {
            subfolder: PathBuf::new(),
            repo: folder.clone(),
            environment: Default::default(),
            keep: self.settings.task_limits().output,
            schema: None,
            purpose: SessionPurpose::Conversation,
            model: model_id,
            is_scripted,
            spawn_offer: None,
        };
        let view = Arc::new(isolation::DirectoryView::new(folder.clone()));
        let approvals = ApprovalPolicy::from(self.settings.approvals(None));
        let approvals = approvals.in_workspace(WorkspaceKind::Shared);
        let (mode, answerer) = (ChosenMode::default(), Answerer::None);
        let setup = ToolSetup {
            view,
            env,
            task: None,
            folder,
            lineage: Lineage::default(),
            artifacts,
            only: None,
            servers: ServerChoice::All,
            approvals,
            mode,
            answerer,
        };
        (spec, setup)
    }
}
