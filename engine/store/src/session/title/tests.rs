//! A title is one line in the header; nothing else of the file changes.

use engine::fault::FaultHooks;

use super::*;

const FILE: &str = concat!(
    "{\"type\":\"title\",\"v\":1,\"title\":\"\",\"pad\":\"  \"}\n",
    "{\"type\":\"session\",\"version\":3,\"id\":\"a\",\"cwd\":\"/\",\"x\":1.50}\r\n",
    "{\"type\":\"wild\",\"id\":\"1\",\"z\":1.50}\n",
    "torn",
);

fn place() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    fs::write(&path, FILE).unwrap();
    (folder, path)
}

fn set(path: &Path, title: &str, source: TitleSource) -> Titled {
    set_title(path, title, source, &Faults::default()).unwrap()
}

#[test]
fn a_title_stands_in_the_header_and_one_of_the_user_stays() {
    let (_folder, path) = place();
    assert_eq!(set(&path, " a\u{1b}[1m\n  title ", TitleSource::Auto), Titled::Done);
    let text = fs::read_to_string(&path).unwrap();
    let titled = |title: &str, source: &str| {
        let titled = format!("1.50,\"title\":\"{title}\",\"titleSource\":\"{source}\"}}\r\n");
        FILE.replace("1.50}\r\n", &titled)
    };
    assert_eq!(text, titled("a [1m title", "auto"));
    assert_eq!(set(&path, "mine", TitleSource::User), Titled::Done);
    assert_eq!(fs::read_to_string(&path).unwrap(), titled("mine", "user"));
    for (title, source) in [("other", TitleSource::Auto), (" \n", TitleSource::User)] {
        assert_eq!(set(&path, title, source), Titled::Kept);
    }
    let Loaded::Session(session) = load(fs::File::open(&path).unwrap(), Keep::Lines).unwrap()
    else {
        panic!()
    };
    assert_eq!(session.header.title.as_deref(), Some("mine"));
    assert_eq!(session.header.title_source, Some(TitleSource::User));
}

#[test]
fn a_title_of_a_session_that_is_open_is_refused_and_a_failed_write_changes_nothing() {
    let (folder, path) = place();
    let open = OpenOptions::new().append(true).open(&path).unwrap();
    open.lock().unwrap();
    let refused = set_title(&path, "a", TitleSource::User, &Faults::default()).unwrap_err();
    assert!(refused.source.to_string().contains("another session has it open"), "{refused}");
    drop(open);
    let link = folder.path().join("link.jsonl");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let refused = set_title(&link, "a", TitleSource::User, &Faults::default()).unwrap_err();
    assert!(refused.source.to_string().contains("it is a symbolic link"), "{refused}");
    fs::remove_file(link).unwrap();
    for point in ["session.rewrite.write", "session.rewrite.rename"] {
        let faults = Faults::read(&format!("full@{point}"), FaultHooks::default()).unwrap();
        set_title(&path, "a", TitleSource::User, &faults).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), FILE, "{point}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{point}");
    }
}
