//! What a user means by a name, by no name, and on which terminal.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::*;

struct Home {
    folder: tempfile::TempDir,
    places: SessionPlaces,
}

fn home() -> Home {
    let folder = tempfile::tempdir().unwrap();
    let all = folder.path().join("sessions");
    let places = SessionPlaces { cwd: "/app".into(), own: all.join("--app--"), all: Some(all) };
    Home { folder, places }
}

impl Home {
    /// Adds a session that was changed `age` seconds ago.
    fn add(&self, folder: &str, name: &str, id: &str, age: u64, more: &str) -> PathBuf {
        let path = self.places.all.as_ref().unwrap().join(folder).join(format!("{name}.jsonl"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let header =
            format!("{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"cwd\":\"/x\"}}\n");
        fs::write(&path, header + more).unwrap();
        let at = SystemTime::now() - Duration::from_secs(age);
        fs::File::options().append(true).open(&path).unwrap().set_modified(at).unwrap();
        path
    }

    fn terminal(&self, tty: Option<&str>, variables: &[(&str, &str)]) -> Breadcrumbs {
        let folder = self.folder.path().join("terminals");
        let variable = |name: &str| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        Breadcrumbs::of_terminal(&folder, tty.map(Path::new), variable)
    }
}

#[test]
fn a_name_is_a_path_or_begins_an_id_or_a_file_name_here_before_elsewhere() {
    let home = home();
    let old = home.add("--app--", "2026-01-01_0a1b", "0A1B-22", 50, "");
    let new = home.add("--app--", "2026-01-02_0a1c", "0a1c", 10, "");
    let other = home.add("--else--", "2026-01-03_0a1d", "0a1d", 1, "");
    fs::write(home.places.own.join("notes.jsonl"), "hello").unwrap();
    let find = |name: &str| home.places.find(name).unwrap();
    assert_eq!(find("0a1"), FoundSession::Here(new.clone()));
    assert_eq!(find("0A1b"), FoundSession::Here(old.clone()));
    assert_eq!(find("0a1b-2"), FoundSession::Here(old.clone()));
    assert_eq!(find("2026-01-01"), FoundSession::Here(old));
    let FoundSession::Elsewhere(found) = find("0a1d") else { panic!() };
    assert_eq!((found.path, found.cwd), (other, PathBuf::from("/x")));
    assert_eq!((find("0b"), find(""), find("é")), Default::default());
    assert_eq!(find("x/y"), FoundSession::Here("/app/x/y".into()));
    assert_eq!(find("z.jsonl"), FoundSession::Here("/app/z.jsonl".into()));
    let alone = SessionPlaces { all: None, ..home.places.clone() };
    assert_eq!(alone.find("0a1d").unwrap(), FoundSession::Nothing);
}

#[test]
fn each_terminal_goes_on_with_its_own_session_and_a_new_one_with_the_newest() {
    let home = home();
    let cwd = home.folder.path();
    let places = SessionPlaces { cwd: cwd.to_owned(), ..home.places.clone() };
    let (one, two) =
        (home.terminal(Some("/dev/pts/3"), &[]), home.terminal(Some("/dev/pts/4"), &[]));
    let none = home.terminal(None, &[]);
    assert_eq!(places.most_recent(&none).unwrap(), None);
    let old = home.add("--app--", "a", "a", 50, "");
    let new = home.add("--app--", "b", "b", 10, "");
    one.remember(cwd, &old);
    two.remember(cwd, &new);
    none.remember(cwd, &old);
    assert_eq!(places.most_recent(&one).unwrap(), Some(old.clone()));
    assert_eq!(places.most_recent(&two).unwrap(), Some(new.clone()));
    assert_eq!(places.most_recent(&none).unwrap(), Some(new.clone()));
    // What was remembered in another folder, or is gone, does not count.
    one.remember(Path::new("/else"), &old);
    assert_eq!(places.most_recent(&one).unwrap(), Some(new.clone()));
    two.remember(cwd, &old);
    fs::remove_file(&old).unwrap();
    assert_eq!(places.most_recent(&two).unwrap(), Some(new));
    assert!(home.folder.path().join("terminals/pts-3").is_file());
}

#[test]
fn a_terminal_without_a_device_is_known_by_the_environment() {
    let home = home();
    let file = |tty: Option<&str>, variables: &[(&str, &str)]| {
        let terminal = home.terminal(tty, variables);
        terminal.remember(Path::new("/a"), Path::new("/b"));
        let folder = home.folder.path().join("terminals");
        let names: Vec<_> = fs::read_dir(&folder).map_or(Vec::new(), |entries| {
            entries.flatten().map(|entry| entry.file_name().into_string().unwrap()).collect()
        });
        let _gone = fs::remove_dir_all(folder); // where nothing was remembered there is none
        names.join(" ")
    };
    assert_eq!(file(None, &[("TMUX_PANE", "%3"), ("WT_SESSION", "x")]), "tmux--3");
    assert_eq!(file(None, &[("KITTY_WINDOW_ID", "7")]), "kitty-7");
    assert_eq!(file(None, &[("TERM_SESSION_ID", "../x")]), "apple----x");
    assert_eq!(file(None, &[("WT_SESSION", "")]), "");
    assert_eq!(file(Some("/dev/pts/0"), &[("TMUX_PANE", "%3")]), "pts-0");
}

#[test]
fn a_list_reads_the_beginning_of_each_file_only() {
    let home = home();
    let said = |text: &str| {
        format!(
            "{{\"type\":\"message\",\"id\":\"1\",\"parentId\":null,\"message\":{{\"role\":\"user\",\
                 \"content\":\"{text}\",\"timestamp\":5}}}}\n"
        )
    };
    let title = "{\"type\":\"title_change\",\"id\":\"2\",\"parentId\":\"1\",\"title\":\"T\"}\n";
    home.add("--app--", "a", "a", 50, &(said("first") + &said("second") + title));
    home.add("--app--", "b", "b", 60, &said(&"x".repeat(100_000)));
    for number in 0..70 {
        home.add("--app--", &format!("c{number:02}"), "c", 100 + number, "");
    }
    let list = list_sessions(&home.places.own).unwrap();
    assert_eq!(list.len(), 72);
    let told = |info: &SessionInfo| (info.id.clone(), info.messages, info.first_prompt.clone());
    assert_eq!(told(&list[0]), ("a".to_owned(), 2, Some("first".to_owned())));
    assert_eq!(list[0].title.as_deref(), Some("T"));
    assert_eq!(told(&list[1]), ("b".to_owned(), 0, None));
    assert!(list[1].size > 100_000);
    assert!(list.is_sorted_by(|one, two| one.modified >= two.modified));
    assert_eq!(list_sessions(Path::new("/nowhere")).unwrap(), []);
}
