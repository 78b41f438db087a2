use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::*;
use tempfile::TempDir;

struct Place {
    folder: TempDir,
    store: KeyStore,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let store = KeyStore::new(folder.path().join("config/auth.json"));
    Place { folder, store }
}

fn names(store: &KeyStore) -> Vec<(String, String, String)> {
    let keys = store.read().unwrap().keys.into_iter();
    keys.map(|it| (it.provider, it.name, it.key.expose().to_owned())).collect()
}

fn owned(keys: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    keys.iter().map(|(a, b, c)| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned())).collect()
}

/// Writes the file with a mode.
fn write(store: &KeyStore, text: &str, mode: u32) {
    fs::create_dir_all(store.file().parent().unwrap()).unwrap();
    fs::write(store.file(), text).unwrap();
    fs::set_permissions(store.file(), Permissions::from_mode(mode)).unwrap();
}

#[test]
fn keys_of_several_names_are_stored_replaced_and_removed() {
    let Place { store, .. } = place();
    assert_eq!(store.read().unwrap(), StoredKeys::default());
    assert_eq!(store.remove("openai", None).unwrap(), 0);
    store.store("openai", "default", "sk-1\n").unwrap();
    store.store("groq", "default", "gsk").unwrap();
    store.store("openai", "work", "sk-2").unwrap();
    store.store("openai", "default", "sk-3").unwrap();
    let all =
        [("openai", "default", "sk-3"), ("groq", "default", "gsk"), ("openai", "work", "sk-2")];
    assert_eq!(names(&store), owned(&all));
    assert_eq!(store.remove("openai", Some("work")).unwrap(), 1);
    assert_eq!(store.remove("openai", Some("work")).unwrap(), 0);
    assert_eq!(names(&store), owned(&all[..2]));
    assert_eq!(store.remove("openai", None).unwrap(), 1);
    assert_eq!(names(&store), owned(&all[1..2]));
}

#[test]
fn only_the_user_can_read_the_file_and_a_wider_mode_is_told_and_closed() {
    let Place { store, folder } = place();
    store.store("openai", "default", "sk-1").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(store.file()), mode(&folder.path().join("config"))), (0o600, 0o700));
    fs::set_permissions(store.file(), Permissions::from_mode(0o644)).unwrap();
    let read = store.read().unwrap();
    let note = read.note.unwrap();
    assert!(note.contains("auth.json") && note.contains("0644"), "{note}");
    assert_eq!((read.keys.len(), mode(store.file())), (1, 0o600));
    assert_eq!(store.read().unwrap().note, None);
}

#[test]
fn what_is_no_key_or_no_name_changes_nothing() {
    let Place { store, .. } = place();
    store.store("openai", "default", "sk-1").unwrap();
    let before = fs::read(store.file()).unwrap();
    for (name, key) in [("default", "sk\ncanary"), ("default", "  "), ("a b", "sk-2"), ("", "sk-2")]
    {
        let error = store.store("openai", name, key).unwrap_err().to_string();
        assert!(!error.contains("canary"), "{error}");
        assert_eq!(fs::read(store.file()).unwrap(), before, "{name:?} {key:?}");
    }
}

#[test]
fn a_file_that_is_torn_or_of_another_shape_is_named_and_left_as_it_is() {
    for (text, why) in [
        (
            "{ \"version\": 1,\n \"keys\": [ { \"key\": \"canary",
            "auth.json:2: it is not valid JSON",
        ),
        ("", "it is not valid JSON"),
        ("[]", "must be a JSON object"),
        ("{ \"version\": 2, \"keys\": [] }", "`version` must be 1"),
        ("{ \"version\": 1, \"keys\": 3 }", "`keys` must be a list"),
        ("{ \"version\": 1, \"keys\": [{ \"provider\": \"a\", \"name\": \"b\" }] }", "`keys[0]`"),
        (
            "{ \"version\": 1, \"keys\": [{ \"provider\": \"a\", \"name\": \"b\", \"key\": \"canary x\" }] }",
            "`keys[0]`",
        ),
    ] {
        let Place { store, .. } = place();
        write(&store, text, 0o600);
        let read = store.read().unwrap_err().to_string();
        let stored = store.store("openai", "default", "sk-1").unwrap_err().to_string();
        let removed = store.remove("openai", None).unwrap_err().to_string();
        assert_eq!((&read, &read), (&stored, &removed));
        assert!(read.contains(why) && !read.contains("canary"), "{read}");
        assert_eq!(fs::read_to_string(store.file()).unwrap(), text);
    }
}

#[test]
fn a_read_only_file_is_read_and_not_replaced() {
    let Place { store, .. } = place();
    store.store("openai", "default", "sk-1").unwrap();
    fs::set_permissions(store.file(), Permissions::from_mode(0o400)).unwrap();
    let before = fs::read(store.file()).unwrap();
    let error = store.store("openai", "default", "sk-2").unwrap_err();
    assert!(error.to_string().starts_with("cannot write "), "{error}");
    assert_eq!(fs::read(store.file()).unwrap(), before);
    assert_eq!(names(&store).len(), 1);
    let beside = fs::read_dir(store.file().parent().unwrap()).unwrap().count();
    assert_eq!(beside, 2, "the file and its lock");
}

#[test]
fn what_a_later_version_adds_is_kept() {
    let Place { store, .. } = place();
    let text = "{ \"version\": 1, \"tokens\": [7], \"keys\": [{ \"provider\": \"a\", \"name\": \"default\", \"key\": \"k\", \"x\": 1 }] }";
    write(&store, text, 0o600);
    store.store("b", "default", "k2").unwrap();
    let now: Value = serde_json::from_slice(&fs::read(store.file()).unwrap()).unwrap();
    assert_eq!((&now["tokens"], &now["keys"][0]["x"]), (&json!([7]), &json!(1)));
}

#[test]
fn keys_that_are_stored_at_the_same_time_are_all_there() {
    let Place { store, .. } = place();
    std::thread::scope(|scope| {
        for at in 0..8 {
            let store = &store;
            scope.spawn(move || store.store(&format!("p{at}"), "default", "k").unwrap());
        }
    });
    assert_eq!(names(&store).len(), 8);
}

#[test]
fn a_link_stays_a_link() {
    let Place { store, folder } = place();
    let real = folder.path().join("real.json");
    fs::create_dir_all(store.file().parent().unwrap()).unwrap();
    fs::write(&real, "{ \"version\": 1 }").unwrap();
    std::os::unix::fs::symlink(&real, store.file()).unwrap();
    store.store("a", "default", "k").unwrap();
    assert!(store.file().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("\"k\""));
}

fn tokens(refresh: &str) -> LoginTokens {
    LoginTokens { refresh: Some(Secret::new(refresh)), expires: Some(7) }
}

#[test]
fn a_login_is_stored_beside_keys_and_replaced_with_its_tokens() {
    let Place { store, .. } = place();
    store.store("gate", "work", "sk-1").unwrap();
    store.store_login("gate", "default", "access-1", &tokens("refresh-1")).unwrap();
    store.store_login("gate", "default", "access-2", &tokens("refresh-2")).unwrap();
    let keys = store.read().unwrap().keys;
    let logins: Vec<_> = keys.iter().map(|it| (it.key.expose(), it.login.clone())).collect();
    assert_eq!(logins, [("sk-1", None), ("access-2", Some(tokens("refresh-2")))]);
    let shown = format!("{keys:?}");
    assert!(!shown.contains("access-2") && !shown.contains("refresh-2"), "{shown}");
    let wrong = store.store_login("gate", "default", "a b", &tokens("r")).unwrap_err();
    assert!(matches!(wrong, KeyStoreError::Key(_)), "{wrong}");
}

#[test]
fn the_file_of_pi_is_read_and_converted_by_the_first_change() {
    let Place { store, .. } = place();
    let text = r#"{ "anthropic": { "type": "api_key", "key": "sk-1" },
        "acme": { "type": "oauth", "access": "a", "refresh": "refresh-1", "expires": 7, "x": 1 } }"#;
    write(&store, text, 0o600);
    let all = [("anthropic", "default", "sk-1"), ("acme", "default", "a")];
    assert_eq!(names(&store), owned(&all));
    assert_eq!(store.read().unwrap().keys[1].login, Some(tokens("refresh-1")));
    assert_eq!(fs::read_to_string(store.file()).unwrap(), text);
    assert_eq!(store.remove("anthropic", None).unwrap(), 1);
    assert_eq!(names(&store), owned(&all[1..]));
    write(&store, r#"{ "acme": { "type": "canary" } }"#, 0o600);
    let error = store.read().unwrap_err().to_string();
    assert!(error.contains("`acme` is neither") && !error.contains("canary"), "{error}");
}

#[test]
fn the_right_to_renew_is_had_by_one_and_only_where_tokens_can_be_stored() {
    let Place { store, .. } = place();
    store.store_login("gate", "default", "a", &tokens("refresh-1")).unwrap();
    let first = store.lock_login("gate").unwrap();
    assert!(store.lock("json.gate.lock", std::time::Duration::ZERO).is_err());
    store.store("gate", "work", "sk-1").unwrap();
    drop(first);
    fs::set_permissions(store.file(), Permissions::from_mode(0o400)).unwrap();
    let error = store.lock_login("gate").unwrap_err();
    assert!(error.to_string().starts_with("cannot write "), "{error}");
}
