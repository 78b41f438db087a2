//! The live view, as it stands on the screen of a terminal.

use test_limit::{by_depth, sample};
use tests::sandbox::{Plan, Repository, Sandbox, Screen};

use crate::binary::sandbox;

/// The reasons of the tasks that fail, by their names.
const REASONS: [(&str, &str); 4] = [
    ("auth", "not logged in"),
    ("billing", "no such file"),
    ("search", "the index is corrupt"),
    ("docs", "no such page: \"start\""),
];

/// A plan of tasks that fail, each with a reason, and one that waits for the file `go`.
fn failing(place: &Sandbox) -> Plan {
    let plan = REASONS.iter().fold(Plan::default(), |plan, (task, reason)| {
        plan.task(task, &format!("echo '{reason}' >&2; exit 1"))
    });
    let go = place.folder().join("go");
    plan.task("waits", &format!("until [ -e {} ]; do sleep 0.02; done", go.display()))
}

fn start(place: &Sandbox, repository: &Repository, plan: &Plan, size: (u16, u16)) -> Screen {
    let file = place.folder().join("plan.toml");
    std::fs::write(&file, plan.text()).expect("a plan can be written");
    let call = place.regatta(repository.root()).words("run --jobs 5 --plan").arg(file);
    call.on_a_screen(size.0, size.1)
}

fn go(place: &Sandbox) {
    std::fs::write(place.folder().join("go"), "").expect("a file can be written");
}

/// Checks that each failed task has one line with its name and reason on the screen.
fn has_every_reason(text: &str) -> bool {
    REASONS.iter().all(|(task, reason)| {
        let line = format!("✗ {task}  command: {reason}");
        text.lines().filter(|shown| shown.starts_with(&line)).count() == 1
    })
}

fn has_frame(text: &str) -> bool {
    text.contains(" waits ") && text.contains("4 of 5 · 4 failed")
}

#[test]
fn each_failed_task_is_on_the_screen_once_with_its_reason_while_others_work_and_after_a_resize() {
    for size in sample([(24, 80), (50, 200)], 1) {
        let place = sandbox();
        let repository = place.repository();
        let mut screen = start(&place, &repository, &failing(&place), size);
        let shown = |text: &str| has_every_reason(text) && has_frame(text);
        let text = screen.until("every reason above the live view", shown);
        let sizes = by_depth(
            vec![(24, 50), (12, 120), (24, 80)],
            vec![(24, 50), (24, 120), (12, 80), (50, 200), (24, 80)],
        );
        let (last_reason, frame) = (text.rfind('✗'), text.find("run r"));
        assert!(last_reason < frame, "the frame is below the reasons:\n{text}");
        for (rows, columns) in sizes {
            let written = screen.bytes().len();
            screen.resize(rows, columns);
            let what = format!("every reason after a resize to {columns} by {rows}");
            let _text = screen.until(&what, |text| {
                // The screen is written again, and a frame of the new width follows.
                screen.bytes()[written..].contains("\u{1b}[H") && shown(text)
            });
        }
        go(&place);
        assert_eq!(screen.wait().code(), Some(3), "{}", screen.text());
        let text = screen.text();
        assert!(has_every_reason(&text), "{text}");
        assert!(!text.contains("4 of 5"), "the frame is gone:\n{text}");
    }
}

#[test]
fn a_conflict_is_on_the_screen_with_its_path_and_what_a_failed_command_says_moves_no_cursor() {
    let place = sandbox();
    let repository = place.repository();
    repository.write("colour.txt", "white\n");
    repository.commit("a colour");
    let hostile = r"printf '\033[2J\033[1;1Hnot \007logged\033]0;x\007 in %s\r\n' $(seq 100) >&2";
    let plan = Plan::default()
        .task("red", "echo red > colour.txt")
        .task("blue", "echo blue > colour.txt")
        .task("auth", &format!("{hostile}; exit 1"));
    let mut screen = start(&place, &repository, &plan, (24, 80));
    assert_eq!(screen.wait().code(), Some(3), "{}", screen.text());
    let text = screen.text();
    let line = "✗ blue  conflict: colour.txt, with red";
    assert!(text.lines().any(|shown| shown == line), "{text}");
    assert!(
        text.lines().any(|line| line.starts_with("✗ auth  command: not logged in 100")),
        "{text}"
    );
    assert!(!screen.bytes().contains("\u{1b}[2J"), "{text}");
}

#[test]
fn when_everything_has_landed_the_live_view_ends_with_the_name_of_the_run() {
    let place = sandbox();
    let repository = place.repository();
    let plan = Plan::default().task("one", "echo x > x.txt");
    let mut screen = start(&place, &repository, &plan, (24, 80));
    assert!(screen.wait().success(), "{}", screen.text());
    let text = screen.text();
    let first = text.lines().next().unwrap_or_default();
    let name = first.strip_prefix("run ").and_then(|rest| rest.split(' ').next());
    assert!(first.contains(" ended after "), "{text}");
    let shown = place.regatta(repository.root()).words("runs show").arg(name.unwrap()).run();
    assert!(shown.expect_code(0).stdout.contains("one"), "{text}");
}

#[test]
fn of_many_failures_each_has_its_line() {
    let count = by_depth(60, 300);
    let place = sandbox();
    let repository = place.repository();
    let items = place.folder().join("items");
    let lines: String = (1..=count).map(|number| format!("{number}\n")).collect();
    std::fs::write(&items, lines).expect("a list can be written");
    let call = place.regatta(repository.root()).words("run --jobs 8 --each");
    let call = call.arg(format!("@{}", items.display()));
    let script = "echo reason {{item}} of many >&2; exit 1";
    let mut screen = call.exec(script).on_a_screen(24, 80);
    assert_eq!(screen.wait().code(), Some(5), "{}", screen.text());
    let bytes = screen.bytes();
    for number in 1..=count {
        let reason = format!("✗\u{1b}[0m {number}  command: reason {number} of many (code 1)");
        assert_eq!(bytes.matches(&reason).count(), 1, "{number}");
    }
}
