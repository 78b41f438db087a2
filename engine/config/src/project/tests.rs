//! What a project's settings may do, with trust and without.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::*;
use crate::value::RawValue;
use crate::{LoadedSettings, Settings, Sources};

/// A repository and the file of the user.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(user: &str, project: &str) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(folder.root().join(".regatta")).unwrap();
        fs::write(folder.0.path().join("config.yml"), user).unwrap();
        fs::write(folder.file(), project).unwrap();
        folder
    }

    fn root(&self) -> PathBuf {
        self.0.path().join("repository")
    }

    fn file(&self) -> PathBuf {
        self.root().join(PROJECT_FILE)
    }

    fn load(&self, trusted: &[Key], variable: Option<(&str, &str)>) -> LoadedSettings {
        let project = ProjectSettings::read(&self.root(), None).unwrap().unwrap();
        let variable = |name: &str| variable.filter(|it| it.0 == name).map(|it| it.1.into());
        let file = self.0.path().join("config.yml");
        let sources = Sources { file: &file, home: None, variable: &variable, flags: &[] };
        let trusted = BTreeSet::from_iter(trusted.iter().copied());
        Settings::load_all(&sources, Some((&project, &trusted))).unwrap()
    }

    fn error(&self) -> String {
        ProjectSettings::read(&self.root(), None).unwrap_err().to_string()
    }
}

fn values(loaded: &LoadedSettings) -> BTreeMap<Key, Json> {
    loaded.listed().map(|(key, value, _)| (key, value)).collect()
}

/// Expects the value of a key that the user's file and the project's set, without trust and with it.
fn expect_values(key: Key, (user, project): (&str, &str), untrusted: &Json, trusted: &Json) {
    let folder = Folder::new(user, project);
    let without = folder.load(&[], None);
    assert_eq!(&values(&without)[&key], untrusted, "{project}");
    // What does not count is withheld, with its place.
    let withheld: Vec<_> = without.withheld.iter().map(|it| it.key).collect();
    let is_withheld = untrusted != trusted;
    assert_eq!(withheld, if is_withheld { vec![key] } else { Vec::new() }, "{project}");
    for power in &without.withheld {
        assert_eq!(power.origin.to_string(), format!("{}:1", folder.file().display()));
    }
    let with = folder.load(&[key], None);
    assert_eq!((&values(&with)[&key], with.withheld.len()), (trusted, 0), "{project}");
    let origin = with.listed().find(|it| it.0 == key).unwrap().2.clone();
    assert!(matches!(origin, Origin::Project { line: 1, .. }), "{project}: {origin:?}");
}

/// Each row: what the user sets, what the project sets, and which value of the key counts without trust and
/// with it.
#[test]
fn a_project_can_narrow_what_the_user_allows_and_widens_it_only_with_trust() {
    use Key::{
        ApprovalMode, ApprovalsAllow, ApprovalsDeny, BranchPrefix, DisabledAgents, EnvPass,
        EnvRemove, IsolationMode, IsolationSetup, LimitCost, LimitTokens, LimitTurns, LimitWall,
        MaxRecursionDepth, MergeMode, ModelDefault,
    };
    let none = json!([]);
    for (key, user, project, untrusted, trusted) in [
        (
            BranchPrefix,
            "branch.prefix: mine",
            "branch.prefix: theirs",
            json!("theirs"),
            json!("theirs"),
        ),
        (LimitWall, "", "limits.wall: 2h", json!("30m"), json!("2h")),
        (LimitWall, "", "limits.wall: 5m", json!("5m"), json!("5m")),
        (MaxRecursionDepth, "", "task.maxRecursionDepth: 4", json!(3), json!(4)),
        (MaxRecursionDepth, "", "task.maxRecursionDepth: 0", json!(0), json!(0)),
        (LimitTurns, "limits.turns: 10", "limits.turns: 11", json!(10), json!(11)),
        (LimitTokens, "", "limits.tokens: 5", json!(5), json!(5)),
        (LimitCost, "limits.cost: 1 USD", "limits.cost: 2 USD", json!("1 USD"), json!("2 USD")),
        (MergeMode, "", "task.isolation.merge: branch", json!("branch"), json!("branch")),
        (
            MergeMode,
            "task.isolation.merge: none",
            "task.isolation.merge: patch",
            json!("none"),
            json!("patch"),
        ),
        (IsolationMode, "", "task.isolation.mode: none", json!("auto"), json!("none")),
        (ApprovalMode, "", "approvals.mode: ask", json!("ask"), json!("ask")),
        (ApprovalMode, "approvals.mode: ask", "approvals.mode: yolo", json!("ask"), json!("yolo")),
        (
            ApprovalMode,
            "approvals.mode: yolo",
            "approvals.mode: write",
            json!("write"),
            json!("write"),
        ),
        (
            ApprovalsDeny,
            "approvals.deny: [read(a)]",
            "approvals.deny: read(b)",
            json!(["read(a)", "read(b)"]),
            json!(["read(a)", "read(b)"]),
        ),
        (
            ApprovalsDeny,
            "approvals.deny: [read(a)]",
            "approvals.deny: []",
            json!(["read(a)"]),
            json!(["read(a)"]),
        ),
        (
            ApprovalsAllow,
            "approvals.allow: [bash(ls)]",
            "approvals.allow: [bash(rm)]",
            json!(["bash(ls)"]),
            json!(["bash(ls)", "bash(rm)"]),
        ),
        (
            DisabledAgents,
            "task.disabledAgents: [plan]",
            "task.disabledAgents: explore",
            json!(["plan", "explore"]),
            json!(["plan", "explore"]),
        ),
        (EnvRemove, "env.remove: [A]", "env.remove: [B]", json!(["A", "B"]), json!(["A", "B"])),
        (EnvPass, "", "env.pass: [GH_TOKEN]", none.clone(), json!(["GH_TOKEN"])),
        (IsolationSetup, "", "isolation.setup: npm ci", none.clone(), json!("npm ci")),
        (
            ModelDefault,
            "modelRoles.default: a/b",
            "modelRoles.default: offline/x.yml",
            json!("a/b"),
            json!("offline/x.yml"),
        ),
    ] {
        expect_values(key, (user, project), &untrusted, &trusted);
    }
}

#[test]
fn the_settings_that_can_be_compared_are_those_marked_so() {
    for key in Key::ALL {
        let value = RawValue::Text("x".to_owned());
        let is_compared = is_narrower(key, &value, None).is_some();
        assert_eq!(is_compared, ProjectMark::of(key) == ProjectMark::Narrows, "{key}");
    }
}

#[test]
fn the_environment_takes_precedence_over_a_project_and_it_over_the_user() {
    let folder = Folder::new("limits.wall: 10m", "limits.wall: 5m");
    let loaded = folder.load(&[], Some(("REGATTA_LIMITS_WALL", "1h")));
    let origins: Vec<_> =
        loaded.listed().filter(|it| it.0 == Key::LimitWall).map(|it| it.2.to_string()).collect();
    assert_eq!(origins, ["the variable REGATTA_LIMITS_WALL"]);
    assert_eq!(loaded.settings.limit_wall.value.as_secs(), 3600);
    // What the variable overrides is narrower than the user's file, not than the variable.
    let folder = Folder::new("limits.wall: 10m", "limits.wall: 30m");
    assert_eq!(folder.load(&[], None).settings.limit_wall.value.as_secs(), 600);
}

#[test]
fn a_list_to_which_a_project_adds_has_two_origins() {
    let folder = Folder::new(
        "approvals: { deny: [read(.env)] }",
        "approvals: { deny: [bash(rm)], ask: [edit] }",
    );
    let loaded = folder.load(&[], None);
    let deny = &loaded.settings.approvals_deny;
    let places = deny.iter().map(|rule| (rule.value.as_str(), rule.origin.project_root()));
    let root = folder.root();
    assert_eq!(Vec::from_iter(places), [("read(.env)", None), ("bash(rm)", Some(root.as_path()))]);
    let variable = folder.load(&[], Some(("REGATTA_APPROVALS_DENY", "edit")));
    let origin = variable.settings.approvals_deny[0].origin.to_string();
    assert_eq!(origin, "the variable REGATTA_APPROVALS_DENY");
    let other = |key| loaded.other_origin(key).map(ToString::to_string);
    assert!(other(Key::ApprovalsDeny).is_some_and(|origin| origin.ends_with("config.yml:1")));
    assert_eq!((other(Key::ApprovalsAsk), other(Key::LimitWall)), (None, None));
}

#[test]
fn a_file_of_a_project_that_cannot_be_used_is_one_clear_error_with_its_place() {
    let folder = Folder::new("", "limits: { wall: [1] }");
    assert!(folder.error().contains(".regatta/config.yml:1: `limits.wall` must be a duration"));
    for (text, expected) in [
        ("isolation: { setup: { a: b } }", ":1: `isolation.setup` must be a command"),
        ("approvals:\n  dney: [read]", ":2: there is no setting `approvals.dney`"),
        ("\tx", ".regatta/config.yml:1"),
        ("{", ".regatta/config.yml:1"),
        ("- a", ":1: settings are a mapping"),
    ] {
        fs::write(folder.file(), text).unwrap();
        assert!(folder.error().contains(expected), "{text}: {}", folder.error());
    }
    fs::write(folder.file(), vec![b'#'; (1 << 20) + 1]).unwrap();
    assert!(folder.error().contains("is larger than"), "{}", folder.error());
    fs::remove_file(folder.file()).unwrap();
    assert!(ProjectSettings::read(&folder.root(), None).unwrap().is_none());

    // A symlink may stay in the repository, but not leave it.
    fs::write(folder.root().join("settings.yml"), "limits.wall: 5m").unwrap();
    symlink("../settings.yml", folder.file()).unwrap();
    assert_eq!(folder.load(&[], None).settings.limit_wall.value.as_secs(), 300);
    for target in ["/dev/zero", "../../config.yml", "nowhere"] {
        fs::remove_file(folder.file()).unwrap();
        symlink(target, folder.file()).unwrap();
        let error = folder.error();
        assert!(error.contains("leads out of") || error.contains("cannot read"), "{error}");
    }
    fs::remove_file(folder.file()).unwrap();
    fs::create_dir(folder.file()).unwrap();
    assert!(folder.error().contains("cannot read"), "{}", folder.error());
    assert!(ProjectSettings::read(Path::new("/nowhere"), None).unwrap().is_none());
}
