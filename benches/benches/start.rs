//! How long the program takes to start.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use benches::{Bound, Limit, Report, Rounds, measured_binary, median, ms, scratch, timed};
use tests::model::{Answer, Asked, LoopbackModel, Script};

/// How many milliseconds `regatta --version` may take. Where `/bin/true` takes 1.5 ms, it does not fail at the aim.
const VERSION: Limit = Limit { aim: 5.0, most: 10.0 };

/// How many milliseconds may pass from the start of `regatta -p` to its first request.
const REQUEST: f64 = 50.0;

fn main() -> ExitCode {
    let binary = measured_binary();
    let mut report = Report::new(
        "start",
        "`regatta --version` from its start to its end, beside `/bin/true`; and `regatta -p hello` from \
         its start to the moment at which its first request is with a model on the loopback, in a home \
         that was used before. In turns, medians.",
    );
    let scratch = scratch();
    let home = scratch.path().join("home");
    let _warm = (first_request(&binary, &home, scratch.path()), version(&binary));
    let (mut trues, mut versions, mut requests, mut held) = (vec![], vec![], vec![], vec![]);
    while !Rounds::asked_for().suffice(40, &held) {
        trues.push(timed(|| run(&mut Command::new("/bin/true"))));
        let (version, request) = (version(&binary), first_request(&binary, &home, scratch.path()));
        held.push(ms(version) <= VERSION.most && ms(request) <= REQUEST);
        versions.push(version);
        requests.push(request);
    }
    report.figure("/bin/true", ms(median(&trues)), "ms", Bound::None);
    let what = "regatta --version";
    report.figure(what, ms(median(&versions)), "ms", Bound::Aim(VERSION));
    let what = "regatta -p hello: to its first request";
    report.figure(what, ms(median(&requests)), "ms", Bound::AtMost(REQUEST));
    report.finish()
}

fn version(binary: &Path) -> Duration {
    timed(|| run(Command::new(binary).arg("--version")))
}

/// Returns how long it takes from the start of a session to its first request.
fn first_request(binary: &Path, home: &Path, folder: &Path) -> Duration {
    let model = LoopbackModel::start();
    let asked_at = Arc::new(Mutex::new(None));
    let at = Arc::clone(&asked_at);
    model.otherwise(move |_talk| {
        let at = Arc::clone(&at);
        Box::new(move |_asked: &Asked| {
            at.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
            Answer::text("hello")
        }) as Box<dyn Script>
    });
    let mut session = Command::new(binary);
    session.current_dir(folder).env("REGATTA_HOME", home).args(["-p", "[[s]] hello", "--model"]);
    let began = Instant::now();
    run(session.arg(model.route()).args(["--base-url", &model.base_url()]));
    let asked_at = asked_at.lock().unwrap_or_else(PoisonError::into_inner).take();
    asked_at.expect("the model was asked").duration_since(began)
}

fn run(command: &mut Command) {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "{command:?}");
}
