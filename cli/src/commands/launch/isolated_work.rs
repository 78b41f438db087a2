//! What a conversation does with the work of an isolated session: shows it, lands it, throws it away.

use std::io;
use std::pin::pin;
use std::sync::Arc;

use engine::exit_code::Interruption;
use engine::ports::{LandingRequest, LandingTarget, LandingTask, Repository, SettleRequest};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use protocol::{Captured, Landed, LandingReport, TaskName};

use super::super::context::CommandContext;
use super::super::{apply, discard};
use super::isolation::{Isolating, Isolation, amount, kept_lines};
use super::stopped;
use crate::args::{ApplyArgs, DiscardArgs, SettleArgs};
use crate::process;
use crate::render::conflicts_text;
use crate::signals::{Signals, exit_now};
use crate::view::{IsolatedWork, WorkEnd};
use regatta::error::{Error, ErrorKind};
use regatta::recovery::{OpenedRepository, open_repository};
use regatta::session::{EndedWorkspace, ISOLATED_TASK};

/// What became of the work.
enum Settled {
    /// It has landed, or was thrown away.
    Done,
    /// Neither, since it was not captured as a whole, or because of a signal.
    Kept(Option<Interruption>),
}

impl<'a> Isolation<'a> {
    /// Lands the work or throws it away, when the session is closed, and returns what another workspace is
    /// made of. Work that could not land is kept, and where is said.
    ///
    /// # Errors
    /// A signal came before the landing. A second one exits at once.
    pub(super) async fn settle(
        self,
        how: WorkEnd,
        signals: &mut Signals,
    ) -> Result<Isolating<'a>, Error> {
        let mut ending = pin!(self.end());
        let ((ended, context, of), signal) = tokio::select! {
            ended = &mut ending => (ended, None),
            why = signals.next() => tokio::select! {
                ended = &mut ending => (ended, Some(why)),
                why = signals.next() => exit_now(why),
            },
        };
        let settled = match signal {
            None if ended.is_captured() => settle_work(how, &ended, (&context, &of), signals).await,
            signal => Ok(Settled::Kept(signal)),
        };
        let (error, signal) = match settled {
            Ok(Settled::Done) => return Ok(of),
            Ok(Settled::Kept(signal)) => (None, signal),
            Err(error) => (Some(error.to_string()), None),
        };
        let kept = kept_lines(&ended, &context.hints);
        error.iter().chain(&kept).for_each(|line| process::notify(line));
        match signal {
            None => Ok(of),
            Some(why) => Err(stopped("stopped before the work was landed or thrown away", why)),
        }
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

/// Lands the captured work or throws it away.
async fn settle_work(
    how: WorkEnd,
    ended: &EndedWorkspace,
    (context, of): (&CommandContext, &Isolating<'_>),
    signals: &mut Signals,
) -> Result<Settled, Error> {
    if ended.work().is_none() {
        return Ok(Settled::Done);
    }
    let target = format!("{}/{ISOLATED_TASK}", ended.run);
    let mut out = io::stdout();
    match how {
        WorkEnd::Land => {
            let OpenedRepository { repository, .. } = tokio::select! {
                opened = open_repository(of.app, &of.folder) => opened?,
                why = signals.next() => return Ok(Settled::Kept(Some(why))),
            };
            let args = ApplyArgs::of(target, SettleArgs::default());
            // It listens for signals itself.
            let _code = apply::run(context, repository.as_ref(), &args, &mut out).await?;
        }
        WorkEnd::Discard => {
            let _code = discard::run(context, &DiscardArgs::of(target), &mut out).await?;
        }
    }
    Ok(Settled::Done)
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
                    let conflicts = conflicts_text(&conflicts);
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
