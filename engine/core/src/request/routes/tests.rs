use futures_util::StreamExt;
use futures_util::stream;
use protocol::{AssistantMessage, StopReason, Usage};

use super::*;
use crate::ports::{AccountId, AccountLimits, ModelLocation, ModelRequest, ModelStream};

/// A model that is not asked.
struct Silent(ProviderInfo);

impl Provider for Silent {
    fn info(&self) -> &ProviderInfo {
        &self.0
    }

    fn stream(&self, _request: &ModelRequest) -> ModelStream {
        ModelStream { request_bytes: 0, events: stream::empty().boxed() }
    }
}

/// Returns a model that is asked with a key: `a/one with home`.
fn provider(text: &str) -> Arc<dyn Provider> {
    let (route, key) = text.split_once(" with ").unwrap();
    let route: ModelRoute = route.parse().unwrap();
    let account = AccountId {
        identity: Some(format!("{}-{key}", route.provider)),
        key: Some(format!("the stored key {key}")),
        ..AccountId::of_provider(&route.provider)
    };
    let (limits, location) = (AccountLimits::default(), ModelLocation::Remote);
    Arc::new(Silent(ProviderInfo { api: "test", route, account, limits, location }))
}

const ALL: [&str; 4] =
    ["a/one with home", "a/one with work", "b/two with home", "c/three with home"];

fn routes(absences: &Arc<Absences>, all: &[&str]) -> Routes {
    let mut all = all.iter().map(|text| provider(text));
    let first = Routes::only(all.next().unwrap());
    first.with(all, Arc::clone(absences), FallbackRevert::CooldownExpiry)
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millisecond(seconds * 1_000)
}

fn failed(class: FailureClass, cause: FailureCause) -> FailedRequest {
    let partial = AssistantMessage {
        content: Vec::new(),
        api: "test".to_owned(),
        provider: String::new(),
        model: String::new(),
        usage: Usage::ZERO,
        stop_reason: StopReason::Error,
        error_message: None,
        timestamp: at(0),
    };
    FailedRequest { failure: Failure::new(class, format!("it is {class}")), cause, partial }
}

fn other(class: FailureClass) -> FailedRequest {
    failed(class, FailureCause::Other)
}

/// Returns a change as text: `a -> b`, with `, as before` when a preferred route is asked again.
fn text(change: Option<RouteChange>) -> String {
    let Some(RouteChange { from, to, model, why }) = change else { return "none".to_owned() };
    let key = if model.is_none() { " (key)" } else { "" };
    let back = if why.is_none() { ", as before" } else { "" };
    format!("{from} -> {to}{key}{back}")
}

#[test]
fn the_next_key_goes_before_the_fallbacks_where_the_account_is_the_trouble() {
    let keys = "the stored key home of a -> the stored key work of a (key)";
    let cases = [
        (other(FailureClass::Auth), keys),
        (other(FailureClass::Quota), keys),
        (failed(FailureClass::Invalid, FailureCause::UnknownModel), keys),
        (failed(FailureClass::Transient, FailureCause::RateLimit), keys),
        // The server is the same for every key.
        (other(FailureClass::Transient), "a/one -> b/two"),
        (failed(FailureClass::Transient, FailureCause::Outage), "a/one -> b/two"),
    ];
    for (failed, expected) in cases {
        let mut routes = routes(&Arc::default(), &ALL);
        assert_eq!(text(routes.fall_back(&failed, at(0))), expected, "{failed:?}");
    }
    for class in [FailureClass::Invalid, FailureClass::Refused, FailureClass::Overflow] {
        let mut routes = routes(&Arc::default(), &ALL);
        assert_eq!(text(routes.fall_back(&other(class), at(0))), "none", "{class}");
    }
}

#[test]
fn every_route_is_asked_once_and_then_the_failure_that_may_pass_is_reported_with_the_others() {
    let mut routes = routes(&Arc::default(), &ALL);
    let next = |routes: &mut Routes, class| text(routes.fall_back(&other(class), at(0)));
    assert!(next(&mut routes, FailureClass::Auth).ends_with("(key)"));
    assert_eq!(next(&mut routes, FailureClass::Auth), "a/one -> b/two");
    assert_eq!(next(&mut routes, FailureClass::Transient), "b/two -> c/three");
    assert_eq!(next(&mut routes, FailureClass::Quota), "none");
    let failure = routes.failure(other(FailureClass::Quota).failure);
    assert_eq!(failure.class, FailureClass::Transient);
    assert_eq!(
        failure.message,
        "it is transient; c/three: it is quota; the stored key home of a: it is auth; the stored \
         key work of a: it is auth"
    );
}

#[test]
fn a_key_that_is_not_accepted_is_a_failure_of_every_model_only_if_no_other_key_is_known() {
    let keys = [ALL[0], ALL[1]];
    let unknown = |failed: FailedRequest| FailedRequest {
        failure: failed.failure.with(FailureDetail::UnknownKey),
        ..failed
    };
    let auth = || other(FailureClass::Auth);
    for (first, last, expected) in [
        (unknown(auth()), unknown(auth()), true),
        (auth(), unknown(auth()), false),
        (unknown(auth()), auth(), false),
    ] {
        let mut routes = routes(&Arc::default(), &keys);
        assert!(text(routes.fall_back(&first, at(0))).ends_with("(key)"));
        assert_eq!(text(routes.fall_back(&last, at(0))), "none");
        assert_eq!(routes.failure(last.failure).is_of_every_model(), expected);
    }
}

#[test]
fn what_one_session_has_found_out_another_need_not() {
    let absences = Arc::default();
    let (mut one, mut two) = (routes(&absences, &ALL), routes(&absences, &ALL));
    assert_eq!(text(one.choose(at(0))), "none");
    one.fall_back(&other(FailureClass::Auth), at(0));
    one.fall_back(&other(FailureClass::Auth), at(0));
    assert_eq!(one.current().info().route.name(), "b/two");
    let change = two.choose(at(1)).unwrap();
    assert_eq!(change.why.as_ref().unwrap().message, "it is auth");
    assert_eq!(text(Some(change)), "a/one -> b/two");
    // Another model is another matter.
    assert_eq!(text(routes(&absences, &["a/else with home", ALL[2]]).choose(at(1))), "none");
}

#[test]
fn a_model_is_asked_again_at_a_turns_beginning_when_its_time_has_come_and_by_one_session_at_first()
{
    let absences = Arc::default();
    let pair = [ALL[0], ALL[2]];
    let (mut one, mut two) = (routes(&absences, &pair), routes(&absences, &pair));
    let until = FailureDetail::Until { at: at(100) };
    let quota = other(FailureClass::Quota);
    let quota = FailedRequest { failure: quota.failure.with(until), ..quota };
    assert_eq!(text(one.fall_back(&quota, at(0))), "a/one -> b/two");
    assert_eq!(text(two.choose(at(1))), "a/one -> b/two");
    assert_eq!(text(one.choose(at(99))), "none");
    assert_eq!(text(one.choose(at(100))), "b/two -> a/one, as before");
    assert_eq!(text(two.choose(at(101))), "none", "one session asks first");
    one.answered();
    assert_eq!(text(two.choose(at(102))), "b/two -> a/one, as before");
}

#[test]
fn without_a_time_it_is_five_minutes_and_a_key_that_is_not_accepted_is_left_alone() {
    let cases = [
        (other(FailureClass::Transient), FallbackRevert::CooldownExpiry, Some(300)),
        (other(FailureClass::Quota), FallbackRevert::CooldownExpiry, Some(300)),
        (other(FailureClass::Auth), FallbackRevert::CooldownExpiry, None),
        (other(FailureClass::Transient), FallbackRevert::Never, None),
    ];
    for (failed, revert, back) in cases {
        let mut routes = Routes { revert, ..routes(&Arc::default(), &[ALL[0], ALL[2]]) };
        assert_eq!(text(routes.fall_back(&failed, at(0))), "a/one -> b/two");
        let first = (1..1_000).find(|second| routes.choose(at(*second)).is_some());
        assert_eq!(first, back, "{failed:?}");
    }
}

#[test]
fn where_nothing_can_be_had_the_one_that_comes_back_the_soonest_is_asked() {
    let absences = Arc::default();
    let mut one = routes(&absences, &[ALL[0], ALL[2]]);
    one.fall_back(&other(FailureClass::Auth), at(0));
    assert_eq!(text(one.fall_back(&other(FailureClass::Transient), at(0))), "none");
    assert_eq!(text(routes(&absences, &[ALL[0], ALL[2]]).choose(at(1))), "a/one -> b/two");
}
