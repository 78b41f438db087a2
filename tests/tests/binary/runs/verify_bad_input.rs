//! Verifications that hang, flood, cannot be carried out, or make no sense.

use tests::sandbox::{Invocation, Plan};

use crate::binary::sandbox;

fn plan() -> Plan {
    Plan::default().task("a", "echo a > a.txt")
}

fn verified(run: Invocation, command: &str) -> Invocation {
    run.arg("--verify").arg(command)
}

#[test]
fn a_verification_that_hangs_floods_or_cannot_begin_keeps_the_work() {
    let place = sandbox();
    let repository = place.repository().watched();
    // One that hangs fails at its limit, with all that it started.
    let hangs = "test -e a.txt || exit 0; echo begun; (setsid sleep 300 &); sleep 300";
    let run = verified(place.run_plan(&repository, &plan()), hangs);
    let finished = run.words("--verify-timeout 300ms").run().expect_code(4);
    let event = &finished.events_of("task_unverified")[0];
    let message = event["message"].as_str().unwrap();
    assert!(message.contains("did not end within 300ms"), "{finished}");
    assert_eq!(event["end"], "begun\n");
    assert!(!repository.has("a.txt"), "{finished}");
    place.expect_nothing_left(&repository);

    // The output of one that floods is bounded.
    let floods = "test -e a.txt || exit 0; yes nonce-4711 | head -c 3000000; echo the last; exit 1";
    let run = verified(place.run_plan(&repository, &plan()), floods);
    let finished = run.words("--limit output=100KB").run().expect_code(4);
    let event = &finished.events_of("task_unverified")[0];
    let size = std::fs::metadata(event["output"].as_str().unwrap()).unwrap().len();
    assert!((90_000..120_000).contains(&size), "{size}");
    let end = event["end"].as_str().unwrap();
    assert!(end.len() <= 2000 && end.ends_with("the last\n"), "{end}");
    assert!(!repository.has("a.txt"), "{finished}");

    // One whose workspace cannot be set up does not begin.
    let unset = "test \"$REGATTA_TASK\" || { echo no task; exit 7; }";
    let run = verified(place.run_plan(&repository, &plan()), "true").arg("--setup").arg(unset);
    let finished = run.run().expect_code(4);
    let event = &finished.events_of("task_unverified")[0];
    assert_eq!(event["cause"], "verification", "{finished}");
    assert!(event["message"].as_str().unwrap().contains("code 7"), "{finished}");
    assert!(!repository.has("a.txt"), "{finished}");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_plan_names_the_verification_unless_it_is_invalid_and_the_command_line_goes_before_it() {
    let place = sandbox();
    let repository = place.repository().watched();
    let none = place.run_in(&repository).words("--verify true --merge none").exec("true").run();
    none.expect_refusal(&["--verify", "merge `none`", "--merge patch"]);
    let empty = Plan::default().top("verify = ['']").task("a", "true");
    place.run_plan(&repository, &empty).run().expect_refusal(&["empty", "2:"]);
    place.expect_nothing_left(&repository);
    let plan = Plan::default().top("verify = ['false']").task("a", "echo a > a.txt");
    let of_plan = place.run_plan(&repository, &plan).run().expect_code(4);
    assert_eq!(of_plan.names_in("task_unverified"), ["a"], "{of_plan}");
    let listed = place.run_plan(&repository, &plan).words("--dry-run").run().expect_code(0);
    assert_eq!(listed.json()["verify"][0], "false");
    let typed = verified(place.run_plan(&repository, &plan), "test -e a.txt").run().expect_code(0);
    assert_eq!(typed.landed(), ["a"], "{typed}");
}
