//! What an engine keeps is for its user only, whatever the umask is.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use tests::sandbox::{User, skip};

use crate::binary::sandbox;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

fn open_to_all(folder: &Path) {
    fs::create_dir_all(folder).expect("a folder can be made");
    fs::set_permissions(folder, Permissions::from_mode(0o755)).expect("a mode can be set");
}

#[test]
fn folders_of_data_are_closed_to_others_whatever_the_umask() {
    for umask in ["umask 000", "umask 022"] {
        let place = sandbox();
        let repository = place.repository();
        let home = place.home().folder().to_owned();
        // Folders that the user made stay; one that an older engine made is closed.
        open_to_all(&home);
        open_to_all(&home.join("data"));
        let workspaces = place.folder().join("fast");
        open_to_all(&workspaces);
        for isolation in [None, Some(&workspaces)] {
            let script = "stat -c %a ../../.. > mode.txt; umask >> mode.txt";
            let run = place.run_in(&repository).exec(script);
            let run = match isolation {
                Some(folder) => run.env("REGATTA_ISOLATION_DIR", folder),
                None => run,
            };
            let finished = run.after(umask).run().expect_code(0);
            // The umask itself stays, for the files of tasks.
            let expected = format!("700\n0{}\n", &umask["umask ".len()..]);
            assert_eq!(repository.text("mode.txt"), expected, "{umask}: {finished}");
        }
        assert_eq!([mode(&home), mode(&workspaces)], [0o755; 2], "{umask}: the user's own");
        for folder in ["data", "state"] {
            assert_eq!(mode(&home.join(folder)), 0o700, "{umask}: {folder}");
        }
    }
}

#[test]
fn another_user_reaches_nothing_of_what_an_engine_keeps() {
    let place = sandbox();
    let repository = place.repository();
    let Some(user) = User::fresh() else {
        return skip(
            "another_user_reaches_nothing_of_what_an_engine_keeps",
            "only root can be one",
        );
    };
    let home = place.home().folder().to_owned();
    open_to_all(place.folder());
    open_to_all(&home);
    let run = place.run_in(&repository).words("--merge none").exec("echo secret > secret.txt");
    let _finished = run.after("umask 000").run().expect_code(0);
    let mut find = Command::new("find");
    find.arg(&home).args(["-mindepth", "2"]).uid(user.id()).gid(user.id());
    let found = find.current_dir("/").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
    let denied = String::from_utf8_lossy(&found.stderr);
    assert!(denied.contains("data") && denied.contains("state"), "{denied}");
}
