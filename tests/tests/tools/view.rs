//! What every view of a workspace keeps to, whatever it is made of.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc;

use engine::ports::{
    FileKind, FolderRequest, Found, Listing, Replace, Sizes, ViewError, ViewPath, VisitedFile,
};

use super::session::{Session, ViewKind};

over_both_views! {
    a_file_is_read_in_parts_and_as_it_was_when_it_was_opened,
    a_file_is_replaced_only_in_the_state_that_was_named,
    only_find_follows_symlinks,
    files_links_and_empty_folders_are_removed,
    folders_are_made_once,
    a_folder_is_listed_up_to_a_bound,
    folders_are_read_in_one_step_until_there_are_enough_entries,
    files_are_visited_in_one_step_until_the_visitor_has_enough,
}

fn path(text: &str) -> ViewPath {
    ViewPath::new(Path::new(text)).unwrap()
}

async fn a_file_is_read_in_parts_and_as_it_was_when_it_was_opened(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("a/b", "0123456789");
    let view = session.view();
    let mut file = view.open(&path("a/b")).await.unwrap();
    assert_eq!((file.stat().kind, file.stat().size), (FileKind::Regular, 10));
    assert_eq!(file.read(4).await.unwrap(), b"0123");
    view.write(&path("a/b"), b"new".to_vec(), Replace::Any).await.unwrap();
    assert_eq!(file.read(4).await.unwrap(), b"4567");
    assert_eq!(file.read(4).await.unwrap(), b"89");
    assert_eq!(file.read(4).await.unwrap(), b"");
    assert_eq!(session.text("a/b").await, "new");
}

async fn a_file_is_replaced_only_in_the_state_that_was_named(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("a", "old");
    session.set_mode("a", 0o755).await;
    let view = session.view();
    let before = view.stat(&path("a")).await.unwrap();
    let old = Replace::Exactly(before.version);
    view.write(&path("a"), b"new!".to_vec(), old).await.unwrap();
    assert_eq!((session.mode("a").await, session.text("a").await.as_str()), (0o755, "new!"));
    let refused = view.write(&path("a"), b"lost".to_vec(), old).await;
    assert!(matches!(refused, Err(ViewError::Changed)), "{refused:?}");
    view.remove(&path("a")).await.unwrap();
    let refused = view.write(&path("a"), b"lost".to_vec(), old).await;
    assert!(matches!(refused, Err(ViewError::Changed)), "{refused:?}");
    assert_eq!(session.names("").await, [""; 0]);
    let absent = Replace::Absent { mode: Some(0o755) };
    view.write(&path("a"), b"new".to_vec(), absent).await.unwrap();
    assert_eq!((session.mode("a").await, session.text("a").await.as_str()), (0o755, "new"));
    let refused = view.write(&path("a"), b"lost".to_vec(), absent).await;
    assert!(matches!(refused, Err(ViewError::Changed)), "{refused:?}");
    assert_eq!(session.text("a").await, "new");
}

async fn only_find_follows_symlinks(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("folder/a", "x");
    session.put_symlink("folder", "link");
    session.put_symlink("a", "folder/b");
    let view = session.view();
    for text in ["link/a", "link/b", "link/../folder/b"] {
        let found = view.find(Path::new(text)).await.unwrap();
        let Found::File { path: real, stat } = found else { panic!("{text}: {found:?}") };
        assert_eq!((real, stat.size), (path("folder/a"), 1), "{text}");
    }
    assert_eq!(view.stat(&path("link")).await.unwrap().kind, FileKind::Symlink);
    let refused = |error| matches!(error, ViewError::Changed);
    assert!(refused(view.stat(&path("link/a")).await.unwrap_err()));
    assert!(refused(view.open(&path("link/a")).await.map(drop).unwrap_err()));
    assert!(refused(view.open(&path("folder/b")).await.map(drop).unwrap_err()));
    assert!(refused(view.read_dir(&path("link"), 9).await.unwrap_err()));
    assert!(refused(view.make_folders(&path("link/new")).await.unwrap_err()));
    let written = view.write(&path("link/a"), b"y".to_vec(), Replace::Any).await;
    assert!(refused(written.unwrap_err()));
    assert!(refused(view.remove(&path("link/a")).await.unwrap_err()));
    assert_eq!(session.names("folder").await, ["a", "b"]);
    assert_eq!(session.text("folder/a").await, "x");
    for outside in ["..", "folder/../..", "/etc"] {
        let found = view.find(Path::new(outside)).await;
        assert!(matches!(found, Err(ViewError::Outside { link: None })), "{found:?}");
    }
}

async fn files_links_and_empty_folders_are_removed(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("c", "y");
    session.put_symlink("nowhere", "link");
    let view = session.view();
    session.put("d/e", "z");
    assert!(view.remove(&path("d")).await.is_err(), "it is not empty");
    for removed in ["d/e", "d", "link"] {
        view.remove(&path(removed)).await.unwrap();
    }
    assert_eq!(session.names("").await, ["c"]);
    for missing in [view.remove(&path("d")).await, view.stat(&path("d/e")).await.map(drop)] {
        assert!(matches!(missing, Err(ViewError::Missing)), "{missing:?}");
    }
}

async fn folders_are_made_once(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("a/file", "x");
    let view = session.view();
    for _ in 0..2 {
        view.make_folders(&path("a/b/c")).await.unwrap();
    }
    assert_eq!(session.names("a").await, ["b", "file"]);
    let refused = view.make_folders(&path("a/file/b")).await;
    assert!(matches!(refused, Err(ViewError::Changed)), "{refused:?}");
    let missing = view.write(&path("none/a"), Vec::new(), Replace::Any).await;
    assert!(matches!(missing, Err(ViewError::Missing)), "{missing:?}");
}

async fn a_folder_is_listed_up_to_a_bound(kind: ViewKind) {
    let session = Session::new(kind).await;
    for name in ["b", "A", "c"] {
        session.put(name, "");
    }
    session.put_folder("a");
    let view = session.view();
    let names = |listing: Listing| listing.names;
    let all = view.read_dir(&ViewPath::default(), 4).await.unwrap();
    assert!(!all.is_cut);
    let expected = [
        ("A", FileKind::Regular),
        ("a", FileKind::Folder),
        ("b", FileKind::Regular),
        ("c", FileKind::Regular),
    ];
    assert_eq!(names(all), expected.map(|(name, kind)| (OsString::from(name), kind)));
    let some = view.read_dir(&ViewPath::default(), 3).await.unwrap();
    assert!(some.is_cut);
    assert_eq!(names(some).len(), 3);
}

async fn folders_are_read_in_one_step_until_there_are_enough_entries(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put(".gitignore", "*.o\n");
    session.put("a/b", "123");
    session.put("a/C", "");
    session.put_folder("a/d");
    session.put_symlink("b", "a/e");
    session.put_symlink("a", "link");
    session.put_pipe("a/.gitignore");
    let view = session.view();
    let request = FolderRequest { most: 9, enough: 99, sizes: Sizes::Read };
    let folders = ["", "link", "none", "a"].map(path);
    let read = view.read_folders(&folders, request).await.unwrap();
    let [root, link, none, a] = read.as_slice() else { panic!("{read:?}") };
    let root = root.as_ref().unwrap();
    assert_eq!(root.ignore_rules.as_deref(), Some(&b"*.o\n"[..]));
    assert_eq!(root.entries.len(), 3);
    assert!(matches!(link, Err(ViewError::Changed)), "{link:?}");
    assert!(matches!(none, Err(ViewError::Missing)), "{none:?}");
    let a = a.as_ref().unwrap();
    assert_eq!((a.ignore_rules.as_deref(), a.is_cut), (None, false), "a pipe is not read");
    let entries = a.entries.iter();
    let entries = entries.map(|entry| (entry.name.to_str().unwrap(), entry.kind, entry.size));
    let expected = [
        (".gitignore", FileKind::Special, None),
        ("C", FileKind::Regular, Some(0)),
        ("b", FileKind::Regular, Some(3)),
        ("d", FileKind::Folder, None),
        ("e", FileKind::Symlink, None),
    ];
    assert_eq!(entries.collect::<Vec<_>>(), expected);
    let request = FolderRequest { most: 2, enough: 3, sizes: Sizes::Skip };
    let read = view.read_folders(&["a", "", "a"].map(path), request).await.unwrap();
    assert_eq!(read.len(), 2, "the third one is not read");
    let cut = read[0].as_ref().unwrap();
    assert_eq!((cut.entries.len(), cut.is_cut), (2, true));
    assert!(cut.entries.iter().all(|entry| entry.size.is_none()));
}

async fn files_are_visited_in_one_step_until_the_visitor_has_enough(kind: ViewKind) {
    let session = Session::new(kind).await;
    for name in ["a/1", "a/2", "b/1", "b/2"] {
        session.put(name, format!("in {name}"));
    }
    session.put_symlink("1", "a/link");
    session.put_pipe("b/pipe");
    let view = session.view();
    let (visited, results) = mpsc::channel();
    let visit = move |path: &ViewPath, file: Result<VisitedFile<'_>, ViewError>| {
        let read = file.map(|file| {
            let mut text = String::new();
            file.content.read_to_string(&mut text).unwrap();
            (text, file.stat.size)
        });
        let is_last = path.as_path() == Path::new("b/1");
        visited.send(read.map_err(|error| error.to_string())).unwrap();
        if is_last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let paths = ["a/1", "a/link", "a/none", "a/2", "b/pipe", "b", "b/1", "b/2"].map(path);
    view.visit_files(&paths, 4, Box::new(visit)).await.unwrap();
    let begin = |size: u64| Ok(("in a".to_owned(), size));
    let failed = |error: ViewError| Err(error.to_string());
    let expected = [
        begin(6),
        failed(ViewError::Changed),
        failed(ViewError::Missing),
        begin(6),
        failed(ViewError::Special),
        failed(ViewError::Folder),
        Ok(("in b".to_owned(), 6)),
    ];
    assert_eq!(results.try_iter().collect::<Vec<_>>(), expected);
}
