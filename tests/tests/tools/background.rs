//! Commands in the background, their folders, and the shell that runs them.

use std::sync::{Arc, Mutex};

use engine::ports::{
    CancelLevel, CommandOwner, CommandShell, CommandTerminal, EndCause, ShortOutput, ToolOutcome,
};
use serde_json::json;
use tokio::sync::Notify;

use super::commands::{InBackground, Script};
use super::meddling::MeddledArtifacts;
use super::session::{Session, Setting, ViewKind};

over_both_views! {
    what_ends_in_the_background_is_told_once_with_its_output,
    a_background_command_is_read_awaited_and_ended_by_its_number,
    at_most_fifteen_commands_run_in_the_background,
    what_the_session_stops_is_not_told,
    a_named_session_goes_on_where_its_last_command_has_ended,
    variables_of_a_call_are_those_of_its_command_and_judged_with_it,
    a_command_runs_in_the_shell_of_the_user_after_one_snapshot,
}

over_both_views! {
    #[test(start_paused = true)]
    a_background_command_ends_at_its_timeout_and_a_wait_at_its_own,
    an_end_just_when_a_wait_is_over_is_told_with_the_end_of_the_output,
    a_profile_that_hangs_is_done_without_after_two_seconds,
    the_snapshot_is_taken_with_a_session_and_again_if_that_one_ended_before,
}

fn script(session: &Session, script: Script) {
    *session.commands.script.lock().unwrap() = script;
}

/// Starts a command that runs until it is stopped.
async fn start(session: &Session) -> String {
    script(session, Script::Wait);
    let started = session.said("bash", json!({ "command": "serve", "background": true })).await;
    session.commands.waits.notified().await;
    started
}

async fn job(session: &Session, action: &str, id: u64) -> String {
    session.said("job", json!({ "action": action, "id": id })).await
}

/// Waits until something was told.
async fn told(session: &Session) -> Vec<String> {
    session.background.news.notified().await;
    session.background.told.lock().unwrap().clone()
}

async fn what_ends_in_the_background_is_told_once_with_its_output(kind: ViewKind) {
    let session = Session::new(kind).await;
    script(&session, Script::Print(b"one\n\x1b[1mtwo\x1b[0m\n".to_vec(), EndCause::Exited(3)));
    let call = json!({ "command": "npm run dev", "background": true });
    let started = session.answer("bash", call).await;
    let expected = "Background command 1 is running; its output is artifact://0. Its end reaches you as a \
                    message; use job to read, await or end it.";
    assert_eq!(started.text, expected);
    let details = json!({ "id": 1, "running": true, "artifact": "0.bash.log" });
    assert_eq!(started.details, Some(details));
    let told = told(&session).await;
    let expected = "Background command 1 exited with code 3 after 0 s: npm run dev\n\nIts last output:\n\
                    one\ntwo\n\n[All of it: artifact://0]";
    assert_eq!(told, [expected]);
    let listed = session.answer("job", json!({})).await;
    let row = "Background command 1 exited with code 3 after 0 s: npm run dev [artifact://0]";
    assert_eq!(listed.text, row);
    let requests = session.commands.requests.lock().unwrap();
    assert_eq!(requests[0].short, ShortOutput::File, "it can be read meanwhile");
}

async fn a_background_command_is_read_awaited_and_ended_by_its_number(kind: ViewKind) {
    let session = Session::new(kind).await;
    assert_eq!(session.said("job", json!({})).await, "(no background commands)");
    start(&session).await;
    let read = job(&session, "read", 1).await;
    assert!(
        read.starts_with("Background command 1 is running for 0 s: serve\n\nhalf\n\n["),
        "{read}"
    );
    let read = session.said("job", json!({ "job_id": "1" })).await;
    assert!(read.contains("\n\n(no new output)\n\n[All output: artifact://0]"), "{read}");
    script(&session, Script::Nothing);
    session.said("bash", json!({ "command": "true" })).await;
    let ended = session.answer("job", json!({ "action": "end", "id": 1 })).await;
    assert!(
        ended.text.starts_with("Background command 1 was stopped after 0 s: serve"),
        "{ended:?}"
    );
    let details = json!({ "id": 1, "running": false, "exitCode": null, "artifact": "0.bash.log" });
    assert_eq!(ended.details, Some(details));
    let again = job(&session, "wait", 1).await;
    assert!(again.starts_with("Background command 1 was stopped after 0 s: serve"), "{again}");
    assert!(session.background.told.lock().unwrap().is_empty(), "who has ended it knows");
    let unknown = session.failed("job", json!({ "action": "read", "id": 7 })).await;
    assert_eq!(unknown, "there is no background command 7; there are: 1");
    let missing = session.failed("job", json!({ "action": "end" })).await;
    assert!(missing.contains("/id: is missing; job with the action list says"), "{missing}");
}

async fn at_most_fifteen_commands_run_in_the_background(kind: ViewKind) {
    let session = Session::new(kind).await;
    for _ in 0..15 {
        start(&session).await;
    }
    let call = json!({ "command": "one more", "background": true });
    let refused = session.failed("bash", call.clone()).await;
    let expected =
        "15 commands run in the background already; end one with job, or wait for one: 1, 2, ";
    assert!(refused.starts_with(expected), "{refused}");
    job(&session, "end", 4).await;
    let started = session.said("bash", call).await;
    assert!(started.starts_with("Background command 16 is running"), "{started}");
}

async fn what_the_session_stops_is_not_told(kind: ViewKind) {
    let session = Session::new(kind).await;
    start(&session).await;
    session.background.stop.cancel(CancelLevel::AtOnce);
    let ended = job(&session, "wait", 1).await;
    assert!(ended.starts_with("Background command 1 was stopped"), "{ended}");
    assert!(session.background.told.lock().unwrap().is_empty());
}

async fn a_background_command_ends_at_its_timeout_and_a_wait_at_its_own(kind: ViewKind) {
    let session = Session::new(kind).await;
    script(&session, Script::Wait);
    let call = json!({ "command": "serve", "background": true, "timeout": 90 });
    session.said("bash", call).await;
    let begun = tokio::time::Instant::now();
    let running = job(&session, "wait", 1).await;
    assert!(running.starts_with("Background command 1 is running for 60 s"), "{running}");
    assert_eq!(begun.elapsed().as_secs(), 60);
    let told = told(&session).await;
    assert!(told[0].starts_with("Background command 1 timed out after 90 seconds"), "{told:?}");
}

async fn a_named_session_goes_on_where_its_last_command_has_ended(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("sub/deep/x", "");
    let ends_in = |folder: &std::path::Path| {
        let printed = format!("out\n\n\x1b]7;{}\x1b\\", folder.display());
        script(&session, Script::Print(printed.into_bytes(), EndCause::Exited(0)));
    };
    let named = |command: &str| json!({ "command": command, "session": "build" });
    ends_in(&session.at("sub/deep"));
    assert_eq!(session.said("bash", named("cd sub/deep; echo out")).await, "out");
    let access = session.access("bash", named("ls"));
    let in_folder = format!("{access:?}").contains(&session.at("sub/deep").display().to_string());
    assert!(in_folder, "it is judged where it runs: {access:?}");
    ends_in(session.beside("elsewhere").as_path());
    let said = session.said("bash", named("cd /elsewhere")).await;
    let told = "out\n\n[The folder it ended in is outside of the working tree and is not kept]";
    assert_eq!(said, told);
    session.said("bash", named("pwd")).await;
    session.said("bash", json!({ "command": "pwd", "session": "other" })).await;
    let requests = session.commands.requests.lock().unwrap();
    let folders: Vec<_> = requests.iter().map(|request| request.folder.clone()).collect();
    let (root, deep) = (session.at(""), session.at("sub/deep"));
    let root = root.components().collect::<std::path::PathBuf>();
    assert_eq!(folders, [root.clone(), deep.clone(), deep, root]);
    assert!(requests[0].script.starts_with("exec 2>&1; trap 'cd -P . && printf"));
}

async fn variables_of_a_call_are_those_of_its_command_and_judged_with_it(kind: ViewKind) {
    let session = Session::new(kind).await;
    let call = json!({ "command": "make", "env": { "PORT": 8080, "TASK": "mine" } });
    session.said("bash", call.clone()).await;
    let access = session.access("bash", call);
    assert!(format!("{access:?}").contains("PORT='8080'; TASK='mine'; make"), "{access:?}");
    session.said("bash", json!({ "command": "make", "pty": true })).await;
    {
        let requests = session.commands.requests.lock().unwrap();
        let value = |name: &str| requests[0].environment[name].to_str().unwrap();
        assert_eq!((value("PORT"), value("TASK"), value("PAGER")), ("8080", "mine", "cat"));
        let terminals = [0, 1].map(|at| {
            let term = requests[at].environment["TERM"].to_str().unwrap();
            (requests[at].terminal, term.to_owned())
        });
        let none = (CommandTerminal::None, "dumb".to_owned());
        let own = (CommandTerminal::Own, "xterm-256color".to_owned());
        assert_eq!(terminals, [none, own]);
    }
    for name in ["", "A=B", "A\0", "#", "ls #"] {
        let call = json!({ "command": "make", "env": { name: "x" } });
        let refused = session.failed("bash", call).await;
        assert!(refused.contains("/env: a name has letters"), "{name:?}: {refused}");
    }
}

async fn a_command_runs_in_the_shell_of_the_user_after_one_snapshot(kind: ViewKind) {
    let setting = Setting { shell: Some("/bin/bash"), ..Setting::default() };
    let session = Session::with(kind, setting).await;
    for command in ["ll", "it's"] {
        session.said("bash", json!({ "command": command })).await;
    }
    let requests = session.commands.requests.lock().unwrap();
    let snapshot = session.beside("shells/bash").display().to_string();
    assert_eq!(requests[0].script, r#"exec "$1" -i -c "$2" "$1" "$3""#);
    assert_eq!(
        (&requests[0].arguments[0][..], &requests[0].arguments[2]),
        ("/bin/bash", &snapshot)
    );
    assert_eq!(requests[0].keep, 0, "what the profile prints is kept nowhere");
    let read = format!(". '{snapshot}' >/dev/null 2>&1\neval ");
    let inner: Vec<_> = requests[1..].iter().map(|request| request.arguments[1].clone()).collect();
    assert_eq!(inner, [format!("{read}'ll'"), format!(r"{read}'it'\''s'")]);
    assert_eq!(requests[1].script, r#"exec 2>&1; exec "$1" -c "$2""#);
}

async fn the_snapshot_is_taken_with_a_session_and_again_if_that_one_ended_before(kind: ViewKind) {
    let setting = Setting { shell: Some("/bin/bash"), ..Setting::default() };
    let session = Session::with(kind, setting).await;
    let commands: Arc<dyn CommandOwner> = session.commands.clone();
    let count = || session.commands.requests.lock().unwrap().len();
    let begin = |shell, background: &InBackground| {
        session.tools().prepare(shell, &commands, background);
    };
    script(&session, Script::Wait);
    begin(CommandShell::Plain, &session.background);
    begin(CommandShell::User, &session.background);
    session.commands.waits.notified().await;
    begin(CommandShell::User, &InBackground::default());
    tokio::task::yield_now().await;
    assert_eq!(count(), 1, "the other one waits for it");
    session.background.stop.cancel(CancelLevel::AtOnce);
    script(&session, Script::Nothing);
    let next = InBackground::default();
    while count() == 1 {
        begin(CommandShell::User, &next);
        tokio::task::yield_now().await;
    }
    session.said("bash", json!({ "command": "ll" })).await;
    begin(CommandShell::User, &next);
    tokio::task::yield_now().await;
    let requests = session.commands.requests.lock().unwrap();
    assert_eq!(requests.len(), 3, "two snapshots and the command");
    assert!(requests[2].arguments[1].ends_with("eval 'll'"), "{:?}", requests[2]);
}

async fn an_end_just_when_a_wait_is_over_is_told_with_the_end_of_the_output(kind: ViewKind) {
    let session = Session::new(kind).await;
    let end = Arc::<Notify>::default();
    script(&session, Script::Until(Arc::clone(&end)));
    session.said("bash", json!({ "command": "serve", "background": true })).await;
    session.commands.waits.notified().await;
    // It ends when the call has looked at how large its output is.
    let session = session.with_artifacts(|artifacts| {
        let meddle: Box<dyn FnOnce() + Send> = Box::new(move || end.notify_one());
        Arc::new(MeddledArtifacts { artifacts, meddle: Mutex::new(Some(meddle)) })
    });
    let over = session.said("job", json!({ "action": "wait", "id": 1, "timeout": 1 })).await;
    assert!(over.starts_with("Background command 1 is running for 1 s: serve\n\nhalf\n"), "{over}");
    let told = told(&session).await;
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("Background command 1 exited with code 0"), "{told:?}");
    assert!(told[0].contains("Its last output:\nthe end\n"), "{told:?}");
}

async fn a_profile_that_hangs_is_done_without_after_two_seconds(kind: ViewKind) {
    let setting = Setting { shell: Some("/bin/bash"), ..Setting::default() };
    let session = Session::with(kind, setting).await;
    script(&session, Script::Wait);
    let begun = tokio::time::Instant::now();
    let call = json!({ "command": "x", "timeout": 5 });
    let outcome = session.call("bash", call).await;
    assert!(matches!(outcome, ToolOutcome::Failed(_)), "{outcome:?}");
    assert_eq!(begun.elapsed().as_secs(), 7, "two for the profile and five for the command");
    let requests = session.commands.requests.lock().unwrap();
    assert_eq!(requests[1].arguments, ["/bin/bash", "eval 'x'"]);
}

#[test]
async fn functions_aliases_options_and_path_of_the_user_are_there_and_nothing_else_of_a_profile() {
    let setting = Setting { shell: Some("/bin/bash"), ..Setting::default() };
    let session = Session::with(ViewKind::Directory, setting).await;
    let home = session.beside("home");
    std::fs::create_dir_all(&home).unwrap();
    let profile = "case $- in *i*) ;; *) return;; esac\necho noise; read -p 'your name? ' name\n\
        alias greet='echo hello'\nshout() { printf '%s!\\n' \"${1/+(x)/it\\'s}\"; }\n\
        export FROM_PROFILE=1\nPATH=\"$HOME/my bin:$PATH\"\nshopt -s extglob\nalias mv='mv -i'\n";
    std::fs::write(home.join(".bashrc"), profile).unwrap();
    script(&session, Script::Run(home.clone()));
    let command = "greet; shout xx; echo ${FROM_PROFILE-none} $TASK\n\
                   echo \"$PATH\"; cat <<'END'\na 'b'\nEND";
    let said = session.said("bash", json!({ "command": command })).await;
    let path = format!("{}/my bin:/usr/bin:/bin", home.display());
    assert_eq!(said, format!("hello\nit's!\nnone t1\n{path}\na 'b'"));
    let call = json!({ "command": "echo $PATH; exit 3", "env": { "PATH": "/bin" } });
    assert_eq!(session.failed("bash", call).await, "/bin\n\nCommand exited with code 3");
    let named = |command: &str| json!({ "command": command, "session": "s" });
    session.put("a b/x", "");
    assert_eq!(session.said("bash", named("cd 'a b'; greet")).await, "hello");
    assert_eq!(session.said("bash", named("ls; cd ..; exit 0")).await, "x");
    assert_eq!(session.said("bash", named("ls -d 'a b'")).await, "a b");
}
