//! Random texts, merged here and by `git merge-file`.

use std::path::Path;
use std::process::Command;

use super::{Budget, Favor, Labels, MARKER_LENGTH, MarkerStyle, Refinement, TextMerge, merge_text};
use crate::merge::random::Random;
use test_limit::{Rounds, by_depth};

/// The result of a merge: the text, and whether it has conflicts.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    text: String,
    has_conflicts: bool,
}

fn ours(texts: &[Vec<u8>; 3], favor: Favor) -> Outcome {
    merged(texts, favor, (MarkerStyle::Merge, MARKER_LENGTH))
}

fn merged(texts: &[Vec<u8>; 3], favor: Favor, (style, length): (MarkerStyle, usize)) -> Outcome {
    let [base, ours, theirs] = texts;
    let budget = &mut Budget::of_a_merge();
    let show = |text: Vec<u8>| String::from_utf8_lossy(&text).into_owned();
    let refinement = match style {
        MarkerStyle::Merge => Refinement::ZealousAlnum,
        MarkerStyle::Diff3 | MarkerStyle::Zdiff3 => style.refinement(),
    };
    match merge_text([base, ours, theirs], favor, refinement, budget) {
        TextMerge::Clean(text) => Outcome { text: show(text), has_conflicts: false },
        TextMerge::Conflicts(text) => {
            let base = (style != MarkerStyle::Merge).then_some("base");
            let labels = Labels { base, ours: "ours", theirs: "theirs", length };
            Outcome { text: show(text.with_markers(&labels)), has_conflicts: true }
        }
        TextMerge::TooLarge => panic!("the budget is too small"),
    }
}

fn gits(folder: &Path, texts: &[Vec<u8>; 3], favor: Favor) -> Outcome {
    let union = ["--union".to_owned()];
    gits_with(folder, texts, if favor == Favor::Union { &union } else { &[] })
}

fn gits_with(folder: &Path, texts: &[Vec<u8>; 3], options: &[String]) -> Outcome {
    for (name, text) in ["base", "ours", "theirs"].iter().zip(texts) {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let mut git = Command::new("git");
    git.current_dir(folder).args(["merge-file", "-p", "--diff-algorithm=histogram"]);
    let output = git.args(options).args(["ours", "base", "theirs"]).output().unwrap();
    let code = output.status.code().unwrap();
    assert!((0..128).contains(&code), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Outcome { text, has_conflicts: code != 0 }
}

/// A text of lines of which some repeat.
fn base(random: &mut Random) -> Vec<String> {
    let kinds = [3, 6, 20, 200][random.below(4)];
    let length = [0, 1, 2, 8, 20, 60][random.below(6)];
    (0..length).map(|_| line(random, kinds)).collect()
}

fn line(random: &mut Random, kinds: usize) -> String {
    match random.below(8) {
        0 => String::new(),
        1 => "}".to_owned(),
        2 => "    }".to_owned(),
        _ => format!("{}l{}", "  ".repeat(random.below(3)), random.below(kinds)),
    }
}

fn edited(random: &mut Random, base: &[String]) -> Vec<String> {
    let mut lines = base.to_vec();
    for _ in 0..random.below(5) {
        let at = random.below(lines.len() + 1);
        let count = random.below(4).min(lines.len() - at);
        match random.below(6) {
            0 => drop(lines.drain(at..at + count)),
            1 | 2 => {
                for _ in 0..=random.below(3) {
                    let new = line(random, 12);
                    lines.insert(at, new);
                }
            }
            3 => {
                let moved: Vec<_> = lines.drain(at..at + count).collect();
                let to = random.below(lines.len() + 1);
                lines.splice(to..to, moved);
            }
            4 => {
                let copied = lines[at..at + count].to_vec();
                lines.splice(at..at, copied);
            }
            _ => {
                for line in &mut lines[at..at + count] {
                    line.push('x');
                }
            }
        }
    }
    lines
}

fn joined(random: &mut Random, lines: &[String], ending: &str) -> Vec<u8> {
    let mut text = lines.iter().map(|line| format!("{line}{ending}")).collect::<String>();
    if random.below(5) == 0 {
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
    }
    text.into_bytes()
}

fn three_texts(random: &mut Random) -> [Vec<u8>; 3] {
    let base = base(random);
    let (ours, theirs) = (edited(random, &base), edited(random, &base));
    let mut ending = || if random.below(6) == 0 { "\r\n" } else { "\n" };
    let all = ending();
    let mut one_of_them = || if ending() == "\n" { all } else { ending() };
    let endings = [one_of_them(), one_of_them(), one_of_them()];
    let mut text = |lines: &[String], ending| joined(random, lines, ending);
    [text(&base, endings[0]), text(&ours, endings[1]), text(&theirs, endings[2])]
}

#[test]
fn texts_merge_as_git_merges_them_with_histogram_diff_and_zealous_refinement() {
    let folder = tempfile::tempdir().unwrap();
    let mut rounds = Rounds::new("texts", 100, 2_000);
    let mut conflicts = 0;
    for seed in rounds.by_ref() {
        let texts = three_texts(&mut Random::new(seed));
        let git = gits(folder.path(), &texts, Favor::Conflicts);
        assert_eq!(ours(&texts, Favor::Conflicts), git, "seed {seed}");
        conflicts += u64::from(git.has_conflicts);
        if seed % 4 == 0 {
            let git = gits(folder.path(), &texts, Favor::Union);
            assert_eq!(ours(&texts, Favor::Union), git, "union, seed {seed}");
        }
    }
    let done = rounds.done();
    assert!(
        done.count < 100 || conflicts * 10 >= done.count * 2,
        "{conflicts} conflicts in {} cases",
        done.count
    );
    done.report("R20", 1, "texts merged as git merges them");
}

#[test]
fn markers_of_each_style_and_length_are_those_of_git() {
    let folder = tempfile::tempdir().unwrap();
    let mut conflicts = 0;
    let mut rounds = Rounds::new("markers", 50, 2_000);
    for seed in rounds.by_ref() {
        let random = &mut Random::new(seed);
        let length = [1, 3, 7, 12, 200][random.below(5)];
        let texts = three_texts(random);
        for (style, name) in [(MarkerStyle::Diff3, "--diff3"), (MarkerStyle::Zdiff3, "--zdiff3")] {
            let options = [name.to_owned(), format!("--marker-size={length}")];
            let git = gits_with(folder.path(), &texts, &options);
            let ours = merged(&texts, Favor::Conflicts, (style, length));
            assert_eq!(ours, git, "{name}, seed {seed}");
            conflicts += u64::from(git.has_conflicts);
        }
    }
    let done = rounds.done();
    assert!(
        done.count < 100 || conflicts * 10 >= done.count * 4,
        "{conflicts} conflicts in {} cases",
        done.count
    );
    done.report("R20", 2, "texts with markers as git has them");
}

#[test]
fn long_texts_of_frequent_lines_merge_as_in_git() {
    let folder = tempfile::tempdir().unwrap();
    for seed in Rounds::new("long_texts", 5, 100) {
        let random = &mut Random::new(seed);
        let base: Vec<String> = (0..400).map(|_| line(random, 4)).collect();
        let (one, two) = (edited(random, &base), edited(random, &base));
        let texts = [&base, &one, &two].map(|lines| joined(random, lines, "\n"));
        let git = gits(folder.path(), &texts, Favor::Conflicts);
        assert_eq!(ours(&texts, Favor::Conflicts), git, "seed {seed}");
    }
}

#[test]
fn texts_that_would_take_too_long_to_compare_are_too_large() {
    let (lines, equal) = by_depth((30_000, 50_000), (60_000, 2_000_000));
    let text =
        |number: usize| (0..lines).map(|at| format!("{}\n", at % number)).collect::<String>();
    let texts = [text(61), text(59), text(53)];
    let merged = merge_text(
        [texts[0].as_bytes(), texts[1].as_bytes(), texts[2].as_bytes()],
        Favor::Conflicts,
        Refinement::Zealous,
        &mut Budget::of_a_merge(),
    );
    // Either is right; what matters is that it ends soon.
    assert!(!matches!(merged, TextMerge::Clean(_)));
    let merged = merge_text(
        [texts[0].as_bytes(), texts[1].as_bytes(), texts[2].as_bytes()],
        Favor::Conflicts,
        Refinement::Zealous,
        &mut Budget(10_000),
    );
    assert!(matches!(merged, TextMerge::TooLarge));
    let equal = "same\n".repeat(equal);
    let (first, last) = (format!("first\n{equal}"), format!("{equal}last\n"));
    let merged = merge_text(
        [equal.as_bytes(), first.as_bytes(), last.as_bytes()],
        Favor::Conflicts,
        Refinement::Zealous,
        &mut Budget::of_a_merge(),
    );
    assert!(!matches!(merged, TextMerge::Conflicts(_)));
}
