use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn account() -> AccountId {
    AccountId::of_provider("acme")
}

fn files() -> (tempfile::TempDir, GateFiles) {
    let folder = tempfile::tempdir().unwrap();
    let files = GateFiles::new(folder.path().join("gates"));
    files.prepare().unwrap();
    (folder, files)
}

/// Returns what is shared, and puts `after` in its place.
fn swap(member: &mut dyn SharedAccount, after: &[u8]) -> Vec<u8> {
    let mut found = Vec::new();
    let change = &mut |before: &[u8], _: &dyn Fn(&str) -> bool| {
        found = before.to_vec();
        after.to_vec()
    };
    member.update(change).unwrap();
    found
}

#[test]
fn members_share_the_bytes_of_their_account_and_of_no_other() {
    let (_folder, files) = files();
    let mut one = files.join(&account()).unwrap();
    let mut two = files.join(&account()).unwrap();
    let mut other = files.join(&AccountId::of_provider("../other")).unwrap();
    assert_ne!(one.member(), two.member());
    assert_eq!(swap(one.as_mut(), b"longer"), b"");
    assert_eq!(swap(two.as_mut(), b"short"), b"longer");
    assert_eq!(swap(one.as_mut(), b""), b"short");
    assert_eq!(swap(other.as_mut(), b"x"), b"");
    assert!(one.now() <= two.now());
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = files.of_this_boot().unwrap().join("acme");
    assert_eq!((mode(folder.clone()), mode(folder.join(STATE))), (0o700, 0o600));
}

#[test]
fn a_member_is_there_until_it_is_dropped() {
    let (_folder, files) = files();
    let mut one = files.join(&account()).unwrap();
    let two = files.join(&account()).unwrap();
    let name = two.member().to_owned();
    let mut is_there = |name: &str| {
        let mut found = None;
        let change = &mut |before: &[u8], is_there: &dyn Fn(&str) -> bool| {
            found = Some(is_there(name));
            before.to_vec()
        };
        one.update(change).unwrap();
        found.unwrap()
    };
    assert!(is_there(&name) && !is_there("a-b-c") && !is_there("../acme/state") && !is_there(""));
    drop(two);
    assert!(!is_there(&name));
}

#[test]
fn who_does_not_let_go_of_the_state_is_given_up() {
    let (_folder, files) = files();
    let mut one = files.join(&account()).unwrap();
    let state = files.of_this_boot().unwrap().join("acme").join(STATE);
    let held = File::open(state).unwrap();
    held.lock().unwrap();
    let error = one.update(&mut |_, _| panic!("it is not called")).unwrap_err();
    assert!(error.to_string().contains("does not let go"), "{error}");
    drop(held);
    assert_eq!(swap(one.as_mut(), b""), b"");
}

#[test]
fn what_is_too_large_or_no_folder_is_no_state() {
    let (folder, files) = files();
    let mut one = files.join(&account()).unwrap();
    let state = files.of_this_boot().unwrap().join("acme").join(STATE);
    File::create(&state).unwrap().set_len(LARGEST as u64 + 1).unwrap();
    assert_eq!(swap(one.as_mut(), b"x"), b"");
    assert_eq!(files.reports().unwrap(), [], "it says nothing of an account");
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = GateFiles::new(&file).prepare().unwrap_err().to_string();
    assert!(error.contains("cannot create") && error.contains("file"), "{error}");
    assert!(GateFiles::new(&file).join(&account()).is_err());
}
