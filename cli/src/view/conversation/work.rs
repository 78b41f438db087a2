//! What the driver asks of the workspace of an isolated session.

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;

use super::answers::Answered;
use super::{Leaving, Shown};
use crate::view::isolated::{WorkEnd, WorkRequest};
use crate::view::state::WorkAnswer;

impl Shown<'_> {
    /// Asks something of the workspace. The answer comes later.
    pub(super) fn ask_of_work(&mut self, request: WorkRequest) {
        let Some(work) = self.isolated else { return }; // the state asks only if there is one
        let answer: LocalBoxFuture<'_, WorkAnswer> = match request {
            WorkRequest::Diff => work.diff().map(WorkAnswer::Diff).boxed_local(),
            WorkRequest::Amount => work.amount().map(WorkAnswer::Amount).boxed_local(),
            WorkRequest::Land => work.can_land().map(WorkAnswer::CanLand).boxed_local(),
            WorkRequest::Discard => {
                self.left = Some(Leaving::Work(WorkEnd::Discard));
                return;
            }
        };
        self.requests.push(answer.map(Answered::Work).boxed_local());
    }

    pub(super) fn work_answered(&mut self, answer: WorkAnswer) {
        if let Some(end) = self.view.work_answered(answer) {
            self.left = Some(Leaving::Work(end));
        }
    }
}
