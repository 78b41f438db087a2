//! Texts that are UTF-16 in the working tree merge and become commits as git's UTF-8 texts do.

use std::path::Path;

use engine::ports::{SettleChoice, SettleRequest, WrittenFile};
use protocol::{ChangeSummary, ConflictReason, Landed, SettledBy};

use super::kit::{Kit, LANDED, landed, write};
use crate::baseline::encoding_fault;
use crate::captures::PathFilter;
use crate::error::error_text;
use crate::git_texts::{GitTexts, TextBlobs};
use crate::settle::{check_can_stage, conflict_hunks, stage_merge};

const ATTRIBUTES: &str = "*.le working-tree-encoding=UTF-16LE-BOM\n*.any working-tree-encoding=UTF-16\n\
                          *.bare working-tree-encoding=utf-16be\n";

/// A file in each encoding, with what its bytes begin with, and whether they are little-endian.
const FILES: [(&str, &[u8], bool); 4] = [
    ("one.le", b"\xff\xfe", true),
    ("two.any", b"\xff\xfe", true),
    ("three.any", b"\xfe\xff", false),
    ("four.bare", b"", false),
];

fn encoded((_, mark, is_little): (&str, &[u8], bool), text: &str) -> Vec<u8> {
    let bytes = text.encode_utf16().flat_map(|unit| match is_little {
        true => unit.to_le_bytes(),
        false => unit.to_be_bytes(),
    });
    mark.iter().copied().chain(bytes).collect()
}

/// The lines of the files, of which these are changed.
fn text(changes: &[(usize, &str)]) -> String {
    let line = |number| match changes.iter().find(|(changed, _)| *changed == number) {
        Some((_, line)) => (*line).to_owned(),
        None => format!("zeile {number} \u{e4}\u{4e09}"),
    };
    (0..9).map(|number| line(number) + "\r\n").collect()
}

fn kit() -> Kit {
    let kit = Kit::with(&[(".gitattributes", ATTRIBUTES)]);
    write_all(&kit.root, &[]);
    kit.git(&["add", "-A"]);
    kit.git(&["commit", "-q", "-m", "texts"]);
    kit
}

fn write_all(root: &Path, changes: &[(usize, &str)]) {
    for file in FILES {
        write(root, file.0, encoded(file, &text(changes)));
    }
}

#[test]
fn two_tasks_on_different_lines_of_an_encoded_file_land_and_its_byte_order_stays() {
    let kit = kit();
    let one = kit.task("one", |copy| write_all(copy, &[(1, "eins")]));
    let two = kit.task("two", |copy| write_all(copy, &[(7, "sieben")]));
    assert_eq!(landed(&kit.land(&[one, two])), [&LANDED; 2]);
    for file in FILES {
        let found = std::fs::read(kit.root.join(file.0)).unwrap();
        assert_eq!(found, encoded(file, &text(&[(1, "eins"), (7, "sieben")])), "{}", file.0);
    }
}

#[test]
fn a_byte_order_that_one_side_changed_stays_changed_and_an_empty_file_has_none() {
    let [_, little, big, _] = FILES;
    let name = "two.any";
    let bytes =
        |order: (&str, &[u8], bool), changes: &[(usize, &str)]| encoded(order, &text(changes));
    for (ours, theirs, expected) in
        [(big, little, big), (little, big, big), (little, little, little)]
    {
        let kit = kit();
        let task = kit.task("task", |copy| write(copy, name, bytes(theirs, &[(7, "sieben")])));
        write(&kit.root, name, bytes(ours, &[(1, "eins")]));
        assert_eq!(landed(&kit.land(&[task])), [&LANDED]);
        let found = std::fs::read(kit.root.join(name)).unwrap();
        assert_eq!(found, bytes(expected, &[(1, "eins"), (7, "sieben")]), "{ours:?} {theirs:?}");
    }
    let kit = Kit::with(&[(".gitattributes", ATTRIBUTES), (name, "")]);
    let mut task = kit.task("task", |copy| write(copy, name, bytes(big, &[(1, "eins")])));
    write(&kit.root, name, bytes(big, &[(1, "uno")]));
    task.settle = SettleRequest { all: Some(SettleChoice::Markers), ..SettleRequest::default() };
    assert_eq!(landed(&kit.land(&[task])), [&LANDED]);
    assert!(std::fs::read(kit.root.join(name)).unwrap().starts_with(big.1));
}

#[test]
fn the_same_line_of_an_encoded_file_is_a_conflict_and_its_markers_are_encoded() {
    let kit = kit();
    let one = kit.task("one", |copy| write_all(copy, &[(1, "eins")]));
    let mut two = kit.task("two", |copy| write_all(copy, &[(1, "uno")]));
    let report = kit.land(&[one, two.clone()]);
    let [_, Landed::Conflicted { conflicts }] = landed(&report)[..] else { panic!("{report:?}") };
    assert!(conflicts.iter().all(|it| it.reason == ConflictReason::Content), "{conflicts:?}");
    assert_eq!(conflicts.len(), FILES.len());
    two.settle = SettleRequest { all: Some(SettleChoice::Markers), ..SettleRequest::default() };
    assert_eq!(landed(&kit.land(&[two])), [&LANDED]);
    for file in FILES {
        let found = std::fs::read(kit.root.join(file.0)).unwrap();
        for part in ["<<<<<<<", "eins\r\n", "uno\r\n", ">>>>>>>"] {
            let part = encoded((file.0, b"", file.2), part);
            assert!(found.windows(part.len()).any(|bytes| bytes == part), "{}: {found:?}", file.0);
        }
        assert!(found.starts_with(file.1), "{}", file.0);
    }
}

#[test]
fn branches_have_the_text_as_git_commits_it() {
    let kit = kit();
    let task = kit.task("task", |copy| write_all(copy, &[(1, "eins")]));
    let report = kit.branch("regatta", &[task]).unwrap();
    assert!(matches!(landed(&report)[..], [Landed::Landed { .. }]), "{report:?}");
    for (file, ..) in FILES {
        let blob = kit.git(&["cat-file", "blob", &format!("regatta/r7k3f/task:{file}")]);
        assert_eq!(blob, text(&[(1, "eins")]), "{file}");
    }
    let broken = kit.task("broken", |copy| write(copy, "four.bare", b"odd"));
    let report = kit.branch("regatta", &[broken]).unwrap();
    let Landed::Conflicted { conflicts } = landed(&report)[0] else { panic!("{report:?}") };
    assert_eq!(conflicts[0].reason, ConflictReason::Encoding);
}

#[test]
fn a_patch_of_encoded_files_is_text_with_counted_lines_and_git_applies_it() {
    let kit = kit();
    let texts = GitTexts::of(&kit.root);
    let task = kit.task("one", |copy| write_all(copy, &[(1, "eins")]));
    let store = kit.store();
    let patch = store.patch(&task.capture, &PathFilter::Everything, &texts).unwrap();
    let shown = String::from_utf8(patch.clone()).expect("it is text");
    // What the same handle writes afterwards is in the store.
    let later = store.write(b"written after the patch\n").unwrap();
    assert_eq!(kit.store().read(later).unwrap(), b"written after the patch\n");
    assert_eq!(shown.matches("\n+eins\r\n").count(), FILES.len(), "{shown}");
    assert!(!shown.contains("GIT binary patch"), "{shown}");
    let counted = crate::capture::summary((&store, &texts), task.capture.clone()).unwrap();
    assert_eq!(counted.changes, ChangeSummary { files: 4, added: 4, removed: 4 });
    // It knows the blobs from which it begins.
    let needs = store.patch_needs(&kit.repo, &task.capture).unwrap();
    assert_eq!((needs.to_fetch, needs.converted), (vec![], vec![]));
    let file = kit.folder.path().join("one.patch");
    std::fs::write(&file, patch).unwrap();
    kit.git(&["apply", "--3way", file.to_str().unwrap()]);
    for file in [FILES[0], FILES[1], FILES[3]] {
        let found = std::fs::read(kit.root.join(file.0)).unwrap();
        assert_eq!(found, encoded(file, &text(&[(1, "eins")])), "{}", file.0);
    }
}

#[test]
fn the_places_of_a_conflict_are_text_and_what_a_tool_writes_is_encoded() {
    let kit = kit();
    let one = kit.task("one", |copy| write_all(copy, &[(1, "eins")]));
    let mut two = kit.task("two", |copy| write_all(copy, &[(1, "uno")]));
    let report = kit.land(&[one, two.clone()]);
    let [_, Landed::Conflicted { conflicts }] = landed(&report)[..] else { panic!("{report:?}") };
    let (store, texts) = (kit.store(), GitTexts::of(&kit.root));
    for conflict in conflicts {
        let blobs = TextBlobs { blobs: &store, texts: &texts, path: &conflict.path };
        let hunks = conflict_hunks(&blobs, conflict).unwrap();
        assert_eq!(hunks.len(), 1, "{}", conflict.path);
        let sides = [&hunks[0].ours, &hunks[0].theirs].map(|lines| lines.concat());
        assert_eq!(sides, [b"eins\r\n".to_vec(), b"uno\r\n".to_vec()], "{}", conflict.path);
        let (ours, theirs) = (conflict.ours.clone(), conflict.theirs.clone());
        let bytes = Some(text(&[(1, "both")]).into_bytes());
        let file = WrittenFile { bytes, ours, theirs, by: SettledBy::Tool, resolver: None };
        two.settle.paths.insert(conflict.path.clone(), SettleChoice::Written(file));
    }
    assert_eq!(landed(&kit.land(&[two])), [&LANDED]);
    for file in FILES {
        let found = std::fs::read(kit.root.join(file.0)).unwrap();
        assert_eq!(found, encoded(file, &text(&[(1, "both")])), "{}", file.0);
    }
}

#[test]
fn an_encoding_that_only_git_converts_and_bytes_that_are_not_in_theirs_are_named() {
    let attributes = format!("{ATTRIBUTES}*.sjis working-tree-encoding=SHIFT-JIS\n");
    let kit = Kit::with(&[(".gitattributes", &attributes)]);
    let git = kit.repo.git().unwrap();
    let task = kit.task("odd", |copy| {
        ["a.any", "b.bare", "c.sjis"].iter().for_each(|name| write(copy, name, b"odd"));
    });
    let report = kit.branch("regatta", &[task]).unwrap();
    let Landed::Conflicted { conflicts } = landed(&report)[0] else { panic!("{report:?}") };
    for (conflict, fault) in conflicts.iter().zip([
        "it is not in UTF-16, which begins with a byte-order mark, and git would refuse it, too",
        "it is not in utf-16be, and git would refuse it, too",
        "git converts it from SHIFT-JIS when it adds it, and this program does not",
    ]) {
        assert_eq!(conflict.reason, ConflictReason::Encoding);
        assert_eq!(encoding_fault(&git, &conflict.path).as_deref(), Some(fault));
    }
    assert_eq!(conflicts.len(), 3);
    assert_eq!(encoding_fault(&git, &protocol::RepoPath::new("plain.txt").unwrap()), None);
}

#[test]
fn the_index_has_the_text_as_git_adds_it_and_what_git_would_refuse_is_refused_with_its_encoding() {
    let kit = kit();
    let one = kit.task("one", |copy| write_all(copy, &[(1, "eins")]));
    let mut two = kit.task("two", |copy| {
        write_all(copy, &[(1, "uno")]);
        write(copy, "new.le", encoded(FILES[0], "neu\n"));
    });
    let report = kit.land(&[one, two.clone()]);
    let [_, Landed::Conflicted { conflicts }] = landed(&report)[..] else { panic!("{report:?}") };
    kit.git(&["add", "-A"]);
    kit.git(&["commit", "-q", "-m", "one"]);
    let store = kit.store();
    let can_stage = |capture| {
        let changes = store.changes(capture).unwrap();
        check_can_stage(&kit.repo, &store, &changes, conflicts)
    };
    can_stage(&two.capture).unwrap();
    let odd = kit.task("odd", |copy| write(copy, "odd.any", b"odd"));
    let refused = error_text(&can_stage(&odd.capture).unwrap_err());
    assert!(refused.contains("odd.any cannot be staged: it is not in UTF-16"), "{refused}");
    two.settle = SettleRequest { all: Some(SettleChoice::Markers), ..SettleRequest::default() };
    assert_eq!(landed(&kit.land(&[two.clone()])), [&LANDED]);
    stage_merge(&kit.repo, &store, &two.capture, conflicts).unwrap();
    let staged = |name: &str| kit.git(&["cat-file", "blob", name]);
    assert_eq!(staged(":new.le"), "neu\n");
    assert_eq!(kit.git(&["diff-files", "--name-only", "--", "new.le"]), "");
    for (file, ..) in FILES {
        for (stage, change) in [(1, None), (2, Some((1, "eins"))), (3, Some((1, "uno")))] {
            assert_eq!(staged(&format!(":{stage}:{file}")), text(change.as_slice()), "{file}");
        }
    }
}
