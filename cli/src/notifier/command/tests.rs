//! Commands for notifications: what they get, when they may run, and that nothing of them is left.

use std::fs;

use config::Origin;
use regatta::trust::project_settings;
use serde_json::json;
use test_limit::{eventually, slowdown};

use super::*;

/// How long a command may take that does not hang, and how long is waited for its effects.
const PATIENCE: Duration = Duration::from_secs(30);

async fn run_in_time(command: &str, notice: &Value) -> Result<(), String> {
    run_one(command, None, notice, PATIENCE.mul_f64(slowdown())).await
}

#[test]
async fn a_command_gets_the_object_and_its_failure_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("read");
    let notice = json!({ "type": "run_end", "run": "r1" });
    assert_eq!(run_in_time(&format!("cat > '{}'", file.display()), &notice).await, Ok(()));
    let read = fs::read_to_string(&file).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&read).unwrap(), notice);
    assert_eq!(run_in_time("true", &json!({ "text": "x".repeat(1 << 20) })).await, Ok(()));
    let why = run_in_time("echo no >&2; exit 3", &notice).await.unwrap_err();
    assert_eq!(why, "exit status: 3");
}

/// Returns whether a process lives whose number is in a file.
fn is_alive(file: &Path) -> bool {
    let id = fs::read_to_string(file).unwrap_or_default();
    let status = fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
    let state = status.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

#[test]
async fn nothing_of_a_command_is_left_when_it_has_ended_was_late_or_was_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("id");
    let leaves = format!("sleep 600 & echo $! > '{}'", file.display());
    let hangs = format!("{leaves}; sleep 600");
    let notice = json!({});
    assert_eq!(run_in_time(&leaves, &notice).await, Ok(()));
    assert!(file.exists());
    eventually(PATIENCE, "what it left is killed", || !is_alive(&file));
    let why = run_one(&hangs, None, &notice, Duration::from_millis(50)).await.unwrap_err();
    assert!(why.contains("it took longer than"), "{why}");
    eventually(PATIENCE, "what was late is killed", || !is_alive(&file));
    fs::remove_file(&file).unwrap();
    let running = start(&hangs, None).unwrap();
    eventually(PATIENCE, "it runs", || is_alive(&file));
    drop(running);
    eventually(PATIENCE, "what was given up is killed", || !is_alive(&file));
}

#[test]
async fn a_command_of_a_project_runs_at_its_root_while_what_it_runs_is_as_it_was_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let root = folder.path().canonicalize().unwrap().join("project");
    fs::create_dir_all(root.join(".regatta")).unwrap();
    let write = |path: &str, text: &str| fs::write(root.join(path), text).unwrap();
    write(".regatta/config.yml", "notify: [sh n.sh, sh n.sh]\n");
    write("n.sh", "echo told >> told\n");
    let variable = |name: &str| (name == "REGATTA_HOME").then(|| data.clone().into_os_string());
    let places = DataPaths::resolve(variable).unwrap();
    project_settings(&places, Some(&root)).unwrap().trust(&places).unwrap();
    let setting = project_settings(&places, Some(&root)).unwrap().loaded.settings.notify;
    let commands = Commands::new(setting.clone(), places.clone());
    let told = || fs::read_to_string(root.join("told")).unwrap_or_default().lines().count();
    let notice = json!({});
    let limit = PATIENCE.mul_f64(slowdown());
    let mut warnings = Warnings::default();
    commands.run_within(&notice, limit, &mut warnings).await;
    assert_eq!((told(), &warnings), (2, &Warnings::default()));
    for (path, text) in
        [("n.sh", "touch other\n"), (".regatta/config.yml", "\nnotify: touch other\n")]
    {
        write(path, text);
        commands.run_within(&notice, limit, &mut warnings).await;
        commands.run_within(&notice, limit, &mut warnings).await;
        assert!(!root.join("other").exists() && told() == 2, "{path}");
    }
    let lines = warnings.lines();
    assert!(lines[0].contains("config.yml:1: `notify` or what it runs has changed"), "{lines:?}");
    assert_eq!(lines.len(), 1, "{lines:?}");
    // One that was typed is the user's own.
    let origin = Origin::CommandLine { flag: "--notify".to_owned() };
    let typed = Setting { value: vec![format!("touch '{}/typed'", root.display())], origin };
    let mut warnings = Warnings::default();
    Commands::new(typed, places).run_within(&notice, limit, &mut warnings).await;
    assert!(root.join("typed").exists() && warnings.lines().is_empty());
}
