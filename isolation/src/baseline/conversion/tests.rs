use std::fs;

use super::*;
use crate::baseline::scan::scan;
use crate::baseline::{ContentLocation, Snapshot};
use crate::testing::{Sample, path, prepare, tomorrow_ns};

#[test]
fn texts_whose_lines_all_end_with_crlf_can_do_without_it() {
    for (text, unix) in [
        ("a\r\nb\r\n", Some("a\nb\n")),
        ("a\r\n\r\nb", Some("a\n\nb")),
        ("a\rb\r\r\n\0\r", Some("a\rb\r\n\0\r")),
        ("a", Some("a")),
        ("", Some("")),
        ("a\n", None),
        ("a\r\nb\n", None),
    ] {
        assert_eq!(without_crlf(text.as_bytes()).as_deref(), unix.map(str::as_bytes), "{text:?}");
        if let Some(unix) = unix {
            assert_eq!(with_crlf(unix.as_bytes()), text.as_bytes());
        }
    }
}

const WINDOWS: &str = "*.txt text eol=crlf\n";
const UNIX: &str = "*.txt text eol=lf\n";

/// A repository with these settings and these files committed, all older than the index.
fn of_age(settings: &[&str], files: &[(&str, &str)]) -> Sample {
    let sample = Sample::empty();
    for setting in settings {
        let (name, value) = setting.split_once('=').unwrap();
        sample.git(&["config", name, value]);
    }
    for (path, text) in files {
        sample.write(path, text);
        sample.of_yesterday(path);
    }
    sample.commit();
    sample
}

/// Where the bytes of a file are besides in the tree.
#[derive(Debug, PartialEq, Eq)]
enum Kept {
    Blob,
    Crlf,
    Pin,
}

fn kept(snapshot: &Snapshot, file: &str) -> Kept {
    match snapshot.table.get(&path(file)).unwrap().source {
        ContentLocation::Blob(_) => Kept::Blob,
        ContentLocation::Crlf(_) => Kept::Crlf,
        ContentLocation::Pin(_) => Kept::Pin,
    }
}

/// Expects that a task begins with the file as it was although the user has edited it since.
fn expect_restored(sample: &Sample, snapshot: &Snapshot, file: &str, text: &str) {
    sample.write(file, "edited\n");
    let workspace = prepare(snapshot, "a");
    assert_eq!(fs::read_to_string(workspace.root.join(file)).unwrap(), text);
}

#[test]
fn a_clean_file_comes_back_whatever_git_would_check_out_and_is_pinned_only_if_it_must_be() {
    for (attributes, text, expected) in [
        (WINDOWS, "one\ntwo\n", Kept::Blob),
        (WINDOWS, "one\r\ntwo\r\n", Kept::Crlf),
        (WINDOWS, "one\r\ntwo\n", Kept::Pin),
        (UNIX, "one\ntwo\n", Kept::Blob),
        (UNIX, "one\r\ntwo\r\n", Kept::Crlf),
        (UNIX, "one\r\ntwo\n", Kept::Pin),
        ("* text=auto\n", "one\ntwo\n", Kept::Blob),
        ("* text=auto\n", "one\r\ntwo\r\n", Kept::Crlf),
        ("* text=auto eol=crlf\n", "one\ntwo\r\n", Kept::Pin),
        ("* -text\n", "one\r\ntwo\n", Kept::Blob),
        ("*.txt ident\n", "$Id$\n", Kept::Blob),
        ("*.txt ident\n", "$Id: of another$\n", Kept::Pin),
        ("*.txt ident text eol=crlf\n", "$Id$\r\n", Kept::Crlf),
    ] {
        let sample = of_age(&[], &[(".gitattributes", attributes), ("a.txt", text)]);
        let snapshot = sample.freeze_tomorrow("raaaa");
        assert_eq!(kept(&snapshot, "a.txt"), expected, "{attributes:?} {text:?}");
        expect_restored(&sample, &snapshot, "a.txt", text);
    }
}

#[test]
fn settings_convert_as_attributes_do() {
    for (setting, text, expected) in [
        ("core.autocrlf=true", "one\r\ntwo\r\n", Kept::Crlf),
        ("core.autocrlf=true", "one\ntwo\n", Kept::Blob),
        ("core.autocrlf=true", "one\r\ntwo\n", Kept::Pin),
        ("core.autocrlf=input", "one\r\ntwo\r\n", Kept::Crlf),
        ("core.autocrlf=false", "one\r\ntwo\n", Kept::Blob),
    ] {
        let sample = of_age(&[setting], &[("a.txt", text)]);
        let snapshot = sample.freeze_tomorrow("raaaa");
        assert_eq!(kept(&snapshot, "a.txt"), expected, "{setting} {text:?}");
        expect_restored(&sample, &snapshot, "a.txt", text);
    }
}

#[test]
fn attributes_are_read_wherever_git_reads_them() {
    let mixed = ("below/a.txt", "one\r\ntwo\n");
    let restored = |sample: &Sample| {
        let snapshot = sample.freeze_tomorrow("raaaa");
        expect_restored(sample, &snapshot, mixed.0, mixed.1);
    };
    restored(&of_age(&[], &[("below/.gitattributes", WINDOWS), mixed]));
    // Gone from the tree, they hold all the same.
    let sample = of_age(&[], &[(".gitattributes", WINDOWS), mixed]);
    fs::remove_file(sample.root.join(".gitattributes")).unwrap();
    restored(&sample);
    let sample = of_age(&[], &[mixed]);
    sample.write(".git/info/attributes", WINDOWS);
    sample.write(mixed.0, "one\n");
    sample.write(mixed.0, mixed.1);
    sample.of_yesterday(mixed.0);
    sample.git(&["add", "--renormalize", "."]);
    restored(&sample);
}

#[test]
fn files_that_git_checks_out_as_they_are_stored_are_not_looked_at() {
    let files: Vec<_> = (0..20).map(|at| format!("{at}.txt")).collect();
    for attributes in ["* text=auto\n*.bat text eol=crlf\n", "*.png binary\n", WINDOWS] {
        let files = files.iter().map(|file| (file.as_str(), "one\ntwo\n"));
        let sample =
            of_age(&[], &files.chain([(".gitattributes", attributes)]).collect::<Vec<_>>());
        let tree = Tree::open_at(&sample.root).unwrap();
        let scan = scan(&sample.repo().git().unwrap(), &tree, &[], tomorrow_ns()).unwrap();
        assert_eq!(scan.dirty_candidates.len(), 0, "{attributes:?}");
    }
}

#[test]
fn what_a_program_has_converted_is_not_looked_at() {
    let program = ["filter.big.clean=echo pointer"];
    let attributes = "* text=auto\n*.txt filter=big\n";
    let files = [(".gitattributes", attributes), ("a.txt", "of many megabytes\n")];
    let sample = of_age(&program, &files);
    assert_eq!(sample.git(&["cat-file", "blob", "HEAD:a.txt"]), "pointer\n");
    assert_eq!(kept(&sample.freeze_tomorrow("raaaa"), "a.txt"), Kept::Blob);
}

#[test]
fn a_file_that_was_touched_comes_back_where_a_program_converts_it_too() {
    let files = [(".gitattributes", "*.txt text eol=crlf filter=big\n"), ("a.txt", "one\r\n")];
    let sample = of_age(&[], &files);
    sample.write("a.txt", "one\r\n");
    let snapshot = sample.freeze_tomorrow("raaaa");
    assert_eq!(kept(&snapshot, "a.txt"), Kept::Crlf);
    expect_restored(&sample, &snapshot, "a.txt", "one\r\n");
}

#[test]
fn attributes_that_convert_nothing_have_no_blob_asked_for() {
    let possible = |attributes: &str| {
        let mut possible = ConversionsInUse::default();
        possible.read(attributes.as_bytes());
        (possible.built_in, possible.programs)
    };
    for (attributes, expected) in [
        ("", (false, false)),
        ("# * text\n", (false, false)),
        ("*.png binary\n*.jpg -text\n", (false, false)),
        ("text diff=rust merge=union\n", (false, false)),
        ("*.psd filter=lfs diff=lfs merge=lfs -text\n*.md !eol\n", (false, true)),
        ("*.txt working-tree-encoding=UTF-16\n", (false, true)),
        ("* text\n", (true, false)),
        ("* text=auto", (true, false)),
        ("*.png binary\n\t*.bat  eol=crlf -diff\r\n", (true, false)),
        ("*.c crlf=input\n", (true, false)),
        ("[attr]windows text eol=crlf\n", (true, false)),
        ("\"a b\" ident\n*.psd filter=lfs\n", (true, true)),
    ] {
        assert_eq!(possible(attributes), expected, "{attributes:?}");
    }
}

#[test]
fn a_file_in_another_encoding_comes_back_as_it_was_also_if_its_blob_is_as_large() {
    let sample = Sample::empty();
    // Three bytes for a character in the blob, and two in the tree, beside the mark.
    let text = "\u{4e09}\u{4e09}";
    let bytes: Vec<u8> =
        [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    assert_eq!(bytes.len(), text.len());
    sample.write(".gitattributes", "*.txt working-tree-encoding=UTF-16\n");
    sample.write("a.txt", &bytes);
    sample.of_yesterday("a.txt");
    sample.commit();
    let snapshot = sample.freeze_tomorrow("raaaa");
    assert_eq!(kept(&snapshot, "a.txt"), Kept::Pin);
    sample.write("a.txt", "edited\n");
    let workspace = prepare(&snapshot, "a");
    assert_eq!(fs::read(workspace.root.join("a.txt")).unwrap(), bytes);
}
