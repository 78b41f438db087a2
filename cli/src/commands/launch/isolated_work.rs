//! What a conversation does with the work of an isolated session: shows it, lands it, throws it away.

use std::io;
use std::sync::Arc;

use engine::ports::{LandingRequest, LandingTarget, LandingTask, Repository, SettleRequest};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use protocol::{Captured, ExitCode, Landed, LandingReport, TaskName};

use super::super::task_rows::labels_of;
use super::super::{apply, discard};
use super::isolation::{Isolation, amount, kept_lines};
use crate::args::{ApplyArgs, DiscardArgs, SettleArgs};
use crate::process;
use crate::render::conflicts_text;
use crate::view::{IsolatedWork, WorkEnd};
use regatta::error::{Error, ErrorKind};
use regatta::recovery::{OpenedRepository, open_repository};
use regatta::session::ISOLATED_TASK;

impl Isolation<'_> {
    /// Lands the work or throws it away, when the session is closed, and makes another workspace of the tree
    /// as it is then. Work that could not land is kept.
    ///
    /// # Errors
    /// There is no other workspace.
    pub(super) async fn replace(self, how: WorkEnd) -> Result<(Self, Vec<String>), Error> {
        let (ended, context, of) = self.end().await;
        let target = format!("{}/{ISOLATED_TASK}", ended.run);
        let mut out = io::stdout();
        let done = match how {
            _ if ended.work().is_none() => Ok(ExitCode::Success),
            WorkEnd::Land => match open_repository(of.app, &of.folder).await {
                Ok(OpenedRepository { repository, .. }) => {
                    let args = ApplyArgs::of(target, SettleArgs::default());
                    apply::run(&context, repository.as_ref(), &args, &mut out).await
                }
                Err(error) => Err(error),
            },
            WorkEnd::Discard => discard::run(&context, &DiscardArgs::of(target), &mut out).await,
        };
        let error = done.err().map(|error| error.to_string());
        let kept = error.iter().flat_map(|_| kept_lines(&ended, &context.hints));
        error.iter().cloned().chain(kept).for_each(|line| process::notify(&line));
        Self::begin(of).await
    }

    /// Opens the user's repository as it is now.
    async fn repository(&self) -> Result<Arc<dyn Repository>, Error> {
        Ok(open_repository(self.of.app, &self.of.folder).await?.repository)
    }

    /// Returns the report of a landing of this work, without landing it.
    async fn dry_run(&self, captured: &Captured) -> Result<LandingReport, Error> {
        let repository = self.repository().await?;
        let task = LandingTask {
            task: TaskName::nearest(ISOLATED_TASK),
            capture: captured.capture.clone(),
            depends_on: Vec::new(),
            message: String::new(),
            settle: SettleRequest::default(),
        };
        let request = LandingRequest {
            run: self.place().run.clone(),
            target: LandingTarget::Tree,
            tasks: vec![task],
            landed: Vec::new(),
            union: self.of.app.settings.isolation_union.value.clone(),
        };
        Ok(repository.dry_run(request).await?)
    }

    async fn checkpoint(&self) -> Result<Option<Captured>, Error> {
        Ok(self.workspace.checkpoint().await?)
    }
}

impl IsolatedWork for Isolation<'_> {
    fn diff(&self) -> LocalBoxFuture<'_, Result<String, String>> {
        let diff = async move {
            let Some(work) = self.checkpoint().await? else { return Ok(String::new()) };
            let captured = Arc::clone(&self.context.runs.captured);
            let patch = tokio::task::spawn_blocking(move || captured.patch(&work.capture)).await;
            let patch = patch.map_err(|error| {
                Error::new(ErrorKind::Bug, "cannot read the work").caused_by(&error)
            })??;
            Ok(String::from_utf8_lossy(&patch).into_owned())
        };
        diff.map(|diff: Result<_, Error>| diff.map_err(|error| error.in_one_line())).boxed_local()
    }

    fn amount(&self) -> LocalBoxFuture<'_, Result<Option<String>, String>> {
        let looked = async move { Ok(self.checkpoint().await?.as_ref().map(amount)) };
        looked.map(|it: Result<_, Error>| it.map_err(|error| error.in_one_line())).boxed_local()
    }

    fn can_land(&self) -> LocalBoxFuture<'_, Result<bool, String>> {
        let checked = async move {
            let Some(work) = self.checkpoint().await? else { return Ok(false) };
            match self.dry_run(&work).await?.tasks.into_iter().next().map(|task| task.landed) {
                None | Some(Landed::Landed { .. } | Landed::Unchanged) => Ok(true),
                Some(Landed::Conflicted { conflicts }) => {
                    let conflicts = conflicts_text(&conflicts, &labels_of(&[]));
                    let settle = format!("apply {} --markers", self.place().run);
                    let settle = self.context.hints.command(&settle);
                    let leave = format!("leave, and {settle} (or --ours, --theirs)");
                    Err(Error::usage(format!("the work conflicts: {conflicts}"))
                        .hint("change one side, and /land again")
                        .hint(leave))
                }
                Some(Landed::Unwritten { message }) => Err(Error::usage(message)),
                Some(Landed::Waiting { .. } | Landed::Unverified(_) | Landed::TakenBack { .. }) => {
                    Ok(true) // a landing of one task says nothing of these
                }
            }
        };
        checked.map(|it: Result<_, Error>| it.map_err(|error| error.in_one_line())).boxed_local()
    }
}
