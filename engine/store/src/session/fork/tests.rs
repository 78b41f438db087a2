//! A fork has everything but the header; a branch has what comes before a prompt, with its labels.

use super::*;
use protocol::SessionEntry;
use serde_json::Value;

const FILE: &str = concat!(
    r#"{"type":"session","version":3,"id":"old","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/a","title":"T","titleSource":"user"}"#,
    "\n",
    r#"{"type":"message","id":"1","parentId":null,"timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":"one","timestamp":5}}"#,
    "\n",
    r#"{"type":"wild","id":"2","parentId":"1","timestamp":"2026-01-02T03:04:05.678Z","z":1.50}"#,
    "\n",
    r#"{"type":"label","id":"3","parentId":"2","timestamp":"2026-01-02T03:04:05.678Z","targetId":"1","label":"begin"}"#,
    "\n",
    r#"{"type":"message","id":"4","parentId":"3","timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":"two","timestamp":5}}"#,
    "\n",
    r#"{"type":"message","id":"5","parentId":"4","timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":"three","timestamp":5}}"#,
    "\n",
    r#"{"type":"label","id":"6","parentId":"5","timestamp":"2026-01-02T03:04:05.678Z","targetId":"5","label":"late"}"#,
    "\n",
);

struct Place {
    folder: tempfile::TempDir,
    header: SessionHeader,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("old.jsonl"), FILE).unwrap();
    let at = Timestamp::from_millisecond(1_767_323_045_678);
    let header = SessionHeader { id: SessionId::generate(), cwd: "/b".into(), at, parent: None };
    Place { folder, header }
}

impl Place {
    fn old(&self) -> PathBuf {
        self.folder.path().join("old.jsonl")
    }

    fn new_log(&self) -> PathBuf {
        new_log_path(&self.folder.path().join("sub"), self.header.at, self.header.id)
    }

    fn branch(&self, id: &str) -> Result<Branched, ForkError> {
        branch(&self.old(), &EntryId::new(id), &self.new_log(), &self.header, None)
    }
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_fork_has_a_new_header_every_entry_as_it_was_and_the_artifacts() {
    let place = place();
    let artifacts = artifacts_of(&place.old());
    fs::create_dir_all(artifacts.join("sub")).unwrap();
    fs::write(artifacts.join("sub/0.bash.log"), "x").unwrap();
    fs::write(artifacts.join("calls.log"), "{}\n").unwrap();
    let to = place.new_log();
    let name = to.file_name().unwrap().to_str().unwrap();
    assert_eq!(name, format!("2026-01-02T03-04-05-678Z_{}.jsonl", place.header.id.uuid()));
    fork(&place.old(), &to, &place.header).unwrap();
    let text = fs::read_to_string(&to).unwrap();
    let (header, entries) = text.split_once('\n').unwrap();
    assert_eq!(entries, FILE.split_once('\n').unwrap().1);
    let header: Value = serde_json::from_str(header).unwrap();
    assert_eq!(header["id"], place.header.id.uuid());
    assert_eq!((&header["parentSession"], &header["cwd"]), (&json!("old"), &json!("/b")));
    assert_eq!((&header["title"], &header["titleSource"]), (&json!("T"), &json!("user")));
    let copied = artifacts_of(&to).join("sub/0.bash.log");
    assert_eq!(fs::read_to_string(copied).unwrap(), "x");
    assert!(!artifacts_of(&to).join("calls.log").exists(), "its calls do not run there");
    assert_eq!(fs::read_to_string(place.old()).unwrap(), FILE);
    // What is there is never written over.
    assert!(matches!(fork(&place.old(), &to, &place.header), Err(ForkError::Write { .. })));
    assert_eq!(fs::read_to_string(&to).unwrap(), text);
    let left: Vec<_> = fs::read_dir(to.parent().unwrap()).unwrap().flatten().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_branch_has_the_path_to_a_prompt_and_the_labels_of_what_is_on_it() {
    let place = place();
    let branched = place.branch("4").unwrap();
    assert_eq!((branched.text.as_str(), branched.log.as_deref()), ("two", Some(&*place.new_log())));
    let lines = lines(&place.new_log());
    assert_eq!(lines[0]["parentSession"], place.old().to_str().unwrap());
    let told: Vec<_> = lines[1..].iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(told, ["message", "wild", "label"]);
    assert_eq!(lines[3]["targetId"], "1");
    assert_eq!((&lines[3]["parentId"], &lines[3]["label"]), (&json!("2"), &json!("begin")));
    assert!(fs::read_to_string(place.new_log()).unwrap().contains("\"z\":1.50}"));
}

#[test]
fn where_a_label_was_on_the_path_the_next_entry_follows_the_one_before() {
    let place = place();
    assert_eq!(place.branch("5").unwrap().text, "three");
    let lines = lines(&place.new_log());
    let ids: Vec<_> = lines[1..].iter().map(|line| (&line["id"], &line["parentId"])).collect();
    let two = (&json!("4"), &json!("2"));
    assert_eq!(ids[..3], [(&json!("1"), &Value::Null), (&json!("2"), &json!("1")), two]);
    assert_eq!((&lines[4]["type"], ids[3].1), (&json!("label"), &json!("4")));
    let mut read = LoadedSession::read(&place.new_log()).unwrap().unwrap();
    assert_eq!(read.context(None).messages.len(), 2);
    let label = |(id, label): (&EntryId, &String)| format!("{id} {label}");
    assert_eq!(read.tree.labels().iter().map(label).collect::<Vec<_>>(), ["1 begin"]);
}

#[test]
fn before_the_first_prompt_there_is_nothing_to_keep_and_only_prompts_begin_a_branch() {
    let place = place();
    let branched = place.branch("1").unwrap();
    assert_eq!(branched, Branched { text: "one".to_owned(), log: None });
    assert!(!place.new_log().exists());
    for id in ["2", "3", "none"] {
        let error = place.branch(id).unwrap_err().to_string();
        let expected =
            format!("invalid entry ID for branching: `{id}` is not a message of the user");
        assert_eq!(error, expected);
    }
}

#[test]
fn what_is_no_session_or_newer_is_refused() {
    let place = place();
    let at = |path: &Path| fork(path, &place.new_log(), &place.header).unwrap_err();
    assert!(matches!(at(Path::new("/nowhere")), ForkError::Read { .. }));
    fs::write(place.old(), "hello\n").unwrap();
    assert!(matches!(at(&place.old()), ForkError::NoSession { .. }));
    fs::write(place.old(), FILE.replace("\"version\":3", "\"version\":4")).unwrap();
    assert!(matches!(at(&place.old()), ForkError::Newer { .. }));
}

#[test]
fn the_text_of_a_label_is_read_by_other_programs() {
    let place = place();
    place.branch("5").unwrap();
    let last = lines(&place.new_log()).pop().unwrap();
    let entry = serde_json::from_value::<SessionEntry>(last).unwrap();
    assert!(matches!(entry, SessionEntry::Label { label: Some(label), .. } if label == "begin"));
}

#[test]
fn a_fork_has_the_damaged_lines_too_which_are_known_when_it_is_opened() {
    let place = place();
    let damaged = FILE.replacen("\"type\":\"label\",\"id\":\"3\"", "\"type\":\"lab\u{0}", 1);
    for torn in ["", "{\"type\":\"mess"] {
        fs::write(place.old(), format!("{damaged}{torn}")).unwrap();
        let _earlier = fs::remove_file(place.new_log());
        fork(&place.old(), &place.new_log(), &place.header).unwrap();
        let text = fs::read_to_string(place.new_log()).unwrap();
        let rest = damaged.split_once('\n').unwrap().1;
        assert_eq!(text.split_once('\n').unwrap().1, rest);
        let mut read = LoadedSession::read(&place.new_log()).unwrap().unwrap();
        assert_eq!(read.damage.iter().map(|it| it.line).collect::<Vec<_>>(), [4]);
        assert_eq!(read.context(None).messages.len(), 3);
    }
    // A line that lacks nothing but its end is one.
    fs::write(place.old(), FILE.trim_end()).unwrap();
    fs::remove_file(place.new_log()).unwrap();
    fork(&place.old(), &place.new_log(), &place.header).unwrap();
    let text = fs::read_to_string(place.new_log()).unwrap();
    assert_eq!(text.split_once('\n').unwrap().1, FILE.split_once('\n').unwrap().1);
}
