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
    let places = SessionPlaces::below(all, "/app".into());
    Home { folder, places }
}

impl Home {
    /// Adds a session of `/app`, or of `/x` in the folders of others, that was changed `age` seconds ago.
    fn add(&self, folder: &str, name: &str, id: &str, age: u64, more: &str) -> PathBuf {
        let cwd = if folder == "--app--" { &self.places.cwd } else { Path::new("/x") };
        self.add_of(cwd, folder, (name, id, age), more)
    }

    /// Adds a session that works in `cwd`.
    fn add_of(&self, cwd: &Path, folder: &str, of: (&str, &str, u64), more: &str) -> PathBuf {
        let (name, id, age) = of;
        let path = self.places.all.as_ref().unwrap().join(folder).join(format!("{name}.jsonl"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let header = format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"cwd\":{:?}}}\n",
            cwd.to_str().unwrap()
        );
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
    let alone = SessionPlaces::in_folder(home.places.own.clone(), "/app".into());
    assert_eq!(alone.find("0a1d").unwrap(), FoundSession::Nothing);
}

#[test]
fn each_terminal_goes_on_with_its_own_session_and_a_new_one_with_the_newest() {
    let mut home = home();
    home.places.cwd = home.folder.path().to_owned();
    let (cwd, places) = (&*home.places.cwd, &home.places);
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
fn the_header_of_a_session_decides_whose_it_is_when_folders_share_a_name() {
    let home = home();
    let all = home.places.all.clone().unwrap();
    let places = |cwd: &str| SessionPlaces::below(all.clone(), cwd.into());
    let (slash, dash) = (places("/app/a"), places("/app-a"));
    let none = home.terminal(None, &[]);
    assert_eq!(slash.own, dash.own, "the names are the same");
    assert_eq!((slash.new_folder(), dash.new_folder()), (&*slash.own, &*dash.own));
    let first = home.add_of(Path::new("/app/a"), "--app-a--", ("a", "0a", 50), "");
    assert_eq!(slash.new_folder(), slash.own);
    assert_eq!(dash.new_folder(), dash.other.as_deref().unwrap(), "the name is taken");

    // Earlier versions have put the sessions of both into one folder.
    let second = home.add_of(Path::new("/app-a"), "--app-a--", ("b", "0b", 10), "");
    let hashed = dash.other.as_ref().unwrap().file_name().unwrap().to_str().unwrap();
    let third = home.add_of(Path::new("/app-a"), hashed, ("c", "0c", 20), "");
    let silent = home.add_of(Path::new(""), hashed, ("d", "0d", 30), "");
    let paths = |places: &SessionPlaces| {
        let sessions = places.survey().unwrap();
        sessions.into_iter().map(|session| session.path).collect::<Vec<_>>()
    };
    assert_eq!(paths(&slash), std::slice::from_ref(&first));
    assert_eq!(paths(&dash), [second.clone(), third, silent]);
    assert_eq!(slash.most_recent(&none).unwrap(), Some(first.clone()));
    assert_eq!(dash.most_recent(&none).unwrap(), Some(second.clone()));
    assert_eq!(dash.find("0b").unwrap(), FoundSession::Here(second.clone()));
    assert!(matches!(slash.find("0b").unwrap(), FoundSession::Elsewhere(_)));
    // So does what a terminal remembers of them, and a folder that the user names.
    let terminal = home.terminal(Some("/dev/pts/3"), &[]);
    terminal.remember(Path::new("/app/a"), &second);
    assert_eq!(slash.most_recent(&terminal).unwrap(), Some(first.clone()));
    let given = SessionPlaces::in_folder(slash.own.clone(), "/app/a".into());
    assert_eq!((paths(&given), given.new_folder()), (vec![first], &*slash.own));
    assert!(matches!(given.find("0b").unwrap(), FoundSession::Elsewhere(_)));
}

#[test]
fn the_sessions_of_a_path_of_any_length_are_found() {
    let home = home();
    let all = home.places.all.clone().unwrap();
    for length in [100, 210, 250, 300, 4_000] {
        let cwd = PathBuf::from(format!("/{}", "\u{1}/".repeat(length / 2)));
        let places = SessionPlaces::below(all.clone(), cwd.clone());
        let folder = places.new_folder().file_name().unwrap().to_str().unwrap().to_owned();
        let new = home.add_of(&cwd, &folder, ("n", "0a", 10), "");
        let text = fs::read_to_string(&new).unwrap().replace("\\u{1}", "\\u0001");
        fs::write(&new, text).unwrap();
        let old = places.other.as_ref().filter(|_| length > 200).map(|old| {
            let name = old.file_name().unwrap().to_str().unwrap();
            home.add_of(Path::new(""), name, ("o", "0b", 50), "")
        });
        let paths: Vec<_> = places.survey().unwrap().into_iter().map(|it| it.path).collect();
        let expected: Vec<_> = [Some(new), old].into_iter().flatten().collect();
        assert_eq!(paths, expected, "{length}");
    }
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
    let long = "x".repeat(5_000);
    assert_eq!(file(None, &[("TERM_SESSION_ID", &long)]).len(), 200);
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
