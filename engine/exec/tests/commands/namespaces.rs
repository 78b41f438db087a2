//! The launcher in a fork inside other namespaces than those of the engine.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::{CancelToken, EndCause, OwnerEnd};

use crate::harness::{numbers, part, request, runs, shell};
use crate::owners::STRAY;

/// A program that runs another in a fork with its own user, mount and network namespaces.
fn unshare() -> Command {
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-current-user", "--mount", "--net", "--fork"]);
    unshare
}

#[test]
async fn a_launcher_in_a_fork_inside_other_namespaces_runs_commands_there_and_leaves_none() {
    let able = unshare().arg("true").output();
    let why = match able {
        Ok(able) if able.status.success() => None,
        Ok(able) => Some(String::from_utf8_lossy(&able.stderr).trim().to_owned()),
        Err(error) => Some(format!("cannot run unshare: {error}")),
    };
    if let Some(why) = why {
        return test_limit::skip("a_launcher_in_a_fork_inside_other_namespaces", &why);
    }
    let folder = tempfile::tempdir().unwrap();
    let launcher = part("launcher", folder.path());
    let mut inside = unshare();
    inside.arg(launcher.get_program()).args(launcher.get_args());
    for (name, value) in launcher.get_envs() {
        inside.env(name, value.unwrap());
    }
    let shell = shell(Duration::from_millis(300), inside);
    let script = format!(
        "tail -n +3 /proc/net/dev | cut -d: -f1; readlink /proc/self/ns/mnt >mounts
         {STRAY} until [ -s all ]; do :; done"
    );
    let outside = std::fs::read_link("/proc/self/ns/mnt").unwrap();
    for _owner in 0..2 {
        let request = request(folder.path(), "log", &script);
        let end = shell.run(request, Arc::new(|_| {}), CancelToken::default()).await.unwrap();
        assert_eq!(end.cause, EndCause::Exited(0));
        assert_eq!(end.last_line.unwrap().trim(), "lo", "there is no other interface");
        let read = |name| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_ne!(read("mounts").trim(), outside.to_str().unwrap());
        let strays = numbers(&read("all"));
        assert!(runs(&strays[0]));
        assert_eq!(shell.end().await, OwnerEnd::Childless);
        assert!(!runs(&strays[0]));
        std::fs::remove_file(folder.path().join("all")).unwrap();
    }
}
