//! What the tasks of a run are told by the user and by the repository.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;
use tests::model::{Answer, Asked, LoopbackModel, marker};
use tests::sandbox::Plan;

use crate::binary::agents::work::run_with;
use crate::binary::sandbox;

#[test]
fn tasks_read_64_kilobytes_of_the_context_files_of_the_snapshot_and_the_branch_of_the_run() {
    let place = sandbox();
    let repository = place.repository();
    let (home, outside) = (place.home(), place.home().folder().join("outside.md"));
    home.configure("");
    fs::write(home.config_file().with_file_name("AGENTS.md"), "Of the user {{ 7 * 6 }}.").unwrap();
    fs::write(&outside, "a secret").unwrap();
    repository.write("CLAUDE.md", "Of the root.");
    let long = format!("Of the folder. {}", "word ".repeat(20_000));
    repository.write("sub/deep/AGENTS.md", long);
    repository.commit("Add notes");
    // What is not committed belongs to the snapshot too.
    repository.write("CLAUDE.md", "Of the root, changed.");
    symlink("CLAUDE.md", repository.path("AGENTS.md")).unwrap();
    symlink(&outside, repository.path("sub/AGENTS.md")).unwrap();
    let model = LoopbackModel::start();
    let mut plan = Plan::default().top("jobs = 1");
    for name in ["one", "two"] {
        // The first task changes the file before the second begins.
        model.talk(name, move |asked: &Asked| match asked.answers() {
            0 => Answer::call("write", &json!({ "path": "../../CLAUDE.md", "content": name })),
            _ => Answer::yields(&json!("done")),
        });
        plan = plan.agent(name, &marker(name));
    }
    let plan = plan.after(&["one"]);
    let run = run_with(&place, &repository, &plan, &model);
    let finished = run.arg("--repo").arg(repository.path("sub/deep")).run().expect_code(0);
    let system = |name: &str| {
        let asked = model.asked(name).remove(0);
        asked.messages()[0]["content"].as_str().expect("a system prompt is a text").to_owned()
    };
    let prompt = system("one");
    assert_eq!(prompt, system("two"), "{finished}");
    let texts = ["Of the user {{ 7 * 6 }}.", "Of the root, changed.", "Of the folder."];
    let places: Vec<_> = texts.iter().map(|text| prompt.find(text)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} {prompt}");
    assert!(!prompt.contains("a secret"), "{prompt}");
    let told = format!("{finished}");
    assert!(told.contains("all context files together are longer than 64 KB"), "{told}");
    assert!(prompt.contains("Of the folder. word") && prompt.len() < 70_000, "{}", prompt.len());
    assert!(prompt.contains("[The rest is left out"), "{prompt}");
    assert!(prompt.contains("\nBranch: main\n") && prompt.contains(" Add notes\n"), "{prompt}");
    let root = repository.root().to_str().expect("the path is a text");
    assert!(!prompt.contains(root), "the folder of a task is its own: {prompt}");
}

/// Returns the system prompt of a request.
fn system_of(asked: &Asked) -> String {
    asked.messages()[0]["content"].as_str().expect("a system prompt is a text").to_owned()
}

#[test]
fn a_session_asks_with_the_same_bytes_to_its_end_and_reads_the_files_again_when_it_is_continued() {
    let place = sandbox();
    let repository = place.repository();
    repository.write("AGENTS.md", "Of the beginning.");
    repository.commit("Begin");
    let model = LoopbackModel::start();
    let change = "echo 'Of the end.' > AGENTS.md && git checkout -q -b other && \
                  git -c user.name=a -c user.email=a@b commit -q -a -m 'Change the notes'";
    model.talk("s", move |asked: &Asked| match asked.answers() {
        0 => Answer::call("bash", &json!({ "command": change })),
        _ => Answer::text("done"),
    });
    let session = || {
        let session = place
            .regatta(repository.root())
            .words("-p --approval-mode yolo --model")
            .arg(model.route());
        session.arg("--base-url").arg(model.base_url())
    };
    let _done = session().arg("--").arg(marker("s")).arg("second").run().expect_code(0);
    let systems: Vec<_> = model.asked("s").iter().map(system_of).collect();
    assert_eq!(systems.len(), 3, "a call, its answer, the second prompt");
    assert!(systems.iter().all(|system| *system == systems[0]), "{systems:?}");
    assert!(systems[0].contains("Of the beginning.") && systems[0].contains(" Begin\n"));
    assert_eq!(model.take_violations(), [""; 0]);

    let _more = session().arg("-c").arg("third").run().expect_code(0);
    let now = system_of(&model.asked("s")[3]);
    for text in ["Of the end.", "\nBranch: other\n", " Change the notes\n"] {
        assert!(now.contains(text), "{text}: {now}");
    }
    assert!(!now.contains("Of the beginning."), "{now}");
    let changed = model.take_violations();
    assert!(changed.iter().all(|it| it.contains("message 0 was")), "nothing else: {changed:?}");
}

#[test]
fn a_session_is_told_what_the_options_and_one_file_of_each_folder_say_and_says_what_is_cut() {
    let place = sandbox();
    let repository = place.repository();
    let home = place.home();
    home.configure("");
    fs::write(home.config_file().with_file_name("AGENTS.md"), "Of the user.").unwrap();
    repository.write("CLAUDE.md", format!("Of the root. {}", "a".repeat(40_000)));
    repository.write("sub/AGENTS.md", "Of the folder between.");
    repository.write("sub/CLAUDE.md", "Not this one.");
    repository.write("sub/deep/CLAUDE.md", format!("Of the folder. {}", "#".repeat(40_000)));
    repository.write("sub/deep/own.md", "Be an owl.");
    let folder = repository.path("sub/deep");
    let model = LoopbackModel::start();
    model.talk("s", |_: &Asked| Answer::text("Done."));
    let ask = |options: &[&str]| {
        let session =
            place.regatta(&folder).words("-p --approval-mode yolo --model").arg(model.route());
        let session = session.arg("--base-url").arg(model.base_url());
        let session = options.iter().fold(session, |session, option| session.arg(option));
        let done = session.arg(marker("s")).run().expect_code(0);
        let asked = model.asked("s").pop().expect("it was asked");
        let _other_conversation = model.take_violations();
        (system_of(&asked), done)
    };
    let (prompt, done) = ask(&[]);
    assert!(prompt.starts_with("You are a coding agent. You work with the user"), "{prompt}");
    let tools = "Your tools: `read`, `write`, `edit`, `notebook`, `bash`, `job`, `grep`, `find`, `ls`, \
                 `todo_write`, `task`.";
    assert!(prompt.contains(tools), "{prompt}");
    let shown = folder.canonicalize().unwrap();
    assert!(prompt.contains(&format!("\nFolder: {}\n", shown.display())), "{prompt}");
    let texts = ["Of the user.", "Of the root.", "Of the folder between.", "Of the folder. ###"];
    let places: Vec<_> = texts.iter().map(|text| prompt.find(text)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
    assert!(!prompt.contains("Not this one."));
    let kept = prompt.matches('#').count();
    assert!((24_000..26_000).contains(&kept), "{kept} of 40,000 are within 64 KB");
    let told: Vec<_> = done.stderr.lines().filter(|line| line.contains("64 KB in all")).collect();
    let path = "sub/deep/CLAUDE.md";
    let expected =
        format!("warning: the model reads only a part of {path}: context files have 64 KB in all");
    assert_eq!(told, [expected], "{done}");

    let own = ["--system-prompt", "own.md", "--append-system-prompt", "And {{ kind }}."];
    let (prompt, _done) = ask(&[&own[..], &["--no-context-files"]].concat());
    assert!(prompt.starts_with("Be an owl.\n"), "{prompt}");
    assert!(prompt.ends_with("\n\nAnd {{ kind }}."), "{prompt}");
    assert!(!prompt.contains("Of the folder."), "{prompt}");
}
