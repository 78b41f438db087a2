//! What `edit` and `apply_patch` make of any texts, against a model that knows nothing of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;
use tests::changed_texts::{PatchHunk, PatchStep, PieceEdit, edited, patch_text, patched};
use tokio::runtime::Runtime;

use super::session::{Session, ViewKind};

/// A session in memory, with a runtime of its own.
struct Judged {
    runtime: Runtime,
    session: Session,
    cases: AtomicUsize,
}

impl Judged {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let session = runtime.block_on(Session::new(ViewKind::Memory));
        Self { runtime, session, cases: AtomicUsize::new(0) }
    }

    /// A folder that no other case has.
    fn folder(&self) -> String {
        format!("case{}", self.cases.fetch_add(1, Ordering::SeqCst))
    }

    fn succeeds(&self, tool: &str, arguments: serde_json::Value) -> bool {
        let outcome = self.runtime.block_on(self.session.call(tool, arguments));
        matches!(outcome, engine::ports::ToolOutcome::Output(_))
    }
}

fn piece() -> impl Strategy<Value = String> {
    "[ab\n]{0,3}"
}

fn piece_edit() -> impl Strategy<Value = PieceEdit> {
    (piece(), piece(), any::<bool>()).prop_map(|(old, new, everywhere)| PieceEdit {
        old,
        new,
        everywhere,
    })
}

fn line() -> impl Strategy<Value = String> {
    "[abc]"
}

/// A text of such lines, with one kind of line ends.
fn text() -> impl Strategy<Value = String> {
    (vec(line(), 0..6), select(vec!["\n", "\r\n"]), any::<bool>()).prop_map(
        |(lines, end, has_last_end)| {
            let last = if has_last_end && !lines.is_empty() { end } else { "" };
            lines.join(end) + last
        },
    )
}

fn name() -> impl Strategy<Value = String> {
    "[w-z]"
}

fn hunk() -> impl Strategy<Value = PatchHunk> {
    let lines = vec((select(vec![' ', '-', '+']), line()), 1..5);
    (option::weighted(0.3, line()), lines, prop::bool::weighted(0.2))
        .prop_map(|(context, lines, at_end)| PatchHunk { context, lines, at_end })
}

fn step() -> impl Strategy<Value = PatchStep> {
    prop_oneof![
        2 => (name(), vec(line(), 0..3)).prop_map(|(name, lines)| PatchStep::Add(name, lines)),
        1 => name().prop_map(PatchStep::Delete),
        5 => (name(), option::weighted(0.3, name()), vec(hunk(), 1..3))
            .prop_map(|(name, to, hunks)| PatchStep::Update(name, to, hunks)),
    ]
}

/// The same step in a folder.
fn in_folder(step: PatchStep, folder: &str) -> PatchStep {
    let at = |name: String| format!("{folder}/{name}");
    match step {
        PatchStep::Add(name, lines) => PatchStep::Add(at(name), lines),
        PatchStep::Delete(name) => PatchStep::Delete(at(name)),
        PatchStep::Update(name, to, hunks) => PatchStep::Update(at(name), to.map(at), hunks),
    }
}

#[test]
fn edits_make_of_a_text_what_the_model_says_or_are_refused_with_it() {
    let judged = Judged::new();
    let config = ProptestConfig::with_cases(test_limit::by_depth(300, 10_000));
    let cases = ("[ab\n]{0,9}", vec(piece_edit(), 1..4), any::<bool>(), any::<bool>());
    proptest!(config, |((text, edits, crlf, mark) in cases)| {
        let form = |text: &str| {
            let text = if crlf && text.contains('\n') { text.replace('\n', "\r\n") } else { text.to_owned() };
            format!("{}{text}", if mark { "\u{feff}" } else { "" })
        };
        let path = format!("{}.txt", judged.folder());
        judged.session.put(&path, form(&text));
        let given: Vec<_> = edits.iter().map(|PieceEdit { old, new, everywhere }| {
            json!({ "oldText": old, "newText": new, "replaceAll": everywhere })
        }).collect();
        let done = judged.succeeds("edit", json!({ "path": path, "edits": given }));
        let expected = edited(&text, &edits);
        // A text that has no line end is one with LF.
        let form_after = |after: &str| match text.contains('\n') {
            true if crlf => form(&after.replace("\r\n", "\n")),
            _ => format!("{}{after}", if mark { "\u{feff}" } else { "" }),
        };
        let after = expected.as_deref().map_or_else(|| form(&text), form_after);
        prop_assert_eq!(judged.runtime.block_on(judged.session.text(&path)), after);
        prop_assert_eq!(done, expected.is_some());
    });
}

#[test]
fn patches_make_of_files_what_the_model_says_or_are_refused_with_it() {
    let judged = Judged::new();
    let config = ProptestConfig::with_cases(test_limit::by_depth(300, 10_000));
    let cases = (btree_map(name(), text(), 1..4), vec(step(), 1..4));
    proptest!(config, |((files, steps) in cases)| {
        let folder = judged.folder();
        judged.session.put_folder(&folder);
        let before: BTreeMap<_, _> = files.into_iter().map(|(name, text)| (format!("{folder}/{name}"), text)).collect();
        before.iter().for_each(|(path, text)| judged.session.put(path, text));
        let steps: Vec<_> = steps.into_iter().map(|step| in_folder(step, &folder)).collect();
        let done = judged.succeeds("apply_patch", json!({ "input": patch_text(&steps) }));
        let expected = patched(&before, &steps);
        prop_assert_eq!(done, expected.is_some(), "{}", patch_text(&steps));
        let names = judged.runtime.block_on(judged.session.names(&folder));
        let read = |name: String| {
            let path = format!("{folder}/{name}");
            let text = judged.runtime.block_on(judged.session.text(&path));
            (path, text)
        };
        let after: BTreeMap<_, _> = names.into_iter().map(read).collect();
        prop_assert_eq!(after, expected.unwrap_or(before), "{}", patch_text(&steps));
    });
}
