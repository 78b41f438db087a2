//! The ways in which a model can be asked: with each key of its provider, and then the models that
//! answer in its place. What cannot be had is left out for a while, in all sessions of an engine.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use protocol::{Failure, FailureClass, FailureDetail, ModelRoute, Timestamp};

use super::failed_request::FailedRequest;
use super::policy::{FallbackRevert, allows_fallback};
use crate::ports::{FailureCause, Provider, ProviderInfo};

/// How long a model that cannot be had is not asked, if nothing says when it can be had again.
const COOLDOWN: Duration = Duration::from_secs(5 * 60);

/// The models that cannot be had at the moment, each with the account that was asked.
#[derive(Debug, Default)]
pub struct Absences(Mutex<BTreeMap<RouteKey, Absence>>);

/// What stands for an account, and the model.
type RouteKey = (String, String);

/// Why a model cannot be had, and until when it is not asked; for good if absent.
#[derive(Clone, Debug, PartialEq)]
struct Absence {
    failure: Failure,
    until: Option<Timestamp>,
}

/// The ways in which a model can be asked, the preferred one first.
#[derive(Clone)]
pub struct Routes {
    /// Never empty.
    all: Vec<Arc<dyn Provider>>,
    current: usize,
    absences: Arc<Absences>,
    revert: FallbackRevert,
}

/// A change of the route of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteChange {
    /// What has been asked so far: a model, or a key if only the key changes.
    pub from: String,
    /// What is asked from now on.
    pub to: String,
    /// The model from now on; `None` if only the key changes.
    pub model: Option<ModelRoute>,
    /// Why the first cannot be had; `None` if a preferred route is asked again.
    pub why: Option<Failure>,
}

impl Routes {
    /// Returns the one way to ask a model.
    #[must_use]
    pub fn only(provider: Arc<dyn Provider>) -> Self {
        Self {
            all: vec![provider],
            current: 0,
            absences: Arc::default(),
            revert: FallbackRevert::CooldownExpiry,
        }
    }

    /// Adds other ways to the first. The sessions of an engine share `absences`.
    #[must_use]
    pub fn with(
        mut self,
        others: impl IntoIterator<Item = Arc<dyn Provider>>,
        absences: Arc<Absences>,
        revert: FallbackRevert,
    ) -> Self {
        self.all.extend(others);
        Self { absences, revert, ..self }
    }

    /// Returns the provider that is asked at present.
    #[must_use]
    pub fn current(&self) -> &Arc<dyn Provider> {
        &self.all[self.current]
    }

    /// Chooses the first route that can be had, at the beginning of a turn. One whose time has come is
    /// asked by this session only, and by the others when it answers.
    pub fn choose(&mut self, now: Timestamp) -> Option<RouteChange> {
        if self.all.len() == 1 {
            return None;
        }
        let why = self.absences.of(self.all[0].info()).map(|absence| absence.failure);
        let chosen = self.absences.first_available(&self.all, now).unwrap_or(self.current);
        let before = std::mem::replace(&mut self.current, chosen);
        (chosen != before).then(|| self.change(before, why.filter(|_| chosen > before)))
    }

    /// Notes that the current route has answered.
    pub(super) fn answered(&self) {
        if self.all.len() > 1 {
            self.absences.forget(self.current().info());
        }
    }

    /// Goes on to the next route after a request has failed for good, if there is one that may answer
    /// it.
    pub fn fall_back(&mut self, failed: &FailedRequest, now: Timestamp) -> Option<RouteChange> {
        if self.all.len() == 1 || !may_be_had_elsewhere(failed) {
            return None;
        }
        let absence =
            Absence { failure: failed.failure.clone(), until: self.absent_until(failed, now) };
        let route = self.current().info().route.name();
        let is_of_account = is_of_account(failed);
        for (at, provider) in self.all.iter().enumerate() {
            if at == self.current || (!is_of_account && provider.info().route.name() == route) {
                self.absences.note(provider.info(), absence.clone());
            }
        }
        let after = self.current + 1..self.all.len();
        let next = after.into_iter().find(|at| !self.absences.is_absent(self.all[*at].info(), now));
        let before = std::mem::replace(&mut self.current, next?);
        Some(self.change(before, Some(absence.failure)))
    }

    /// Returns the failure of a request for which no route is left: the one that may pass the soonest,
    /// with the others in its message.
    #[must_use]
    pub fn failure(&self, last: Failure) -> Failure {
        let others = self.all.iter().enumerate().filter(|(at, _)| *at != self.current);
        let others = others.filter_map(|(_, provider)| {
            Some((self.label(provider.info()), self.absences.of(provider.info())?.failure))
        });
        let own = (self.label(self.current().info()), last);
        let mut all: Vec<_> = std::iter::once(own).chain(others).collect();
        let best = (0..all.len()).min_by_key(|at| hope(all[*at].1.class)).unwrap_or(0);
        let (_, mut best) = all.remove(best);
        // Another key may be allowed to ask other models.
        let same = |(_, other): &(String, Failure)| other.detail == best.detail;
        if best.detail == Some(FailureDetail::UnknownKey) && !all.iter().all(same) {
            best.detail = None;
        }
        let rest =
            all.into_iter().map(|(label, failure)| format!("; {label}: {}", failure.message));
        Failure { message: std::iter::once(best.message).chain(rest).collect(), ..best }
    }

    fn change(&self, before: usize, why: Option<Failure>) -> RouteChange {
        let (from, to) = (self.all[before].info(), self.current().info());
        if from.route.name() == to.route.name() {
            let (from, to) = (key_label(from), key_label(to));
            return RouteChange { from, to, model: None, why };
        }
        let (from, model) = (from.route.name(), to.route.clone());
        RouteChange { from, to: model.name(), model: Some(model), why }
    }

    fn label(&self, info: &ProviderInfo) -> String {
        let same = self.all.iter().filter(|it| it.info().route.name() == info.route.name());
        if same.count() > 1 { key_label(info) } else { info.route.name() }
    }

    fn absent_until(&self, failed: &FailedRequest, now: Timestamp) -> Option<Timestamp> {
        let cooldown = i64::try_from(COOLDOWN.as_millis()).unwrap_or(i64::MAX);
        let later = Timestamp::from_millisecond(now.as_millisecond().saturating_add(cooldown));
        match (self.revert, failed.failure.class, &failed.failure.detail) {
            (FallbackRevert::Never, ..) => None,
            (_, FailureClass::Quota, Some(FailureDetail::Until { at })) => Some(*at),
            (_, FailureClass::Quota | FailureClass::Transient, _) => Some(later),
            // A key that is not accepted and a model that is not there stay so.
            (FallbackRevert::CooldownExpiry, ..) => None,
        }
    }
}

/// Returns the key of a route for people.
fn key_label(info: &ProviderInfo) -> String {
    let key = info.account.key.as_deref().unwrap_or("no key");
    format!("{key} of {}", info.route.provider)
}

/// Returns whether another route may answer what has failed.
fn may_be_had_elsewhere(failed: &FailedRequest) -> bool {
    failed.cause == FailureCause::UnknownModel || allows_fallback(failed.failure.class)
}

/// Returns whether a failure is of the account that was asked, so that another key may help.
fn is_of_account(failed: &FailedRequest) -> bool {
    failed.failure.class != FailureClass::Transient || failed.cause == FailureCause::RateLimit
}

/// Orders failures of routes by how soon they may pass.
fn hope(class: FailureClass) -> u8 {
    match class {
        FailureClass::Transient => 0,
        FailureClass::Quota => 1,
        FailureClass::Auth => 2,
        FailureClass::Refused
        | FailureClass::Overflow
        | FailureClass::Invalid
        | FailureClass::Contract
        | FailureClass::GaveUp
        | FailureClass::Proof
        | FailureClass::Poison
        | FailureClass::Timeout
        | FailureClass::Command
        | FailureClass::Workspace
        | FailureClass::Resources
        | FailureClass::Dependency
        | FailureClass::Crashed
        | FailureClass::Budget => 3,
    }
}

fn key(info: &ProviderInfo) -> RouteKey {
    (info.account.identity().to_owned(), info.route.name())
}

impl Absences {
    fn of(&self, info: &ProviderInfo) -> Option<Absence> {
        self.lock().get(&key(info)).cloned()
    }

    fn note(&self, info: &ProviderInfo, absence: Absence) {
        self.lock().insert(key(info), absence);
    }

    fn forget(&self, info: &ProviderInfo) {
        self.lock().remove(&key(info));
    }

    fn is_absent(&self, info: &ProviderInfo, now: Timestamp) -> bool {
        self.of(info).is_some_and(|absence| absence.until.is_none_or(|until| until > now))
    }

    /// Returns the first route that may be asked, else the one that may be asked the soonest.
    fn first_available(&self, routes: &[Arc<dyn Provider>], now: Timestamp) -> Option<usize> {
        let mut absences = self.lock();
        for (at, provider) in routes.iter().enumerate() {
            let Some(absence) = absences.get_mut(&key(provider.info())) else { return Some(at) };
            if absence.until.is_some_and(|until| until <= now) {
                let cooldown = i64::try_from(COOLDOWN.as_millis()).unwrap_or(i64::MAX);
                let later = now.as_millisecond().saturating_add(cooldown);
                absence.until = Some(Timestamp::from_millisecond(later));
                return Some(at);
            }
        }
        let until = |at: &usize| absences.get(&key(routes[*at].info())).and_then(|it| it.until);
        (0..routes.len()).min_by_key(|at| until(at).map_or((1, None), |until| (0, Some(until))))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<RouteKey, Absence>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
