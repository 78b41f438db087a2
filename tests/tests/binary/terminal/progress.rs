//! What a person sees while a run goes on, and at its end.

use std::path::PathBuf;
use std::process::Command;

use tests::sandbox::{Plan, Repository, Sandbox};

use crate::binary::sandbox;

/// Runs the binary on a terminal of this many lines, and returns everything the terminal got.
fn on_a_terminal(place: &Sandbox, repository: &Repository, rows: u16, words: &[&str]) -> String {
    let call = place.regatta(repository.root()).env("TERM", "xterm-256color").into_command();
    let variables = call.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
    let line =
        format!("stty rows {rows} cols 80; {} {}", place.binary().display(), quoted.join(" "));
    let mut script = Command::new("script");
    script.env_clear().envs(variables).current_dir(repository.root());
    script.args(["-qefc", &line]).arg(screen(place));
    let output = script.output().expect("script can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The file that has what the terminal got so far.
fn screen(place: &Sandbox) -> PathBuf {
    place.folder().join("screen")
}

/// Returns the largest distance that the cursor is ever moved up at once.
fn highest_step_up(screen: &str) -> usize {
    let steps = screen.split("\u{1b}[").skip(1).filter_map(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        rest[digits.len()..].starts_with('A').then(|| digits.parse().unwrap_or(1))
    });
    steps.max().unwrap_or_default()
}

#[test]
fn without_a_terminal_nothing_is_redrawn_and_the_log_of_the_run_has_a_span_per_task_with_its_id() {
    let place = sandbox();
    let repository = place.repository();
    let plan = Plan::default().task("one", "echo at work; echo x > x.txt").task("two", "true");
    let run = place.regatta(repository.root()).words("run --plan -").stdin(plan.text());
    let finished = run.run().expect_code(0);
    for text in [&finished.stdout, &finished.stderr] {
        assert!(!text.contains('\u{1b}') && !text.contains('\r'), "{finished}");
    }
    let landed = finished.stderr.lines().find(|line| line.contains("one landed"));
    let landed = landed.unwrap_or_else(|| panic!("a plain line in {finished}"));
    let clock: Vec<_> = landed.split(' ').next().unwrap().split(':').collect();
    assert_eq!(clock.len(), 3, "it begins with the time: {landed}");
    for word in ["one", "two", "1 landed", "+1"] {
        assert!(finished.stdout.contains(word), "{word} in the table of {finished}");
    }
    let runs = place.home().ledger("SELECT name FROM run", |row| row.get::<_, String>(0));
    let log = place.home().log(&runs[0]);
    for task in ["one", "two"] {
        assert!(log.contains(&format!(" task={task} id=task_")), "a span of {task} in {log}");
    }
}

#[test]
fn a_live_view_never_has_more_lines_than_the_terminal() {
    let place = sandbox();
    let repository = place.repository();
    // Each goes on when it can be seen that there are more than fit.
    let seen = format!("grep -q 'more' {}", screen(&place).display());
    let script = format!("echo at work; until {seen}; do sleep 0.02; done");
    let plan =
        (0..20).fold(Plan::default(), |plan, task| plan.task(&format!("task-{task}"), &script));
    let file = place.folder().join("plan.toml");
    std::fs::write(&file, plan.text()).unwrap();
    let words = ["run", "--jobs", "16", "--limit", "wall=60s", "--plan", file.to_str().unwrap()];
    let screen = on_a_terminal(&place, &repository, 10, &words);
    let up = highest_step_up(&screen);
    assert!(up > 0, "it is redrawn in place: {screen:?}");
    assert!(up < 10, "{up} lines up on a terminal of 10");
    assert!(screen.contains("more"), "what does not fit is counted: {screen:?}");
}

#[test]
fn the_last_lines_say_what_landed_what_is_kept_and_how_to_get_it() {
    let place = sandbox();
    let repository = place.repository();
    repository.write("colour.txt", "white\n");
    repository.commit("a colour");
    let plan = Plan::default()
        .task("red", "echo red > colour.txt")
        .task("blue", "echo blue > colour.txt")
        .task("bad", "echo half > half.txt; exit 3");
    let run = place.regatta(repository.root()).words("run --plan -").stdin(plan.text());
    let finished = run.run().expect_code(3);
    for words in ["1 landed", "1 conflict", "1 failed", "colour.txt", "with red"] {
        assert!(finished.stdout.contains(words), "{words} in {finished}");
    }
    for line in ["regatta diff ", "regatta apply "] {
        assert!(finished.stdout.contains(line), "{line} in {finished}");
    }
    assert!(finished.stdout.contains("undo    regatta undo r"), "{finished}");
    // What is printed can be typed.
    let printed = finished.stdout.lines().filter_map(|line| {
        let at = line.find("regatta diff ")?;
        line[at..].split_whitespace().nth(2)
    });
    let printed: Vec<_> = printed.map(str::to_owned).collect();
    assert!(!printed.is_empty());
    for target in printed {
        let _shown =
            place.regatta(repository.root()).words("diff").arg(target).run().expect_code(0);
    }
}

#[test]
fn colour_is_for_terminals_and_for_who_asks_and_a_note_ends_before_the_first_frame() {
    let place = sandbox();
    let repository = place.repository();
    let coloured = |words: &str, no_color: &str| {
        let run = place.regatta(repository.root()).words(words).exec("true");
        let run = run.env("NO_COLOR", no_color);
        run.run().expect_code(0).stdout.contains("\u{1b}[")
    };
    assert!(!coloured("run", ""));
    assert!(coloured("run --color always", ""));
    assert!(!coloured("run --color never", ""));
    let words = ["run", "--pass-env", "PATH", "--exec", "echo x > x.txt"];
    let screen = on_a_terminal(&place, &repository, 24, &words);
    assert!(screen.contains("\u{1b}[3"), "green for what landed: {screen:?}");
    let (_, after) = screen.split_once("passes PATH on to what tasks run").expect("it is said");
    let frame = after.find("run r").expect("the first frame");
    assert!(after[..frame].contains("\r\n"), "{screen:?}");
}
