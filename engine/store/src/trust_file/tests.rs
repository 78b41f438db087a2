//! Tests of the file of trust.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn rule(text: &str) -> ApprovalRule {
    text.parse().unwrap()
}

#[test]
fn what_is_trusted_holds_for_one_repository_and_no_change_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let file = TrustFile::new(folder.path().join("trust.json"));
    let (one, other) = (Path::new("/src/one"), Path::new("/src/other"));
    assert_eq!(file.of(one).unwrap(), RepositoryTrust::default());
    thread::scope(|scope| {
        for number in 0..8 {
            let file = &file;
            let add = move |trust: &mut RepositoryTrust| {
                trust.add_rule(rule(&format!("bash(make {number})")));
                trust.add_rule(rule("bash(make)"));
            };
            scope.spawn(move || file.change(one, add).unwrap());
        }
    });
    let power = TrustedPower {
        value: serde_json::json!(["npm ci"]),
        files: BTreeMap::from([("package.json".to_owned(), "abc".to_owned())]),
        tree: None,
    };
    let set = |trust: &mut RepositoryTrust| {
        trust.powers.insert("isolation.setup".to_owned(), power.clone());
    };
    file.change(other, set).unwrap();
    assert_eq!(file.of(one).unwrap().rules.len(), 9);
    let stored = file.of(other).unwrap();
    assert_eq!((stored.rules.len(), &stored.powers["isolation.setup"]), (0, &power));
    file.change(one, |trust| trust.rules.clear()).unwrap();
    assert_eq!(file.all().unwrap().into_keys().collect::<Vec<_>>(), ["/src/other"]);
}

#[test]
fn a_file_that_this_program_did_not_write_is_refused_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trust.json");
    let file = TrustFile::new(&path);
    for (content, mode, expected) in [
        ("{\"version\":1,\"reposi", 0o600, "is not a file of trust"),
        ("", 0o600, "is not a file of trust"),
        ("{\"version\":2,\"more\":{}}", 0o600, "by a newer version of regatta"),
        ("{}", 0o600, "no version that is known"),
        ("{\"version\":1,\"repositories\":{\"/r\":{\"rules\":[\"*\"]}}}", 0o600, "every tool"),
        ("{\"version\":1,\"repositories\":{\"/r\":{\"other\":1}}}", 0o600, "unknown field"),
        ("{\"version\":1}", 0o666, "can be written by others"),
    ] {
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let error = file.of(Path::new("/r")).unwrap_err().to_string();
        assert!(error.contains(expected), "{content}: {error}");
        let add = |trust: &mut RepositoryTrust| trust.add_rule(rule("bash(make)"));
        file.change(Path::new("/r"), add).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
}
