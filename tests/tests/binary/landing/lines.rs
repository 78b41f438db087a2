//! Many hands in one file.

use test_limit::sample;
use tests::sandbox::Plan;

use crate::binary::sandbox;

#[test]
fn insertions_into_one_file_all_land_and_of_two_tasks_that_rewrite_one_line_one_is_kept() {
    let place = sandbox();
    let repository = place.repository();
    let lines: Vec<_> = (1..=2000).map(|number| format!("line {number} of the book\n")).collect();
    repository.write("book.txt", lines.concat());
    repository.write("colour.txt", "first\nthe colour is white\nlast\n");
    repository.commit("a long book");
    let git = repository.dot_git();

    let script = |at: usize| format!("sed -i '{at}a inserted after {at}' book.txt");
    let places = sample((0..32).map(|task| 30 + task * 60), 8);
    let plan = Plan::default()
        .task("red", "sed -i s/white/red/ colour.txt; echo red > red.txt")
        .task("blue", "sed -i s/white/blue/ colour.txt; echo blue > blue.txt");
    let plan = places.iter().fold(plan, |plan, at| plan.task(&format!("at-{at}"), &script(*at)));
    let finished = place.run_plan(&repository, &plan).words("--jobs 4").run().expect_code(4);
    assert_eq!(finished.landed().len(), places.len() + 1, "{finished}");

    let mut expected = lines;
    for at in places {
        expected[at - 1].push_str(&format!("inserted after {at}\n"));
    }
    assert_eq!(repository.text("book.txt"), expected.concat());
    assert_eq!(repository.text("colour.txt"), "first\nthe colour is red\nlast\n");
    assert!(!repository.has("blue.txt"), "a task lands whole or not at all");

    let conflicts = finished.events_of("task_conflicted");
    assert_eq!(conflicts.len(), 1, "{finished}");
    let conflict = &conflicts[0]["conflicts"][0];
    assert_eq!(conflicts[0]["task"], "blue");
    assert_eq!(conflict["path"], "colour.txt");
    assert_eq!(conflict["reason"], "content");
    assert_eq!(conflict["with"], "red");
    for side in ["base", "ours", "theirs"] {
        let id = conflict[side]["oid"].as_str().unwrap();
        let text = place.home().store_git(&["cat-file", "blob", id]);
        let colour = match side {
            "base" => "white",
            "ours" => "red",
            _ => "blue",
        };
        assert!(text.contains(colour), "{side} is {text}");
    }

    let target = format!("{}/blue", finished.run_name());
    let diff = place.regatta(repository.root()).words("diff").arg(target).run().expect_code(0);
    assert!(diff.stdout.contains("-the colour is white\n+the colour is blue\n"), "{diff}");
    assert!(diff.stdout.contains("+++ b/blue.txt"), "{diff}");

    assert_eq!(git.differences(&repository.dot_git()), Vec::<String>::new());
    place.expect_nothing_left(&repository);
}
