//! The limits of an account, shared by many agents and by several engines.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use serde_json::{Value, json};
use test_limit::{by_depth, slowdown};
use tests::model::{Answer, Asked, Call, LoopbackModel, Pace, Said, Script, marker};
use tests::sandbox::{Invocation, Plan, Repository, Sandbox, eventually, skip};

use super::work::run_with;
use crate::binary::models::directory::write_models;
use crate::binary::sandbox;

/// Returns how long after a refusal a request may still come. On a machine that does many other things,
/// an engine gets to read what it was told as much later, and to send what was on its way before.
fn grace() -> Duration {
    Duration::from_millis(500).mul_f64(slowdown())
}

/// Reads a file as many times as there are turns before the last, and yields.
pub(crate) fn turns(count: usize) -> impl Script {
    move |asked: &Asked| {
        if asked.answers() + 1 < count {
            let read = Call::new("read", &json!({ "path": "README.md" }));
            return Answer::Says(Said { calls: vec![read], ..Said::default() });
        }
        Answer::yields(&json!("done"))
    }
}

pub(crate) fn agents(names: &str, count: usize) -> Plan {
    (0..count).fold(Plan::default(), |plan, at| {
        let name = format!("{names}{at}");
        plan.agent(&name, &marker(&name))
    })
}

pub(crate) fn begin(
    place: &Sandbox,
    repository: &Repository,
    model: &LoopbackModel,
    (names, count): (&str, usize),
) -> Invocation {
    run_with(place, repository, &agents(names, count), model).words("--jobs 64")
}

/// Returns the account that `regatta gates --json` shows.
fn account(place: &Sandbox, repository: &Repository) -> Value {
    let shown = place.regatta(repository.root()).words("gates --json").run().expect_code(0);
    shown.json()["accounts"][0].clone()
}

/// How many agents share a limit, how many turns each has, and how many requests are answered in each
/// window of time.
#[derive(Clone, Copy)]
struct Crowd {
    agents: usize,
    turns: usize,
    answered: usize,
    window: Duration,
}

/// 192 requests, which begin in four windows, the last of which need not be over.
const SIXTY_FOUR: Crowd =
    Crowd { agents: 64, turns: 3, answered: 60, window: Duration::from_secs(3) };

/// 24 requests, which begin in two windows.
const TWELVE: Crowd =
    Crowd { agents: 12, turns: 2, answered: 14, window: Duration::from_millis(900) };

impl Crowd {
    fn requests(self) -> usize {
        self.agents * self.turns
    }

    /// Returns how long they need at least.
    fn needed(self) -> Duration {
        let windows = (self.requests() - 1) / self.answered;
        self.window * u32::try_from(windows).expect("there are a few")
    }

    /// Runs them. No request may come before the time that the server tells, but for those that come
    /// within `grace` of a refusal.
    fn run(self, place: &Sandbox, grace: Duration, most: Duration) {
        test_limit::waits("each window has to be over");
        let repository = place.repository();
        let model = LoopbackModel::start();
        model.pace(Pace::Events);
        model.otherwise(move |_| Box::new(turns(self.turns)));
        model.limit_many(self.answered, self.window, grace);
        let began = Instant::now();
        let finished = begin(place, &repository, &model, ("t", self.agents)).run().expect_code(0);
        let took = began.elapsed();
        assert_eq!(model.take_violations(), Vec::<String>::new(), "{took:?}");
        assert_eq!(finished.events_of("run_finished")[0]["done"], self.agents);
        assert_eq!(model.requests(), self.requests(), "each turn was answered once");
        assert!(took >= self.needed(), "{took:?}");
        test_limit::took_at_most(took, most, model.refused());
    }
}

#[test]
fn many_agents_share_a_limit_that_the_server_counts() {
    let crowd = by_depth(TWELVE, SIXTY_FOUR);
    crowd.run(&sandbox(), grace(), crowd.needed().mul_f64(1.3) + Duration::from_secs(3));
}

#[test]
fn sixty_four_agents_of_the_release_build_send_nothing_50_ms_after_a_refusal() {
    // CI runs this by itself: nothing else holds up the engine or the model.
    let name = "sixty_four_agents_of_the_release_build_send_nothing_50_ms_after_a_refusal";
    let Ok(release) = std::env::var("REGATTA_RELEASE") else {
        return skip(name, "REGATTA_RELEASE names no binary");
    };
    let most = SIXTY_FOUR.needed().mul_f64(1.3);
    SIXTY_FOUR.run(&Sandbox::new(&release), Duration::from_millis(50), most);
}

#[test]
fn two_engines_share_a_limit_also_when_one_of_them_is_killed() {
    test_limit::waits("each window has to be over");
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.pace(Pace::Events);
    let (agents, each) = by_depth((6, 2), (16, 3));
    let window = by_depth(Duration::from_millis(700).mul_f64(slowdown()), Duration::from_secs(2));
    model.otherwise(move |_| Box::new(turns(each)));
    model.limit_many(10, window, grace());
    let mut killed = begin(&place, &repository, &model, ("a", agents)).start();
    let mut other = begin(&place, &repository, &model, ("b", agents)).start();
    for engine in [&mut killed, &mut other] {
        engine.until_event("a request waits", |event| event["event"]["type"] == "auto_retry_start");
    }
    let both = account(&place, &repository);
    assert_eq!((&both["provider"], &both["engines"]), (&json!("loopback"), &json!(2)), "{both}");
    assert!(both["waiting"].as_u64().is_some_and(|waiting| waiting > 0), "{both}");
    let _killed = killed.kill();
    let finished = other.wait().expect_code(0);
    assert_eq!(model.take_violations(), Vec::<String>::new(), "{finished}");
    assert_eq!(finished.events_of("run_finished")[0]["done"], agents);
    let nobody = account(&place, &repository);
    assert_eq!((&nobody["engines"], &nobody["in_use"]), (&json!(0), &json!(0)), "{nobody}");
}

#[test]
fn where_engines_cannot_share_limits_each_holds_them_alone_and_that_is_told() {
    let place = sandbox();
    let repository = place.repository();
    // No folder can be made where a file is.
    let shared = place.home().folder().join("state/gates");
    fs::create_dir_all(shared.parent().unwrap()).unwrap();
    fs::write(&shared, "no folder").unwrap();
    let model = LoopbackModel::start();
    model.pace(Pace::Events);
    model.otherwise(|_| Box::new(turns(by_depth(1, 3))));
    // More than three of them ask in one window, on a busy machine too.
    model.limit_many(3, Duration::from_millis(300).mul_f64(slowdown()), grace());
    let finished = begin(&place, &repository, &model, ("t", 6)).run().expect_code(0);
    let told = "the limits of accounts hold for this process only";
    let warnings = |stderr: &str| stderr.lines().filter(|line| line.contains(told)).count();
    assert_eq!(warnings(&finished.stderr), 1, "{finished}");
    assert!(finished.stderr.contains(&shared.display().to_string()), "{finished}");
    assert_eq!(model.take_violations(), Vec::<String>::new(), "{finished}");
    assert!(model.refused() > 0, "the limit was met");
    assert_eq!(finished.events_of("run_finished")[0]["done"], 6);
    // So does a session.
    let answers = LoopbackModel::start();
    answers.talk("s", |_: &Asked| Answer::text("hello"));
    let session = place.regatta(repository.root()).arg("-p").arg("--model").arg(answers.route());
    let session = session.arg("--base-url").arg(answers.base_url()).arg(marker("s"));
    let session = session.run().expect_code(0);
    assert_eq!((session.stdout.as_str(), warnings(&session.stderr)), ("hello\n", 1), "{session}");
}

#[test]
fn limits_that_cannot_be_shared_any_more_in_the_middle_of_a_run_are_told_once() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.pace(Pace::Events);
    // When the first request arrives, another process takes the lock of what is shared, and keeps it.
    let (gates, held) = (place.home().folder().join("state/gates"), Arc::new(Mutex::new(None)));
    let keeps = Arc::clone(&held);
    model.otherwise(move |_| {
        let (gates, held) = (gates.clone(), Arc::clone(&keeps));
        let mut next = turns(3);
        Box::new(move |asked: &Asked| {
            held.lock().unwrap().get_or_insert_with(|| {
                let state = files(&gates).into_iter().find(|it| it.ends_with("state"));
                let state = fs::File::open(state.expect("it is shared")).expect("it can be read");
                state.lock().expect("it is free soon");
                state
            });
            next.next(asked)
        })
    });
    let finished = begin(&place, &repository, &model, ("t", 8)).run().expect_code(0);
    assert!(held.lock().unwrap().is_some(), "{finished}");
    assert_eq!(finished.events_of("run_finished")[0]["done"], 8);
    let told = finished.events_of("session_event").into_iter().map(|event| event["event"].clone());
    let told: Vec<_> = told.filter(|event| event["type"] == "notice").collect();
    let [notice] = told.as_slice() else { panic!("one notice, not {told:?}") };
    let said = notice["message"].as_str().expect("it is a text");
    assert!(said.contains("the limits of loopback at"), "{said}");
    assert!(said.ends_with("now hold for this process only"), "{said}");
}

/// Returns the files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn the_limits_of_the_users_file_hold_and_a_cancel_ends_a_wait_at_once() {
    // One request has more tokens than a minute may have, and so goes alone.
    for limit in ["requestsPerMinute: 1", "tokensPerMinute: 100"] {
        limit_of_a_minute(limit);
    }
}

fn limit_of_a_minute(limit: &str) {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.otherwise(|_| Box::new(turns(1)));
    write_models(
        &place,
        &format!(
            "providers:\n  gate: {{ baseUrl: '{}', auth: none, api: openai-completions, \
             limits: {{ {limit} }}, models: [{{ id: m }}] }}\n",
            model.base_url()
        ),
    );
    let plan = agents("t", 2);
    let mut run = place.run_plan(&repository, &plan).words("--model gate/m").start();
    let wait = run.until_event("one waits for the other", |event| event["waits_for"].is_object());
    let reason = wait["line"].as_str().unwrap_or_default();
    assert!(reason.contains("limit per minute of gate at http://127.0.0.1"), "{wait}");
    let (account, until) = (&wait["waits_for"]["account"], &wait["waits_for"]["until"]);
    assert!(
        account.as_str().is_some_and(|it| it.starts_with("gate at http://127.0.0.1")),
        "{wait}"
    );
    assert!(until.as_str() > wait["at"].as_str(), "{wait}");
    let shown = place.regatta(repository.root()).words("gates").run().expect_code(0);
    assert!(shown.stdout.contains("gate at http://127.0.0.1"), "{shown}");
    let cancelled = SystemTime::now();
    run.signal(Signal::INT);
    let finished = run.wait();
    let end = finished.task(wait["task"].as_str().expect("it is a task that waits"));
    assert_eq!(end["outcome"], "cancelled", "{limit}: {finished}");
    let ended: protocol::Timestamp =
        serde_json::from_value(end["at"].clone()).expect("each event has a time");
    let cancelled = cancelled.duration_since(UNIX_EPOCH).expect("the epoch is over").as_millis();
    let cancelled = i64::try_from(cancelled).expect("it is a time of today");
    // Each clock is read to a millisecond.
    let took = u64::try_from(ended.as_millisecond() - cancelled + 1).expect("it ends after that");
    // The minute is not over by then.
    let at_once = Duration::from_secs(2);
    test_limit::took_at_most(Duration::from_millis(took), at_once, format!("{limit}: {finished}"));
    assert!(model.requests() <= 1, "{finished}");
}

#[test]
fn a_person_goes_before_all_runs_that_wait_for_the_same_account() {
    test_limit::waits("each answer takes a while");
    let (others, tasks, answers) = by_depth((2, 2, 3), (4, 3, 4));
    // Long enough for a person whose turn is over to ask again meanwhile.
    let answering = Duration::from_millis(by_depth(70, 200)).mul_f64(by_depth(slowdown(), 1.0));
    let place = sandbox();
    let model = LoopbackModel::start();
    model.pace(Pace::Events);
    let came: Arc<Mutex<Vec<bool>>> = Arc::default();
    let log = Arc::clone(&came);
    model.otherwise(move |_| {
        let log = Arc::clone(&log);
        Box::new(move |_: &Asked| {
            log.lock().expect("nobody panics").push(false);
            Answer::yields(&json!("done")).after(answering)
        })
    });
    let log = Arc::clone(&came);
    let mut next = turns(answers);
    model.talk("person", move |asked: &Asked| {
        log.lock().expect("nobody panics").push(true);
        if asked.answers() + 1 == answers {
            return Answer::text("hello");
        }
        next.next(asked).after(answering)
    });
    model.talk("first0", |_: &Asked| Answer::Held);
    let first = ("first", place.repository());
    let runs = ["a", "b", "c", "d"].into_iter().take(others);
    let runs: Vec<_> = runs.map(|name| (name, place.repository())).collect();
    let one = |run: Invocation| run.env("REGATTA_PROVIDER_MAX_CONCURRENCY", "1");
    let start = |(name, repository): &(&str, Repository), tasks| {
        one(begin(&place, repository, &model, (*name, tasks))).start()
    };
    let wait_until = |engines: usize, waiting: usize| {
        eventually(Duration::from_secs(60), "they wait", || {
            let account = account(&place, &first.1);
            (&account["engines"], &account["waiting"]) == (&json!(engines), &json!(waiting))
        });
    };
    // As long as the first one has the only place, no other had a turn.
    let holder = start(&first, 1);
    wait_until(1, 0);
    let runs: Vec<_> = runs.iter().map(|run| start(run, tasks)).collect();
    wait_until(1 + others, others * tasks);
    let session = place.regatta(first.1.root()).arg("-p").arg("--model").arg(model.route());
    let session = one(session.arg("--base-url").arg(model.base_url()).arg(marker("person")));
    let session = session.start();
    wait_until(2 + others, others * tasks + 1);
    let _killed = holder.kill();
    let session = session.wait().expect_code(0);
    assert_eq!(session.stdout, "hello\n", "{session}");
    for run in runs {
        let _done = run.wait().expect_code(0);
    }
    // Each time it gets the place that is free next, or the one after that if that was just given to
    // another.
    let order = came.lock().expect("nobody panics").clone();
    let all: Vec<usize> = (0..order.len()).filter(|at| order[*at]).collect();
    let requests = answers + others * tasks;
    assert_eq!((all.len(), all[0], order.len()), (answers, 0, requests), "{order:?}");
    let gaps: Vec<usize> = all.windows(2).map(|two| two[1] - two[0] - 1).collect();
    assert!(gaps.iter().all(|others| *others <= 2), "{gaps:?}: {order:?}");
}

#[test]
fn no_task_begins_that_would_ask_with_a_key_that_is_revoked_and_all_work_is_kept() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.demand_key("canary-key");
    let revoked = |asked: &Asked| match asked.answers() {
        0 => {
            let write = json!({ "path": format!("{}.txt", asked.prompt().len()), "content": "a" });
            Answer::calls(vec![Call::new("write", &write)])
        }
        _ => Answer::error(401, "invalid_api_key", "Incorrect API key provided"),
    };
    model.otherwise(move |_| Box::new(revoked));
    let run = run_with(&place, &repository, &agents("t", 40), &model).words("--jobs 4");
    let finished = run.env("LOOPBACK_API_KEY", "canary-key").run().expect_code(5);
    let ended = finished.events_of("task_finished");
    assert_eq!(ended.len(), 40);
    assert!(ended.iter().all(|end| end["failure"]["class"] == "auth"), "{finished}");
    // No task takes the place of one that ends in this way.
    let made = finished.events_of("workspace_ready").len();
    assert!(made <= 4, "{made} workspaces: {finished}");
    assert!(model.requests() <= 2 * made, "{}", model.requests());
    assert_eq!(finished.events_of("task_captured").len(), made, "{finished}");
    let told = |end: &&serde_json::Value| {
        end["failure"]["message"].as_str().is_some_and(|it| it.starts_with("it was not started:"))
    };
    assert_eq!(ended.iter().filter(told).count(), 40 - made, "{finished}");
}
