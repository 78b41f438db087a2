//! What is wrong with the input of print mode, its folder, its files or its machine: one clear answer
//! each, nothing lost, and the session goes on afterwards.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use test_limit::{by_depth, sample};
use tests::model::{Answer, Asked, LoopbackModel, marker};
use tests::sandbox::{Finished, Invocation, Sandbox, SmallDisk, skip};

use crate::binary::sandbox;
use crate::binary::workspaces::disk::ReadOnly;

/// A place, and a model that says how many prompts it was told.
struct Scene {
    place: Sandbox,
    model: LoopbackModel,
    folder: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let (place, model) = (sandbox(), LoopbackModel::start());
        let folder = place.folder().join("work");
        fs::create_dir_all(&folder).expect("a folder can be made");
        let scene = Self { place, model, folder };
        scene.listen();
        scene
    }

    /// Lets the model answer a new conversation.
    fn listen(&self) {
        let count = |asked: &Asked| Answer::text(format!("answer {}", asked.answers() + 1));
        self.model.talk("s", count);
    }

    fn session(&self) -> Invocation {
        let session = self.place.regatta(&self.folder).words("-p --approval-mode yolo");
        session.arg("--model").arg(self.model.route()).arg("--base-url").arg(self.model.base_url())
    }

    /// Begins a session, which is answered.
    fn begin(&self) -> Finished {
        self.session().arg(prompt("first")).run().expect_code(0)
    }

    /// Continues the session, which is answered.
    fn go_on(&self) -> Finished {
        self.session().arg("-c").arg("and now?").run().expect_code(0)
    }

    /// Returns the only session file.
    fn file(&self) -> PathBuf {
        let mut files = self.place.home().session_files();
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }

    /// Returns the texts of the user in the last request.
    fn told(&self) -> Vec<String> {
        let asked = self.model.asked("s").pop().expect("the model was asked");
        let said = asked.messages().iter().filter(|message| message["role"] == "user");
        said.map(|message| match &message["content"] {
            Value::String(text) => text.clone(),
            parts => parts[0]["text"].as_str().unwrap_or_default().to_owned(),
        })
        .collect()
    }
}

fn prompt(text: &str) -> String {
    format!("{text} {}", marker("s"))
}

/// Checks that there is one error with these words, and no sign of a crash.
fn refused(done: Finished, words: &[&str]) -> Finished {
    done.expect_refusal(words);
    done
}

#[test]
fn an_output_that_nobody_reads_ends_it_quietly_and_the_answer_is_in_the_file() {
    for (output, mode) in [("| true", "text"), ("| true", "json"), (">&-", "text")] {
        let scene = Scene::new();
        let script = format!("{{ \"$0\" \"$@\"; echo \"code $?\" >&2; }} {output}");
        let session = scene.session().words("-q --mode").arg(mode).arg(prompt("first"));
        let done = session.shell(&script).run().expect_code(0);
        assert_eq!((&*done.stdout, &*done.stderr), ("", "code 0\n"), "{output} {mode}");
        if mode == "text" {
            assert!(fs::read_to_string(scene.file()).unwrap().contains("answer 1"), "{output}");
        }
    }
}

#[test]
fn a_standard_input_that_is_closed_is_none_and_without_a_prompt_it_is_one_error() {
    let scene = Scene::new();
    let script = "\"$0\" \"$@\" <&-";
    let session = scene.session().arg("-q").arg(prompt("first"));
    let done = session.shell(script).run().expect_code(0);
    assert_eq!((&*done.stdout, &*done.stderr), ("answer 1\n", ""));
    for nothing in [scene.session().shell(script), scene.session().stdin("")] {
        let _none = refused(nothing.run(), &["error: there is no prompt"]);
    }
    assert_eq!(scene.model.requests(), 1);
}

#[test]
fn neither_a_mistyped_command_nor_a_prompt_in_a_script_without_an_option_for_it_reaches_a_model() {
    let scene = Scene::new();
    let url = format!("--model {} --base-url {}", scene.model.route(), scene.model.base_url());
    let typed = |line: &str| {
        let session = scene.place.regatta(&scene.folder).words(&url).words(line);
        session.stdin("").run()
    };
    for (line, hint) in [
        ("appply @ blue", "try: regatta apply"),
        ("exec ls", " ls\n  try: regatta run --exec ls\n"),
        ("--yolo it", "try: --approval-mode yolo"),
        ("--allowedTools Read it", "try: --tools read\n"),
        ("--mode text appply @ blue", "try: regatta apply"),
        ("claude -p hello", " hello\n  try: regatta run"),
        ("-p explain the build", &format!("try: regatta -p {url} 'explain the build'")),
    ] {
        let _none = refused(typed(line), &["error: ", hint]);
    }
    for (line, hint) in [
        ("run list", "try: regatta runs"),
        ("run fix the tests", " 'fix the tests' (asks a model)\n"),
    ] {
        let run = scene.place.regatta(&scene.folder).words(line).words(&url).stdin("");
        let _none = refused(run.run(), &["error: ", hint]);
    }
    let session = scene.place.regatta(&scene.folder).words(&url).arg("fix it all");
    let why = "cannot begin a conversation: standard input is not a terminal";
    let _none = refused(
        session.stdin("").run(),
        &[why, &format!("try: regatta -p {url} 'fix it all' (answers")],
    );
    let json = scene.place.regatta(&scene.folder).words(&url).words("--json").arg("fix it all");
    let _none = refused(
        json.stdin("").run(),
        &[why, &format!("try: regatta -p {url} --json 'fix it all'")],
    );
    let dashes = scene.place.regatta(&scene.folder).words("--approval-mode ask -- undo @");
    let as_one = "try: regatta -p --approval-mode ask 'undo @' (answers";
    let _none = refused(dashes.stdin("").run(), &[why, as_one]);
    let listed = scene.place.regatta(&scene.folder).words(&url).arg("fix it all").arg("-r");
    let _none = refused(listed.stdin("").run(), &["`--resume` needs the id of a session"]);
    let alone = scene.place.regatta(&scene.folder);
    let _none = refused(alone.stdin("hi there").run(), &["no model is named"]);
    let alone = scene.place.regatta(&scene.folder).run().expect_code(0);
    assert!(alone.stdout.contains("Usage: regatta"), "{alone}");
    assert_eq!(scene.model.requests(), 0);
    let piped = scene.place.regatta(&scene.folder).words(&url).stdin(prompt("hi"));
    assert_eq!(piped.run().expect_code(0).stdout, "answer 1\n");
}

#[test]
fn a_prompt_of_megabytes_is_told_whole_now_and_when_the_session_goes_on() {
    let sizes = [(1 << 20, "pasted words\n"), (by_depth(1 << 20, 5 << 20), "größe\r\n")];
    for (size, line) in sample(sizes, 1) {
        let scene = Scene::new();
        // Not the threshold, but the window of a model decides what it can be told.
        scene.place.home().configure("compaction: { enabled: false }\n");
        let text = line.repeat(size / line.len());
        let first = scene.session().arg(prompt("What is it?")).stdin(text.clone());
        assert_eq!(first.run().expect_code(0).stdout, "answer 1\n");
        let whole = format!("{}\n{}", text.trim_end(), prompt("What is it?"));
        assert_eq!(scene.told(), [&*whole], "{size}");
        assert!(fs::metadata(scene.file()).unwrap().len() < 1 << 20, "{size}: a line has limits");
        let _more = scene.go_on();
        assert_eq!(scene.told(), [&*whole, "and now?"], "{size}");
    }
    let scene = Scene::new();
    let done = scene.session().arg("x").stdin(vec![b'a'; 17 << 20]).run();
    let _none = refused(done, &["standard input is too long for a prompt", "16 MiB"]);
    let done = scene.session().arg("x").stdin(b"a\0b".to_vec()).run();
    let _none = refused(done, &["standard input is not text"]);
    assert_eq!(scene.model.requests(), 0);
    let piped = b"\xff\xfec\0a\0f\0\xe9\0\r\0\n\0".to_vec();
    let _told = scene.session().arg(prompt("a")).stdin(piped).run().expect_code(0);
    assert_eq!(scene.told(), [format!("café\n{}", prompt("a"))]);
    scene.listen();
    let done = scene.session().arg(prompt("b")).stdin(b"caf\xe9".to_vec()).run().expect_code(0);
    assert!(done.stderr.contains("standard input is not UTF-8 throughout: 1 byte"), "{done}");
    assert_eq!(scene.told(), [format!("café\n{}", prompt("b"))]);
}

#[test]
fn a_folder_that_is_gone_is_one_error_and_one_that_goes_meanwhile_is_told_to_the_model() {
    let scene = Scene::new();
    let script = "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" \"$@\"";
    let done = scene.session().arg(prompt("first")).shell(script).run();
    let _none = refused(done, &["cannot work in"]);
    assert_eq!(scene.model.requests(), 0);

    let folder = scene.folder.clone();
    scene.model.talk("s", move |asked: &Asked| match asked.answers() {
        0 => {
            fs::remove_dir_all(&folder).expect("it can be removed");
            Answer::call("read", &json!({ "path": "a.txt" }))
        }
        1 => Answer::call("bash", &json!({ "command": "echo found" })),
        _ => Answer::text(asked.result()),
    });
    let done = scene.session().arg(prompt("first")).run().expect_code(0);
    assert!(!done.stdout.trim().is_empty() && !done.stderr.contains("panicked"), "{done}");
    assert!(!done.stdout.contains("found\n"), "{done}");
    let file = fs::read_to_string(scene.file()).unwrap();
    assert_eq!(file.matches("\"isError\":true").count(), 2, "{file}");
}

#[test]
fn a_file_that_a_clock_another_system_or_a_power_cut_changed_goes_on_and_keeps_its_bytes() {
    type Change = fn(&str) -> String;
    let changes: [(&str, Change); 5] = [
        ("a later time", |text| text.replace("\"timestamp\":\"20", "\"timestamp\":\"29")),
        ("CRLF", |text| text.replace('\n', "\r\n")),
        ("NULs between", |text| text.replace('\n', &format!("\n{}\n", "\0".repeat(4096)))),
        ("NULs at the end", |text| format!("{text}{}", "\0".repeat(512))),
        ("a cycle", |text| {
            let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
            text.replace("\"parentId\":null", &format!("\"parentId\":{}", last["id"]))
        }),
    ];
    let scene = Scene::new();
    let _done = scene.begin();
    let file = scene.file();
    let original = fs::read_to_string(&file).unwrap();
    let future = SystemTime::now() + Duration::from_secs(1_000_000_000);
    for (what, change) in changes {
        scene.listen();
        let changed = change(&original);
        fs::write(&file, &changed).unwrap();
        if what == "a later time" {
            File::options().append(true).open(&file).unwrap().set_modified(future).unwrap();
            let listed = scene.session().arg("--resume").run().expect_code(0);
            assert!(listed.stdout.contains("just now"), "{listed}");
        }
        assert_eq!(scene.go_on().stdout, "answer 2\n", "{what}");
        assert_eq!(scene.told(), [&*prompt("first"), "and now?"], "{what}");
        let kept = changed.trim_end_matches('\0');
        assert!(fs::read_to_string(&file).unwrap().starts_with(kept), "{what}");
        assert_eq!(scene.go_on().stdout, "answer 3\n", "{what}");
        assert_eq!(scene.told(), [&*prompt("first"), "and now?", "and now?"], "{what}");
        assert!(fs::read_to_string(&file).unwrap().starts_with(kept), "{what}");
    }
}

#[test]
fn a_home_that_cannot_be_written_is_one_error_before_anything_is_sent() {
    let scene = Scene::new();
    let _done = scene.begin();
    let home = scene.place.home().folder().to_owned();
    let _bound = match ReadOnly::over(&home) {
        Ok(bound) => bound,
        Err(why) => {
            return skip(
                "a_home_that_cannot_be_written_is_one_error_before_anything_is_sent",
                &why,
            );
        }
    };
    let before = fs::read(scene.file()).unwrap();
    for words in [&[][..], &["-c"]] {
        let session = words.iter().fold(scene.session(), |session, word| session.arg(word));
        let _none = refused(session.arg(prompt("more")).run(), &["read-only"]);
    }
    assert_eq!((scene.model.requests(), fs::read(scene.file()).unwrap()), (1, before));
}

/// Begins a session whose home is a disk of its own.
fn at_home(scene: &Scene, home: &Path, words: &[&str]) -> Finished {
    words.iter().fold(scene.session().home(home), |session, word| session.arg(word)).run()
}

#[test]
fn a_disk_that_is_full_when_an_answer_came_fails_it_and_keeps_the_prompt() {
    let scene = Scene::new();
    let _done = scene.begin();
    // The prompt is the first that is appended, the answer the second.
    let more = scene.session().fault("full@session.append:2").words("-c more").run();
    let more = refused(more, &["cannot write the session log", "no storage space"]);
    assert_eq!((more.stdout.as_str(), scene.model.requests()), ("", 2), "{more}");
    let file = fs::read_to_string(scene.file()).unwrap();
    assert!(file.contains("\"more\"") && !file.contains("answer 2"), "{file}");
    assert_eq!(scene.go_on().stdout, "answer 2\n");
    assert_eq!(scene.told(), [&*prompt("first"), "more", "and now?"]);
    assert!(fs::read_to_string(scene.file()).unwrap().starts_with(&file));
    let lost = scene.model.take_violations();
    assert!(matches!(&lost[..], [only] if only.contains("answer 2")), "only it is lost: {lost:?}");
}

#[test]
fn a_disk_that_is_full_fails_the_prompt_and_what_was_said_goes_on_when_there_is_room() {
    let scene = Scene::new();
    let home = scene.place.folder().join("small");
    let disk = match SmallDisk::mount(&home, 4 << 10) {
        Ok(disk) => disk,
        Err(why) => {
            return skip(
                "a_disk_that_is_full_fails_the_prompt_and_what_was_said_goes_on_when_there_is_room",
                &why,
            );
        }
    };
    let first = prompt("first");
    let _done = at_home(&scene, &home, &[&first]).expect_code(0);
    let sessions = tests::sandbox::Home::at(&home).session_files();
    let before = fs::read(&sessions[0]).unwrap();
    // There is room for a line of a log, but not for this one.
    disk.fill(64);
    let long = "long ".repeat(20_000);
    let full = refused(at_home(&scene, &home, &["-c", &long]), &["no space left"]);
    assert_eq!(scene.model.requests(), 1, "what is not in the file is not sent: {full}");
    assert!(fs::read(&sessions[0]).unwrap().starts_with(&before), "{full}");
    fs::remove_file(home.join("ballast")).unwrap();
    let done = at_home(&scene, &home, &["-c", "and now?"]).expect_code(0);
    assert_eq!(done.stdout, "answer 2\n");
    assert_eq!(scene.told(), [&*first, "and now?"], "{done}");
}
