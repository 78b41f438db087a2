//! The end of an owner: nothing is left of what its commands have started, however it hides.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::ports::{
    CancelToken, CommandError, CommandOwner, Commands as _, EndCause, OwnerEnd, VariableChoice,
};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getrlimit, kill_process, set_child_subreaper, setrlimit,
};
use test_limit::{InTime, Tries};
use tokio::task::JoinSet;

use crate::harness::{Harness, numbers, part, request, runs, shell, until, wait_until};

/// How many times as long as a crowd of processes that are killed at once a bomb may live, on a busy
/// machine.
const CROWDS: u32 = 10;

/// Leaves a process in a session of its own, which notes its number.
pub(crate) const STRAY: &str = "setsid sh -c 'echo $$ >>all; exec sleep 600' >/dev/null 2>&1 &";

pub(crate) fn living(harness: &Harness) -> Vec<String> {
    numbers(&harness.read("all")).into_iter().filter(|process| runs(process)).collect()
}

/// Returns the parent of a process.
pub(crate) fn parent(process: &str) -> Pid {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, rest) = stat.rsplit_once(") ").unwrap();
    Pid::from_raw(rest.split(' ').nth(1).unwrap().parse().unwrap()).unwrap()
}

#[test]
async fn what_left_the_group_lives_until_the_end_of_the_owner_who_then_can_go_on() {
    let harness = Harness::new();
    for round in 1..=3 {
        let end = harness.run(&format!("{STRAY} until [ -s all ]; do :; done")).await;
        assert_eq!(end.cause, EndCause::Exited(0));
        harness.appears("all").await;
        assert_eq!(living(&harness).len(), 1, "round {round}");
        assert_eq!(harness.shell.end().await, OwnerEnd::Childless);
        assert_eq!(living(&harness), Vec::<String>::new());
        std::fs::remove_file(harness.path("all")).unwrap();
    }
}

#[test]
async fn an_owner_that_started_nothing_ends_childless() {
    let harness = Harness::new();
    assert_eq!(harness.shell.end().await, OwnerEnd::Childless);
    harness.run("true").await;
    assert_eq!(harness.shell.end().await, OwnerEnd::Childless);
    assert_eq!(harness.shell.end().await, OwnerEnd::Childless);
}

#[test]
async fn a_reaper_serves_one_owner_after_the_other_and_no_two_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let commands = crate::harness::commands(part("launcher", folder.path()));
    let reaper = async |owner: &Arc<dyn CommandOwner>| {
        let request = request(folder.path(), "log", "echo $PPID");
        let end = owner.run(request, Arc::new(|_| {}), CancelToken::default()).await.unwrap();
        end.last_line.unwrap()
    };
    let owner_of =
        |commands: &Arc<exec::Shell>| Arc::clone(commands).owner(&VariableChoice::default());
    let (first, second) = (owner_of(&commands), owner_of(&commands));
    let (one, two) = (reaper(&first).await, reaper(&second).await);
    assert_ne!(one, two);
    assert_eq!(reaper(&first).await, one, "an owner keeps its reaper");
    assert_eq!(first.end().await, OwnerEnd::Childless);
    assert_eq!(reaper(&owner_of(&commands)).await, one, "another owner gets it");
}

#[test]
async fn an_owner_that_is_dropped_takes_everything_along() {
    let harness = Harness::new();
    harness.run(&format!("{STRAY} until [ -s all ]; do :; done")).await;
    let left = living(&harness);
    assert_eq!(left.len(), 1);
    drop(harness);
    wait_until(|| !left.iter().any(|process| runs(process)));
}

/// The part of a process that adopts its orphans: they do not come back to the reaper.
pub(crate) fn subreaper(folder: &Path) {
    set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let script = format!("({STRAY}); ({STRAY}); exit");
    let status = Command::new("sh").args(["-c", &script]).current_dir(folder).status();
    assert!(status.unwrap().success());
    let all = folder.join("all");
    wait_until(|| std::fs::read_to_string(&all).is_ok_and(|all| numbers(&all).len() == 2));
    std::fs::write(folder.join("ready"), "").unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
async fn the_orphans_of_one_that_makes_itself_a_subreaper_are_found_below_it() {
    let harness = Harness::new();
    let subreaper = part("subreaper", &harness.path(""));
    let mut script = String::from("setsid env");
    for (name, value) in subreaper.get_envs() {
        let value = value.unwrap().to_str().unwrap();
        script += &format!(" {}='{value}'", name.to_str().unwrap());
    }
    script += &format!(" '{}'", subreaper.get_program().to_str().unwrap());
    for argument in subreaper.get_args() {
        script += &format!(" '{}'", argument.to_str().unwrap());
    }
    script += " >/dev/null 2>&1 & until [ -e ready ]; do sleep 0.01; done";
    assert_eq!(harness.run(&script).await.cause, EndCause::Exited(0));
    let left = living(&harness);
    assert_eq!(left.len(), 2);
    assert_eq!(parent(&left[0]), parent(&left[1]));
    assert_eq!(harness.shell.end().await, OwnerEnd::Childless);
    assert_eq!(living(&harness), Vec::<String>::new());
}

#[test]
async fn what_a_killed_reaper_has_left_comes_to_the_launcher_and_is_killed_there() {
    let harness = Harness::new();
    let script =
        format!("{STRAY} until [ -s all ]; do :; done; echo $$ >>all; : >ready; sleep 600");
    let run = harness.ask(harness.request(&script), CancelToken::default());
    let kill = async {
        harness.appears("ready").await;
        let command = numbers(&harness.read("all")).pop().unwrap();
        kill_process(parent(&command), Signal::KILL).unwrap();
    };
    let (ended, ()) = tokio::join!(run, kill);
    let error = ended.unwrap_err();
    assert!(matches!(error, engine::ports::CommandError::Launcher { .. }), "{error:?}");
    let all = numbers(&harness.read("all"));
    assert_eq!(all.len(), 2);
    // The next command gets another reaper, and the launcher can vouch for the first.
    assert_eq!(harness.run("echo ran").await.last_line.as_deref(), Some("ran"));
    assert_eq!(harness.shell.end().await, OwnerEnd::Childless);
    assert!(!all.iter().any(|process| runs(process)));
}

#[test]
async fn nobody_knows_what_is_left_when_a_reaper_and_its_launcher_were_killed() {
    let harness = Harness::new();
    harness.run(&format!("{STRAY} until [ -s all ]; do :; done")).await;
    let reaper = parent(&living(&harness)[0]);
    let launcher = parent(&reaper.to_string());
    // The launcher would kill what the reaper has left, and its death wakes a suspended reaper. So
    // both are suspended, and the reaper goes first.
    for process in [launcher, reaper] {
        kill_process(process, Signal::STOP).unwrap();
        let stat = format!("/proc/{process}/stat");
        until(move || std::fs::read_to_string(&stat).unwrap().contains(") T ")).await;
    }
    for process in [reaper, launcher] {
        kill_process(process, Signal::KILL).unwrap();
    }
    assert_eq!(harness.shell.end().await, OwnerEnd::Unknown);
    for stray in living(&harness) {
        kill_process(Pid::from_raw(stray.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    }
}

#[test]
async fn a_bomb_of_forking_processes_is_gone_in_a_second() {
    test_limit::alone("processes that fork for ever leave no processor to other tests");
    let harness = Harness::new();
    // They begin when the lock is released, all at once.
    let processes = test_limit::by_depth(60, 200);
    let bomb = "count=COUNT; exec 8>gate; flock -x 8
        i=0; while [ $i -lt $count ]; do
            setsid sh -c 'echo $$ >>all; flock -s gate true; (: &); echo >>forked
                while :; do (: &); done' 8<&- >/dev/null 2>&1 &
            i=$((i + 1))
        done
        until [ $(cat all | wc -l) -eq $count ]; do sleep 0.01; done
        exec 8<&-
        until [ $(cat forked | wc -l) -eq $count ]; do sleep 0.01; done";
    let bomb = bomb.replace("COUNT", &processes.to_string());
    let mut tries = Tries::new(1, 2);
    while tries.go_on() {
        for file in ["all", "forked"] {
            std::fs::write(harness.path(file), "").unwrap();
        }
        let before = test_limit::crowd(u32::try_from(processes).unwrap());
        assert_eq!(harness.run(&bomb).await.cause, EndCause::Exited(0));
        // Each has forked. A shell ends that finds no number free for one more process.
        let lasting = living(&harness).len();
        assert!((processes / 4..=processes).contains(&lasting), "{lasting}");
        let began = Instant::now();
        let end = harness.shell.end().await;
        let took = began.elapsed();
        let crowd = before.max(test_limit::crowd(u32::try_from(processes).unwrap()));
        let in_time = InTime::of(took, Duration::from_secs(1), crowd * CROWDS);
        if in_time == InTime::Yes {
            assert_eq!(end, OwnerEnd::Childless);
        }
        let left = living(&harness);
        until(move || !left.iter().any(|process| runs(process))).await;
        tries.count("a bomb", in_time);
    }
}

#[test]
async fn arguments_too_long_for_a_message_arrive_whole() {
    let harness = Harness::new();
    let mut request = harness.request("printf %s \"$1$LONG\" | wc -c");
    request.arguments = vec!["x".repeat(100_000)];
    request.environment.insert("LONG".to_owned(), "y".repeat(100_000).into());
    let end = harness.ask(request, CancelToken::default()).await.unwrap();
    assert_eq!(end.last_line.as_deref(), Some("200000"));
    let mut request = harness.request("true");
    request.arguments = vec!["x".repeat(1 << 20)];
    let error = harness.ask(request, CancelToken::default()).await.unwrap_err();
    let engine::ports::CommandError::Failed { source, .. } = &error else { panic!("{error:?}") };
    assert_eq!(source.raw_os_error(), Some(7), "the argument list is too long: {source}");
}

#[test]
fn more_commands_than_can_be_sent_at_once_are_queued_and_all_run() {
    test_limit::raise(Duration::from_secs(300), "on a busy machine each takes ten milliseconds");
    let folder = tempfile::tempdir().unwrap();
    let mut queued = part("queued", folder.path());
    let output = queued.env("REGATTA_TEST_LIMIT", "300").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The part of the process that asks one owner for thousands of commands at once. It takes all the
/// descriptors that it can get.
pub(crate) fn queued(folder: &Path) {
    let count = test_limit::by_depth(700, 10_000);
    let most = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: most.maximum, ..most }).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let shell = shell(Duration::from_millis(700), part("launcher", folder));
    // The socket of the reaper has room for some of them. The others wait for that.
    let start = |number: usize| {
        let (shell, request) = (Arc::clone(&shell), request(folder, &format!("{number}.log"), ":"));
        async move { (number, shell.run(request, Arc::new(|_| {}), CancelToken::default()).await) }
    };
    runtime.block_on(async {
        let mut commands: JoinSet<_> = (0..count).map(start).collect();
        let (mut ran, mut refused) = (0, Vec::new());
        while let Some(ended) = commands.join_next().await {
            match ended.unwrap() {
                (_, Ok(end)) => {
                    assert_eq!(end.cause, EndCause::Exited(0));
                    ran += 1;
                }
                // The process has not enough descriptors for all of them.
                (number, Err(CommandError::Resources { .. })) => refused.push(number),
                (_, Err(error)) => panic!("{error:?}"),
            }
            // Each that has ended makes room for one, and the last of those that run for all.
            let again = if commands.is_empty() { refused.len() } else { refused.len().min(1) };
            for number in refused.split_off(refused.len() - again) {
                commands.spawn(start(number));
            }
        }
        assert_eq!((ran, shell.end().await), (count, OwnerEnd::Childless));
    });
}
