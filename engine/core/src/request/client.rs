//! A client for one model: sends a request through the gate of the account, with retries. Dropping
//! the future of `ModelClient::ask` ends the request.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use futures_util::{StreamExt, stream};
use protocol::{AssistantMessage, CostSource, Failure, FailureClass, Part, StopReason, Usage};

use super::attempt::{AttemptEnd, read_answer};
use super::attempt::{Progress, ProgressSink};
use super::estimate::estimated_request;
use super::failed_request::FailedRequest;
use super::policy::{RequestPolicy, Retries, RetryDecision};
use super::routes::{RouteChange, Routes};
use crate::ports::{
    AttemptFailure, Clock, FailureCause, Gate, GateEvent, GateRequest, ModelAnswer, ModelRequest,
    Permit, Provider, ProviderInfo, RateLimits, RequestOutcome, Requester, Timer,
};

/// A client for one model.
#[derive(Clone)]
pub struct ModelClient {
    /// The ways in which the model can be asked. The caller goes on to the next one.
    pub routes: Routes,
    /// Limits the requests of each account.
    pub gate: Arc<dyn Gate>,
    /// Who asks.
    pub requester: Requester,
    /// Measures delays and deadlines.
    pub timer: Arc<dyn Timer>,
    /// Returns the time for messages.
    pub clock: Arc<dyn Clock>,
    /// The policy for retries, deadlines and concurrency.
    pub policy: RequestPolicy,
}

impl ModelClient {
    /// Sends a request by the current route, retries it as the policy says, and waits for the complete
    /// answer. The usage of the answer includes failed attempts.
    ///
    /// # Errors
    /// All attempts failed.
    pub async fn ask(
        &self,
        request: &ModelRequest,
        progress: ProgressSink<'_>,
    ) -> Result<AssistantMessage, FailedRequest> {
        let provider = self.routes.current().as_ref();
        let mut spent = Usage::ZERO;
        let mut retries = Retries::default();
        loop {
            let end = self.attempt(provider, request, retries.count(), progress).await;
            spent = spent + end.usage;
            let failed = match end.answer {
                Ok(answer) => {
                    self.routes.answered();
                    return Ok(self.message(provider.info(), answer, spent));
                }
                Err(failed) => failed,
            };
            let (cause, failure) =
                match retries.decide(&self.policy.retry, request.session, &failed) {
                    RetryDecision::Retry(delay) => {
                        let failure = &failed.failure;
                        progress(Progress::Retrying { retry: retries.count(), delay, failure });
                        match self.pause(provider.info(), retries.count(), delay).await {
                            Ok(()) => continue,
                            Err(outage) => (FailureCause::Outage, outage),
                        }
                    }
                    RetryDecision::GiveUp(failure) => (failed.cause, failure),
                };
            let partial = self.partial(provider.info(), end.partial, spent, &failure);
            return Err(FailedRequest { failure, cause, partial });
        }
    }

    /// Pauses before another attempt, or fails earlier, if an outage of the account lasts too long.
    async fn pause(
        &self,
        info: &ProviderInfo,
        retries: u32,
        delay: Duration,
    ) -> Result<(), Failure> {
        if delay.is_zero() {
            return Ok(());
        }
        let paused = GateRequest { is_paused: true, ..self.gate_request(info, retries, 0) };
        let refused = self.gate.acquire(paused);
        let refused = refused.filter_map(|event| async move {
            match event {
                GateEvent::Refused(failure) => Some(failure),
                GateEvent::Waiting(_) | GateEvent::Unshared(_) | GateEvent::Admitted(_) => None,
            }
        });
        let mut refused = pin!(refused.chain(stream::pending()));
        match select(self.timer.sleep(delay), refused.next()).await {
            Either::Left(_) | Either::Right((None, _)) => Ok(()),
            Either::Right((Some(failure), _)) => Err(failure),
        }
    }

    /// Chooses the route of the next turn, as [`Routes::choose`].
    pub fn choose_route(&mut self) -> Option<RouteChange> {
        let now = self.clock.now();
        self.routes.choose(now)
    }

    /// Goes on to the next route after a failure, as [`Routes::fall_back`].
    pub fn fall_back(&mut self, failed: &FailedRequest) -> Option<RouteChange> {
        let now = self.clock.now();
        self.routes.fall_back(failed, now)
    }

    /// Makes one attempt through the gate of the account.
    async fn attempt(
        &self,
        provider: &dyn Provider,
        request: &ModelRequest,
        retries: u32,
        progress: ProgressSink<'_>,
    ) -> AttemptEnd {
        let info = provider.info();
        let tokens = estimated_request(request);
        let mut turn = provider.turn(request).await;
        let mut permit = match self.admit(info, retries, tokens, progress).await {
            Ok(permit) => permit,
            Err(failed) => return failed.into(),
        };
        let watchdog = self.policy.watchdog(info.location);
        permit.sent();
        let stream = provider.stream(request);
        let longest = self.policy.retry.max_delay;
        let accepted = &mut |limits: Option<&RateLimits>| {
            let wait = limits.and_then(|limits| limits.wait(tokens));
            permit.accepted(wait.map(|wait| wait.min(longest)));
            if let Some(turn) = turn.take() {
                turn.answered();
            }
        };
        let mut end = read_answer(stream, self.timer.as_ref(), watchdog, accepted, progress).await;
        if let (None, Some(cost)) = (end.usage.cost, provider.cost_of(&end.usage)) {
            (end.usage.cost, end.usage.cost_source) = (Some(cost), CostSource::Priced);
        }
        end.answer = end.answer.map_err(|it| self.policy.retry.classify_wait(it, self.clock.now()));
        permit.report(match &end.answer {
            Ok(_answer) => RequestOutcome::Answered { tokens: end.usage.tokens() },
            Err(failed) => RequestOutcome::Failed {
                failure: failed.failure.clone(),
                cause: failed.cause,
                wait: self.policy.retry.pause(failed),
            },
        });
        end
    }

    async fn admit(
        &self,
        info: &ProviderInfo,
        retries: u32,
        tokens: u64,
        progress: ProgressSink<'_>,
    ) -> Result<Permit, AttemptFailure> {
        let account = &info.account;
        let mut queue = self.gate.acquire(self.gate_request(info, retries, tokens));
        while let Some(event) = queue.next().await {
            match event {
                GateEvent::Waiting(wait) => {
                    progress(Progress::Waiting { account, retries, wait: &wait });
                }
                GateEvent::Unshared(why) => progress(Progress::Unshared { account, why: &why }),
                GateEvent::Admitted(permit) => return Ok(permit),
                GateEvent::Refused(failure) => {
                    let cause = FailureCause::Outage;
                    return Err(AttemptFailure { cause, ..AttemptFailure::from(failure) });
                }
            }
        }
        let what = format!("the request queue of {account} crashed");
        Err(AttemptFailure::new(FailureClass::Transient, what))
    }

    fn gate_request(&self, info: &ProviderInfo, retries: u32, tokens: u64) -> GateRequest {
        GateRequest {
            account: info.account.clone(),
            limits: info.limits,
            requester: self.requester.clone(),
            retries,
            tokens,
            is_paused: false,
        }
    }

    fn message(&self, info: &ProviderInfo, answer: ModelAnswer, usage: Usage) -> AssistantMessage {
        AssistantMessage {
            content: answer.content,
            api: info.api.to_owned(),
            provider: info.route.provider.clone(),
            model: info.route.id.clone(),
            usage,
            stop_reason: answer.stop_reason,
            error_message: None,
            timestamp: self.clock.now(),
        }
    }

    /// Returns the message with the content received before a failure.
    fn partial(
        &self,
        info: &ProviderInfo,
        content: Vec<Part>,
        usage: Usage,
        failure: &Failure,
    ) -> AssistantMessage {
        let answer = ModelAnswer { content, stop_reason: StopReason::Error };
        let error_message = Some(failure.message.clone());
        AssistantMessage { error_message, ..self.message(info, answer, usage) }
    }
}

#[cfg(test)]
mod tests;
